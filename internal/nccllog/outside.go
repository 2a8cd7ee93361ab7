package nccllog

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// outside reads a line of another program: PyTorch, a launcher, a scheduler, the kernel, nccl-tests.
func (p *Parser) outside(at event.Place, line []byte) {
	text := strings.ToValidUTF8(string(line[:min(len(line), 4*maxText)]), "")
	if at.Line <= scan.FirstLines {
		p.countTraining(at, text)
	}
	p.versionLine(at, line, text)
	if p.test(at, line, text) {
		return
	}
	p.assignments(quoteOf(at, line), text)
	if p.old(at, line) || p.bareNet(at, line, text) || p.bareLine(at, line) {
		return
	}
	e, ok := p.frameworkEvent(at, line, text)
	if !ok {
		return
	}
	e.Quote = quoteOf(at, line)
	e.ReadProcess(text)
	label, number := prefix.LabelOf(line)
	if e.Number < 0 {
		e.Number = number
	}
	var r *rank
	if label != nil {
		r = p.byLabel[at.File+string(label)]
	}
	if r != nil && r.shared && e.Kind == event.Exception {
		e.Host, r = r.Host, nil
	}
	i := p.keep(r, e)
	if lines := continuation(e, text); lines > 0 && i >= 0 {
		p.open = pending{event: i, text: text, lines: lines}
	}
}

// trainingWords are words of the output of training programs, and of servers of models.
var trainingWords = strings.Fields("cuda CUDA torch loss epoch Epoch step iter rank RANK Rank GPU distributed tensor " +
	"prefill inference vllm vLLM sglang")

// ofVLLM matches what vLLM's logger writes in front of a text (vllm/logger.py): "INFO 09-03 16:28:10 [core.py:648]".
var ofVLLM = regexp.MustCompile(`\b(?:INFO|WARNING|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w/.]+\.py:\d+\]`)

// stackLine matches a line of the stack of an exception of Python, PyTorch's C++ or TensorFlow's AutoGraph.
var stackLine = regexp.MustCompile(`\bFile "[^"]+", line \d+,? in |\bframe #\d+: |^ +/\S+\.py:\d+ \w+ *(?:\*\* *)?$`)

// countTraining counts the lines that speak of training. A stack names paths of PyTorch, whatever the program does.
func (p *Parser) countTraining(at event.Place, text string) {
	switch {
	case p.trained >= Trained:
	case find.Any(text, `File "`, "frame #", ".py:") && stackLine.MatchString(text):
		p.source = event.Place{File: at.File, Line: at.Line + 1} // Python prints it below
	case at == p.source:
	case scan.CountsSteps([]byte(text)):
		p.trained += 2
	case speaksOfTraining(text), resultRow.MatchString(text[:min(len(text), longestRow)]), ofVLLM.MatchString(text):
		p.trained++
	}
}

// Trained is how many lines that speak of training make a log one of a training. One that counts its steps is as good
// as two others.
const Trained = 3

// trainedAt counts the last lines of a file of which the first ones do not show what it is.
func (p *Parser) trainedAt(last event.Place, tail scan.Tail) {
	if p.trained >= Trained {
		return
	}
	all := tail.Lines()
	for i, line := range all {
		at := event.Place{File: last.File, Line: last.Line - len(all) + 1 + i}
		if at.Line > scan.FirstLines {
			p.countTraining(at, strings.ToValidUTF8(string(line[:min(len(line), 4*maxText)]), ""))
		}
	}
}

// speaksOfTraining reports whether a text has one of the words, not inside another one: slurmstepd has "step", and
// the name of a PyTorchJob "torch".
func speaksOfTraining(text string) bool {
	for _, word := range trainingWords {
		for from := 0; ; {
			i := strings.Index(text[from:], word)
			if i < 0 {
				break
			}
			from += i
			if from == 0 || !isLetter(text[from-1]) {
				return true
			}
			from += len(word)
		}
	}
	return false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// versionLine reads the version that rank 0 prints on a separate line, up to 2.21.
func (p *Parser) versionLine(at event.Place, line []byte, text string) {
	before, after, _ := strings.Cut(text, "CCL version ")
	v := p.version([]byte(after))
	if before == "" || v == "" {
		return
	}
	p.plainVersion = cmp.Or(p.plainVersion, v)
	if label, _ := prefix.LabelOf(line); label != nil {
		if r := p.byLabel[at.File+string(label)]; r != nil {
			r.Version = cmp.Or(r.Version, v)
		}
	}
}

// table is the header of nccl-tests: one line for each rank.
type table struct {
	Tests
	at     event.Place
	seq    int
	run    int // number of the tables before it in the file
	events int // when its last line was read
}

// test reads the lines of nccl-tests: "# Rank 0 Group 0 Pid 64904 on mew0 device 0 [0000:17:00] NVIDIA A100".
func (p *Parser) test(at event.Place, line []byte, text string) bool {
	succeeded := find.Any(text, event.BenchmarkEnds...) && !strings.Contains(text, "FAILED")
	if succeeded || p.osu(at, text) {
		p.keep(nil, event.New(event.Finished, "", quoteOf(at, line)))
		return true
	}
	if wrongResults(text) {
		p.keep(nil, event.New(event.WrongResults, "wrong-results", quoteOf(at, line)))
		return true
	}
	before, after, ok := strings.Cut(text, "Rank ")
	if !ok || !strings.Contains(before, "#") || !strings.Contains(text, " Pid ") ||
		!strings.Contains(text, " device ") {
		return false
	}
	n, err := strconv.Atoi(find.WordAfter(after, ""))
	if err != nil || n >= 1<<20 {
		return true
	}
	t := p.tableOf(at, n)
	t.Ranks, t.Listed, t.events = max(t.Ranks, n+1), t.Listed+1, len(p.events)
	const most = 1 << 12
	host := find.Cut(find.WordAfter(after, " on "), 64)
	if host != "" && len(t.Hosts) < most && !slices.Contains(t.Hosts, host) {
		t.Hosts = append(t.Hosts, host)
	}
	return true
}

// resultRow matches a row of nccl-tests (src/common.cu): size, count, type, and in older versions of alltoall no
// operation and root; then times and bandwidths, each with the number of wrong values in group 1 and 2.
var resultRow = regexp.MustCompile(`^(?:\S+: *)?\s*\d+\s+\d+\s+[a-z][a-z0-9_]+(?:\s+\S+\s+-?\d+)?` +
	`(?:\s+[\d.]+){3}\s+(\d+|N/A)(?:(?:\s+[\d.]+){3}\s+(\d+|N/A))?\s*$`)

const longestRow = 400

// wrongResults reports whether a row of nccl-tests counts wrong values.
func wrongResults(text string) bool {
	if len(text) > longestRow {
		return false
	}
	found := resultRow.FindStringSubmatch(text)
	return found != nil && strings.Trim(strings.ReplaceAll(found[1]+found[2], "N/A", ""), "0") != ""
}

// osu reads the tables of the OSU benchmarks of MPI, and reports whether a line is a result: "8    1.93". MPI may have
// used another transport than the one that failed before.
func (p *Parser) osu(at event.Place, text string) bool {
	const near = 64
	if strings.HasPrefix(text, "# OSU ") {
		p.osuAt = at
	}
	if p.osuAt.Line == 0 || p.osuAt.File != at.File || at.Line-p.osuAt.Line > near {
		return false
	}
	fields := strings.Fields(text)
	return len(fields) > 1 && !slices.ContainsFunc(fields, func(f string) bool {
		_, err := strconv.ParseFloat(f, 64)
		return err != nil
	})
}

// tableOf returns the table of a rank. Rank 0 begins the next one if anything happened since the last line of a table
// in the same file.
func (p *Parser) tableOf(at event.Place, rank int) *table {
	run := 0
	for i := len(p.tables) - 1; i >= 0; i-- {
		t := &p.tables[i]
		switch {
		case t.at.File != at.File:
		case rank > 0 || len(p.events) == t.events || len(p.tables) >= maxRuns:
			return t
		default:
			run = max(run, t.run+1)
		}
	}
	p.tables = append(p.tables, table{at: at, seq: p.seq, run: run})
	return &p.tables[len(p.tables)-1]
}

// tableAt returns the run of the last table that had begun in a file.
func (p *Parser) tableAt(file string, seq int) int {
	run := 0
	for _, t := range p.tables {
		if t.at.File == file && t.seq <= seq {
			run = max(run, t.run)
		}
	}
	return run
}

// assignments reads variables on a command line or in a dump of the environment: "NCCL_IB_DISABLE=1 python train.py".
func (p *Parser) assignments(at event.Quote, text string) {
	if strings.HasPrefix(strings.TrimSpace(text), "#") {
		return
	}
	for rest := text; len(p.env) < maxList; {
		i := strings.Index(rest, "NCCL_")
		if i < 0 {
			return
		}
		end := i
		for end < len(rest) && (rest[end] >= 'A' && rest[end] <= 'Z' || prefix.IsDigit(rest[end]) || rest[end] == '_') {
			end++
		}
		name := rest[i:end]
		rest = rest[end:]
		value, ok := strings.CutPrefix(rest, "=")
		if !ok || i > 0 && len(name) < 6 || len(name) > 60 {
			continue
		}
		if end := strings.IndexAny(value, " \t;'\"\\"); end >= 0 {
			value = value[:end]
		}
		p.assign(Variable{Name: name, Value: find.Cut(value, 120), At: at, Seq: p.seq})
	}
}

// assign keeps a value that differs from the last one.
func (p *Parser) assign(v Variable) {
	for i := len(p.env) - 1; i >= 0; i-- {
		if p.env[i].Name == v.Name {
			if p.env[i].Value != v.Value {
				p.env = append(p.env, v)
			}
			return
		}
	}
	if v.Value != "" {
		p.env = append(p.env, v)
	}
}

// bareNet reads lines that lost their beginning in a copy: "NET/IB : Using [0]mlx5_0:1/RoCE".
func (p *Parser) bareNet(at event.Place, line []byte, text string) bool {
	i := strings.Index(text, "NET/")
	if i < 0 || i > 40 && !strings.HasPrefix(text[i:], "NET/OFI ") || strings.Contains(text[:i], "via ") {
		return false
	}
	r := p.labelled(at, line)
	l := &logLine{at: at, line: line, text: []byte(text[i:])}
	switch {
	case r == nil:
	case find.Any(text, "ompletion", "completed with error", "async ", "failed", "ould"),
		strings.Contains(text[:i], "WARN"):
		p.warn(r, l)
	default:
		p.infoNet(r, l)
	}
	return true
}

// bareLine reads channels, and the chosen network, in lines that lost their beginning in a copy.
func (p *Parser) bareLine(at event.Place, line []byte) bool {
	text := bytes.TrimSpace(line)
	isChannel := find.Begins(text, "Channel ") && bytes.Contains(text, []byte(" via "))
	if !isChannel && !find.Begins(text, "Using network ") {
		return false
	}
	l := &logLine{at: at, line: line, text: text}
	if r := p.labelled(at, line); r != nil {
		p.info(r, l)
	}
	return true
}

// old reads lines of NCCL up to 2.3, which do not name it: "host:pid:tid [0] INFO NET : Using interface
// eth0:10.0.0.1<0>".
func (p *Parser) old(at event.Place, line []byte) bool {
	for _, level := range []string{"INFO ", "WARN "} {
		i := bytes.Index(line, []byte(level))
		if i < 2 || line[i-1] != ' ' {
			continue
		}
		s := prefix.SourceOf(line[:i])
		if len(s.Host) > 0 {
			p.readSegment(at, line, line[:i], line[i:], false)
			return true
		}
		if level == "WARN " && find.Any(string(s.Where), ".cu:", ".cc:", ".h:") {
			if r := p.labelled(at, line); r != nil {
				p.warn(r, &logLine{at, line, line[i+len(level):], s.Where})
			}
			return true
		}
	}
	return false
}

// ofPython matches a line of level ERROR or worse by the logger of glog's form for Python.
var ofPython = regexp.MustCompile(`(?:^|[ :\]>])[EF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.py:\d+\]`)

// pythonComplaints reads such lines at the end of a file, after the line from. Anywhere else their words are those of
// every warning of Python.
func (p *Parser) pythonComplaints(last event.Place, from int, tail scan.Tail) {
	all := tail.Lines()
	for i, line := range all {
		at := event.Place{File: last.File, Line: last.Line - len(all) + 1 + i}
		if at.Line <= from || !bytes.Contains(line, []byte(".py:")) || !ofPython.Match(line) {
			continue
		}
		if _, known := event.OfProgram(string(line)); !known {
			p.seq++
			p.keep(nil, event.New(event.Complaint, "complaint", quoteOf(at, line)))
		}
	}
}
