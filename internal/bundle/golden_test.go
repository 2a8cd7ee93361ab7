package bundle

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/workload"
)

var write = flag.Bool(
	"write",
	false,
	"write the archive of this version where there is none: one that was released is never written again",
)

// golden is the folder with an archive of every released form.
const golden = "../../testdata/bundles"

// released returns a job of two pods, one of them broken, on a cluster with a wrong attachment.
func released(t *testing.T) Bundle {
	t.Helper()
	taken := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := Bundle{
		Manifest: Manifest{Version: "devel", Taken: taken, Subject: workload.Subject{Job: "h-kim", Namespace: "train"}},
		State: cluster.State{
			SchemaVersion: 1,
			Taken:         taken,
			Read:          []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Networks, cluster.Events},
			Server: cluster.Server{
				URL:     "https://api.example.com:6443",
				Version: "v1.34.2",
				Minor:   34,
				Groups:  []string{"apps", cluster.NetworkGroup},
			},
			Networks: []cluster.Network{
				{
					Namespace: "train",
					Name:      "rail-1",
					Resource:  "openshift.io/rail1",
					Type:      "sriov",
					Config:    `{"type":"sriov"}`,
				},
				{
					Namespace: "train",
					Name:      "rail-2",
					Resource:  "openshift.io/rial2",
					Type:      "sriov",
					Config:    `{"type":"sriov"}`,
				},
			},
			Events: []cluster.Event{
				{
					Namespace: "train",
					Object:    "Pod/h-kim-1",
					Type:      "Normal",
					Reason:    "Started",
					Message:   "Started container train",
					Last:      taken,
				},
			},
		},
		Logs: []Log{
			{Name: "pod/train/h-kim-0", Container: "train", Text: "gpu-0:1:1 [0] NCCL INFO Using network IB\n"},
		},
	}
	for i, name := range []string{"pod-roce-4vf", "pod-half-broken"} {
		node, pod := []string{"gpu-0", "gpu-1"}[i], []string{"h-kim-0", "h-kim-1"}[i]
		text, err := os.ReadFile(filepath.Join("../../testdata/hosts", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		archive, err := replay.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		machine, err := sysfs.Recorded(archive)
		if err != nil {
			t.Fatal(err)
		}
		b.State.Nodes = append(
			b.State.Nodes,
			cluster.Node{
				Name:        node,
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"nvidia.com/gpu": 8, "openshift.io/rail1": 8, "openshift.io/rail2": 8},
			},
		)
		b.State.Pods = append(b.State.Pods, cluster.Pod{
			Namespace: "train",
			Name:      pod,
			Node:      node,
			Phase:     "Running",
			Ready:     true,
			Requests:  cluster.Resources{"openshift.io/rail1": 1},
			Labels: map[string]string{
				"app.kubernetes.io/instance": "h-kim",
			}, Containers: []cluster.Container{{Name: "train", Running: true, Ready: true}},
		})
		b.Machines = append(
			b.Machines,
			rules.Machine{Ref: check.PodRef("train", pod), Node: node, Snapshot: machine.Snapshot()},
		)
	}
	b.Machines = append(
		b.Machines,
		rules.Machine{Ref: check.PodRef("train", "h-kim-2"), Node: "gpu-2", Unreached: "no answer within 1m0s"},
	)
	return b
}

// Archives of all released versions are readable and give the same findings.
func TestReleasedArchives(t *testing.T) {
	file := filepath.Join(golden, "v1.tgz")
	if *write {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is released: %v", file, err)
		}
		if err := os.MkdirAll(golden, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, written(t, released(t)), 0o644); err != nil { // a test file, for everybody
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if b.Manifest.SchemaVersion != 1 || b.Manifest.Subject.Job != "h-kim" || len(b.Machines) != 3 ||
		b.Machines[2].Unreached == "" {
		t.Errorf("%+v, %d machines", b.Manifest, len(b.Machines))
	}
	s := b.Machines[0].Snapshot
	if len(s.Devices) != 12 || s.Env["NCCL_IB_HCA"] == "" && len(s.Env) == 0 || len(s.Links) == 0 || len(s.GPUs) == 0 {
		t.Errorf(
			"the snapshot has %d devices, %d variables, %d links, %d GPUs",
			len(s.Devices),
			len(s.Env),
			len(s.Links),
			len(s.GPUs),
		)
	}
	if len(b.State.Nodes) != 2 || len(b.State.Pods) != 2 || len(b.State.Networks) != 2 || len(b.State.Events) != 1 ||
		!b.State.Knows(cluster.Networks) {
		t.Errorf("the state: %+v", b.State)
	}
	if b.Bench != nil {
		t.Errorf("nothing was measured then: %+v", b.Bench)
	}
	if len(b.Logs) != 1 || b.Logs[0].Text == "" {
		t.Errorf("logs: %+v", b.Logs)
	}
}
