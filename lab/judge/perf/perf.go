// Package perf moves bytes by RDMA between two places of the lab with perftest, and says how that went.
package perf

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Result is the output and exit code of a command.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Exec runs a command somewhere, in a machine or in a pod. The error is for one that did not start or was lost.
type Exec func(ctx context.Context, argv ...string) (Result, error)

// End is one side of a connection.
type End struct {
	Run  Exec
	HCA  string // mlx5_0
	GID  int    // index in the HCA's table
	Size int    // bytes of a message; 0: 64 KiB
}

// Bandwidth is the result of ib_write_bw.
type Bandwidth struct {
	Iterations int
	Average    float64 // MB/s, of 2^20 bytes
}

// How a run fails without saying so itself.
var (
	// ErrHangs means that no data moves: perftest waits forever for completions.
	ErrHangs = errors.New("it hangs")
	// ErrNothingMoved means that perftest succeeded without an iteration.
	ErrNothingMoved = errors.New("it ended well, with 0 iterations")
)

// patience bounds a run. Machines that are emulated take about 3 s for one.
const patience = 12 * time.Second

// WriteBandwidth runs ib_write_bw: the server on one side, and the client on the other, which reaches it by TCP at
// address. Both end, whatever happens: timeout(1) runs them where they are.
func WriteBandwidth(ctx context.Context, server, client End, address string) (Bandwidth, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	type ending struct {
		result Result
		err    error
	}
	served := make(chan ending, 1)
	go func() {
		r, err := server.Run(ctx, server.command()...)
		served <- ending{r, err}
	}()
	// A client that comes before its server listens is refused, and tried again.
	var r Result
	var err error
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case e := <-served:
			tick.Stop()
			return Bandwidth{}, fmt.Errorf("the server ended first: %w", errors.Join(e.err, failure(e.result)))
		case <-tick.C:
		}
		if r, err = client.Run(ctx, client.command(address)...); err != nil || !refused(r) {
			tick.Stop()
			break
		}
	}
	if err != nil {
		return Bandwidth{}, err
	}
	if r.Code != 0 {
		return Bandwidth{}, failure(r)
	}
	return Parse(r.Stdout)
}

// refused means that the server is not listening yet (perftest src/perftest_communication.c).
func refused(r Result) bool {
	return r.Code != 0 && strings.Contains(r.Stdout+r.Stderr, "Couldn't connect to")
}

func (e End) command(address ...string) []string {
	size := e.Size
	if size == 0 {
		size = 64 << 10
	}
	const iterations = "100"
	return append([]string{
		"timeout", "-s", "KILL", fmt.Sprint(int(patience.Seconds())), // it does not end by SIGTERM where its card hangs
		"ib_write_bw", "-d", e.HCA, "-x", fmt.Sprint(e.GID), "-s", fmt.Sprint(size), "-n", iterations, "-F",
	}, address...)
}

// timedOut reports whether timeout(1) ended a run: with a code of its own, or by its signal.
func timedOut(code int) bool { return code == 124 || code == 128+9 }

// failure says why a run failed, in perftest's last words.
func failure(r Result) error {
	if r.Code == 0 {
		return nil
	}
	if timedOut(r.Code) {
		return ErrHangs
	}
	said := r.Stderr
	if strings.TrimSpace(said) == "" {
		said = r.Stdout
	}
	var words []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && strings.Trim(line, "-*") != "" {
			words = append(words, line)
		}
	}
	const most = 3
	return fmt.Errorf("exit code %d: %s", r.Code, strings.Join(words[max(0, len(words)-most):], "; "))
}

// Parse reads the table that ib_write_bw prints: its file of JSON is none.
func Parse(out string) (Bandwidth, error) {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "#bytes") || i+1 == len(lines) {
			continue
		}
		fields := strings.Fields(lines[i+1])
		const columns = 5 // #bytes #iterations peak average rate
		if len(fields) < columns {
			break
		}
		n, err := strconv.Atoi(fields[1])
		average, also := strconv.ParseFloat(fields[3], 64)
		if err := errors.Join(err, also); err != nil {
			return Bandwidth{}, fmt.Errorf("read the table of ib_write_bw: %w", err)
		}
		if n == 0 || !(average > 0) {
			return Bandwidth{}, ErrNothingMoved
		}
		return Bandwidth{n, average}, nil
	}
	return Bandwidth{}, fmt.Errorf("ib_write_bw printed no table: %q", out)
}
