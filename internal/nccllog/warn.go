package nccllog

import (
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// pending is a warning that may continue in the next lines: people and logs wrap long ones.
type pending struct {
	event int // index in events
	text  string
	where string
	label string
	lines int // that may still belong to it
}

// warn reads a line of level WARN.
func (p *Parser) warn(r *rank, l *logLine) {
	r.Last = p.seq
	text, where := strings.ToValidUTF8(string(l.text[:min(len(l.text), 2*maxText)]), ""), string(l.where)
	p.sourceOfNet(r, where)
	e := classify(text, where)
	e.Quote = l.quote()
	if e.Kind != Harmless && e.Kind != NoPassthrough {
		r.warnedAt = p.seq
	}
	i := p.keep(r, e)
	if lines := continuation(e, text); lines > 0 && i >= 0 {
		label, _ := prefix.LabelOf(l.line)
		p.open = pending{event: i, text: text, where: where, label: string(label), lines: lines}
	}
}

// continuation returns in how many lines an incomplete warning may continue.
func continuation(e Event, text string) int {
	switch {
	case e.Completion != nil && !e.Completion.HasVendor:
		return 2
	case e.Kind == OFICompletion && !strings.Contains(text, "rror:"):
		return 1
	case e.Verbs != nil && (strings.HasSuffix(strings.TrimSpace(text), ",") ||
		e.Verbs.Call == "ibv_modify_qp" && e.Verbs.Device == ""):
		return 3
	}
	return 0
}

// continueWarning adds a line to the open warning if it adds evidence.
func (p *Parser) continueWarning(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	p.open.lines--
	text := strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxText)]), ""))
	text = strings.TrimSpace(strings.TrimPrefix(text, p.open.label))
	if prefix.Segment(line, 0) >= 0 || text == "" {
		p.open.lines = 0
		return false
	}
	if !strings.ContainsAny(text, ",:=<(") && !strings.Contains(text, "GID") {
		return false
	}
	old := &p.events[p.open.event]
	if old.Verbs != nil {
		p.open.text = strings.TrimRight(p.open.text, ", ") + ","
	}
	p.open.text += " " + text
	e := classify(p.open.text, p.open.where)
	if e.Kind != old.Kind || !addsEvidence(e, *old) {
		p.open.lines = 0
		return false
	}
	old.Completion, old.Verbs = e.Completion, e.Verbs
	old.Text = cut(old.Text+" "+text, maxText)
	return true
}

func addsEvidence(e, old Event) bool {
	return e.Kind == OFICompletion || e.Completion != nil && *e.Completion != *old.Completion ||
		e.Verbs != nil && *e.Verbs != *old.Verbs
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// retried reads a failure of level INFO after which NCCL tries again.
func (p *notices) retried(r *rank, l *logLine) {
	text := strings.ToValidUTF8(string(l.text[:min(len(l.text), maxText)]), "")
	if !strings.Contains(text, "retry") {
		return
	}
	if e := classify(text, ""); e.Kind == ConnectFailed || e.Kind == VerbsFailed {
		e.Quote, e.Info = l.quote(), true
		p.keep(r, e)
	}
}

// classify returns the event of a warning of NCCL. Where is the place in NCCL's sources.
func classify(text, where string) Event {
	e, ok := Event{}, false
	switch {
	case strings.Contains(where, "ras/"): // the service for RAS clients; training does not need it
	case strings.Contains(text, "NET/OFI"):
		e, ok = recognize(ofiSignatures, text, where)
		e.Name, e.Code = "OFI", max(numberAfter(text, "RC: "), 0)
	default:
		e, ok = recognize(ncclSignatures, text, where)
	}
	if !ok {
		return Event{Kind: Warning, Signature: "warning", Number: -1}
	}
	return e
}

func readVerbs(e *Event, text, _ string) bool {
	e.Verbs = verbsOf(text)
	return e.Verbs != nil
}

// readOpenFailed reads no device: the next line has it.
func readOpenFailed(_ *Event, text, _ string) bool {
	v := verbsOf(text)
	return v != nil && v.Call == "ibv_open_device"
}

func readNetworkNotFound(e *Event, text, _ string) bool {
	e.Name = between(text, "Error: network ", " not found")
	return strings.HasPrefix(text, "Error: network ") && strings.Contains(text, " not found")
}

func readDevice(e *Event, text, _ string) bool {
	_, name, _ := strings.Cut(text, "evice ")
	e.Name, _, _ = strings.Cut(name, " ")
	e.Code = codes.Errno(lastPart(text))
	return true
}

func readNVLSSource(_ *Event, _, where string) bool { return isSource(where, "nvls.cc") }

// isSource reports whether a place is in the source file.
func isSource(where, file string) bool {
	i := strings.Index(where, file+":")
	return i == 0 || i > 0 && !prefix.IsHost(where[i-1])
}

// between returns the text between two words, or "".
func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !ok || !found {
		return ""
	}
	return inner
}

// lastPart returns the text after the last ": ", where the system's error is.
func lastPart(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return strings.TrimSpace(text)
}
