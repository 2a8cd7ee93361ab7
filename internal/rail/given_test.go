package rail

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
)

// recorded returns a machine of testdata/hosts.
func recorded(t *testing.T, name string) host.Snapshot {
	t.Helper()
	m, err := sysfs.Open("../../testdata/hosts/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return m.Snapshot()
}

// unallocated removes everything that says what the pod was given.
func unallocated(s *host.Snapshot) {
	maps.DeleteFunc(s.Env, func(name, _ string) bool { return strings.HasPrefix(name, "PCIDEVICE_") })
	s.NetworkStatus, s.Claims, s.Functions = nil, nil, nil
}

// withoutNodes removes the verbs nodes of the container; the kernel's list of verbs devices stays.
func withoutNodes(s *host.Snapshot, names ...string) {
	for i, u := range s.Uverbs {
		if len(names) == 0 || slices.Contains(names, u.Name) {
			s.Uverbs[i].Access = host.Missing
		}
	}
}

// virtual makes a device a virtual function of another one.
func virtual(s *host.Snapshot, device string) {
	for i, d := range s.Devices {
		if d.Name == device {
			d.Function.Value.PhysFn = host.Know(host.PCIAddress{Bus: 0xd9, Function: 1})
			s.Devices[i] = d
		}
	}
}

// physical makes a device one of a whole card.
func physical(s *host.Snapshot, device string) {
	for i, d := range s.Devices {
		if d.Name == device {
			d.Function.Value.PhysFn = host.Fact[host.PCIAddress]{}
			s.Devices[i] = d
		}
	}
}

// bound returns function 0000:77:02.0 with a driver.
func bound(driver string) []host.Function {
	return []host.Function{{Address: host.PCIAddress{Bus: 0x77, Slot: 2}, Present: true, Driver: host.Know(driver)}}
}

// info returns the device plugin's variable for one RDMA device.
func info(address, device string) string {
	return `{"` + address + `":{"generic":{"deviceID":"` + address + `"},"rdma":{"rdma_dev":"` + device + `"}}}`
}

// TestGiven compares allocations with the devices of a machine.
func TestGiven(t *testing.T) {
	for _, tc := range []struct {
		name, machine string
		scope         Scope
		change        func(*host.Snapshot)
		rails         string
		missed        []string // faults of the pod, with the check
		conflicts     []string
		noRail        string // part of the reason why there is none
	}{
		{
			name: "InfiniBand and no node in the container", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) { unallocated(s); withoutNodes(s) },
			noRail: "this container was given none of the node's 4 RDMA devices",
		},
		{
			name: "InfiniBand and nothing probed", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) { unallocated(s); s.Uverbs, s.VerbsNodes = nil, host.Fact[int]{} },
			rails:  "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "InfiniBand without ib_uverbs", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) { unallocated(s); s.Uverbs, s.VerbsNodes = nil, host.Know(0) },
			noRail: "its module ib_uverbs is not loaded",
		},
		{
			name: "allocated InfiniBand whose nodes are missing", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) { withoutNodes(s) },
			missed: []string{
				"mlx5_6 uverbs-openable", "mlx5_7 uverbs-openable",
				"mlx5_10 uverbs-openable", "mlx5_11 uverbs-openable",
			},
			noRail: "none of 4 RDMA devices is usable",
		},
		{
			name: "a whole card next to virtual functions", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) { physical(s, "mlx5_6") },
			rails:  "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "a whole card by a name that a virtual function had", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) {
				physical(s, "mlx5_6")
				unallocated(s)
				s.Env["PCIDEVICE_X"] = "0000:2f:00.2,0000:1a:00.7"
				s.Env["PCIDEVICE_X_INFO"] = info("0000:1a:00.7", "mlx5_6")
			},
			rails: "mlx5_7", missed: []string{"mlx5_6 device-allocated"},
			conflicts: []string{"allocation-consistent mlx5_6", "foreign-hca-hidden pod"},
		},
		{
			name: "name that another function bears, InfiniBand", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) {
				unallocated(s)
				s.Env["PCIDEVICE_X"], s.Env["PCIDEVICE_X_INFO"] = "0000:1a:00.7", info("0000:1a:00.7", "mlx5_7")
			},
			missed:    []string{"mlx5_7:1 allocation-consistent"},
			conflicts: []string{"allocation-consistent mlx5_7", "foreign-hca-hidden pod"},
			noRail:    "mlx5_7:1: allocated as 0000:1a:00.7 but found at 0000:2f:00.2",
		},
		{
			name: "name that another function bears, RoCE with the pod's address", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				unallocated(s)
				s.Env["PCIDEVICE_X"], s.Env["PCIDEVICE_X_INFO"] = "0000:1a:00.6", info("0000:1a:00.6", "mlx5_7")
			},
			rails:     "mlx5_7",
			conflicts: []string{"allocation-consistent mlx5_7", "foreign-hca-hidden pod"},
		},
		{
			name: "shared plugin and an allocation without a node", machine: "pod-shared-plugin",
			change: func(s *host.Snapshot) { s.Env["PCIDEVICE_X"] = "0000:9a:00.0" },
			rails:  "mlx5_0,mlx5_1", missed: []string{"mlx5_2 uverbs-openable"},
		},
		{
			name: "shared plugin and an allocation with a node", machine: "pod-shared-plugin",
			change: func(s *host.Snapshot) { s.Env["PCIDEVICE_X"] = "0000:1a:00.0" },
			rails:  "mlx5_0", conflicts: []string{"foreign-hca-hidden pod"},
		},
		{
			name: "function for DPDK, and rails", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				s.Env["PCIDEVICE_X"] = "0000:77:02.0"
				s.Env["PCIDEVICE_X_INFO"] = `{"0000:77:02.0":{"generic":{"deviceID":"0000:77:02.0"},` +
					`"vfio":{"mount":"/dev/vfio/vfio"}}}`
			},
			rails: "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "function for DPDK by its driver alone", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				s.Env["PCIDEVICE_X"] = "0000:77:02.0"
				s.Functions = bound("vfio-pci")
			},
			rails: "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "interface without RDMA, and rails", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				s.Env["PCIDEVICE_X"] = "0000:77:02.0"
				s.Env["PCIDEVICE_X_INFO"] = `{"0000:77:02.0":{"generic":{"deviceID":"0000:77:02.0"}}}`
				s.Functions = bound("iavf")
			},
			rails: "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "GPU by dynamic resource allocation, and rails", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				s.Claims = []host.ClaimDevice{{
					Claim: "gpu", Request: "gpu", Driver: "gpu.nvidia.com", Name: "gpu-0",
					PCI: host.Know(host.PCIAddress{Bus: 0x77, Slot: 2}),
				}}
				s.Functions = bound("nvidia")
				s.Functions[0].Class = host.Know("0x030200")
			},
			rails: "mlx5_6,mlx5_7,mlx5_10,mlx5_11",
		},
		{
			name: "GPU by dynamic resource allocation, and no rail", machine: "pod-infiniband-4vf",
			change: func(s *host.Snapshot) {
				unallocated(s)
				withoutNodes(s)
				s.Env["PCIDEVICE_NVIDIA_COM_GPU"], s.Functions = "0000:77:02.0", bound("nvidia")
				s.Functions[0].Class = host.Know("0x030200")
			},
			noRail: "this container was given none of the node's 4 RDMA devices",
		},
		{
			name: "function that is gone, and rails", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) { s.Env["PCIDEVICE_X"] = "0000:77:02.0" },
			rails:  "mlx5_6,mlx5_7,mlx5_10,mlx5_11", missed: []string{"0000:77:02.0 device-allocated"},
		},
		{
			name: "two of the pod's four in another container", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				maps.DeleteFunc(s.Env, func(name, _ string) bool {
					return strings.Contains(name, "ENO7") || strings.Contains(name, "ENO8")
				})
				withoutNodes(s, "uverbs10", "uverbs11")
			},
			rails: "mlx5_6,mlx5_7",
		},
		{
			name: "all of the pod's in another container", machine: "pod-roce-4vf",
			change: func(s *host.Snapshot) {
				maps.DeleteFunc(s.Env, func(name, _ string) bool { return strings.HasPrefix(name, "PCIDEVICE_") })
				withoutNodes(s)
			},
			noRail: "this container was given none of the node's 12 RDMA devices",
		},
		{
			name: "one virtual function of a bare-metal node", machine: "host-baremetal-8x400",
			change: func(s *host.Snapshot) { virtual(s, "mlx5_7") },
			rails:  "mlx5_7", conflicts: []string{"device-allocated pod"},
		},
		{
			name:    "one virtual function of a bare-metal node, host's asked for",
			machine: "host-baremetal-8x400", scope: Host,
			change: func(s *host.Snapshot) { virtual(s, "mlx5_7") },
			rails:  "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6",
		},
		{
			name: "one virtual function of a bare-metal node, which is down", machine: "host-baremetal-8x400",
			change: func(s *host.Snapshot) { virtual(s, "mlx5_7"); s.Devices[7].Ports[0].State = host.Know("DOWN") },
			noRail: "no virtual function is usable here, but physical functions are (mlx5_0, ",
		},
		{
			name: "virtual functions where the host's are asked for", machine: "pod-exclusive-netns", scope: Host,
			change: unallocated,
			noRail: "only virtual functions are usable here (mlx5_6, mlx5_7, mlx5_10, mlx5_11), " +
				"but --scope host uses physical functions",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := recorded(t, tc.machine)
			tc.change(&s)
			r := Resolve(s, cmp.Or(tc.scope, Pod))
			if got := strings.Join(r.Devices(), ","); got != tc.rails {
				t.Errorf("rails %s, want %s", got, tc.rails)
			}
			var missed, conflicts []string
			for _, x := range r.Rejected {
				if x.Missed {
					missed = append(missed, x.Name()+" "+string(x.Cause))
				}
			}
			for _, f := range r.Conflicts {
				conflicts = append(conflicts, string(f.Check)+" "+f.Subject.String())
			}
			if diff := gocmp.Diff(tc.missed, missed); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tc.conflicts, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			if tc.noRail != "" && !strings.Contains(r.NoRail(s).Summary, tc.noRail) {
				t.Errorf("no rail: %q, want %q", r.NoRail(s).Summary, tc.noRail)
			}
		})
	}
}

// TestSelfAdmitsNoNIC: no distance between two functions is within Self.
func TestSelfAdmitsNoNIC(t *testing.T) {
	for _, d := range []Distance{PIX, PXB, PHB, NODE, SYS, Unmeasured} {
		if !d.Farther(Self) {
			t.Errorf("%s is not farther than %s", d, Self)
		}
	}
}
