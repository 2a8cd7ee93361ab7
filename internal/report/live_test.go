package report

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines between two frames stay, and the next frame is drawn below them.
func TestSay(t *testing.T) {
	frames := func(tty bool) string {
		var out bytes.Buffer
		l := Live{W: &out, TTY: tty}
		l.Show(Frame{Text: "0 of 2"})
		l.Say("Waiting for this to pass: x\n  If it does not: y")
		l.Show(Frame{Text: "0 of 2"})
		l.Show(Frame{Text: "1 of 2"})
		return out.String()
	}
	const inLog = "0 of 2\nWaiting for this to pass: x\n  If it does not: y\n1 of 2\n"
	if diff := cmp.Diff(inLog, frames(false)); diff != "" {
		t.Errorf("in a log (-want +got):\n%s", diff)
	}
	const onTerminal = "\r\x1b[2K0 of 2\n\x1b[JWaiting for this to pass: x\n  If it does not: y\n" +
		"\r\x1b[2K0 of 2\n\x1b[J\x1b[1A\r\x1b[2K1 of 2\n\x1b[J"
	if diff := cmp.Diff(onTerminal, frames(true)); diff != "" {
		t.Errorf("on a terminal (-want +got):\n%s", diff)
	}
}

// TestLast: in a log, the summary of what is done is the last line, below the parts that were done with it.
func TestLast(t *testing.T) {
	var out bytes.Buffer
	l := Live{W: &out}
	parts := func(state string) []Part {
		return []Part{{Name: "gpu-0", State: "Done"}, {Name: "gpu-1", State: state}}
	}
	l.Show(Frame{Text: "gpu: 1 of 2 nodes done", Parts: parts("Rebooting")})
	l.Show(Frame{Text: "gpu: all 2 nodes done", Parts: parts("Done"), Last: true})
	const want = "gpu: 1 of 2 nodes done\ngpu-0  Done\ngpu-1  Rebooting\ngpu-1  Done\ngpu: all 2 nodes done\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A text replaces the previous one and wraps. Progress does not replace it, but messages stay above it.
func TestDraw(t *testing.T) {
	var out bytes.Buffer
	l := Live{W: &out, TTY: true, Width: 6}
	l.Show(Frame{Text: "0 of 2"})
	l.Draw("123456\n1234567890\n")
	l.Show(Frame{Text: "0 of 2"})
	l.Draw("short\n")
	l.Say("gone")
	l.Draw("short\n")
	const want = "\r\x1b[2K0 of…\n\x1b[J" +
		"\x1b[1A\r\x1b[2K123456\n\r\x1b[2K123456\n\r\x1b[2K7890\n\x1b[J" +
		"\x1b[3A\r\x1b[2Kshort\n\x1b[J" +
		"gone\n\r\x1b[2Kshort\n\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
