package nccllog

import (
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
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

// readWarn reads a line of level WARN.
func readWarn(p *Parser, r *rank, l *logLine) {
	r.Last = p.ranks.seq
	text, where := find.Text(l.text, 2*maxText), string(l.where)
	sourceOfNet(p, r, where)
	e := event.OfWarning(text, where)
	e.Quote = l.quote()
	if e.Kind != event.Harmless && e.Kind != event.NoPassthrough {
		r.warnedAt = p.ranks.seq
	}
	i := keep(p, r, e)
	if lines := continuation(e, text); lines > 0 && i >= 0 {
		label, _ := prefix.LabelOf(l.line)
		p.open = pending{event: i, text: text, where: where, label: string(label), lines: lines}
	}
}

// continuation returns in how many lines an incomplete warning may continue.
func continuation(e event.Event, text string) int {
	switch {
	case e.Completion != nil && !e.Completion.HasVendor:
		return 2
	case e.Kind == event.OFICompletion && !strings.Contains(text, "rror:"):
		return 1
	case e.Verbs != nil && (strings.HasSuffix(strings.TrimSpace(text), ",") ||
		e.Verbs.Call == "ibv_modify_qp" && e.Verbs.Device == ""):
		return 3
	}
	return 0
}

// continueWarning adds a line to the open warning if it adds evidence.
func continueWarning(p *Parser, line []byte) bool {
	if len(line) == 0 {
		return false
	}
	p.open.lines--
	text := strings.TrimSpace(find.Text(line, maxText))
	text = strings.TrimSpace(strings.TrimPrefix(text, p.open.label))
	if prefix.Segment(line, 0) >= 0 || text == "" {
		p.open.lines = 0
		return false
	}
	if !strings.ContainsAny(text, ",:=<(") && !strings.Contains(text, "GID") {
		return false
	}
	old := &p.notes.events[p.open.event]
	if old.Verbs != nil {
		p.open.text = strings.TrimRight(p.open.text, ", ") + ","
	}
	p.open.text += " " + text
	e := event.OfWarning(p.open.text, p.open.where)
	if e.Kind != old.Kind || !addsEvidence(e, *old) {
		p.open.lines = 0
		return false
	}
	old.Completion, old.Verbs = e.Completion, e.Verbs
	old.Text = find.Cut(old.Text+" "+text, maxText)
	return true
}

func addsEvidence(e, old event.Event) bool {
	return e.Kind == event.OFICompletion || e.Completion != nil && *e.Completion != *old.Completion ||
		e.Verbs != nil && *e.Verbs != *old.Verbs
}

// readRetry reads a failure of level INFO after which NCCL tries again.
func readRetry(p *Parser, r *rank, l *logLine) {
	text := find.Text(l.text, maxText)
	if !strings.Contains(text, "retry") {
		return
	}
	if e := event.OfWarning(text, ""); e.Kind == event.ConnectFailed || e.Kind == event.VerbsFailed {
		e.Quote, e.Info = l.quote(), true
		keep(p, r, e)
	}
}
