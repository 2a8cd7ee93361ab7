package rules

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
)

// recorded is the snapshot of a recorded machine.
func recorded(t testing.TB, name string) host.Snapshot {
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

// podNumber is a pod of a healthy job: recorded once, with addresses of its own in the subnets of the rails.
func podNumber(base host.Snapshot, i int) Machine {
	s := base
	s.Devices, s.Links = slices.Clone(base.Devices), slices.Clone(base.Links)
	moved := map[netip.Addr]netip.Addr{}
	for k, l := range s.Links {
		if l.Name == "lo" || l.Addresses.Value == nil {
			continue
		}
		addresses := slices.Clone(l.Addresses.Value)
		for n, p := range addresses {
			if p.Addr().Is4() {
				octets := p.Addr().As4()
				octets[1], octets[2], octets[3] = byte(10+k), byte(i>>8), byte(i)
				to := netip.AddrFrom4(octets)
				moved[p.Addr()] = to
				addresses[n] = netip.PrefixFrom(to, 16)
			}
		}
		s.Links[k].Addresses = host.Know(addresses)
		s.Links[k].MAC = host.Know(fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", k, i>>16, i>>8&255, i&255))
	}
	for k, d := range s.Devices {
		ports := slices.Clone(d.Ports)
		for n := range ports {
			gids := slices.Clone(ports[n].GIDs)
			for g := range gids {
				if to, ok := moved[gids[g].IP()]; ok {
					gids[g].Addr = netip.AddrFrom16(to.As16())
				}
			}
			ports[n].GIDs = gids
		}
		s.Devices[k].Ports = ports
	}
	return Machine{Ref: check.PodRef("train", fmt.Sprintf("h-kim-%d", i)), Node: fmt.Sprintf("gpu-%d", i), Snapshot: s}
}

// job is n healthy pods.
func job(t testing.TB, n int) []Machine {
	t.Helper()
	base := recorded(t, "pod-roce-4vf")
	all := make([]Machine, n)
	for i := range all {
		all[i] = podNumber(base, i+1)
	}
	return all
}

// eachLink changes the rails' interfaces of a pod.
func eachLink(m *Machine, change func(*host.Link)) {
	for i := range m.Snapshot.Links {
		if strings.HasPrefix(m.Snapshot.Links[i].Name, "net") {
			change(&m.Snapshot.Links[i])
		}
	}
}

func eachDevice(m *Machine, change func(*host.Device)) {
	m.Snapshot.Devices = slices.Clone(m.Snapshot.Devices)
	for i := range m.Snapshot.Devices {
		m.Snapshot.Devices[i].Ports = slices.Clone(m.Snapshot.Devices[i].Ports)
		change(&m.Snapshot.Devices[i])
	}
}

// fleetCase is a job with something wrong.
type fleetCase struct {
	pods   int
	change func([]Machine)
	want   check.ID // "": nothing is wrong
	says   []string
}

func fleetCases() map[string]fleetCase {
	return map[string]fleetCase{
		"healthy":       {pods: 40},
		"one pod alone": {pods: 1},
		"no pod":        {},
		"three of forty have a smaller MTU": {40, func(m []Machine) {
			for _, i := range []int{3, 7, 20} {
				eachLink(&m[i], func(l *host.Link) { l.MTU = host.Know(1500) })
			}
		}, FleetMTU, []string{"on 37 of 40 pods the MTU of the rails is 9000", "1500 on pod/train/h-kim-4 on gpu-4, pod/train/h-kim-8 on gpu-8, pod/train/h-kim-21 on gpu-21"}},
		"one rail of one pod has a smaller MTU": {4, func(m []Machine) {
			m[2].Snapshot.Links = slices.Clone(m[2].Snapshot.Links)
			for i, l := range m[2].Snapshot.Links {
				if l.Name == "net1" {
					m[2].Snapshot.Links[i].MTU = host.Know(1500)
				}
			}
		}, FleetMTU, []string{"on 3 of 4 pods", "1500, 9000 on pod/train/h-kim-3"}},
		"two against two": {4, func(m []Machine) {
			for _, i := range []int{0, 1} {
				eachLink(&m[i], func(l *host.Link) { l.MTU = host.Know(1500) })
			}
		}, FleetMTU, []string{"no value has the majority", "1500 on 2 (pod/train/h-kim-1", "9000 on 2 (pod/train/h-kim-3"}},
		"a slower rail": {5, func(m []Machine) {
			eachDevice(&m[1], func(d *host.Device) {
				d.Ports[0].Rate = host.Know(host.Rate{Gbps: 200, Lanes: 4, Speed: "HDR"})
			})
		}, FleetRate, []string{"on 4 of 5 pods", "200 Gb/s on pod/train/h-kim-2"}},
		"firmware": {5, func(m []Machine) {
			eachDevice(&m[4], func(d *host.Device) { d.Firmware = host.Know("28.30.0") })
		}, FleetFirmware, []string{"on 4 of 5 pods the firmware of", "28.30.0 on pod/train/h-kim-5"}},
		"another NCCL": {3, func(m []Machine) {
			m[0].Snapshot.NCCL.Libraries = []host.NCCLLibrary{{Path: "/usr/lib/libnccl.so.2.18.1", Version: "2.18.1"}}
		}, FleetNCCL, []string{"2.18.1 on pod/train/h-kim-1"}},
		"another rdma-core": {3, func(m []Machine) {
			for i, version := range []string{"48.0", "48.0", "39.0"} {
				m[i].Snapshot.Verbs = &host.VerbsLibrary{Path: "/usr/lib/libibverbs.so.1", RDMACore: version}
			}
		}, FleetVerbs, []string{"on 2 of 3 pods the version of rdma-core is 48.0, but 39.0 on pod/train/h-kim-3"}},
		"a small locked-memory limit": {3, func(m []Machine) { m[2].Snapshot.Limits.MemlockSoft = host.Know(host.Limit(8 << 20)) }, FleetMemlock, []string{"8 MiB on pod/train/h-kim-3"}},
		"no GPUDirect on one": {3, func(m []Machine) {
			m[2].Snapshot.GPUDirect = host.GPUDirect{OpenModules: host.Know(false)}
		}, FleetGPUDirect, []string{"none on pod/train/h-kim-3"}},
		"a pod that was given fewer rails": {3, func(m []Machine) {
			m[1].Snapshot.Uverbs = slices.Clone(m[1].Snapshot.Uverbs)
			for i := range m[1].Snapshot.Uverbs {
				if m[1].Snapshot.Uverbs[i].Access == host.Openable {
					m[1].Snapshot.Uverbs[i].Access = host.Denied
					break
				}
			}
		}, FleetRails, []string{"on 2 of 3 pods the number of rails is 4, but 3 on pod/train/h-kim-2"}},
		"one address twice": {3, func(m []Machine) {
			macs := m[2].Snapshot.Links
			m[2].Snapshot.Links, m[2].Snapshot.Devices = slices.Clone(m[1].Snapshot.Links), m[1].Snapshot.Devices
			for i := range m[2].Snapshot.Links {
				m[2].Snapshot.Links[i].MAC = macs[i].MAC
			}
		}, DuplicateAddress, []string{"is the address of pod/train/h-kim-2 on gpu-2 net1, pod/train/h-kim-3 on gpu-3 net1"}},
		"pods of the node's own network have its addresses": {2, func(m []Machine) { m[1].Snapshot = m[0].Snapshot }, "", nil},
		"crossed rails": {3, func(m []Machine) {
			links := slices.Clone(m[1].Snapshot.Links)
			var a, b int
			for i, l := range links {
				switch l.Name {
				case "net1":
					a = i
				case "net2":
					b = i
				}
			}
			links[a].Name, links[b].Name = links[b].Name, links[a].Name
			m[1].Snapshot.Links = links
			eachDevice(&m[1], func(d *host.Device) {
				for i := range d.Ports {
					d.Ports[i].GIDs = slices.Clone(d.Ports[i].GIDs)
					for g := range d.Ports[i].GIDs {
						switch n := &d.Ports[i].GIDs[g].Netdev; n.Value {
						case "net1":
							n.Value = "net2"
						case "net2":
							n.Value = "net1"
						}
					}
				}
				for i, n := range d.Netdevs {
					d.Netdevs = slices.Clone(d.Netdevs)
					switch n {
					case "net1":
						d.Netdevs[i] = "net2"
					case "net2":
						d.Netdevs[i] = "net1"
					}
				}
			})
		}, RailSubnet, []string{"the rails are crossed", "pod/train/h-kim-2 on gpu-2"}},
		"a routed fabric": {4, func(m []Machine) {
			for i := range m {
				eachLink(&m[i], func(l *host.Link) {
					l.Addresses = host.Know(slices.Clone(l.Addresses.Value))
					for k, p := range l.Addresses.Value {
						l.Addresses.Value[k] = netip.PrefixFrom(p.Addr(), 31)
					}
				})
			}
		}, "", nil},
		"a pod that could not be reached": {3, func(m []Machine) { m[1] = Machine{Ref: m[1].Ref, Node: "gpu-2", Unreached: "no answer within 30s"} }, MachineReached, []string{"could not be looked at: no answer within 30s"}},
		"one pod on InfiniBand": {3, func(m []Machine) {
			eachDevice(&m[1], func(d *host.Device) { d.Ports[0].LinkLayer = host.Know(host.InfiniBand) })
		}, FleetLinkLayer, []string{"InfiniBand on pod/train/h-kim-2"}},
		"one pod with RoCE v1 alone": {3, func(m []Machine) {
			eachDevice(&m[1], func(d *host.Device) {
				gids := slices.Clone(d.Ports[0].GIDs)
				for i := range gids {
					gids[i].Type = host.Know("IB/RoCE v1")
				}
				d.Ports[0].GIDs = gids
			})
		}, FleetGIDType, []string{"IB/RoCE v1 on pod/train/h-kim-2"}},
		"jobs that differ from each other": {4, func(m []Machine) {
			for i := range m {
				m[i].Group = []string{"job/a", "job/b"}[i/2]
			}
			for _, i := range []int{2, 3} {
				eachLink(&m[i], func(l *host.Link) { l.MTU = host.Know(1500) })
			}
		}, "", nil},
	}
}

func TestFleet(t *testing.T) {
	for name, test := range fleetCases() {
		t.Run(name, func(t *testing.T) {
			pods := job(t, test.pods)
			if test.change != nil {
				test.change(pods)
			}
			r := Fleet(pods)
			if test.want == "" {
				if len(r.Findings) > 0 {
					t.Errorf("found in a healthy job: %+v", r.Findings)
				}
				return
			}
			if len(r.Findings) == 0 || r.Findings[0].Check != test.want {
				t.Fatalf("found %+v, want %s first", r.Findings, test.want)
			}
			for _, text := range test.says {
				if !strings.Contains(r.Findings[0].Summary, text) {
					t.Errorf("%q has no %q", r.Findings[0].Summary, text)
				}
			}
			for _, f := range r.Findings {
				if f.Check != test.want {
					t.Errorf("also found: %s: %s", f.Check, f.Summary)
				}
			}
		})
	}
}

func TestFleetKeepsNodesFromPods(t *testing.T) {
	m := job(t, 2)
	for i := range 2 {
		m = append(m, Machine{Ref: check.NodeRef(fmt.Sprintf("gpu-%d", i+1)), Node: fmt.Sprintf("gpu-%d", i+1), Snapshot: recorded(t, "host-baremetal-8x400")})
	}
	if r := Fleet(m); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{200, 1000, 5000} {
		pods := job(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if r := Fleet(pods); len(r.Findings) > 0 {
					b.Fatal(r.Findings[0])
				}
			}
		})
	}
}

// TestFleetCases: every check has a case in which it is the one that fires.
func TestFleetCases(t *testing.T) {
	fires := map[check.ID]bool{}
	for _, c := range fleetCases() {
		fires[c.want] = true
	}
	for _, c := range fleetChecks() {
		if !fires[c.ID] {
			t.Errorf("no case fires %s", c.ID)
		}
	}
	if !fires[""] {
		t.Error("no case is healthy")
	}
}
