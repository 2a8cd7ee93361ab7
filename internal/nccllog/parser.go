package nccllog

import (
	"bytes"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// Limits of what is kept. A job of 4,096 ranks stays below all of them.
const (
	maxRanks    = 1 << 14
	maxRuns     = 64
	maxText     = 400     // bytes of a line
	maxEvents   = 1 << 15 // of all kinds
	maxOfKind   = 1 << 13
	maxWarnings = 512 // of no known kind
	perRank     = 3   // events of one kind
	maxWords    = 1 << 14
	maxList     = 64 // HCAs, interfaces, variables of one rank
	maxFiles    = 1 << 14
)

// Parser collects the facts of a log in bounded memory. Its zero value has read nothing. The lines of several processes
// and files may be mixed, but the lines of each process must be in order.
type Parser struct {
	ranks        roster
	notes        notices
	turn         turn
	open         pending
	lastError    map[string]repetition // by label or file
	tables       []table
	trained      int
	source       event.Place // of the line of a program that a stack quotes
	ignored      event.Place // of an exception that Python ignored, as it does when it exits
	osuAt        event.Place // of the last header of an OSU benchmark
	report       report
	diagnosis    Diagnosis
	noRDMA       event.Place // the last line in which railhead-pod says so
	plainVersion string
	env          []Variable
	ends         map[string]scan.Ending
}

// turn is the rank of the last line of level INFO. The lines of one process mostly follow one another, and begin with
// the same bytes.
type turn struct {
	head []byte // up to the text
	rank *rank
}

// readLine reads one line, or a part of one, without line ends.
func readLine(p *Parser, at event.Place, line []byte) {
	p.ranks.seq++
	if p.open.lines > 0 && continueWarning(p, line) {
		return
	}
	if t := p.turn; t.rank != nil && bytes.HasPrefix(line, t.head) && prefix.Segment(line, len(t.head)) < 0 {
		readInfo(p, t.rank, &logLine{at: at, line: line, text: line[len(t.head):]})
		return
	}
	i := prefix.Segment(line, 0)
	switch {
	case i < 0:
		readOutside(p, at, line)
		return
	case prefix.Segment(line, i+5) >= 0:
		readRecords(p, at, line, i)
		return
	}
	r := readSegment(p, at, line, line[:i], line[i+5:], false)
	if r != nil && r.Host != "" && find.Begins(line[i+5:], "INFO ") {
		p.turn = turn{append(p.turn.head[:0], line[:i+10]...), r}
	}
}

// readSegment reads the level and the text that one process wrote, and returns its rank, or nil. Torn: another process
// had begun the line.
func readSegment(p *Parser, at event.Place, line, before, text []byte, torn bool) *rank {
	if find.Begins(text, "DIAG") {
		readDiagnosis(p, at, line, text[5:])
		return nil
	}
	s := prefix.SourceOf(before)
	r := p.ranks.rankOf(s, at, line, torn)
	if r == nil {
		return nil
	}
	l := &logLine{at, line, text[5:], s.Where}
	switch {
	case find.Begins(text, "INFO"):
		readInfo(p, r, l)
	case find.Begins(text, "WARN"):
		readWarn(p, r, l)
	case find.Begins(text, "ATTN"):
		readAttention(p, r, l)
	}
	return r
}

// readDiagnosis reads a line of NCCL's diagnostics, which one rank prints for all.
func readDiagnosis(p *Parser, at event.Place, line, text []byte) {
	said := find.Text(text, 2*maxText)
	p.diagnosis.read(said)
	if e, ok := event.OfDiagnosis(said); ok {
		e.Quote = quoteOf(at, line)
		keep(p, nil, e)
	}
}

// readAttention reads a line of level ATTN. What it says need be no fault.
func readAttention(p *Parser, r *rank, l *logLine) {
	if e, ok := event.OfAttention(find.Text(l.text, 2*maxText)); ok {
		e.Quote = l.quote()
		keep(p, r, e)
		return
	}
	readInfo(p, r, l)
}

// End records which line of an input was its last. The tail has the last lines, as in Reading.
func (p *Parser) End(last event.Place, tail []byte) {
	if p.ends == nil {
		p.ends = map[string]scan.Ending{}
	}
	if len(p.ends) >= maxFiles {
		return
	}
	pythonComplaints(p, last, p.ends[last.File].Line, tail)
	trainedAt(p, last, tail)
	end := scan.Ending{Line: last.Line, Own: last.Line}
	if p.notes.doubted[last.File] {
		end = scan.EndingOf(last.Line, tail)
	}
	p.ends[last.File] = end
}

type logLine struct {
	at    event.Place
	line  []byte
	text  []byte
	where []byte // in NCCL's sources
}

func (l *logLine) quote() event.Quote { return quoteOf(l.at, l.line) }

func quoteOf(at event.Place, line []byte) event.Quote {
	return event.Quote{At: at, Text: find.Valid(bytes.TrimRight(line[:min(len(line), maxText)], " \r\n\t"))}
}
