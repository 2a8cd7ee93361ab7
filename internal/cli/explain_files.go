package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// standardInput is what a person writes for it.
const standardInput = "-"

// logFiles are the logs in files and folders, or on standard input where none is named.
func (a *app) logFiles(args []string, follow bool, l *listener) ([]logInput, error) {
	if len(args) == 0 {
		if a.streams.TTY {
			return nil, errors.New("name a log, or pipe one in; with -n NAMESPACE, name a job")
		}
		args = []string{standardInput}
	}
	var all []logInput
	for _, arg := range args {
		if arg == standardInput {
			all = append(all, logInput{"stdin", func(context.Context) (io.ReadCloser, error) { return io.NopCloser(a.streams.In), nil }})
			continue
		}
		for _, path := range logPaths(arg, l.skip) {
			all = append(all, logInput{path, func(ctx context.Context) (io.ReadCloser, error) { return openLog(ctx, path, follow) }})
		}
	}
	return all, nil
}

func openLog(ctx context.Context, name string, follow bool) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !follow {
		return f, err
	}
	return growing{ctx, f}, nil
}

// growing is a file to which somebody writes: its end is none until ctx ends.
type growing struct {
	ctx context.Context //nolint:containedctx // io.Reader has no other way to be told
	*os.File
}

func (g growing) Read(b []byte) (int, error) {
	const again = 200 * time.Millisecond
	for {
		n, err := g.File.Read(b)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		select {
		case <-g.ctx.Done():
			return 0, io.EOF
		case <-time.After(again):
		}
	}
}
