package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/rules"
)

// logInput is one log that is to be read.
type logInput struct {
	name string // as evidence calls it
	open func(context.Context) (io.ReadCloser, error)
}

// listener reads logs and tells their story. It may be asked for the story while it reads.
type listener struct {
	machines []host.Snapshot
	say      func(format string, args ...any)

	mu      sync.Mutex
	parser  nccllog.Parser
	batches int // of lines that were taken
	opened  int // logs
	deaf    bool
	skipped []rules.Skipped
}

func (l *listener) story() rules.Story {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := rules.Log(l.parser.Log(), l.machines...)
	s.Skipped = l.skipped
	return s
}

func (l *listener) skip(file, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped = append(l.skipped, rules.Skipped{File: file, Reason: reason})
}

// nothing is the error of a command that could read no log.
func (l *listener) nothing() error {
	var said []string
	for _, s := range l.skipped {
		said = append(said, s.File+": "+s.Reason)
	}
	if len(said) == 0 {
		said = append(said, "there is none")
	}
	return fault(errors.New("no log was read: " + shortenBy(said, mostEvidence)))
}

// read reads one log after the other: what one process says stays in its order.
func (l *listener) read(ctx context.Context, inputs []logInput) error {
	for _, in := range inputs {
		if err := l.take(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// take reads one log to its end. What cannot be read of it is skipped; the error is that of ctx.
func (l *listener) take(ctx context.Context, in logInput) error {
	log, err := in.open(ctx)
	if err != nil {
		l.skip(in.name, bare(err).Error())
		return ctx.Err()
	}
	defer log.Close()
	l.mu.Lock()
	l.opened++
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() { // a read from a terminal or a pipe cannot be interrupted
		defer close(ended)
		l.hear(in.name, log)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		l.mu.Lock()
		l.deaf = true
		l.mu.Unlock()
	}
	return ctx.Err()
}

func (l *listener) hear(name string, log io.Reader) {
	reading, err := nccllog.Lines(log, func(lines nccllog.Batch) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.deaf {
			l.parser.Take(name, lines)
			l.batches++
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf {
		return
	}
	l.parser.End(nccllog.Place{File: name, Line: reading.Lines})
	for _, s := range reading.Skipped {
		reason := s.Reason
		if s.Line > 0 {
			reason = fmt.Sprintf("line %d: %s", s.Line, reason)
		}
		l.skipped = append(l.skipped, rules.Skipped{File: name, Reason: reason})
	}
	if err != nil {
		l.skipped = append(l.skipped, rules.Skipped{File: name, Reason: bare(err).Error()})
	}
}

// lookEvery is how soon what was found is said.
const lookEvery = 250 * time.Millisecond

// follow reads all logs at the same time, and says what it finds as soon as it does.
func (l *listener) follow(ctx context.Context, inputs []logInput) error {
	var g errgroup.Group
	g.SetLimit(logsAtOnce)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, in := range inputs {
			g.Go(func() error { return l.take(ctx, in) })
		}
		_ = g.Wait() // that of ctx
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	said := map[string]bool{}
	seen := 0
	for {
		select {
		case <-ended:
			l.warn(said)
			return ctx.Err()
		case <-look.C:
			if n := l.heard(); n != seen {
				seen = n
				l.warn(said)
			}
		}
	}
}

func (l *listener) heard() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batches
}

// warn says what the story has that was not said yet.
func (l *listener) warn(said map[string]bool) {
	for _, text := range news(l.story()) {
		if !said[text] {
			said[text] = true
			l.say("%s", text)
		}
	}
}

// news is what whoever waits for a job wants to know at once.
func news(s rules.Story) []string {
	var all []string
	for i, r := range s.Runs {
		run := ""
		if i > 0 {
			run = fmt.Sprintf("run %d: ", i+1)
		}
		if text := networkNews(r); text != "" {
			all = append(all, run+text)
		}
		if len(r.Causes) > 0 {
			all = append(all, fmt.Sprintf("%sfound: %s [%s]", run, r.Causes[0].Summary, r.Causes[0].ID))
		}
	}
	return all
}

func networkNews(r rules.Run) string {
	for _, d := range r.Differences {
		for _, g := range d.Groups {
			if d.What == "network" && g.Value == string(rules.Socket) {
				return fmt.Sprintf("WARNING: %s came up on TCP, the others not: all will be many times slower", count(g.Ranks, "rank"))
			}
		}
	}
	switch used := r.Network.Used; {
	case r.Network.Kind == rules.Socket && r.Nodes != 1:
		return "WARNING: the job came up on TCP, not on RDMA: it will be many times slower"
	case used != nil && *used:
		return "RDMA is used: " + networkLine(r.Network)
	}
	return ""
}
