package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
)

// costMode is the argument with which bench starts itself to run one command and say what it took. A process begins
// with the memory of the one that starts it counted as its own (getrusage(2), ru_maxrss across execve), so it must be a
// small one.
const costMode = "cost-of"

// doctorRuns are few: each is a process of seconds.
const doctorRuns = 3

// doctor shows how the time and the memory of a diagnosis grow with the number of pods: `railhead doctor --from` an
// archive, with all rules.
func (p programs) doctor(stdout io.Writer) error {
	fmt.Fprintf(stdout, "\nrailhead doctor --from an archive, median of %d\n  %-32s %8s %8s %8s %8s\n", doctorRuns,
		"pods", "s", "CPU s", "MB", "archive")
	for _, n := range []int{200, 1000, 5000} {
		file := filepath.Join(p.dir, fmt.Sprintf("doctor-%d.tgz", n))
		size, err := archiveOf(n, file)
		if err != nil {
			return err
		}
		var walls, busy []time.Duration
		var sizes []int64
		for range doctorRuns {
			out, err := exec.Command(p.self, costMode, p.railhead, "doctor", "--from", file, "-o", "json").Output()
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				return fmt.Errorf("doctor of %d pods: %w\n%s", n, err, ended.Stderr)
			}
			var wall, worked time.Duration
			var memory int64
			if err == nil {
				_, err = fmt.Sscan(string(out), &wall, &worked, &memory)
			}
			if err != nil {
				return fmt.Errorf("doctor of %d pods: %w", n, err)
			}
			walls, busy, sizes = append(walls, wall), append(busy, worked), append(sizes, memory)
		}
		slices.Sort(walls)
		slices.Sort(busy)
		slices.Sort(sizes)
		fmt.Fprintf(stdout, "  %-32d %8.2f %8.2f %8d %8.1f\n", n, walls[doctorRuns/2].Seconds(),
			busy[doctorRuns/2].Seconds(), sizes[doctorRuns/2]/1e6, float64(size)/1e6)
	}
	return nil
}

// archiveOf writes what doctor keeps of a job of n pods on machines with 32 virtual functions, of which each pod owns
// 4.
func archiveOf(n int, file string) (size int64, err error) {
	text, err := spec{hcas: 32, owned: 4, gids: 16}.archive()
	if err != nil {
		return 0, err
	}
	recording, err := replay.Parse(text)
	if err != nil {
		return 0, err
	}
	machine, err := sysfs.Recorded(recording)
	if err != nil {
		return 0, err
	}
	b := bundle.Bundle{
		Manifest: bundle.Manifest{
			Version: "bench",
			Taken:   time.Unix(0, 0),
			Subject: bundle.Subject{Job: "job", Namespace: "train"},
		},
		State: cluster.State{Read: []cluster.Kind{cluster.Nodes, cluster.Pods}},
	}
	snapshot := machine.Snapshot()
	for i := range n {
		pod, node := fmt.Sprintf("job-%d", i), fmt.Sprintf("gpu-%d", i)
		b.State.Nodes = append(
			b.State.Nodes,
			cluster.Node{
				Name:        node,
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"nvidia.com/gpu": 8, "rdma/rail": 4},
			},
		)
		b.State.Pods = append(b.State.Pods, cluster.Pod{
			Namespace:  "train",
			Name:       pod,
			Node:       node,
			Phase:      "Running",
			Ready:      true,
			Containers: []cluster.Container{{Name: "train", Running: true, Ready: true}},
		})
		b.Machines = append(b.Machines, rules.Machine{Ref: check.PodRef("train", pod), Node: node, Snapshot: snapshot})
	}
	out, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(bundle.Write(out, b), out.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// costMain runs a command, and writes nanoseconds, those of the processors, and bytes. A verdict that is no good one is
// a verdict.
func costMain(words []string, stdout, stderr io.Writer) int {
	var said bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = io.Discard, &said // a pipe: grep ends at its first match where it writes to /dev/null
	begun := time.Now()
	err := cmd.Run()
	wall := time.Since(begun)
	var ended *exec.ExitError
	const findings = 3 // exit codes of doctor: 0, 1 and 3
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() > findings || ended.ExitCode() < 0) {
		fmt.Fprintf(stderr, "%v\n%s", err, said.Bytes())
		return 1
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(stderr, "this system does not say how much memory a process had")
		return 1
	}
	worked := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintln(stdout, int64(wall), int64(worked), usage.Maxrss<<10) // Linux counts KiB (getrusage(2))
	return 0
}
