package html

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
)

// column returns the labels of one column of a picture, with the status of bad parts.
func column(m Machine, n int) []string {
	var labels []string
	for _, p := range m.Parts {
		if p.Column != n {
			continue
		}
		label := strings.TrimSuffix(p.Label+" "+p.Below, " ")
		if p.Status > check.Skipped {
			label = p.Status.String() + ": " + label
		}
		labels = append(labels, label)
	}
	return labels
}

func TestMachine(t *testing.T) {
	machines := recorded(t, "pod-roce-4vf", "pod-half-broken", "pod-infiniband-4vf")
	drawn, left := machinesOf(machines, nil)
	if left != 0 || drawn[0].Name != "pod/train/pod-half-broken" || drawn[0].Status != check.Fail {
		t.Fatalf("%d are left, and the first is %s: %s", left, drawn[0].Name, drawn[0].Status)
	}
	for name, test := range map[string]struct {
		machine Machine
		column  int
		want    []string
	}{
		"GPUs": {
			draw1(t, machines[0]), gpuColumn,
			[]string{"GPU 0 18:00.0", "GPU 1 2d:00.0", "GPU 2 98:00.0", "GPU 3 ad:00.0"},
		},
		"PCIe": {draw1(t, machines[0]), switchColumn, []string{
			"PCIe switch 16:00.0 · NUMA 0", "PCIe switch 2b:00.0 · NUMA 0", "PCIe switch 96:00.0 · NUMA 1",
			"PCIe switch ab:00.0 · NUMA 1",
		}},
		"NICs": {
			draw1(t, machines[0]), nicColumn,
			[]string{
				"mlx5_6:1 400 Gb/s RoCE", "mlx5_7:1 400 Gb/s RoCE", "mlx5_10:1 400 Gb/s RoCE",
				"mlx5_11:1 400 Gb/s RoCE",
			},
		},
		"rails": {
			draw1(t, machines[0]), railColumn,
			[]string{"net1 10.10.11.161", "net2 10.10.12.161", "net3 10.10.13.161", "net4 10.10.14.161"},
		},
		"subnets": {
			draw1(t, machines[0]), subnetColumn,
			[]string{"10.10.11.0/24", "10.10.12.0/24", "10.10.13.0/24", "10.10.14.0/24"},
		},
		"NICs of a broken pod": {drawn[0], nicColumn, []string{
			"warn: mlx5_8:1 400 Gb/s RoCE", "fail: mlx5_9:1 not used", "fail: mlx5_10 not used",
			"fail: mlx5_11:1 not used", "fail: mlx5_12:1 not used",
			"warn: mlx5_13:1 200 Gb/s RoCE", "warn: mlx5_14:1 400 Gb/s RoCE", "warn: mlx5_15:1 400 Gb/s RoCE",
		}},
		"one InfiniBand subnet of all rails": {draw1(t, machines[2]), subnetColumn, []string{"fe80::/64"}},
	} {
		if diff := cmp.Diff(test.want, column(test.machine, test.column)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func draw1(t *testing.T, m rules.Machine) Machine {
	t.Helper()
	drawn, _ := machinesOf([]rules.Machine{m}, nil)
	return drawn[0]
}

// A node leaves its virtual functions to pods, and a pod sees the devices of its whole node: these are marked only if a
// finding is about them.
func TestUnusedDevices(t *testing.T) {
	node := func(name string) rules.Machine {
		m := recorded(t, name)[0]
		m.Ref, m.Snapshot.Env = check.NodeRef(name), nil // recorded in a pod, which was given devices
		return m
	}
	for name, test := range map[string]struct {
		machine rules.Machine
		note    string
		want    []string
	}{
		"virtual functions on a node": {
			node("lab-healthy"), "no rail of its own, 0 GPUs",
			[]string{"mlx5_0 for pods", "mlx5_1 for pods", "mlx5_2 for pods", "mlx5_3 for pods"},
		},
		"a physical function that is down": {
			node("lab-pf-down"), "no rail of its own, 0 GPUs",
			[]string{"fail: mlx5_0 for pods", "fail: mlx5_1 for pods", "mlx5_2 for pods", "mlx5_3 for pods"},
		},
		"a pod that was given no device": {
			recorded(t, "pod-infiniband-unallocated")[0], "0 rails, 4 GPUs",
			[]string{"mlx5_6 not used", "mlx5_7 not used", "mlx5_10 not used", "mlx5_11 not used"},
		},
		"a pod whose devices have no address": {
			recorded(t, "pod-no-address")[0], "0 rails, 0 GPUs",
			[]string{
				"fail: mlx5_6:1 not used", "fail: mlx5_7:1 not used", "fail: mlx5_10:1 not used",
				"fail: mlx5_11:1 not used",
			},
		},
	} {
		m := draw1(t, test.machine)
		if diff := cmp.Diff(test.want, column(m, nicColumn)); diff != "" || m.Note != test.note {
			t.Errorf("%s: %s: -want +got\n%s", name, m.Note, diff)
		}
	}
}

func TestUnreachedMachine(t *testing.T) {
	drawn, _ := machinesOf([]rules.Machine{{Ref: check.PodRef("train", "a"), Unreached: "no answer in 1m0s"}}, nil)
	want := []Machine{{Name: "pod/train/a", Status: check.Unknown, Note: "no answer in 1m0s"}}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Error(diff)
	}
}

// A part has the status of findings about it, or with it as evidence, but not of findings about mlx5_10.
func TestJudgedParts(t *testing.T) {
	one, ten := nic{
		name:   "mlx5_1:1",
		device: host.Device{Name: "mlx5_1"},
	}, nic{
		name:   "mlx5_10:1",
		device: host.Device{Name: "mlx5_10"},
	}
	for name, f := range map[string]check.Finding{
		"the device":         {Subject: check.DeviceRef("mlx5_1")},
		"its port":           {Subject: check.RailRef("mlx5_1:1")},
		"evidence of a node": {Subject: check.Ref{Kind: check.Node}, About: []check.Ref{check.PortRef("mlx5_1", 1)}},
	} {
		f.Status = check.Fail
		d := drawing{found: []check.Finding{f}}
		if d.judge(Part{}, one.refs()...).Status != check.Fail || d.judge(Part{}, ten.refs()...).Status != check.Pass {
			t.Errorf(
				"%s: mlx5_1 is %s and mlx5_10 is %s",
				name,
				d.judge(Part{}, one.refs()...).Status,
				d.judge(Part{}, ten.refs()...).Status,
			)
		}
	}
}

// Only the slow NIC of a bench is red in the picture of its pod.
func TestBlamedNIC(t *testing.T) {
	p := FromBench(simulated(8, 4, slowNIC(5, 2, 0.4)), "")
	if p.Machines[0].Name != "pod/h-kim-5" || p.Machines[1].Status != check.Pass {
		t.Errorf(
			"%s is the worst, and then %s, which is %s",
			p.Machines[0].Name,
			p.Machines[1].Name,
			p.Machines[1].Status,
		)
	}
	want := []string{"mlx5_2:1 392.1 Gb/s", "mlx5_3:1 392.1 Gb/s", "fail: mlx5_4:1 392.1 Gb/s", "mlx5_5:1 392.1 Gb/s"}
	if diff := cmp.Diff(want, column(p.Machines[0], nicColumn)); diff != "" {
		t.Error(diff)
	}
}

func TestVerdicts(t *testing.T) {
	ladders := withLadders(simulated(2, 8))
	failed := bench.Result{
		MinEfficiency: 0.9,
		AllReduces:    []bench.AllReduceRun{{Mode: "rdma", Tool: "torch", Failed: "NCCL used TCP"}},
	}
	failedThenGood := bench.Result{
		Findings: []check.Finding{{Status: check.Pass}},
		AllReduces: []bench.AllReduceRun{
			failed.AllReduces[0],
			{Mode: "tcp", Tool: "torch", Sizes: []bench.SizedRate{{Bytes: 1 << 20, Busbw: 2}}},
		},
	}
	for name, test := range map[string]struct {
		page Page
		want check.Status
		text string
	}{
		"nothing was measured": {
			FromBench(bench.Result{MinEfficiency: 0.9}, ""), check.Unknown, "nothing was measured",
		},
		"a healthy fabric": {
			FromBench(simulated(8, 4), ""), check.Pass, "Every measurement reaches 90.0 % of its ceiling.",
		},
		"a slow NIC":                {FromBench(simulated(8, 4, slowNIC(5, 2, 0.4)), ""), check.Fail, "h-kim-5"},
		"a gap in a ladder":         {FromBench(ladders, ""), check.Fail, "GPU memory"},
		"an all-reduce that failed": {FromBench(failed, ""), check.Fail, ""},
		"a failed all-reduce before a good one": {
			FromBench(failedThenGood, ""), check.Fail, "A measurement failed.",
		},
		"nothing was examined": {FromDiagnosis(Diagnosed{}), check.Unknown, "Nothing was examined."},
		"the worst of two pages": {
			Join(FromBench(simulated(8, 4), ""), FromBench(simulated(8, 4, slowNIC(5, 2, 0.4)), "")), check.Fail,
			"h-kim-5",
		},
		"unknown is never healthy": {
			Join(FromBench(simulated(8, 4), ""), FromDiagnosis(Diagnosed{})), check.Unknown, "Nothing was examined.",
		},
	} {
		if v := test.page.Verdict; v.Status != test.want || !strings.Contains(v.Text, test.text) {
			t.Errorf("%s: %s: %s", name, v.Status, v.Text)
		}
	}
}
