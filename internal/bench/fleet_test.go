package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
)

func recorded(t *testing.T, name string) host.Snapshot {
	t.Helper()
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
	return machine.Snapshot()
}

// Two pods of one job: the rails have the same names, and other devices.
func TestPodOf(t *testing.T) {
	for name, want := range map[string][]string{
		"pod-roce-4vf":        {"rail-1 mlx5_6:1 net1 gid 3 392.1 Gb/s by link", "rail-2 mlx5_7:1 net2 gid 3 392.1 Gb/s by link", "rail-3 mlx5_10:1 net3 gid 3 392.1 Gb/s by link", "rail-4 mlx5_11:1 net4 gid 3 392.1 Gb/s by link"},
		"pod-roce-4vf-node-b": {"rail-2 mlx5_6:1 net2", "rail-1 mlx5_7:1 net1"},
		"pod-infiniband-4vf":  {"gid -1"},
		"pod-no-rdma":         nil,
	} {
		p := PodOf("h-kim-0", "gpu-1", "10.128.2.10", nil, recorded(t, name))
		var got []string
		for _, r := range p.Rails {
			got = append(got, fmt.Sprintf("%s %s:%d %s gid %d %s by %s", r.Name, r.Device, r.Port, r.Netdev, r.GID, r.Ceiling.Rate, r.Ceiling.By))
		}
		text := strings.Join(got, "\n")
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%s: no %q in\n%s", name, line, text)
			}
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRailsOfOneAttachment: a pod that lists one attachment for each of its rails has all of them.
func TestRailsOfOneAttachment(t *testing.T) {
	s := recorded(t, "pod-roce-4vf")
	for i := range s.NetworkStatus {
		if n := &s.NetworkStatus[i]; !n.Default {
			n.Name = "training/sriov"
		}
	}
	pods, left := Align([]Pod{PodOf("h-kim-0", "gpu-1", "", nil, s), PodOf("h-kim-1", "gpu-2", "", nil, s)})
	for _, p := range pods {
		var names []string
		for _, r := range p.Rails {
			names = append(names, r.Name)
		}
		if d := cmp.Diff([]string{"net1", "net2", "net3", "net4"}, names); d != "" || left != nil {
			t.Errorf("%s: %v: %s", p.Name, left, d)
		}
	}
}

func TestAlign(t *testing.T) {
	pod := func(name string, rails ...string) Pod {
		p := Pod{Name: name}
		for i, r := range rails {
			p.Rails = append(p.Rails, PodRail{Name: r, Device: fmt.Sprintf("mlx5_%d", i)})
		}
		return p
	}
	for name, c := range map[string]struct {
		pods []Pod
		want []string // the rails of each pod, by name and device
		left []string
	}{
		"alike": {[]Pod{pod("a", "x", "y"), pod("b", "x", "y")}, []string{"x:mlx5_0 y:mlx5_1", "x:mlx5_0 y:mlx5_1"}, nil},
		"in another order": {
			[]Pod{pod("a", "x", "y"), pod("b", "y", "x")}, []string{"x:mlx5_0 y:mlx5_1", "x:mlx5_1 y:mlx5_0"}, nil,
		},
		"one lacks a rail": {
			[]Pod{pod("a", "x", "y"), pod("b", "y")}, []string{"y:mlx5_1", "y:mlx5_0"}, []string{"rail x of a: not every pod has it"},
		},
		"no name in common": {
			[]Pod{pod("a", "ens1", "ens2"), pod("b", "enp1")}, []string{"rail1:mlx5_0", "rail1:mlx5_0"},
			[]string{"1 of 2 rails of a: other pods have only 1", "names of rails: the pods have none in common, so rails are matched by their order"},
		},
		"none at all": {[]Pod{pod("a"), pod("b")}, []string{"", ""}, nil},
	} {
		aligned, left := Align(c.pods)
		var got []string
		for _, p := range aligned {
			var rails []string
			for _, r := range p.Rails {
				rails = append(rails, r.Name+":"+r.Device)
			}
			got = append(got, strings.Join(rails, " "))
		}
		if d := cmp.Diff(c.want, got) + cmp.Diff(c.left, left); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if aligned, left := Align(nil); aligned != nil || left != nil {
		t.Error("no pods")
	}
}

func TestSentBytes(t *testing.T) {
	p := Pod{Rails: []PodRail{{Device: "mlx5_6", Port: 1}, {Device: "mlx5_7", Port: 1}}}
	device := func(name string, counters map[string]uint64) host.Device {
		return host.Device{Name: name, Ports: []host.Port{{Number: 1, Counters: counters}}}
	}
	sent := map[string]uint64{"port_xmit_data": 1000}
	for name, c := range map[string]struct {
		devices []host.Device
		want    int64
	}{
		"words of four bytes":       {[]host.Device{device("mlx5_6", sent), device("mlx5_7", sent), device("mlx5_8", sent)}, 8000},
		"one port hides its own":    {[]host.Device{device("mlx5_6", sent), device("mlx5_7", nil)}, -1},
		"one device is not there":   {[]host.Device{device("mlx5_6", sent)}, -1},
		"software counts otherwise": {[]host.Device{device("mlx5_6", map[string]uint64{"sent_pkts": 7}), device("mlx5_7", sent)}, -1},
	} {
		if got := SentBytes(p, host.Snapshot{Devices: c.devices}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := SentBytes(Pod{}, host.Snapshot{}); got != -1 {
		t.Errorf("no rail: %d", got)
	}
}

// TestPortsOfOneCard: two ports of 400 Gb/s on one card have a ceiling of their own each, and together that of the
// slot. A slot of 16 lanes at 32 GT/s carries the data of one.
func TestPortsOfOneCard(t *testing.T) {
	s := recorded(t, "pod-roce-4vf")
	before := PodOf("a", "gpu-1", "", nil, s)
	for i := range s.Devices { // two cards of two ports
		f := &s.Devices[i].Function.Value
		f.PhysFn = host.Know(host.PCIAddress{Bus: uint8(0x10 + i/2), Function: uint8(i % 2)})
	}
	after := PodOf("b", "gpu-2", "", nil, s)
	f := Fleet{Pods: []Pod{before, after}}
	for r := range f.Rails() {
		l := Link{End{0, r}, End{1, r}}
		alone, all := f.Ceiling(l), f.CeilingOfAll(l)
		if after.Rails[r].SlotShare != 0.5 || before.Rails[r].SlotShare != 0 ||
			alone.By != ByLink || all.By != ByPCIe ||
			all.Rate != alone.PCIe.Value/2 {
			t.Errorf("rail %d: share %g, alone %v, all %v", r, after.Rails[r].SlotShare, alone, all)
		}
	}
	steps := f.Ladder(0, 1).Ladders(nil)[0].Steps
	at := slices.IndexFunc(steps, func(s Step) bool { return s.Name == AllRails })
	want := f.Pods[1].Rails[0].Ceiling.PCIe.Value * 2
	if at < 0 || steps[at].Ceiling != want || steps[at].By != ByPCIe {
		t.Errorf("all rails: want %v, got %+v", want, steps)
	}
}
