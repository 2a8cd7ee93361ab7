package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// command is a whole process that is measured.
type command struct {
	name  string
	words []string
}

// cost of one run.
type cost struct {
	wall time.Duration
	rss  int64 // bytes, at most
}

// compare runs all commands in turn, so that whatever else the machine does touches all alike.
func compare(ctx context.Context, f flags, kubeconfig string, w io.Writer) error {
	at := []string{"--kubeconfig", kubeconfig}
	all := []command{
		{
			"kubectl get nodes,pods -A -o json",
			append([]string{f.kubectl, "get", "nodes,pods", "-A", "-o", "json"}, at...),
		},
		{"railhead inventory", append([]string{f.railhead, "inventory"}, at...)},
		{"railhead inventory -o json", append([]string{f.railhead, "inventory", "-o", "json"}, at...)},
		{"railhead --version", []string{f.railhead, "--version"}},
	}
	costs := map[string][]cost{}
	for i := range f.runs + 1 {
		for _, c := range all {
			took, err := c.run(ctx)
			if err != nil {
				return err
			}
			if i > 0 { // the first one warms the server's caches
				costs[c.name] = append(costs[c.name], took)
			}
		}
	}
	base := median(costs[all[0].name])
	for _, c := range all {
		m := median(costs[c.name])
		fmt.Fprintf(w, "%-36s %9s  %5.2f times  %4d MB\n", c.name, m.wall.Round(100*time.Microsecond),
			m.wall.Seconds()/base.wall.Seconds(), m.rss/1e6)
	}
	return nil
}

// measureMode makes this program run one command and report its cost. A process begins with the memory of the one that
// starts it counted as its own (getrusage(2), ru_maxrss across execve), so it must be a small one that does.
const measureMode = "measure"

// run runs the command through a small process.
func (c command) run(ctx context.Context) (cost, error) {
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	var took cost
	cmd := exec.CommandContext(ctx, self, append([]string{measureMode}, c.words...)...)
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &took.wall, &took.rss)
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%w: %s", err, ended.Stderr)
	}
	if err != nil {
		return took, fmt.Errorf("%s: %w", c.name, err)
	}
	return took, nil
}

// measure runs a command, and writes nanoseconds and bytes.
func measure(words []string, w io.Writer) error {
	var said bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("this system does not say how much memory a process had")
	}
	_, err = fmt.Fprintln(w, int64(wall), usage.Maxrss<<10) // Linux counts KiB (getrusage(2))
	return err
}

// median returns the median of each measure separately.
func median(costs []cost) cost {
	walls, sizes := make([]time.Duration, 0, len(costs)), make([]int64, 0, len(costs))
	for _, c := range costs {
		walls, sizes = append(walls, c.wall), append(sizes, c.rss)
	}
	slices.Sort(walls)
	slices.Sort(sizes)
	return cost{walls[len(walls)/2], sizes[len(sizes)/2]}
}
