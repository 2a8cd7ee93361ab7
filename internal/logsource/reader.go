// Package logsource reads the logs of a run from files, folders, pipes, pods and archives, and returns their story.
package logsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// Log is one log to read.
type Log struct {
	Name string // in evidence
	Open func(context.Context) (io.ReadCloser, error)
}

// Reader reads logs. Story may be called while it reads.
type Reader struct {
	Machines []explain.Machine

	mu      sync.Mutex
	parser  nccllog.Parser
	batches int // of lines
	opened  int // logs
	closed  bool
	skipped []story.Skipped
}

// Story returns the story of everything that was read so far.
func (r *Reader) Story() story.Story {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := explain.Log(r.parser.Log(), r.Machines...)
	s.Skipped = r.skipped
	return s
}

// Skip records a file, or a part of one, that is not read.
func (r *Reader) Skip(file, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped = append(r.skipped, story.Skipped{File: file, Reason: reason})
}

// Empty returns an error with the reasons if no log could be opened.
func (r *Reader) Empty() error {
	if r.opened > 0 {
		return nil
	}
	var reasons []string
	for _, s := range r.skipped {
		reasons = append(reasons, s.File+": "+s.Reason)
	}
	return errors.New("no log was read: " + cmp.Or(words.Few(reasons, 3), "none found"))
}

// reason returns err without the operation and the path.
func reason(err error) string { return cmp.Or(errors.Unwrap(err), err).Error() }

// Read reads one log after the other, so that the lines of one process stay in order. It returns the error of ctx.
func (r *Reader) Read(ctx context.Context, logs []Log) error {
	for _, l := range logs {
		if err := r.readLog(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) readLog(ctx context.Context, l Log) error {
	log, err := l.Open(ctx)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.skipped = append(r.skipped, failed(l.Name, err))
		return ctx.Err()
	}
	defer log.Close()
	r.mu.Lock()
	r.opened++
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() { // a read from a terminal or a pipe cannot be interrupted
		defer close(ended)
		r.parse(l.Name, log)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
	}
	return ctx.Err()
}

func (r *Reader) parse(name string, log io.Reader) {
	reading, err := nccllog.Lines(log, func(lines scan.Batch) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closed {
			r.parser.Take(name, lines)
			r.batches++
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.parser.End(event.Place{File: name, Line: reading.Lines}, reading.Tail)
	r.skipped = append(r.skipped, skippedOf(name, reading, err)...)
}

func skippedOf(name string, reading scan.Reading, err error) []story.Skipped {
	var skipped []story.Skipped
	for _, s := range reading.Skipped {
		reason := s.Reason
		if s.Line > 0 {
			reason = fmt.Sprintf("line %d: %s", s.Line, reason)
		}
		skipped = append(skipped, story.Skipped{File: name, Reason: reason})
	}
	if err != nil {
		skipped = append(skipped, failed(name, err))
	}
	return skipped
}

func failed(name string, err error) story.Skipped {
	return story.Skipped{File: name, Reason: reason(err), Failed: true}
}

// logsAtOnce bounds how many logs are followed at the same time.
const logsAtOnce = 1024

// Follow reads all logs at the same time. It calls show when the story has changed, at most four times a second.
func (r *Reader) Follow(ctx context.Context, logs []Log, show func(story.Story)) error {
	var g errgroup.Group
	g.SetLimit(logsAtOnce)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, l := range logs {
			g.Go(func() error { return r.readLog(ctx, l) })
		}
		_ = g.Wait() // the error of ctx
	}()
	const interval = 250 * time.Millisecond
	tick := time.NewTicker(interval)
	defer tick.Stop()
	shown := 0
	for {
		select {
		case <-ended:
			show(r.Story())
			return ctx.Err()
		case <-tick.C:
			r.mu.Lock()
			batches := r.batches
			r.mu.Unlock()
			if batches != shown {
				shown = batches
				show(r.Story())
			}
		}
	}
}

// Archived returns the story of the logs in an archive of 'railhead doctor --save'.
func Archived(logs []bundle.Log, machines []explain.Machine) story.Story {
	var parser nccllog.Parser
	var skipped []story.Skipped
	for _, log := range logs {
		reading, err := parser.Read(log.Name, strings.NewReader(log.Text))
		skipped = append(skipped, skippedOf(log.Name, reading, err)...)
	}
	s := explain.Log(parser.Log(), machines...)
	s.Skipped = skipped
	return s
}
