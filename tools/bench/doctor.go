package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/workload"
)

// doctorRuns are few: each is a process of seconds.
const doctorRuns = 3

// mostDoctor is the memory that a diagnosis of 5,000 pods may need.
const mostDoctor = 300_000_000

// doctor shows how the time and the memory of a diagnosis grow with the number of pods: `railhead doctor --from` an
// archive, with all rules. It fails if the largest one needs more memory than it may.
func (p programs) doctor(stdout io.Writer) error {
	fmt.Fprintf(stdout, "\nrailhead doctor --from an archive, median of %d\n  %-32s %8s %8s %8s %8s %8s\n", doctorRuns,
		"pods", "s", "CPU s", "ms/pod", "MB", "archive")
	var c cost
	for _, n := range []int{200, 1000, 5000} {
		file := filepath.Join(p.dir, fmt.Sprintf("doctor-%d.tgz", n))
		size, err := archiveOf(n, file)
		if err != nil {
			return err
		}
		if c, err = p.medianCost(doctorRuns, p.railhead, "doctor", "--from", file, "-o", "json"); err != nil {
			return fmt.Errorf("doctor of %d pods: %w", n, err)
		}
		fmt.Fprintf(stdout, "  %-32d %8.2f %8.2f %8.2f %8d %8.1f\n",
			n, c.wall.Seconds(), c.cpu.Seconds(), 1e3*c.cpu.Seconds()/float64(n), c.peak/1e6, float64(size)/1e6)
	}
	if c.peak > mostDoctor {
		return fmt.Errorf("doctor needs %d MB, more than %d", c.peak/1e6, mostDoctor/1_000_000)
	}
	return nil
}

// archiveOf writes an archive of doctor: a job of n pods on machines with 32 virtual functions, 4 of them in each pod.
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
			Subject: workload.Subject{Job: "job", Namespace: "train"},
		},
		State: cluster.State{Read: []cluster.Kind{cluster.Nodes, cluster.Pods}},
	}
	snapshot := machine.Snapshot()
	for i := range n {
		pod, node := fmt.Sprintf("job-%d", i), fmt.Sprintf("gpu-%d", i)
		b.State.Nodes = append(b.State.Nodes, cluster.Node{
			Name:        node,
			Ready:       true,
			Arch:        "amd64",
			Allocatable: cluster.Resources{"nvidia.com/gpu": 8, "rdma/rail": 4},
		})
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
