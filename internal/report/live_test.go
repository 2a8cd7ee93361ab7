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
