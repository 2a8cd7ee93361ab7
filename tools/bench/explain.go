package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// explainRounds is how often each program reads the log, in turn.
const explainRounds = 7

// explain compares `railhead explain` with the grep that people use instead, on the log of a job of 4,096 ranks from
// the page cache, and with itself on a tenth of that log: its memory must not grow with the log.
func explain(megabytes int, railhead string, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "railhead-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var p programs
	if p.self, err = os.Executable(); err != nil {
		return err
	}
	if free, err := freeSpace(dir); err != nil || free < int64(megabytes)*1_500_000 {
		fmt.Fprintf(stdout,
			"\nexplain: not measured: a log of %d MB and a tenth of it need more than %s has free (%d MB) %v\n",
			megabytes, os.TempDir(), free/1e6, errText(err))
		return nil
	}
	if railhead == "" {
		if railhead, err = build(dir, "cmd/railhead"); err != nil {
			return err
		}
	}
	logs, err := build(dir, "tools/logs")
	if err != nil {
		return err
	}
	small, large := filepath.Join(dir, "small.log"), filepath.Join(dir, "large.log")
	for name, mb := range map[string]int{small: megabytes / 10, large: megabytes} {
		if err := generate(logs, name, mb); err != nil {
			return err
		}
	}
	readers := readersOf(railhead, large, small, stdout)
	for i := range readers {
		if err := readers[i].verify(); err != nil {
			return err
		}
	}
	for range explainRounds {
		for i := range readers { // taking turns, so that all see the same disturbances
			c, err := p.cost(readers[i].argv...)
			if err != nil {
				return fmt.Errorf("%s: %w", readers[i].name, err)
			}
			readers[i].runs = append(readers[i].runs, c)
		}
	}
	printReaders(stdout, megabytes, readers)
	return nil
}

// readersOf returns the programs to compare, in the order that printReaders needs.
func readersOf(railhead, large, small string, stdout io.Writer) []reader {
	readers := []reader{
		{
			name:  "railhead explain",
			argv:  []string{railhead, "explain", "-o", "json", large},
			holds: `"outcome": "fail"`,
		},
		{
			name:  `grep -c 'NCCL WARN\|via NET/'`,
			argv:  []string{"grep", "-c", `NCCL WARN\|via NET/`, large},
			holds: "\n",
		},
		{
			name:  "railhead explain, a tenth of it",
			argv:  []string{railhead, "explain", "-o", "json", small},
			holds: `"outcome": "fail"`,
		},
	}
	if rg, err := exec.LookPath("rg"); err == nil {
		readers = append(readers, reader{
			name:  "rg -c 'NCCL WARN|via NET/'",
			argv:  []string{rg, "-c", "NCCL WARN|via NET/", large},
			holds: "\n",
		})
	} else {
		fmt.Fprintln(stdout, "\nrg is not installed: ripgrep is not measured")
	}
	return readers
}

func printReaders(stdout io.Writer, megabytes int, readers []reader) {
	fmt.Fprintf(stdout, "\nlog of 4096 ranks, %d MB, from the page cache; medians of %d runs, in turn\n", megabytes,
		explainRounds)
	fmt.Fprintf(stdout, "  %-32s %8s %8s %8s %8s\n", "s", "wall", "cpu", "best", "peak MB")
	var medians []cost
	for _, r := range readers {
		best := slices.MinFunc(r.runs, func(a, b cost) int { return cmp.Compare(a.wall, b.wall) })
		m := medianOf(r.runs)
		medians = append(medians, m)
		fmt.Fprintf(stdout, "  %-32s %8.2f %8.2f %8.2f %8d\n",
			r.name, m.wall.Seconds(), m.cpu.Seconds(), best.wall.Seconds(), m.peak/1e6)
	}
	explain, grep, tenth := medians[0], medians[1], medians[2]
	fmt.Fprintf(stdout, "  %-32s %8.2f\n", "speed: grep / explain", float64(grep.wall)/float64(explain.wall))
	fmt.Fprintf(stdout, "  %-32s %8.2f\n", "memory: all / a tenth of it", float64(explain.peak)/float64(tenth.peak))
}

// reader is a program that reads a log.
type reader struct {
	name  string
	argv  []string
	holds string // its output
	runs  []cost
}

// verify runs the program once, which also fills the page cache. A wrong answer needs no measuring.
func (r *reader) verify() error {
	out, err := exec.Command(r.argv[0], r.argv[1:]...).Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return err
	}
	if !strings.Contains(string(out), r.holds) {
		return fmt.Errorf("%s: no %q in its output (%w):\n%.1000s", r.name, r.holds, err, out)
	}
	return nil
}

// generate writes a log.
func generate(logs, name string, megabytes int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	cmd := exec.Command(logs, "-ranks", "4096", "-size", strconv.Itoa(megabytes)+"MB")
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	return errors.Join(cmd.Run(), f.Close())
}

func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func middle[T int64 | time.Duration](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
