package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// Streams are the input and output of a command: data goes to Out, messages to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	TTY      bool // In and Err are a terminal
	Screen   bool // so is Out
	Width    int  // columns of the terminal
	Color    bool
}

// Terminal returns the streams of a process: what is a terminal, how wide it is, and whether colour is wanted
// (https://no-color.org).
func Terminal(in, out, err *os.File) Streams {
	s := Streams{In: in, Out: out, Err: err}
	s.TTY = term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(err.Fd())) && os.Getenv("TERM") != "dumb"
	s.Screen = s.TTY && term.IsTerminal(int(out.Fd()))
	if width, _, e := term.GetSize(int(err.Fd())); e == nil {
		s.Width = width
	}
	s.Color = s.TTY && os.Getenv("NO_COLOR") == ""
	return s
}

// live returns the display of progress.
func (s Streams) live() *report.Live { return &report.Live{W: s.Err, TTY: s.TTY, Width: s.Width} }

// say prints a message.
func (s Streams) say(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }

func (s Streams) sayLine(line string) { fmt.Fprintln(s.Err, line) }

// print writes a value to stdout as JSON, as YAML, or with text.
func (s Streams) print(format string, value any, text func(out io.Writer, wide bool) error) error {
	if format == "json" || format == "yaml" {
		return report.Encode(s.Out, format, value)
	}
	return text(s.Out, format == "wide")
}

// noteParts tells how manifests become short enough for a review.
func (s Streams) noteParts(parts int, namespace string) {
	if parts > 0 {
		s.say("The output includes railhead-pod in %s. To keep it out of manifests, store it in the namespace once:\n"+
			"  railhead setup namespace %s", words.Count(parts, "ConfigMap"), namespace)
	}
}

// refuse prints findings. It returns an error if one of them forbids the plan.
func (s Streams) refuse(findings []check.Finding) error {
	s.showFindings(findings...)
	if check.Worst(findings) == check.Fail {
		return exit.Failed(errors.New("nothing was written"))
	}
	return nil
}

// showNotes prints the choices of a plan whose objects are the output.
func (s Streams) showNotes(notes []string) {
	for _, note := range notes {
		s.say("Note: %s", note)
	}
}

func (s Streams) showFindings(all ...check.Finding) { report.Findings(s.Err, all, report.Full) }

// agree asks for confirmation at the terminal.
func (s Streams) agree(ctx context.Context, yes bool) error {
	if yes {
		return nil
	}
	if !s.TTY {
		return usage(errors.New("not applied: no terminal to ask for confirmation; " +
			"use --yes to apply the plan, or --dry-run=client"))
	}
	fmt.Fprint(s.Err, "Apply this plan? [y/N] ")
	answers := make(chan string, 1)
	go func() { // a read of a terminal cannot be canceled, so it ends with the process
		answer, _ := bufio.NewReader(s.In).ReadString('\n') // no answer is not a yes
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return ctx.Err()
	}
	return exit.Failed(errors.New("not confirmed: nothing was written"))
}
