package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// costMode is the argument with which bench starts itself to measure one command. The memory of the parent counts for
// a child (getrusage(2), ru_maxrss across execve), so the parent must be a small process.
const costMode = "cost-of"

// cost is the time and the memory of a process.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

func (p programs) cost(argv ...string) (c cost, err error) {
	cmd := exec.Command(p.self, append([]string{costMode}, argv...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &c.wall, &c.cpu, &c.peak)
	}
	if err != nil {
		return c, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	return c, nil
}

// medianCost returns the medians of several runs.
func (p programs) medianCost(runs int, argv ...string) (cost, error) {
	all := make([]cost, runs)
	for i := range all {
		var err error
		if all[i], err = p.cost(argv...); err != nil {
			return cost{}, err
		}
	}
	return medianOf(all), nil
}

func medianOf(all []cost) cost {
	var walls, cpus []time.Duration
	var peaks []int64
	for _, c := range all {
		walls, cpus, peaks = append(walls, c.wall), append(cpus, c.cpu), append(peaks, c.peak)
	}
	return cost{middle(walls), middle(cpus), middle(peaks)}
}

// costMain runs a command, and writes its time and the time of the processors in nanoseconds, and its memory in bytes.
// Findings of doctor are no failure.
func costMain(words []string, stdout, stderr io.Writer) int {
	var printed bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = io.Discard, &printed // a pipe: grep ends at its first match if it writes to /dev/null
	begun := time.Now()
	err := cmd.Run()
	wall := time.Since(begun)
	var ended *exec.ExitError
	const findings = 3 // exit codes of doctor: 0, 1 and 3
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() > findings || ended.ExitCode() < 0) {
		fmt.Fprintf(stderr, "%v\n%s", err, printed.Bytes())
		return 1
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(stderr, "this system does not report the memory of a process")
		return 1
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintln(stdout, int64(wall), int64(cpu), usage.Maxrss<<10) // Linux counts KiB (getrusage(2))
	return 0
}
