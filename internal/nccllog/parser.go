package nccllog

import (
	"bytes"
	"strings"
)

// What is kept at most. A job of 4,096 ranks stays below all of them.
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
	maxTrail    = 8
	maxFiles    = 1 << 14
)

// Parser reads lines and keeps their facts, in bounded memory. Its zero value has read nothing. Lines may arrive in any
// order and from any number of processes and files; those of one process must arrive in their own order.
type Parser struct {
	notices
	turn         turn
	open         pending
	lastError    map[string]int // of each label or file: lines left in which PyTorch repeats NCCL's last error
	tests        Tests
	trained      int
	ignored      Place // of a traceback that ended nothing
	plainVersion string
	env          []Variable
	ends         map[string]int
}

// notices reads the lines of level INFO, and keeps events.
type notices struct {
	roster
	events  []Event
	counts  [kinds]int
	orphans [kinds]int // events that are kept of no rank
	ringed  int
}

// roster finds the rank that a line belongs to.
type roster struct {
	vocabulary
	seq       int
	ranks     []*rank
	byProcess map[process]*rank
	bySeat    map[process]*rank // without the host
	byLabel   map[string]*rank
	recent    [1 << 12]*rank // the last ranks that logged, by process and device
	hosts     map[string]string
	truncated bool
}

// vocabulary keeps one copy of a text for all ranks.
type vocabulary struct {
	words map[string]string
	lists map[string]deviceList
}

type process struct {
	host        string
	pid, device int
}

type rank struct {
	Rank
	index int
	kept  [kinds]uint8
}

// turn is the rank of the last line of level INFO. Lines of one process mostly come together, and begin with the same
// bytes.
type turn struct {
	head []byte // up to the text
	rank *rank
}

// goesOn reports whether the line is of the same process, and of none that wrote into it.
func (t *turn) goesOn(line []byte) bool {
	return t.rank != nil && bytes.HasPrefix(line, t.head) && segment(line, len(t.head)) < 0
}

// pending is a warning that may continue in the next line.
type pending struct {
	event int // index in events
	text  string
	label string
	lines int // that may still belong to it
}

// Line reads one line. It does not keep the slice.
func (p *Parser) Line(at Place, line []byte) {
	p.seq++
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if p.open.lines > 0 && p.goOn(line) {
		return
	}
	if p.turn.goesOn(line) {
		p.turn.rank.spoke(p.seq)
		p.info(p.turn.rank, &logLine{at: at, line: line, text: line[len(p.turn.head):]})
		return
	}
	i := segment(line, 0)
	if i < 0 {
		p.outside(at, line)
		return
	}
	before, first := line[:i], i
	for range 16 { // processes that write into one another's lines
		next := segment(line, i+5)
		end := next
		if next < 0 {
			end = len(line)
		}
		r := p.take(at, line, before, line[i+5:end], i != first)
		if next < 0 {
			if i == first && r != nil && r.Host != "" && string(line[i+5:i+10]) == "INFO " {
				p.turn = turn{append(p.turn.head[:0], line[:i+10]...), r}
			}
			return
		}
		before, i = line[i+10:next], next
	}
}

// segment finds where "NCCL INFO ", "NCCL WARN " or "NCCL TRACE " stands. Of these letters, L is the one that texts
// have least.
func segment(line []byte, from int) int {
	const before = len("NCC")
	for at := from + before; at < len(line); at++ {
		i := bytes.IndexByte(line[at:], 'L')
		if i < 0 {
			return -1
		}
		at += i
		rest := line[at-before:]
		if len(rest) < 10 {
			return -1
		}
		if string(rest[:5]) != "NCCL " {
			continue
		}
		if level := string(rest[5:10]); level == "INFO " || level == "WARN " || level == "TRACE" {
			return at - before
		}
	}
	return -1
}

// End says which line of an input was its last.
func (p *Parser) End(last Place) {
	if p.ends == nil {
		p.ends = map[string]int{}
	}
	if len(p.ends) < maxFiles {
		p.ends[last.File] = last.Line
	}
}

// take reads the level and text that one process wrote. It returns the process's rank, or nil.
func (p *Parser) take(at Place, line, before, said []byte, torn bool) *rank {
	s := sourceOf(before)
	r := p.speaker(s, at, line, torn)
	if r == nil {
		return nil
	}
	r.spoke(p.seq)
	level, text := said[:4], said[5:]
	switch {
	case string(level) == "INFO":
		p.info(r, &logLine{at, line, text, s.where})
	case string(level) == "WARN":
		p.warn(r, &logLine{at, line, text, s.where})
	}
	return r
}

func (r *rank) spoke(seq int) {
	r.Last = seq
	r.Lines++
}

type logLine struct {
	at    Place
	line  []byte
	text  []byte
	where []byte // in NCCL's sources
}

func (s *logLine) quote() Quote { return quoteOf(s.at, s.line) }

func quoteOf(at Place, line []byte) Quote {
	return Quote{at, strings.ToValidUTF8(string(bytes.TrimRight(line[:min(len(line), maxText)], " \r\n\t")), "")}
}

// speaker finds the rank that a line is of.
func (p *roster) speaker(s source, at Place, line []byte, torn bool) *rank {
	if !s.known {
		return p.labelled(at, line)
	}
	recent := &p.recent[uint(s.pid*8+s.device)%uint(len(p.recent))]
	if r := *recent; r != nil && r.PID == s.pid && r.Device == s.device && r.Host == string(s.host) {
		return r
	}
	r := p.found(s, at, line, torn)
	*recent = r
	return r
}

// found is speaker for a rank that did not speak of late.
func (p *roster) found(s source, at Place, line []byte, torn bool) *rank {
	host, old := p.hosts[string(s.host)]
	if !old && torn {
		host, old = p.hostWithin(s.host)
	}
	if !old {
		host = string(s.host)
	}
	key := process{host, s.pid, s.device}
	if r := p.byProcess[key]; r != nil {
		return r
	}
	if r := p.glued(host, s); r != nil {
		return r
	}
	r := p.add(Rank{Host: host, PID: s.pid, Device: s.device, Glued: torn && !old, File: at.File})
	if r == nil {
		return nil
	}
	if p.byProcess == nil {
		p.byProcess, p.hosts, p.bySeat = map[process]*rank{}, map[string]string{}, map[process]*rank{}
	}
	if !old && !torn {
		p.hosts[host] = host
	}
	p.byProcess[key], p.bySeat[process{"", s.pid, s.device}] = r, r
	p.label(r, at, line)
	return r
}

// glued finds a known process when the name of its host has other output in front of it, as in
// "sumnode-27:433602:433862 [5]", or when the first line of it had.
func (p *roster) glued(host string, s source) *rank {
	r := p.bySeat[process{"", s.pid, s.device}]
	switch {
	case r == nil || len(s.before) > 0 && host != r.Host && strings.HasSuffix(r.Host, host):
		return nil
	case strings.HasSuffix(host, r.Host):
		return r
	case strings.HasSuffix(r.Host, host):
		delete(p.hosts, r.Host)
		r.Host, p.hosts[host] = host, host
		p.byProcess[process{host, s.pid, s.device}] = r
		return r
	}
	return nil
}

// label remembers the launcher's prefix of a rank, by which lines of other programs find it.
func (p *roster) label(r *rank, at Place, line []byte) {
	label, number := labelOf(line)
	if label == nil {
		return
	}
	if r.Number < 0 {
		r.Number = number
	}
	if p.byLabel == nil {
		p.byLabel = map[string]*rank{}
	}
	if key := at.File + string(label); p.byLabel[key] == nil {
		p.byLabel[key] = r
	}
}

// hostWithin finds a known host at the end of a name: in "nranks 4 cc0b58536a5f1:12:12 [0] NCCL INFO" one process
// wrote into the line of another.
func (p *roster) hostWithin(name []byte) (string, bool) {
	for i := range name {
		if host, ok := p.hosts[string(name[i:])]; ok {
			return host, true
		}
	}
	return "", false
}

// labelled finds the rank of a line that names no process: by the launcher's prefix, or by its file.
func (p *roster) labelled(at Place, line []byte) *rank {
	label, number := labelOf(line)
	key := at.File + string(label)
	if r := p.byLabel[key]; r != nil {
		return r
	}
	if label == nil {
		label = []byte(at.File)
	}
	r := p.add(Rank{Label: string(label[:min(len(label), 120)]), Device: -1, File: at.File})
	if r == nil {
		return nil
	}
	if number >= 0 {
		r.Number = number
	}
	if p.byLabel == nil {
		p.byLabel = map[string]*rank{}
	}
	p.byLabel[key] = r
	return r
}

func (p *roster) add(r Rank) *rank {
	if len(p.ranks) >= maxRanks {
		p.truncated = true
		return nil
	}
	r.Number, r.QueuePair.GID, r.QueuePair.LID, r.First = -1, -1, -1, p.seq
	n := &rank{Rank: r, index: len(p.ranks)}
	p.ranks = append(p.ranks, n)
	return n
}
