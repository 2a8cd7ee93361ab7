package cli

import (
	"os"

	"golang.org/x/term"
)

// Terminal returns the streams of a process: what is a terminal, how wide it is, and whether colour is wanted
// (https://no-color.org).
func Terminal(in, out, err *os.File) Streams {
	s := Streams{In: in, Out: out, Err: err}
	s.TTY = term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(err.Fd())) && os.Getenv("TERM") != "dumb"
	if width, _, e := term.GetSize(int(err.Fd())); e == nil {
		s.Width = width
	}
	s.Color = s.TTY && os.Getenv("NO_COLOR") == ""
	return s
}
