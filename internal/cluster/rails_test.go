package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"a-good": "", "b-unoffered": "no node offers openshift.io/b", "c-without": "no annotation k8s.v1.cni.cncf.io/resourceName: it adds no device",
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
