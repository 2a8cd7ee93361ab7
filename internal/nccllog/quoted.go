package nccllog

import (
	"cmp"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// frameworkEvent returns the event of a line that another program wrote.
func frameworkEvent(p *Parser, at event.Place, line []byte, text string) (event.Event, bool) {
	if strings.Contains(text, "Exception ignored in") {
		p.ignored = at
	}
	p.report.read(at, text)
	if strings.Contains(text, event.NoRDMA) {
		p.noRDMA = at
	}
	if after(p.noRDMA, at, 3) && strings.Contains(text, "fail: ") { // the first of its reasons
		e := event.New(event.NoRail, "no-rail", event.Quote{})
		e.Name = find.Between(find.LastPart(text), "[", "]")
		return e, true
	}
	if e, ok := readRepeated(p, at, line, text); ok {
		return e, true
	}
	if e, ok := event.OfQuote(text); ok {
		return e, true
	}
	e, ok := event.OfProgram(text)
	p.report.name(&e, at)
	const near = 30 // lines: the traceback of an ignored exception
	ignored := p.ignored.File == at.File && p.ignored.Line > 0 && at.Line-p.ignored.Line < near
	return e, ok && (e.Kind != event.Exception || !ignored)
}

// repetition tracks the lines in which PyTorch repeats NCCL's last warning, after "ncclSystemError: ..." or "Last
// error:".
type repetition struct {
	lines int  // left
	named bool // "Last error:" was read: the next text is the warning, known or not
}

// readRepeated reads NCCL's last warning, which PyTorch prints again.
func readRepeated(p *Parser, at event.Place, line []byte, text string) (event.Event, bool) {
	label, _ := prefix.LabelOf(line)
	key := cmp.Or(string(label), at.File)
	if _, after, ok := strings.Cut(text, "Last error:"); ok {
		expectWarning(p, key, true)
		if text = strings.TrimSpace(after); text == "" {
			return event.Event{}, false
		}
	} else if p.lastError[key].lines == 0 {
		if strings.Contains(text, "Error: ") && strings.Contains(text, "nccl") {
			expectWarning(p, key, false)
		}
		return event.Event{}, false
	}
	expected := p.lastError[key]
	expected.lines--
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), key))
	e := event.OfWarning(text, "")
	if e.Kind == event.Warning && expected.named && text != "" {
		e.Signature, expected = "last-error", repetition{}
	}
	p.lastError[key] = expected
	return e, e.Kind != event.Warning || e.Signature == "last-error"
}

func expectWarning(p *Parser, key string, named bool) {
	const most = 1 << 12
	if p.lastError == nil || len(p.lastError) > most {
		p.lastError = map[string]repetition{}
	}
	p.lastError[key] = repetition{lines: 2, named: named}
}
