package nccllog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// outside takes a line that is not NCCL's own: of PyTorch, of a launcher, of a scheduler, of the kernel, of nccl-tests.
func (p *Parser) outside(at Place, line []byte) {
	if p.seen(at) {
		p.training(line)
	}
	text := strings.ToValidUTF8(string(line[:min(len(line), 4*maxText)]), "")
	if i := strings.Index(text, "CCL version "); i > 0 {
		p.versionLine(at, line, text[i+len("CCL version "):])
	}
	if p.test(at, line, text) {
		return
	}
	p.assignments(quoteOf(at, line), text)
	if p.old(at, line) || p.bareNet(at, line, text) || p.bareLine(at, line) {
		return
	}
	if strings.Contains(text, "Exception ignored in") {
		p.ignored = at // Python says so when it goes down; the traceback that follows ended nothing
	}
	e, ok := p.frameworkEvent(at, line, text)
	const near = 30
	if !ok || e.Kind == Exception && p.ignored.File == at.File && p.ignored.Line > 0 && at.Line-p.ignored.Line < near {
		return
	}
	e.Quote = quoteOf(at, line)
	i := p.keep(p.spokenBy(at, line, &e), e)
	if lines := more(e, text); lines > 0 && i >= 0 {
		p.open = pending{event: i, text: text, lines: lines}
	}
}

// seen reports whether the line is among the first ones of its file.
func (p *Parser) seen(at Place) bool { return at.Line <= FirstLines }

// training counts lines that look like those of a training program.
func (p *Parser) training(line []byte) {
	for _, word := range []string{"cuda", "CUDA", "torch", "loss", "epoch", "Epoch", "step", "iter", "rank", "RANK",
		"Rank", "GPU", "distributed", "tensor"} {
		if bytes.Contains(line, []byte(word)) {
			p.trained++
			return
		}
	}
}

// versionLine: up to 2.21 the version is on a line of its own, which rank 0 prints.
func (p *Parser) versionLine(at Place, line []byte, text string) {
	v := p.version([]byte(text))
	if v == "" {
		return
	}
	if p.plainVersion == "" {
		p.plainVersion = v
	}
	if label, _ := labelOf(line); label != nil {
		if r := p.byLabel[at.File+string(label)]; r != nil && r.Version == "" {
			r.Version = v
		}
	}
}

// test takes the lines of nccl-tests: "# Rank 0 Group 0 Pid 64904 on mew0 device 0 [0000:17:00] NVIDIA A100".
func (p *Parser) test(at Place, line []byte, text string) bool {
	if strings.Contains(text, "# Out of bounds values") || strings.Contains(text, "# Avg bus bandwidth") {
		p.tests.Finished = quoteOf(at, line)
		p.keep(nil, Event{Kind: Finished, Quote: p.tests.Finished, Number: -1})
		return true
	}
	i := strings.Index(text, "Rank ")
	if i < 0 || !strings.Contains(text, " Pid ") || !strings.Contains(text, " device ") ||
		!strings.Contains(text[:i+1], "#") {
		return false
	}
	words := strings.Fields(text[i:])
	if n, err := strconv.Atoi(wordAfter(text[i:], "Rank ")); err == nil && n < 1<<20 {
		p.tests.Ranks = max(p.tests.Ranks, n+1)
	}
	for j, word := range words {
		const most = 1 << 12
		if word == "on" && j+1 < len(words) && !contains(p.tests.Hosts, words[j+1]) && len(p.tests.Hosts) < most {
			p.tests.Hosts = append(p.tests.Hosts, cut(words[j+1], 64))
		}
	}
	return true
}

func contains(list []string, word string) bool {
	for i := len(list) - 1; i >= 0; i-- { // the last one is the most frequent
		if list[i] == word {
			return true
		}
	}
	return false
}

// assignments are variables on a command line or in a dump of the environment: "NCCL_IB_DISABLE=1 python train.py".
func (p *Parser) assignments(at Quote, text string) {
	if strings.HasPrefix(strings.TrimSpace(text), "#") {
		return
	}
	for rest := text; len(p.env) < maxList; {
		i := strings.Index(rest, "NCCL_")
		if i < 0 {
			return
		}
		end := i
		for end < len(rest) && isVariable(rest[end]) {
			end++
		}
		name := rest[i:end]
		rest = rest[end:]
		value, ok := strings.CutPrefix(rest, "=")
		if !ok || i > 0 && end-i < 6 || len(name) > 60 {
			continue
		}
		if stop := strings.IndexAny(value, " \t;'\"\\"); stop >= 0 {
			value = value[:stop]
		}
		p.assign(Variable{Name: name, Value: cut(value, 120), At: at})
	}
}

func isVariable(c byte) bool { return c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' }

func (p *Parser) assign(v Variable) {
	i := slices.IndexFunc(p.env, func(known Variable) bool { return known.Name == v.Name })
	switch {
	case i >= 0:
		p.env[i] = v
	case v.Value != "":
		p.env = append(p.env, v)
	}
}

// bareNet reads lines whose beginning was lost in a copy: "NET/IB : Using [0]mlx5_0:1/RoCE".
func (p *Parser) bareNet(at Place, line []byte, text string) bool {
	i := strings.Index(text, "NET/")
	if i < 0 || i > 40 && !strings.HasPrefix(text[i:], "NET/OFI ") || strings.Contains(text[:i], "via ") {
		return false
	}
	r := p.labelled(at, line)
	if r == nil {
		return true
	}
	s := &logLine{at: at, line: line, text: []byte(text[i:])}
	if strings.Contains(text, "ompletion") || strings.Contains(text, "async ") || strings.Contains(text, "failed") ||
		strings.Contains(text, "ould") || strings.Contains(text[:i], "WARN") {
		p.warn(r, s)
		return true
	}
	p.infoNet(r, s)
	return true
}

// bareLine reads lines whose beginning was lost in a copy: channels, and the chosen network.
func (p *Parser) bareLine(at Place, line []byte) bool {
	text := bytes.TrimSpace(line)
	channel := bytes.HasPrefix(text, []byte("Channel ")) && bytes.Contains(text, []byte(" via "))
	if !channel && !bytes.HasPrefix(text, []byte("Using network ")) {
		return false
	}
	r := p.labelled(at, line)
	switch s := (&logLine{at: at, line: line, text: text}); {
	case r == nil:
	case channel:
		p.channel(r, s)
	default:
		p.infoU(r, s)
	}
	return true
}

// old takes lines of NCCL up to 2.3, which do not name it: "host:pid:tid [0] INFO NET : Using interface
// eth0:10.0.0.1<0>".
func (p *Parser) old(at Place, line []byte) bool {
	for _, level := range []string{"INFO ", "WARN "} {
		i := bytes.Index(line, []byte(level))
		if i < 2 || line[i-1] != ' ' {
			continue
		}
		s := sourceOf(line[:i])
		if s.known {
			p.take(at, line, line[:i], line[i:], false)
			return true
		}
		if level == "WARN " && bytes.Contains(s.where, []byte(".cu:")) {
			if r := p.labelled(at, line); r != nil {
				p.warn(r, &logLine{at, line, line[i+5:], s.where})
			}
			return true
		}
	}
	return false
}

// spokenBy finds the rank that a line of another program is of: by the launcher's prefix or by the words.
func (p *roster) spokenBy(at Place, line []byte, e *Event) *rank {
	label, number := labelOf(line)
	if e.Number < 0 {
		e.Number = number
	}
	if label != nil {
		if r := p.byLabel[at.File+string(label)]; r != nil {
			return r
		}
	}
	return nil
}
