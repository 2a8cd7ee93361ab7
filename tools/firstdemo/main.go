// Firstdemo measures how long make demo of two commits takes: each in a clone with caches of its own, once while they
// are empty and once more. It needs a quiet machine and half an hour.
//
//	go run ./tools/firstdemo OLD NEW
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "firstdemo:", err)
		os.Exit(1)
	}
}

// pair holds the figures of the two runs in a clone.
type pair struct{ first, second figures }

// figures are the measurements of one run.
type figures struct {
	whole   time.Duration
	pod     time.Duration // until the part of railhead-pod has been shown
	silence time.Duration // the longest without a line
	memory  int64         // the most bytes that its processes had at once
}

func run(ctx context.Context, commits []string, w io.Writer) error {
	if len(commits) != 2 {
		return fmt.Errorf("got %d commits: usage: go run ./tools/firstdemo OLD NEW", len(commits))
	}
	folder, err := os.MkdirTemp("", "firstdemo-")
	if err != nil {
		return err
	}
	defer clean(folder)
	var pairs []pair
	for i, commit := range commits {
		clone := filepath.Join(folder, fmt.Sprint(i))
		if err := checkOut(ctx, commit, clone); err != nil {
			return err
		}
		var p pair
		for n, f := range []*figures{&p.first, &p.second} {
			log := fmt.Sprintf("bin/firstdemo/%s-%d.log", commit, n+1)
			fmt.Fprintf(w, "make demo of %s, its output is in %s\n", commit, log)
			if *f, err = demo(ctx, clone, log); err != nil {
				return fmt.Errorf("make demo of %s: %w", commit, err)
			}
		}
		pairs = append(pairs, p)
	}
	return table(w, commits, pairs[0], pairs[1])
}

// clean removes the folder. The go command makes the folders of modules read-only.
func clean(folder string) {
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // ours, and about to be removed
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}

func checkOut(ctx context.Context, commit, clone string) error {
	for _, args := range [][]string{
		{"clone", "-q", ".", clone}, {"-C", clone, "-c", "advice.detachedHead=false", "checkout", "-q", commit},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// demo runs make demo in the clone, with the clone's own caches, and leaves what it printed, with times, in a file.
func demo(ctx context.Context, clone, file string) (figures, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return figures{}, err
	}
	log, err := os.Create(file)
	if err != nil {
		return figures{}, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "make", "demo")
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "GOFLAGS=",
		"GOCACHE="+clone+".build", "GOMODCACHE="+clone+".modules", "XDG_CACHE_HOME="+clone+".cache")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // by its session all of its processes are known
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return figures{}, err
	}
	memory := watchMemory(cmd.Process.Pid)
	lines := make(chan figures)
	go func() { lines <- readLines(read, log, start) }()
	err = cmd.Wait()
	write.Close()
	f := <-lines
	f.whole, f.memory = time.Since(start), memory()
	return f, err
}

// readLines copies the lines and takes the time of them.
func readLines(r io.Reader, log io.Writer, start time.Time) figures {
	var f figures
	last := start
	for s := bufio.NewScanner(r); s.Scan(); {
		now := time.Now()
		f.silence = max(f.silence, now.Sub(last))
		last = now
		if strings.HasPrefix(s.Text(), "That was the pod's part.") {
			f.pod = now.Sub(start)
		}
		fmt.Fprintf(log, "%6.1f %s\n", now.Sub(start).Seconds(), s.Text())
	}
	return f
}

func table(w io.Writer, commits []string, before, after pair) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t%s\t%s\tratio\t\n", commits[0], commits[1])
	row := func(name, unit string, a, b float64) {
		fmt.Fprintf(t, "%s\t%.1f %s\t%.1f %s\t%.2f\t\n", name, a, unit, b, unit, b/cmp.Or(a, 1))
	}
	row("first make demo", "s", before.first.whole.Seconds(), after.first.whole.Seconds())
	row("until the pod's part was shown", "s", before.first.pod.Seconds(), after.first.pod.Seconds())
	row("longest silence", "s", before.first.silence.Seconds(), after.first.silence.Seconds())
	row("second make demo", "s", before.second.whole.Seconds(), after.second.whole.Seconds())
	row("memory of the second", "GiB", gib(before.second.memory), gib(after.second.memory))
	return t.Flush()
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }
