package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// healthy has the recordings without a fault. A recording of the lab is a whole machine, where a process can open all
// verbs nodes.
var healthy = map[string][]check.ID{
	"pod-roce-4vf":            nil,
	"pod-roce-4vf-node-b":     nil,
	"pod-roce-two-containers": nil,
	"pod-exclusive-netns":     nil,
	"pod-dra":                 nil,
	"lab-healthy":             {rail.ForeignHCAHidden},
	"lab-healthy-peer":        {rail.ForeignHCAHidden},
	"lab-amd-passthrough":     {rail.ForeignHCAHidden},
	"lab-intel-off":           {rail.ForeignHCAHidden},
	"lab-no-iommu":            {rail.ForeignHCAHidden},
}

func alarms(r check.Report) []check.ID {
	var ids []check.ID
	for _, f := range r.AtLeast(check.Unknown) {
		ids = append(ids, f.Check)
	}
	return ids
}

func TestNoFalseAlarmInHealthyPods(t *testing.T) {
	for name, allowed := range healthy {
		s := hosttest.Read(t, name)
		if diff := cmp.Diff(allowed, alarms(Pod(s, Options{}))); diff != "" {
			t.Errorf("%s (-allowed +said):\n%s", name, diff)
		}
	}
	if said := alarms(Pod(hosttest.Read(t, bareMetal), Options{Scope: rail.Host})); said != nil {
		t.Errorf("%s as a host: %v", bareMetal, said)
	}
}

// TestNoAlarmAboutGPUsOfOthers: a pod without GPUs sees those of the node in /sys and /proc, and needs nothing for them.
func TestNoAlarmAboutGPUsOfOthers(t *testing.T) {
	s := hosttest.Read(t, pod)
	s.GPUDirect.Peermem, s.GPUDirect.OpenModules = nil, host.Know(false)
	s.Limits.ShmBytes = host.Know[uint64](128 << 20)
	s.Env["NCCL_NET_GDR_LEVEL"] = "LOC"
	for i := range s.GPUs {
		s.GPUs[i].Given = host.Know(false)
	}
	if said := alarms(ofPod(s)); said != nil {
		t.Errorf("%v", said)
	}
}

func TestNoFalseAlarmOnHealthyNodes(t *testing.T) {
	for _, name := range []string{
		bareMetal, "host-baremetal-one-vf", "lab-healthy", "lab-healthy-peer", "lab-amd-passthrough",
	} {
		if said := alarms(Node(hosttest.Read(t, name))); said != nil {
			t.Errorf("%s: %v", name, said)
		}
	}
	s := hosttest.Read(t, bareMetal)
	if said := alarms(watched(s)); said != nil {
		t.Errorf("watched: %v", said)
	}
	addVFs(&s, host.VF{}, host.VF{Index: 1}).Up = host.Know(false)
	if said := alarms(Node(s)); said != nil {
		t.Errorf("an InfiniBand card whose interface for IP is down: %v", said)
	}
}

// faults has the recorded machines with a fault, and the first finding of the pod's and of the node's checks.
var faults = map[string]struct{ pod, node check.ID }{
	"lab-vf-down":              {pod: rail.PortActive},
	"lab-pf-down":              {pod: PhysicalUp, node: PhysicalUp},
	"lab-port-down":            {pod: PhysicalUp, node: PhysicalUp},
	"lab-verbs-missing":        {pod: rail.UverbsOpenable},
	"lab-mtu":                  {pod: RailMTU},
	"lab-no-address":           {pod: rail.GIDUsable},
	"lab-link-local-only":      {pod: rail.GIDUsable},
	"lab-iommu-translated":     {node: nccl.IOMMUPassthrough},
	"lab-iommu-translated-amd": {node: nccl.IOMMUPassthrough},
	"lab-intel-strict":         {node: nccl.IOMMUPassthrough},
	"lab-iommu-absent":         {node: IOMMUPresent},
	"lab-rdma-exclusive":       {pod: rail.RDMANamespace},
	"lab-wrong-mac":            {node: VFSettings},
	"lab-arp-flux":             {pod: RailARP},
	"lab-rail-isolation":       {pod: RailsRoutable},
	"lab-duplicate-address":    {}, // one machine does not show this fault and the next three
	"lab-firewall":             {},
	"lab-packet-loss":          {},
	"lab-slow-rail":            {},
	"pod-no-address":           {pod: rail.GIDUsable},
	"pod-no-rdma":              {pod: rail.DeviceAllocated},
	"pod-infiniband-4vf":       {pod: IPCLockEffective},
	"pod-exclusive-unassigned": {pod: rail.RDMANamespace},
	"pod-macvlan-shifted":      {pod: nccl.GIDIndex},
	"pod-shared-plugin":        {pod: nccl.GIDIndex},
	"pod-privileged":           {pod: nccl.HCAFilter},
	"vm-one-bus":               {pod: FusionAvoided},
}

// TestFaultsAreNamedFirst ignores that a process of the lab's machines can open all verbs nodes.
func TestFaultsAreNamedFirst(t *testing.T) {
	for name, want := range faults {
		s := hosttest.Read(t, name)
		without := func(ids []check.ID) []check.ID {
			if !strings.HasPrefix(name, "lab-") {
				return ids
			}
			return slices.DeleteFunc(ids, func(id check.ID) bool { return id == rail.ForeignHCAHidden })
		}
		said, node := without(alarms(Pod(s, Options{}))), alarms(Node(s))
		switch {
		case want.pod == "" && len(said) > 0, want.pod != "" && (len(said) == 0 || said[0] != want.pod):
			t.Errorf("%s: the pod says %v, want %q first", name, said, want.pod)
		case want.node == "":
		case len(node) == 0 || node[0] != want.node:
			t.Errorf("%s: the node says %v, want %q first", name, node, want.node)
		}
		if strings.HasPrefix(name, "lab-") && len(said) > 1 {
			t.Errorf("%s: besides the fault the pod says %v", name, said[1:])
		}
	}
}

// TestPartialFailureHidesNothing: broken rails do not hide the faults of the others.
func TestPartialFailureHidesNothing(t *testing.T) {
	said := alarms(Pod(hosttest.Read(t, "pod-half-broken"), Options{}))
	want := []check.ID{
		rail.UverbsOpenable, rail.PortActive, rail.PortActive, rail.GIDUsable,
		rail.AllocationReadable, nccl.IOMMUPassthrough, rail.RateUniform,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAllocationHidesNothing: a missing allocated device and a rail without an address do not hide the other rails'
// faults.
func TestAllocationHidesNothing(t *testing.T) {
	s := hosttest.Read(t, "pod-roce-4vf")
	s.Env["PCIDEVICE_OPENSHIFT_IO_GONE"] = "0000:fe:00.1"
	s.Functions = append(s.Functions, host.Function{Address: host.PCIAddress{Bus: 0xfe, Function: 1}})
	for i := range s.Links {
		if s.Links[i].Name == "net2" {
			s.Links[i].MTU = host.Know(1500)
		}
	}
	if diff := cmp.Diff([]check.ID{rail.DeviceAllocated, RailMTU}, alarms(Pod(s, Options{}))); diff != "" {
		t.Errorf("a device is gone (-want +got):\n%s", diff)
	}
	d := device(&s)
	d.Ports[0].GIDs = d.Ports[0].GIDs[:2]
	want := []check.ID{rail.DeviceAllocated, rail.GIDUsable, RailMTU}
	if diff := cmp.Diff(want, alarms(Pod(s, Options{}))); diff != "" {
		t.Errorf("and a rail has no address (-want +got):\n%s", diff)
	}
}

// TestLaunchedEnvironment: variables that the launcher set count as the command's environment.
func TestLaunchedEnvironment(t *testing.T) {
	s := hosttest.Read(t, "pod-macvlan-shifted")
	s.Launched = map[string]string{"NCCL_IB_ADDR_RANGE": "10.30.8.0/23", "NCCL_NET": "IB"}
	r := Pod(s, Options{})
	if len(r.Findings) != 0 {
		t.Errorf("with the launcher's variables: %v", r.Findings)
	}
	if _, leaked := s.Env["NCCL_NET"]; leaked {
		t.Error("the Snapshot was changed")
	}
	s.Env["NCCL_IB_GID_INDEX"], s.Launched["NCCL_IB_GID_INDEX"] = "40", ""
	if r := Pod(s, Options{}); len(r.Findings) != 0 {
		t.Errorf("a variable that the launcher removed: %v", r.Findings)
	}
}

func TestFirmwareOfTwoUnevenBoards(t *testing.T) {
	s := hosttest.Read(t, bareMetal)
	for i := range s.Devices {
		s.Devices[i].BoardID = host.Know([]string{"MT_B", "MT_A"}[i%2])
		s.Devices[i].Firmware = host.Know([]string{"28.39.1002", "28.40.1000"}[i/2%2])
	}
	for range 20 { // the order of a map changes
		f, _ := of(Node(s), FirmwareUniform)
		if !strings.Contains(f.Summary, "cards of board MT_A have different firmware (28.39.1002, 28.40.1000)") {
			t.Fatalf("got %q", f.Summary)
		}
	}
}

// TestProviders: the table has all providers of rdma-core.
func TestProviders(t *testing.T) {
	want := []string{
		"bnxt_re", "cxgb4", "efa", "erdma", "hfi1verbs", "hns", "ionic", "ipathverbs", "irdma", "mana", "mlx4", "mlx5",
		"mthca", "ocrdma", "qedr", "rxe", "siw", "vmw_pvrdma",
	}
	soft := host.Device{Parent: host.Know("eth0"), NodeType: host.Know("CA")}
	got := []string{provider(&soft)}
	soft.NodeType = host.Know("RNIC")
	got = append(got, provider(&soft))
	for driver := range providers {
		f := host.Function{Driver: host.Know(driver)}
		got = append(got, provider(&host.Device{Function: host.Know(f)}))
	}
	if diff := cmp.Diff(want, distinct(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
