package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
)

func TestRDMAOffers(t *testing.T) {
	s := State{
		Read: []Kind{Nodes},
		Nodes: []Node{
			{Name: "b", Allocatable: Resources{"openshift.io/eno5np0": 8, "openshift.io/dpdk": 4, "rdma/shared": 63, "nvidia.com/gpu": 8, "cpu": 1000, "hugepages-2Mi": 0}},
			{Name: "a", Allocatable: Resources{"openshift.io/eno5np0": 0, "nvidia.com/mlx5_0": 1, "nvidia.com/hostdev": 2, "example.com/fast": 1, "openshift.io/roce_dpdk": 1}},
		},
		SriovPolicies: []SriovPolicy{{Name: "p", ResourceName: "eno5np0", RDMA: true}, {Name: "d", ResourceName: "dpdk"}, {Name: "v", ResourceName: "roce_dpdk", RDMA: true, DeviceType: "vfio-pci"}},
		Networks:      []Network{{Namespace: "x", Name: "h", Type: "host-device", Resource: "nvidia.com/hostdev"}, {Namespace: "x", Name: "d", Type: "sriov", Resource: "openshift.io/dpdk"}},
		DRADevices:    []DRADevice{{Driver: "dra.net", Node: "a", RDMA: true}, {Driver: "dra.net", Node: "a", RDMA: true}, {Driver: "dra.net", Node: "b"}},
	}
	want := []Offer{
		{Resource: "nvidia.com/hostdev", PerNode: map[string]int64{"a": 2}, Why: []string{"NetworkAttachmentDefinition x/h of type host-device names it"}},
		{Resource: "nvidia.com/mlx5_0", PerNode: map[string]int64{"a": 1}, Why: []string{"its name"}},
		{Resource: "openshift.io/eno5np0", PerNode: map[string]int64{"a": 0, "b": 8}, Why: []string{"SriovNetworkNodePolicy p has isRdma: true"}},
		{Resource: "rdma/shared", PerNode: map[string]int64{"b": 63}, Why: []string{"prefix rdma/ of the shared RDMA device plugin"}},
	}
	got := s.RDMAOffers()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RDMAOffers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, got[2].Nodes()); diff != "" {
		t.Errorf("Nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]DRAOffer{{Driver: "dra.net", PerNode: map[string]int64{"a": 2}}}, s.DRAOffers()); diff != "" {
		t.Errorf("DRAOffers (-want +got):\n%s", diff)
	}
}

func TestRails(t *testing.T) {
	nodes := []Node{{Name: "g1", Allocatable: Resources{"openshift.io/a": 8, "openshift.io/z": 0}}, {Name: "g2", Allocatable: Resources{"openshift.io/a": 8}}}
	networks := []Network{
		{Namespace: "train", Name: "b-unoffered", Type: "sriov", Resource: "openshift.io/b"},
		{Namespace: "train", Name: "a-good", Type: "sriov", Resource: "openshift.io/a"},
		{Namespace: "train", Name: "c-without", Type: "sriov"},
		{Namespace: "train", Name: "d-broken", Resource: "openshift.io/a", Broken: "invalid character"},
		{Namespace: "train", Name: "e-bridge", Type: "bridge", Resource: "bridge.network.kubevirt.io/br1"},
		{Namespace: "train", Name: "f-plain", Type: "sriov", Resource: "openshift.io/plain"},
		{Namespace: "train", Name: "g-zero", Type: "sriov", Resource: "openshift.io/z"},
		{Namespace: "other", Name: "x", Type: "sriov", Resource: "openshift.io/a"},
	}
	s := State{Read: []Kind{Nodes, Networks}, Nodes: nodes, Networks: networks, SriovPolicies: []SriovPolicy{{Name: "plain", ResourceName: "plain"}}}
	want := map[string]string{
		"a-good": "", "b-unoffered": "no node offers openshift.io/b", "c-without": "no annotation k8s.v1.cni.cncf.io/resourceName: no device comes with it",
		"d-broken": "its configuration cannot be read: invalid character", "e-bridge": "nothing says that bridge.network.kubevirt.io/br1 is RDMA",
		"f-plain": "openshift.io/plain is not RDMA: SriovNetworkNodePolicy plain has isRdma: false, deviceType: netdevice",
		"g-zero":  "0 of openshift.io/z on g1",
	}
	got := map[string]string{}
	for _, r := range s.Rails("train") {
		got[r.Network] = r.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Rails (-want +got):\n%s", diff)
	}
	usable := s.UsableRails("train")
	if len(usable) != 1 || !cmp.Equal([]string{"g1", "g2"}, usable[0].Nodes()) {
		t.Errorf("UsableRails: %+v", usable)
	}
	t.Run("nodes that could not be read turn nothing away", func(t *testing.T) {
		blind := State{Read: []Kind{Networks}, Networks: networks[:2]}
		for _, r := range blind.Rails("train") {
			if !r.Usable() {
				t.Errorf("%s: %s", r.Network, r.Reason)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	among := []string{"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma", "nvidia.com/mlx5_0", "rdma/rdma_shared_device_a"}
	for name, want := range map[string][]string{
		"openshift.io/eno5np0_rdma":       {"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma"},
		"nvidia.com/eno5np0rdma":          {"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma"},
		"openshift.io/rdma_shared_device": {"rdma/rdma_shared_device_a"},
		"rdma/hca":                        nil,
		"openshift.io/eno5np0rdma":        {"openshift.io/eno6np0rdma"},
		"":                                nil,
	} {
		if diff := cmp.Diff(want, Nearest(name, among)); diff != "" {
			t.Errorf("Nearest(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	gpu := Resources{"nvidia.com/gpu": 8}
	both := Resources{"nvidia.com/gpu": 8, "rdma/a": 1, "rdma/b": 1}
	known := []Kind{Nodes, Networks, SCCs, SriovNodes}
	for name, c := range map[string]struct {
		s    State
		want map[check.ID]check.Status
		says []string
	}{
		"all is there": {s: State{Read: known, Nodes: []Node{{Name: "a", Allocatable: both}, {Name: "b", Allocatable: both}}}},
		"a list is forbidden": {
			s:    State{Read: known, Problems: []Problem{{Kind: Nodes, Err: "nodes is forbidden", Forbidden: true}}},
			want: map[check.ID]check.Status{ClusterReadable: check.Unknown}, says: []string{"kubectl auth can-i list nodes -A"},
		},
		"a GPU that no plugin offers": {
			s:    State{Read: known, Nodes: []Node{{Name: "a", Labels: map[string]string{"nvidia.com/gpu.present": "true"}}}},
			want: map[check.ID]check.Status{GPUNodes: check.Fail}, says: []string{"none of 1 nodes", "node/a: label nvidia.com/gpu.present=true"},
		},
		"GPUs without rails, DRA beside them": {
			s: State{Read: known, Nodes: []Node{{Name: "a", Allocatable: gpu}, {Name: "c", Allocatable: Resources{"rdma/a": 1}}},
				DRADevices: []DRADevice{{Driver: "dra.net", Node: "a", RDMA: true}}},
			want: map[check.ID]check.Status{RDMAResources: check.Fail}, says: []string{"rdma/a: offered by c", "resourceslices of dra.net"},
		},
		"a node that lacks a rail": {
			s:    State{Read: known, Nodes: []Node{{Name: "a", Allocatable: both}, {Name: "b", Allocatable: Resources{"nvidia.com/gpu": 8, "rdma/a": 1}}}},
			want: map[check.ID]check.Status{RailsEven: check.Warn}, says: []string{"1 of 2 nodes", "nodes b: rdma/a (want also rdma/b)"},
		},
		"attachments with one wrong name in two namespaces": {
			s: State{Read: known, Nodes: []Node{{Name: "a", Allocatable: both}}, Networks: []Network{
				{Namespace: "x", Name: "n", Type: "sriov", Resource: "rdma/c"}, {Namespace: "y", Name: "n", Type: "sriov", Resource: "rdma/c"}, {Namespace: "y", Name: "br", Type: "bridge"}}},
			want: map[check.ID]check.Status{NetworkResource: check.Fail}, says: []string{"x/n, y/n: no node offers rdma/c", "Nodes offer rdma/a, rdma/b"},
		},
		"a node that the operator could not set up": {
			s:    State{Read: known, Nodes: []Node{{Name: "a", Allocatable: both}}, SriovNodes: []SriovNode{{Node: "a", SyncStatus: "Failed", SyncError: "numVfs 9 is more than totalvfs 8"}, {Node: "b", SyncStatus: "InProgress"}}},
			want: map[check.ID]check.Status{SriovNodeState: check.Fail}, says: []string{"numVfs 9"},
		},
		"no SCC with IPC_LOCK but privileged": {
			s:    State{Read: known, Server: Server{Groups: []string{SecurityGroup}}, Nodes: []Node{{Name: "a", Allocatable: both}}, SCCs: []SCC{{Name: "restricted-v2"}, {Name: "privileged", Privileged: true, AllowedCapabilities: []string{"*"}}}},
			want: map[check.ID]check.Status{SCCForRDMA: check.Warn}, says: []string{"none of 2 SCCs"},
		},
		"no SCC, and none is needed": {
			s: State{Read: known, Server: Server{Groups: []string{SecurityGroup}}, Nodes: []Node{{Name: "a", Allocatable: both}},
				MachineConfigs: []MachineConfig{{Files: []File{{Path: "/etc/crio/crio.conf.d/99.conf", Content: `default_ulimits = ["memlock=-1:-1"]`}}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[check.ID]check.Status
			text := ""
			for _, f := range Missing(c.s) {
				if got == nil {
					got = map[check.ID]check.Status{}
				}
				got[f.Check] = f.Status
				text += f.Summary + "\n"
				for _, e := range f.Evidence {
					text += e.String() + "\n"
				}
				if f.Fix != nil {
					text += f.Fix.Text + strings.Join(f.Fix.Commands, "\n")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Missing (-want +got):\n%s", diff)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}
