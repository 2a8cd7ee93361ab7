package machine

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// TestUnreadFactsDoNotPass: a check whose facts were not read is skipped, or its result is unknown.
func TestUnreadFactsDoNotPass(t *testing.T) {
	const why = "permission denied"
	eachFunction := func(change func(*host.Function)) func(*host.Snapshot) {
		return func(s *host.Snapshot) {
			for i := range s.Devices {
				setFunction(&s.Devices[i], change)
			}
		}
	}
	for name, tc := range map[string]struct {
		id      check.ID
		machine string
		judge   catalogue
		change  func(*host.Snapshot)
	}{
		"PCIe link of the rails": {PCIeLink, pod, ofPod, eachFunction(func(f *host.Function) {
			f.Link = host.Fact[host.PCILink]{}
		})},
		"PCIe link of the cards": {PCIeLink, bareMetal, Node, eachFunction(func(f *host.Function) {
			f.Link = host.Fact[host.PCILink]{}
		})},
		"MTU": {RailMTU, pod, ofPod, func(s *host.Snapshot) { link(s, "net1").MTU = host.Unread[int](why) }},
		"carrier": {rail.CarrierPresent, pod, ofPod, func(s *host.Snapshot) {
			link(s, "net1").Running = host.Unread[bool](why)
		}},
		"rate": {RateExpected, pod, func(s host.Snapshot) check.Report { return Pod(s, Options{RateGbps: 400}) },
			func(s *host.Snapshot) { device(s).Ports[0].Rate = host.Unread[host.Rate](why) }},
		"addresses": {RailARP, pod, ofPod, func(s *host.Snapshot) {
			for i := range s.Links {
				s.Links[i].Addresses.State = host.Unreadable
			}
		}},
		"size of /dev/shm": {nccl.SharedMemory, pod, ofPod, func(s *host.Snapshot) {
			s.Limits.ShmBytes = host.Unread[uint64](why)
		}},
		"GPUs": {nccl.GPUDirectPossible, pod, ofPod, func(s *host.Snapshot) { s.GPUs = nil }},
		"place of a GPU": {nccl.GPUDirectDistance, pod, ofPod, func(s *host.Snapshot) {
			s.GPUs[0].Function.Path.State = host.Unreadable
		}},
		"IOMMU group of a rail": {nccl.IOMMUPassthrough, pod, ofPod, func(s *host.Snapshot) {
			setFunction(device(s), func(f *host.Function) { f.IOMMUType = host.Unread[string](why) })
		}},
		"IOMMU that translates, no GPU": {nccl.IOMMUPassthrough, pod, ofPod, func(s *host.Snapshot) {
			s.GPUs = nil
			setFunction(device(s), func(f *host.Function) { f.IOMMUType = host.Know("DMA-FQ") })
		}},
		"IOMMU group of a card": {nccl.IOMMUPassthrough, bareMetal, Node, func(s *host.Snapshot) {
			setFunction(&s.Devices[0], func(f *host.Function) { f.IOMMUType = host.Unread[string](why) })
		}},
		"IOMMU groups": {IOMMUPresent, bareMetal, Node, func(s *host.Snapshot) {
			s.IOMMU.Groups = host.Unread[int](why)
		}},
		"kernel command line": {IOMMUOptions, bareMetal, Node, func(s *host.Snapshot) {
			s.Cmdline = host.Unread[string](why)
		}},
		"ACS of a bridge": {ACSRedirect, bareMetal, Node, func(s *host.Snapshot) {
			for i := range s.Devices {
				setFunction(&s.Devices[i], func(f *host.Function) {
					f.Config = host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(4096)}
				})
			}
			s.Bridges = nil
		}},
		"firmware": {FirmwareUniform, bareMetal, Node, func(s *host.Snapshot) {
			s.Devices[0].Firmware = host.Unread[string](why)
		}},
		"trust": {VFTrust, bareMetal, Node, func(s *host.Snapshot) { addVFs(s, host.VF{}) }},
		"driver": {VerbsLibrary, pod, ofPod, func(s *host.Snapshot) {
			setFunction(device(s), func(f *host.Function) { f.Driver = host.Know("new_driver") })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := hosttest.Read(t, tc.machine)
			tc.change(&s)
			r := tc.judge(s)
			if slices.Contains(r.Passed, tc.id) {
				t.Errorf("%s passed", tc.id)
			}
			if f, found := of(r, tc.id); found && f.Status != check.Unknown {
				t.Errorf("%s: %s", f.Status, f.Summary)
			}
		})
	}
}

// TestUnreadFactsHideNothing: a check that was not read does not hide the findings of those that need it.
func TestUnreadFactsHideNothing(t *testing.T) {
	s := hosttest.Read(t, "lab-iommu-translated")
	s.Cmdline, s.IOMMU.Groups = host.Fact[string]{}, host.Fact[int]{}
	if _, found := of(Node(s), nccl.IOMMUPassthrough); !found {
		t.Error("without the kernel's command line the IOMMU that translates is not reported")
	}
	s = hosttest.Read(t, pod)
	device(&s).Ports[0].Rate = host.Unread[host.Rate]("permission denied")
	if f, _ := of(Pod(s, Options{RateGbps: 400}), RateExpected); f.Status != check.Unknown {
		t.Errorf("a rate that was not read: %+v", f)
	}
}

// TestPhysicalFunctionsThatAreUp: interfaces that share the address of a physical function and are down are no fault.
func TestPhysicalFunctionsThatAreUp(t *testing.T) {
	for name, change := range map[string]func(*host.Snapshot, *host.Link){
		"a representor is down": func(s *host.Snapshot, uplink *host.Link) {
			vf := host.Know(host.Function{PhysFn: uplink.PCI})
			s.Devices = append(s.Devices, host.Device{Name: "mlx5_99", Function: vf})
			s.Links = append(s.Links, host.Link{Name: "eth0_0", PCI: uplink.PCI, Up: host.Know(false)})
		},
		"the second port of the card is down": func(s *host.Snapshot, _ *host.Link) {
			s.Devices[0].Ports = append(s.Devices[0].Ports, host.Port{Number: 2, State: host.Know("DOWN")})
			slices.Reverse(s.Devices[0].Ports)
		},
	} {
		s := hosttest.Read(t, bareMetal)
		uplink := addVFs(&s, host.VF{}, host.VF{Index: 1})
		s.Devices[0].Ports[0].LinkLayer = host.Know(host.Ethernet)
		change(&s, uplink)
		if f, found := of(Node(s), PhysicalUp); found {
			t.Errorf("%s: %s", name, f.Summary)
		}
	}
}

// TestWatchSeesLostPorts: a port that is not ACTIVE any more is reported without any counter.
func TestWatchSeesLostPorts(t *testing.T) {
	for name, change := range map[string]func(*host.Snapshot){
		"the port is down":   func(s *host.Snapshot) { s.Devices[0].Ports[0].State = host.Know("DOWN") },
		"the device is gone": func(s *host.Snapshot) { s.Devices = s.Devices[1:] },
	} {
		before, after := hosttest.Read(t, bareMetal), hosttest.Read(t, bareMetal)
		change(&after)
		f, _ := of(Watch(before, after), LinkStable)
		if diff := cmp.Diff(check.Fail, f.Status); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	before := hosttest.Read(t, pod)
	after := hosttest.Read(t, pod)
	device(&after).Ports[0].State = host.Know("DOWN")
	if f, found := of(Watch(before, after), LinkStable); found {
		t.Errorf("a virtual function that goes down with its pod: %s", f.Summary)
	}
}

// TestCountersOfNetlink: in a pod whose sysfs has no counters, the rails' are read from RDMA netlink. Those of devices
// that are not the pod's are not judged.
func TestCountersOfNetlink(t *testing.T) {
	reading := func(device string, lost uint64) host.Snapshot {
		s := hosttest.Read(t, pod)
		s.Wire = host.Know(host.Wire{Devices: []host.WireDevice{{Name: device, Ports: []host.WirePort{
			{Number: 1, Counters: host.Know(map[string]uint64{"out_of_sequence": lost})},
		}}}})
		return s
	}
	for device, want := range map[string]bool{"mlx5_6": true, "mlx5_99": false} {
		r := Watch(reading(device, 3), reading(device, 8))
		found := slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
			return f.Check == PacketsInTurn && f.Status == check.Warn && f.Concerns(check.PortRef(device, 1))
		})
		if found != want {
			t.Errorf("%s: %+v", device, r.Findings)
		}
	}
}

// device returns the first device that the pod was given.
func device(s *host.Snapshot) *host.Device {
	for i := range s.Devices {
		if s.AccessTo(s.Devices[i].Name) == host.Openable {
			return &s.Devices[i]
		}
	}
	panic("the recording has a device")
}

func link(s *host.Snapshot, name string) *host.Link {
	for i := range s.Links {
		if s.Links[i].Name == name {
			return &s.Links[i]
		}
	}
	panic("the recording has an interface " + name)
}

func setFunction(d *host.Device, change func(*host.Function)) {
	f := d.Function.Value
	change(&f)
	d.Function = host.Know(f)
}

// addVFs adds virtual functions to the node's first card.
func addVFs(s *host.Snapshot, vfs ...host.VF) *host.Link {
	setFunction(&s.Devices[0], func(f *host.Function) { f.NumVFs, f.TotalVFs = host.Know(len(vfs)), host.Know(16) })
	l := link(s, "ibp0s0")
	l.VFs, l.Up, l.Carrier = vfs, host.Know(true), host.Know(true)
	return l
}
