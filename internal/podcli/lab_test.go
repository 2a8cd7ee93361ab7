package podcli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/rail"
)

// The rails of the lab's machine node-a when all is well, and those of the same name when something is wrong.
const (
	railOne = "mlx5_0:1 eno5np0v0 192.168.5.1 GID 1 MTU 1500 "
	railTwo = "mlx5_2:1 eno6np0v0 192.168.6.1 GID 1 MTU 1500 "
	lostOne = "mlx5_0:1 "
)

// labMachines are the recordings of the lab, in which a kernel made each fault: what is to be said of them.
var labMachines = map[string]struct {
	rails    []string // with the type of the function's IOMMU group, - for none
	away     []string // devices that were given to the pod and are rejected, with the cause
	findings []string // besides that the machine's other functions can be opened
	exit     exit.Code
	slowDMA  bool // an administrator is told that the IOMMU translates
}{
	"healthy":         {rails: []string{railOne + "identity", railTwo + "identity"}},
	"healthy-peer":    {rails: []string{"mlx5_3:1 eno5np0v0 192.168.5.2 GID 1 MTU 1500 identity", "mlx5_5:1 eno6np0v0 192.168.6.2 GID 1 MTU 1500 identity"}},
	"amd-passthrough": {rails: []string{railOne + "identity", railTwo + "identity"}},
	"no-iommu":        {rails: []string{railOne + "-", railTwo + "-"}},
	"intel-off":       {rails: []string{railOne + "-", railTwo + "-"}},
	"intel-strict":    {rails: []string{railOne + "DMA", railTwo + "DMA"}, slowDMA: true},

	// Faults that the machine's own files show.
	"vf-down": {
		rails: []string{railTwo + "identity"}, away: []string{lostOne + "port 1 DOWN (Disabled) [port-active]"},
		findings: []string{"fail port-active mlx5_0:1"}, exit: exit.Fault,
	},
	"pf-down": {
		rails: []string{railTwo + "identity"}, away: []string{lostOne + "port 1 DOWN (Polling) [port-active]"},
		findings: []string{"fail port-active mlx5_0:1"}, exit: exit.Fault,
	},
	"port-down": {
		rails: []string{railTwo + "identity"}, away: []string{lostOne + "port 1 DOWN (Polling) [port-active]"},
		findings: []string{"fail port-active mlx5_0:1"}, exit: exit.Fault,
	},
	"verbs-missing": {
		away: []string{
			"mlx5_0 its verbs node is not in this container [uverbs-openable]", "mlx5_2 its verbs node is not in this container [uverbs-openable]",
		},
		findings: []string{"fail uverbs-openable pod"}, exit: exit.Fault,
	},
	"no-address": { // the kernel keeps a GID that it made of the MAC
		rails: []string{railTwo + "identity"}, away: []string{lostOne + "only link-local GIDs: eno5np0v0 has no IP address [gid-usable]"},
		findings: []string{"fail gid-usable mlx5_0:1"}, exit: exit.Fault,
	},
	"link-local-only": {
		rails: []string{railTwo + "identity"}, away: []string{lostOne + "only link-local GIDs: eno5np0v0 has no IP address [gid-usable]"},
		findings: []string{"fail gid-usable mlx5_0:1"}, exit: exit.Fault,
	},
	"rdma-exclusive": {
		away: []string{
			"0000:01:10.0 allocated, but has no RDMA device [device-allocated]", "0000:02:10.0 allocated, but has no RDMA device [device-allocated]",
		},
		findings: []string{"fail rdma-namespace pod"}, exit: exit.Fault,
	},
	"iommu-translated":     {rails: []string{railOne + "DMA-FQ", railTwo + "DMA-FQ"}, slowDMA: true},
	"iommu-translated-amd": {rails: []string{railOne + "DMA", railTwo + "DMA"}, slowDMA: true},
	"iommu-absent":         {rails: []string{railOne + "-", railTwo + "-"}},

	// Faults that show in comparison with the recording of the other end of the rails.
	"mtu":               {rails: []string{"mlx5_0:1 eno5np0v0 192.168.5.1 GID 1 MTU 9000 identity", railTwo + "identity"}},
	"duplicate-address": {rails: []string{"mlx5_0:1 eno5np0v0 192.168.5.2 GID 1 MTU 1500 identity", railTwo + "identity"}},

	// Faults of which a pod's files say nothing: it has its rails, and nothing is made up about them.
	"wrong-mac":      {rails: []string{railOne + "identity", railTwo + "identity"}},
	"arp-flux":       {rails: []string{railOne + "identity", railTwo + "identity"}},
	"rail-isolation": {rails: []string{railOne + "identity", railTwo + "identity"}},
	"firewall":       {rails: []string{railOne + "identity", railTwo + "identity"}},
	"packet-loss":    {rails: []string{railOne + "identity", railTwo + "identity"}},
	"slow-rail":      {rails: []string{railOne + "identity", railTwo + "identity"}},
}

// TestLabMachines: of every fault that a kernel made, the reason that is said is the right one.
func TestLabMachines(t *testing.T) {
	files, err := filepath.Glob("../../testdata/hosts/lab-*.txtar")
	if err != nil || len(files) != len(labMachines) {
		t.Errorf("%d recordings, and %d are told of here; %v", len(files), len(labMachines), err)
	}
	for name, want := range labMachines {
		t.Run(name, func(t *testing.T) {
			file := "../../testdata/hosts/lab-" + name + ".txtar"
			m, err := sysfs.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			s := m.Snapshot()
			d := detect(s, rail.Pod, false)
			if diff := cmp.Diff(want.rails, railsOf(d)); diff != "" {
				t.Errorf("rails (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.away, awayOf(d)); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.findings, findingsOf(d)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if _, talk, code := cli("detect", "--root", file); code != want.exit {
				t.Errorf("detect: exit %d, want %d\n%s", code, want.exit, talk)
			}
			slow := false
			node := setup.CheckedNode{Name: name, Snapshot: s}
			for _, f := range setup.Verify(cluster.State{}, setup.Options{NoMemlock: true}, node) {
				slow = slow || f.Check == nccl.IOMMUPassthrough && f.Status == check.Fail
			}
			if slow != want.slowDMA {
				t.Errorf("an administrator is told that the IOMMU translates: %v", slow)
			}
		})
	}
}

func railsOf(d detection) (all []string) {
	for _, r := range d.Rails {
		kind, ok := r.Function.Value.IOMMUType.Get()
		if !ok {
			kind = "-"
		}
		all = append(all, fmt.Sprintf("%s %s %s GID %d MTU %s %s", r.Name(), r.Netdev, r.GID.IP(), r.GID.Index, r.MTU, kind))
	}
	return all
}

// awayOf leaves out the functions that were not given to the pod.
func awayOf(d detection) (all []string) {
	for _, a := range d.Rejected {
		if len(a.Sources) > 0 {
			all = append(all, fmt.Sprintf("%s %s [%s]", a.Name(), a.Reason, a.Cause))
		}
	}
	return all
}

// findingsOf leaves out that a machine which stands for a pod can open all its functions: it is no container.
func findingsOf(d detection) (all []string) {
	for _, f := range d.Findings {
		if f.Check != rail.ForeignHCAHidden {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Status, f.Check, f.Subject)))
		}
	}
	return all
}
