package machine

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// catalogue runs the checks of one catalogue.
type catalogue func(host.Snapshot) check.Report

func ofPod(s host.Snapshot) check.Report { return Pod(s, Options{}) }

// fast expects a higher rate than the recorded machines have.
func fast(s host.Snapshot) check.Report { return Pod(s, Options{RateGbps: 800}) }

// watched compares the machine with itself ten seconds earlier, when all counters were zero.
func watched(s host.Snapshot) check.Report {
	before := s
	before.Taken = s.Taken.Add(-10 * time.Second)
	before.Devices, before.Links = nil, nil
	for _, d := range s.Devices {
		d.Ports = append([]host.Port{}, d.Ports...)
		for i := range d.Ports {
			zero := map[string]uint64{}
			for name := range d.Ports[i].Counters {
				zero[name] = 0
			}
			d.Ports[i].Counters = zero
		}
		before.Devices = append(before.Devices, d)
	}
	for _, l := range s.Links {
		l.CarrierChanges = host.Know(0)
		before.Links = append(before.Links, l)
	}
	return Watch(before, s)
}

// fixture is a recorded machine with a change that makes a check fire.
type fixture struct {
	id       check.ID
	status   check.Status
	machine  string
	judge    catalogue
	edit     hosttest.Edit
	change   func(*host.Snapshot) // where edit would need answers of netlink: new fixtures use edit
	recorded bool                 // the recording itself has the fault; without it is pod-roce-4vf
}

const (
	pod        = "pod-roce-4vf"
	infiniBand = "pod-infiniband-4vf"
	bareMetal  = "host-baremetal-8x400"
)

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

// withoutDevices removes the eight HCAs, the storage NIC and what leads to them.
var withoutDevices = hosttest.Edit{Files: map[string]string{
	"sys/class/infiniband/mlx5_0": hosttest.Gone, "sys/class/infiniband/mlx5_1": hosttest.Gone,
	"sys/class/infiniband/mlx5_2": hosttest.Gone, "sys/class/infiniband/mlx5_3": hosttest.Gone,
	"sys/class/infiniband/mlx5_4": hosttest.Gone, "sys/class/infiniband/mlx5_5": hosttest.Gone,
	"sys/class/infiniband/mlx5_6": hosttest.Gone, "sys/class/infiniband/mlx5_7": hosttest.Gone,
	"sys/class/infiniband/mlx5_bond_0": hosttest.Gone,
}}

// counter sets a counter of the first port: "counters/symbol_error".
func counter(name, value string) hosttest.Edit {
	return hosttest.Edit{Files: map[string]string{"mlx5_0/ports/1/" + name: value}}
}

// locked limits the memory that the process may lock, in bytes.
func locked(limit string) hosttest.Edit {
	return hosttest.Edit{Files: map[string]string{
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n" +
			"Max locked memory         " + limit + "                " + limit + "                bytes",
	}}
}

// ofDriver gives the pod's first device another driver.
func ofDriver(name string) func(*host.Snapshot) {
	return func(s *host.Snapshot) {
		setFunction(device(s), func(f *host.Function) { f.Driver = host.Know(name) })
	}
}

// oneSubnet moves the second rail into the network of the first.
func oneSubnet(s *host.Snapshot) {
	a := netip.MustParsePrefix("10.10.11.200/24")
	link(s, "net2").Addresses = host.Know([]netip.Prefix{a})
	d, _ := s.Device("mlx5_7")
	for i := range d.Ports[0].GIDs {
		if g := &d.Ports[0].GIDs[i]; g.Addr.Is4In6() {
			g.Addr = netip.AddrFrom16(a.Addr().As16())
		}
	}
	s.ARP.Ignore = host.Know(0)
	link(s, "net1").ARP.Ignore, link(s, "net2").ARP.Ignore = host.Know(0), host.Know(0)
}

// givesVFs adds virtual functions to the node's first card.
func givesVFs(s *host.Snapshot, vfs ...host.VF) *host.Link {
	setFunction(&s.Devices[0], func(f *host.Function) { f.NumVFs, f.TotalVFs = host.Know(len(vfs)), host.Know(16) })
	l := link(s, "ibp0s0")
	l.VFs, l.Up, l.Carrier = vfs, host.Know(true), host.Know(true)
	return l
}

// config gives all devices a readable configuration space.
func config(s *host.Snapshot, request int) {
	for i := range s.Devices {
		setFunction(&s.Devices[i], func(f *host.Function) {
			f.Config = host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(request)}
		})
	}
}

// fixtures has at least one for each check.
var fixtures = []fixture{
	{id: rail.DeviceAllocated, status: check.Fail, machine: "pod-no-rdma", judge: ofPod, recorded: true},
	{id: rail.RDMANamespace, status: check.Fail, machine: "pod-exclusive-unassigned", judge: ofPod, recorded: true},
	{
		id: rail.AllocationReadable, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("PCIDEVICE_OPENSHIFT_IO_OTHER", ""),
	},
	{
		id: rail.AllocationConsistent, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA_INFO",
			`{"0000:1a:00.2":{"generic":{"deviceID":"0000:1a:00.2"},"rdma":{"rdma_dev":"mlx5_99"}}}`),
	},
	{
		id: rail.UverbsOpenable, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Probes: map[string]any{"open": map[string]any{"dev/infiniband/uverbs6": "EPERM"}}},
	},
	{
		id: rail.TransportSupported, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"mlx5_6/node_type": "4: RNIC"}},
	},
	{
		id: rail.PortActive, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"mlx5_6/ports/1/state": "1: DOWN"}},
	},
	{id: rail.GIDUsable, status: check.Fail, machine: "pod-no-address", judge: ofPod, recorded: true},
	{
		id: rail.LinkLayerUniform, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"mlx5_6/ports/1/link_layer": "InfiniBand"}},
	},
	{
		id: rail.CarrierPresent, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"net/net1/operstate": "dormant"}},
	},
	{
		id: rail.ForeignHCAHidden, status: check.Fail, machine: "pod-privileged", judge: ofPod, recorded: true,
		edit: hosttest.Env("NCCL_IB_HCA", nil).And(hosttest.Env("NCCL_IB_GID_INDEX", nil)),
	},
	{id: MemlockLimit, status: check.Fail, machine: pod, judge: ofPod, edit: locked("65536")},
	{
		id: MemlockLimit, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Probes: map[string]any{"lock": map[string]any{
			fmt.Sprint(host.MaxLocked): "ENOMEM", "1073741824": "ENOMEM", "67108864": "ENOMEM", "8388608": "ENOMEM",
			"1048576": "ENOMEM", "65536": "ok",
		}}},
	},
	{
		id: MemlockLimit, status: check.Unknown, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"proc/self/limits": "! EACCES"}},
	},
	{id: IPCLockEffective, status: check.Fail, machine: infiniBand, judge: ofPod, recorded: true},
	{
		id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"libibverbs.so.1": hosttest.Gone, "lib64/libc.so.6": ""}},
	},
	{
		id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{
			"libmlx5-rdmav34.so": hosttest.Gone, "usr/lib/x86_64-linux-gnu/libibverbs/libefa-rdmav34.so": "",
		}},
	},
	{
		id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{
			"libmlx5-rdmav34.so": hosttest.Gone, "etc/libibverbs.d/mlx5.driver": hosttest.Gone,
		}},
	},
	{id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod, change: ofDriver("ionic")},
	{id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod, change: ofDriver("mana")},
	{
		id: nccl.SharedMemory, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Probes: map[string]any{"shmBytes": 64 << 20}},
	},
	{
		id: nccl.SharedMemory, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Probes: map[string]any{"shmFree": 1 << 20}},
	},
	{
		id: DisableEffective, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_NET", nil).And(hosttest.Env("NCCL_IB_DISABLE",
			"1")).And(hosttest.Env("LD_LIBRARY_PATH",
			"/opt/hpcx/nccl_rdma_sharp_plugin/lib")).And(hosttest.Edit{Files: map[string]string{
			"opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so": "",
		}}),
	},
	{id: nccl.NetworkChoice, status: check.Fail, machine: pod, judge: ofPod, edit: hosttest.Env("NCCL_NET", "Socket")},
	{id: nccl.HCAFilter, status: check.Fail, machine: pod, judge: ofPod, edit: hosttest.Env("NCCL_IB_HCA", "mlx4")},
	{id: nccl.HCAFilter, status: check.Fail, machine: "pod-privileged", judge: ofPod, recorded: true},
	{id: nccl.GIDIndex, status: check.Fail, machine: pod, judge: ofPod, edit: hosttest.Env("NCCL_IB_GID_INDEX", "5")},
	{id: nccl.GIDIndex, status: check.Fail, machine: "pod-macvlan-shifted", judge: ofPod, recorded: true},
	{id: nccl.GIDIndex, status: check.Fail, machine: "pod-shared-plugin", judge: ofPod, recorded: true},
	{id: FusionAvoided, status: check.Warn, machine: "vm-one-bus", judge: ofPod, recorded: true},
	{
		id: nccl.SocketInterface, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_SOCKET_IFNAME", "eno1"),
	},
	{
		id: nccl.SocketInterface, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_SOCKET_IFNAME", "net1,net2"),
	},
	{
		id: nccl.UserSetting, status: check.Warn, machine: "vm-one-bus", judge: ofPod,
		edit: hosttest.Env("NCCL_IB_MERGE_VFS", "1"), recorded: true,
	},
	{
		id: nccl.LibraryDevices, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("UCX_NET_DEVICES", "mlx5_6:1,mlx5_0:1"),
	},
	{id: nccl.LibraryDevices, status: check.Warn, machine: pod, judge: ofPod, edit: hosttest.Env("UCX_TLS",
		"tcp,self")},
	{
		id: nccl.GDRLevelKnown, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_NET_GDR_LEVEL", "NODE"),
	},
	{id: RailARP, status: check.Warn, machine: pod, judge: ofPod, change: oneSubnet},
	{id: RailARP, status: check.Fail, machine: pod, judge: ofPod, change: func(s *host.Snapshot) {
		oneSubnet(s)
		for _, last := range []string{"10.10.11.5", "10.10.11.6"} {
			s.Neighbours = append(s.Neighbours, host.Neighbour{
				Link: "net1", Addr: netip.MustParseAddr(last), MAC: "3a:11:00:00:00:99", Resolved: true,
			})
		}
	}},
	{id: RailARP, status: check.Unknown, machine: pod, judge: ofPod, change: func(s *host.Snapshot) {
		oneSubnet(s)
		link(s, "net1").ARP.Ignore, link(s, "net2").ARP.Ignore = host.Unread[int]("EACCES"), host.Unread[int]("EACCES")
	}},
	{id: RailsRoutable, status: check.Fail, machine: pod, judge: ofPod, change: func(s *host.Snapshot) {
		s.Env["NCCL_CROSS_NIC"] = "1"
		s.Lookups = []host.Lookup{{From: "net1", Toward: "net2", Dest: netip.MustParseAddr("10.10.12.5")}}
	}},
	{id: RailsRoutable, status: check.Warn, machine: pod, judge: ofPod, change: func(s *host.Snapshot) {
		s.Lookups = []host.Lookup{
			{From: "net1", Toward: "net2", Dest: netip.MustParseAddr("10.10.12.5")},
			{
				From: "net2", Toward: "net1", Dest: netip.MustParseAddr("10.10.11.5"),
				Gateway: netip.MustParseAddr("10.10.12.1"),
			},
		}
	}},
	{
		id: RailMTU, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"net/net1/mtu": "1500"}},
	},
	{
		id: RailMTU, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"net/net1/mtu": "1500", "net/net2/mtu": "1500",
			"net/net3/mtu": "1500", "net/net4/mtu": "1500"}},
	},
	{id: RateExpected, status: check.Fail, machine: pod, judge: fast},
	{
		id: rail.RateUniform, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"mlx5_6/ports/1/rate": "200 Gb/sec (4X HDR)"}},
	},
	{
		id: PCIeLink, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{
			"0000:1a:00.0/current_link_speed": "16.0 GT/s PCIe", "0000:1a:00.0/current_link_width": "8",
		}},
	},
	{id: rail.PortNotShared, status: check.Warn, machine: pod, judge: ofPod, change: func(s *host.Snapshot) {
		first := device(s).Function.Value.PhysFn
		d, _ := s.Device("mlx5_7")
		for i := range s.Devices {
			if s.Devices[i].Name == d.Name {
				setFunction(&s.Devices[i], func(f *host.Function) { f.PhysFn = first })
			}
		}
	}},
	{id: rail.HardwareRDMA, status: check.Warn, machine: "vm-soft-roce", judge: ofPod, recorded: true},
	{id: nccl.GPUDirectPossible, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{
			"sys/module/nvidia_peermem/version": hosttest.Gone,
			"proc/driver/nvidia/version":        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06",
		}}},
	{
		id: nccl.GPUDirectDistance, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_NET_GDR_LEVEL", "LOC"),
	},
	{
		id: nccl.IOMMUPassthrough, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"iommu_groups/80/type": "DMA-FQ"}},
	},
	{
		id: SilentFallback, status: check.Pass, machine: pod, judge: ofPod,
	},
	{id: PhysicalUp, status: check.Fail, machine: "lab-pf-down", judge: ofPod, recorded: true},
	{id: PhysicalUp, status: check.Fail, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) {
		givesVFs(s, host.VF{}, host.VF{Index: 1}).Up = host.Know(false)
		s.Devices[0].Ports[0].LinkLayer = host.Know(host.Ethernet)
	}},
	{id: PhysicalUp, status: check.Fail, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) { // InfiniBand
		pf := physical(s)[0]
		setFunction(pf, func(f *host.Function) { f.NumVFs = host.Know(2) })
		pf.Ports[0].State = host.Know("INIT")
	}},
	{
		id: VFGUID, status: check.Fail, machine: infiniBand, judge: ofPod,
		edit: locked("unlimited").And(hosttest.Edit{Files: map[string]string{
			"mlx5_10/node_guid": "0000:0000:0000:0000", "mlx5_10/ports/1/state": "1: DOWN",
		}}),
	},
	{id: rail.DeviceAllocated, status: check.Fail, machine: bareMetal, judge: Node, edit: withoutDevices},
	{
		id: VFSettings, status: check.Fail, machine: bareMetal, judge: Node,
		change: func(s *host.Snapshot) { givesVFs(s, host.VF{LinkState: "disable"}) },
	},
	{id: VFSettings, status: check.Fail, machine: "pod-roce-4vf", judge: Node, change: func(s *host.Snapshot) {
		f := device(s).Function.Value
		vf := host.VF{MAC: "00:00:00:00:00:01", SpoofChk: true}
		s.Links = append(s.Links, host.Link{Name: "eno5np0", PCI: f.PhysFn, VFs: []host.VF{vf}})
	}},
	{id: VFCount, status: check.Warn, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) {
		givesVFs(s, host.VF{}, host.VF{Index: 1})
		setFunction(&s.Devices[1], func(f *host.Function) { f.NumVFs = host.Know(8) })
	}},
	{id: VFCount, status: check.Pass, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) {
		givesVFs(s, host.VF{}, host.VF{Index: 1})
		setFunction(&s.Devices[1], func(f *host.Function) { f.NumVFs, f.TotalVFs = host.Know(0), host.Know(0) })
	}},
	{id: VFTrust, status: check.Pass, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) {
		givesVFs(s, host.VF{Trust: host.Know(false)}, host.VF{Index: 1, Trust: host.Know(true)})
	}},
	{id: VFSettings, status: check.Unknown, machine: "pod-roce-4vf", judge: Node, change: func(s *host.Snapshot) {
		s.Problems = append(s.Problems, host.Problem{Path: "/proc/net", Op: "netlink", Err: "operation not permitted"})
	}},
	{id: IOMMUPresent, status: check.Warn, machine: "lab-iommu-absent", judge: Node, recorded: true},
	{
		id: IOMMUOptions, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"proc/cmdline": "quiet amd_iommu=pt", "iommu_groups/60/type": "DMA",
		}},
	},
	{id: nccl.IOMMUPassthrough, status: check.Warn, machine: "lab-iommu-translated", judge: Node, recorded: true},
	{
		id: PCIConfig, status: check.Unknown, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{"0000:1a:00.0/config": strings.Repeat("x", 63)}},
	},
	{id: ACSRedirect, status: check.Warn, machine: bareMetal, judge: Node, change: func(s *host.Snapshot) {
		config(s, 4096)
		hops := s.Devices[0].Function.Value.Path.Value.Hops
		s.Bridges = []host.Function{{Address: hops[len(hops)-2], Config: host.PCIConfig{ACS: host.Know(0x1d)}}}
	}},
	{
		id: ReadRequest, status: check.Warn, machine: bareMetal, judge: Node,
		change: func(s *host.Snapshot) { config(s, 512) },
	},
	{
		id: PCIeLink, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{"0000:1a:00.0/current_link_speed": "16.0 GT/s PCIe"}},
	},
	{
		id: FirmwareUniform, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{"mlx5_0/fw_ver": "28.39.1002"}},
	},
	{
		id: PeermemRegistered, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"sys/module/nvidia_peermem/initstate": "live",
			"proc/driver/nvidia/version":          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06",
		}},
	},
	{
		id: ModuleConflict, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"sys/module/nv_peer_mem/initstate": "live", "sys/module/nvidia_peermem/initstate": "live",
			"sys/kernel/mm/memory_peers/nv_mem/version": "1.0",
		}},
	},
	{
		id: RuntimeMemlock, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"etc/crio/crio.conf.d/99-x.conf": "[crio.runtime]\ndefault_ulimits = [\"memlock=65536:65536\"]",
		}},
	},
	{id: LinkStable, status: check.Fail, machine: bareMetal, judge: watched, edit: counter("counters/link_downed",
		"1")},
	{id: SymbolErrors, status: check.Warn, machine: bareMetal, judge: watched, edit: counter("counters/symbol_error",
		"40")},
	{id: PacketsInTurn, status: check.Warn, machine: bareMetal, judge: watched,
		edit: counter("hw_counters/out_of_sequence", "7")},
	{id: Congestion, status: check.Pass, machine: bareMetal, judge: watched, edit: counter("hw_counters/np_cnp_sent",
		"900")},
}

func of(r check.Report, id check.ID) (check.Finding, bool) {
	for _, f := range r.Findings {
		if f.Check == id {
			return f, true
		}
	}
	return check.Finding{}, false
}

// TestChecksFire: every check is the first finding on a machine with its fault, and has none on the machine without it.
func TestChecksFire(t *testing.T) {
	for _, x := range fixtures {
		t.Run(string(x.id)+" "+x.machine, func(t *testing.T) {
			t.Parallel()
			ib := hosttest.Env("NCCL_NET", "IB")
			s := hosttest.Edited(t, x.machine, ib)
			if x.id == SilentFallback {
				s = hosttest.Read(t, x.machine)
			}
			quiet := x.judge(s)
			if x.recorded {
				quiet = ofPod(hosttest.Read(t, pod))
				quiet.Findings = append(quiet.Findings, Node(hosttest.Read(t, bareMetal)).Findings...)
			}
			if x.id == RateExpected {
				quiet = ofPod(s)
			}
			if x.id == SilentFallback {
				quiet = ofPod(hosttest.Edited(t, x.machine, ib))
			} else {
				s = hosttest.Edited(t, x.machine, ib.And(x.edit))
			}
			if f, fires := of(quiet, x.id); fires {
				t.Errorf("fires without the fault: %s", f.Summary)
			}
			if x.change != nil {
				x.change(&s)
			}
			r := x.judge(s)
			if len(r.Findings) == 0 || r.Findings[0].Check != x.id || r.Findings[0].Status != x.status {
				t.Errorf("want %s of %s first in %v", x.status, x.id, r.Findings)
			}
			f, _ := of(r, x.id)
			if len(f.Summary) == 0 || f.Status > check.Pass && f.Status != check.Unknown && len(f.Evidence) == 0 {
				t.Errorf("no summary or no evidence: %+v", f)
			}
		})
	}
}

// TestEveryCheckHasFixtures also compares the titles with the pages.
func TestEveryCheckHasFixtures(t *testing.T) {
	fired := map[check.ID]bool{}
	for _, x := range fixtures {
		fired[x.id] = true
	}
	seen := map[check.ID]string{}
	for _, list := range [][]check.Check[*subject]{podChecks, nodeChecks, watchChecks} {
		own := map[check.ID]bool{}
		for _, c := range list {
			if !fired[c.ID] {
				t.Errorf("%s has no fixture in which it fires", c.ID)
			}
			if own[c.ID] {
				t.Errorf("%s is twice in a catalogue", c.ID)
			}
			own[c.ID] = true
			if _, again := seen[c.ID]; again {
				continue
			}
			seen[c.ID] = c.Title
			page, err := os.ReadFile(filepath.Join("../../..", c.ID.Page()))
			if err != nil {
				t.Errorf("%s has no page: %v", c.ID, err)
				continue
			}
			if want := "**Healthy:** " + c.Title + "\n"; !strings.Contains(string(page), want) {
				_, rest, _ := strings.Cut(string(page), "**Healthy:** ")
				line, _, _ := strings.Cut(rest, "\n")
				t.Errorf("%s: the title is %q, and its page says %q", c.ID, c.Title, line)
			}
		}
	}
}
