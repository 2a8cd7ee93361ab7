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
	readIgnored(p, at, text)
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
	return e, ok && !(ignored && (e.Kind == event.Exception || strings.Contains(text, traceback)))
}

// traceback begins the stack of an exception of Python.
const traceback = "Traceback (most recent call last)"

// readIgnored finds exceptions that Python ignores, most of them when it exits: it says so in front of the stack, or
// the stack shows that finalizers of multiprocessing ran (Lib/multiprocessing/util.py, Modules/atexitmodule.c).
func readIgnored(p *Parser, at event.Place, text string) {
	switch {
	case find.Any(text, "Exception ignored in", "Error in atexit._run_exitfuncs"):
		p.ignored = at
	case strings.Contains(text, "in _run_finalizers"):
		const near = 4 // lines from the beginning of the stack
		p.ignored = at
		for i := len(p.notes.events) - 1; i >= 0; i-- {
			e := &p.notes.events[i]
			if e.At.File != at.File || at.Line-e.At.Line > near {
				return
			}
			if e.Kind == event.Complaint && strings.Contains(e.Text, traceback) {
				e.Kind, e.Signature = event.Harmless, "harmless"
				return
			}
		}
	}
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
	key := repeatedBy(at, line)
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
	text = strings.TrimSpace(text)
	if said, labelled := strings.CutPrefix(text, string(label)); labelled {
		text = strings.TrimLeft(said, ": ")
	}
	e := event.OfWarning(text, "")
	if e.Kind == event.Warning && expected.named && text != "" {
		e.Signature, e.Name = "last-error", find.Cut(text, 160)
	}
	if expected.named && text != "" {
		expected = repetition{}
	}
	p.lastError[key] = expected
	return e, e.Kind != event.Warning || e.Signature == "last-error"
}

// repeatedBy tells the processes apart that repeat warnings.
func repeatedBy(at event.Place, line []byte) string {
	label, _ := prefix.LabelOf(line)
	return cmp.Or(string(label), at.File)
}

// expectsWarning reports whether the line before ended with "Last error:".
func expectsWarning(p *Parser, at event.Place, line []byte) bool {
	return len(p.lastError) > 0 && p.lastError[repeatedBy(at, line)].named
}

func expectWarning(p *Parser, key string, named bool) {
	const most = 1 << 12
	if p.lastError == nil || len(p.lastError) > most {
		p.lastError = map[string]repetition{}
	}
	p.lastError[key] = repetition{lines: 2, named: named}
}
