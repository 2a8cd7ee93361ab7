package logsource

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Stdin is the name of standard input.
const Stdin = "-"

// Files returns the named logs: files, all logs in folders, or standard input. With follow, a file ends when the
// context does.
func (r *Reader) Files(names []string, stdin io.Reader, follow bool) []Log {
	var logs []Log
	for _, name := range names {
		if name == Stdin {
			open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
			logs = append(logs, Log{"stdin", open})
			continue
		}
		for _, path := range logPaths(name, r.Skip) {
			open := func(ctx context.Context) (io.ReadCloser, error) { return openLog(ctx, path, follow) }
			logs = append(logs, Log{path, open})
		}
	}
	return logs
}

func openLog(ctx context.Context, name string, follow bool) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !follow {
		return f, err
	}
	return growing{ctx, f}, nil
}

// growing is a file that is still being written. It ends when ctx does.
type growing struct {
	ctx context.Context //nolint:containedctx // io.Reader takes no context
	*os.File
}

func (g growing) Read(b []byte) (int, error) {
	const pollInterval = 200 * time.Millisecond
	for {
		n, err := g.File.Read(b)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		select {
		case <-g.ctx.Done():
			return 0, io.EOF
		case <-time.After(pollInterval):
		}
	}
}
