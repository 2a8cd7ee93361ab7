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

// readOutside reads a line of another program: PyTorch, a launcher, a scheduler, the kernel, nccl-tests.
func readOutside(p *Parser, at event.Place, line []byte) {
	text := find.Text(line, 4*maxText)
	if at.Line <= scan.FirstLines {
		countTraining(p, at, text)
	}
	versionLine(p, at, line, text)
	if readBenchmark(p, at, line, text) {
		return
	}
	assignments(p, quoteOf(at, line), text)
	repeats := expectsWarning(p, at, line)
	if readOld(p, at, line) || !repeats && readBareNet(p, at, line, text) || readBareLine(p, at, line) {
		return
	}
	e, ok := frameworkEvent(p, at, line, text)
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
		r = p.ranks.byLabel[at.File+string(label)]
	}
	if r != nil && r.shared && e.Kind == event.Exception {
		e.Host, r = r.Host, nil
	}
	i := keep(p, r, e)
	if lines := continuation(e, text); lines > 0 && i >= 0 {
		p.open = pending{event: i, text: text, lines: lines}
	}
}

// trainingWords are words of the output of training programs, and of servers of models.
var trainingWords = strings.Fields("cuda CUDA torch loss epoch Epoch step iter rank RANK Rank GPU distributed tensor " +
	"prefill inference vllm vLLM sglang transformer deepspeed lightning jax tensorflow keras")

// ofVLLM matches what vLLM's logger writes in front of a text (vllm/logger.py): "INFO 09-03 16:28:10 [core.py:648]".
var ofVLLM = regexp.MustCompile(`\b(?:INFO|WARNING|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w/.]+\.py:\d+\]`)

// stackLine matches a line of the stack of an exception of Python, PyTorch's C++ or TensorFlow's AutoGraph.
var stackLine = regexp.MustCompile(`\bFile "[^"]+", line \d+,? in |\bframe #\d+: |^ +/\S+\.py:\d+ \w+ *(?:\*\* *)?$`)

// countTraining counts the lines that speak of training. A stack names paths of PyTorch, whatever the program does.
func countTraining(p *Parser, at event.Place, text string) {
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

// trainedAt counts the lines about training at the end of a file, if its first lines do not show what it is.
func trainedAt(p *Parser, last event.Place, tail scan.Tail) {
	if p.trained >= Trained {
		return
	}
	all := tail.Lines()
	for i, line := range all {
		at := event.Place{File: last.File, Line: last.Line - len(all) + 1 + i}
		if at.Line > scan.FirstLines {
			countTraining(p, at, find.Text(line, 4*maxText))
		}
	}
	if p.trained < Trained && scan.CountsAtEnd(last.Line, tail) {
		p.trained = Trained
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
func versionLine(p *Parser, at event.Place, line []byte, text string) {
	before, after, _ := strings.Cut(text, "CCL version ")
	v := p.ranks.texts.version([]byte(after))
	if before == "" || v == "" {
		return
	}
	p.plainVersion = cmp.Or(p.plainVersion, v)
	if label, _ := prefix.LabelOf(line); label != nil {
		if r := p.ranks.byLabel[at.File+string(label)]; r != nil {
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

// readBenchmark reads the lines of nccl-tests: "# Rank 0 Group 0 Pid 64904 on mew0 device 0 [0000:17:00] NVIDIA A100".
func readBenchmark(p *Parser, at event.Place, line []byte, text string) bool {
	finished := event.New(event.Finished, "finished", quoteOf(at, line))
	switch {
	case find.Any(text, event.BenchmarkEnds...) && !strings.Contains(text, "FAILED"):
		keep(p, nil, finished)
		return true
	case readOSU(p, at, text):
		finished.Detail = event.Partial
		keep(p, nil, finished)
		return true
	}
	if wrongResults(text) {
		keep(p, nil, event.New(event.WrongResults, "wrong-results", quoteOf(at, line)))
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
	t := tableOf(p, at, n)
	t.Ranks, t.Listed, t.events = max(t.Ranks, n+1), t.Listed+1, len(p.notes.events)
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

// readOSU reads the tables of the OSU benchmarks of MPI, and reports whether a line is a result: "8    1.93". MPI may
// have used another transport than the one that failed before.
func readOSU(p *Parser, at event.Place, text string) bool {
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
func tableOf(p *Parser, at event.Place, rank int) *table {
	run := 0
	for i := len(p.tables) - 1; i >= 0; i-- {
		t := &p.tables[i]
		switch {
		case t.at.File != at.File:
		case rank > 0 || len(p.notes.events) == t.events || len(p.tables) >= maxRuns:
			return t
		default:
			run = max(run, t.run+1)
		}
	}
	p.tables = append(p.tables, table{at: at, seq: p.ranks.seq, run: run})
	return &p.tables[len(p.tables)-1]
}

// tableAt returns the run of the last table that had begun in a file.
func tableAt(p *Parser, file string, seq int) int {
	run := 0
	for _, t := range p.tables {
		if t.at.File == file && t.seq <= seq {
			run = max(run, t.run)
		}
	}
	return run
}

// assignments reads variables on a command line or in a dump of the environment: "NCCL_IB_DISABLE=1 python train.py".
func assignments(p *Parser, at event.Quote, text string) {
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
		assign(p, Variable{Name: name, Value: find.Cut(value, 120), At: at, Seq: p.ranks.seq})
	}
}

// assign keeps a value that differs from the last one.
func assign(p *Parser, v Variable) {
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

// readBareNet reads lines that lost their beginning in a copy: "NET/IB : Using [0]mlx5_0:1/RoCE".
func readBareNet(p *Parser, at event.Place, line []byte, text string) bool {
	i := strings.Index(text, "NET/")
	if i < 0 || i > 40 && !strings.HasPrefix(text[i:], "NET/OFI ") || strings.Contains(text[:i], "via ") {
		return false
	}
	r := p.ranks.labelled(at, line)
	l := &logLine{at: at, line: line, text: []byte(text[i:])}
	switch {
	case r == nil:
	case find.Any(text, "ompletion", "completed with error", "async ", "failed", "ould"),
		strings.Contains(text[:i], "WARN"):
		readWarn(p, r, l)
	default:
		readInfoNet(p, r, l)
	}
	return true
}

// readBareLine reads channels, and the chosen network, in lines that lost their beginning in a copy.
func readBareLine(p *Parser, at event.Place, line []byte) bool {
	text := bytes.TrimSpace(line)
	isChannel := find.Begins(text, "Channel ") && bytes.Contains(text, []byte(" via "))
	if !isChannel && !find.Begins(text, "Using network ") {
		return false
	}
	l := &logLine{at: at, line: line, text: text}
	if r := p.ranks.labelled(at, line); r != nil {
		readInfo(p, r, l)
	}
	return true
}

// readOld reads lines of NCCL up to 2.3, which do not name it: "host:pid:tid [0] INFO NET : Using interface
// eth0:10.0.0.1<0>".
func readOld(p *Parser, at event.Place, line []byte) bool {
	for _, level := range []string{"INFO ", "WARN "} {
		i := bytes.Index(line, []byte(level))
		if i < 2 || line[i-1] != ' ' {
			continue
		}
		s := prefix.SourceOf(line[:i])
		if len(s.Host) > 0 {
			readSegment(p, at, line, line[:i], line[i:], false)
			return true
		}
		if level == "WARN " && find.Any(string(s.Where), ".cu:", ".cc:", ".h:") {
			if r := p.ranks.labelled(at, line); r != nil {
				readWarn(p, r, &logLine{at, line, line[i+len(level):], s.Where})
			}
			return true
		}
	}
	return false
}

// ofPython matches a line of level ERROR or worse by the logger of glog's form for Python.
var ofPython = regexp.MustCompile(`(?:^|[ :\]>])[EF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.py:\d+\]`)

// pythonComplaints reads such lines at the end of a file, after the line from. Elsewhere, such a line reads like any
// warning of Python.
func pythonComplaints(p *Parser, last event.Place, from int, tail scan.Tail) {
	all := tail.Lines()
	for i, line := range all {
		at := event.Place{File: last.File, Line: last.Line - len(all) + 1 + i}
		if at.Line <= from || !bytes.Contains(line, []byte(".py:")) || !ofPython.Match(line) {
			continue
		}
		if _, known := event.OfProgram(string(line)); !known {
			p.ranks.seq++
			keep(p, nil, event.New(event.Complaint, "complaint", quoteOf(at, line)))
		}
	}
}
