package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	recorded bool // the recording itself has the fault; without it is pod-roce-4vf
}

const (
	pod        = "pod-roce-4vf"
	infiniBand = "pod-infiniband-4vf"
	bareMetal  = "host-baremetal-8x400"
)

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
func ofDriver(name string) hosttest.Edit {
	return hosttest.Edit{Files: map[string]string{"0000:1a:00.2/driver": "-> /sys/bus/pci/drivers/" + name}}
}

// oneSubnet moves the second rail into the network of the first, and has the kernel answer ARP as the rules say.
func oneSubnet(ignore string) hosttest.Edit {
	return hosttest.Edit{
		Files: map[string]string{
			"mlx5_7/ports/1/gids/2":                  "0000:0000:0000:0000:0000:ffff:0a0a:0bc8",
			"mlx5_7/ports/1/gids/3":                  "0000:0000:0000:0000:0000:ffff:0a0a:0bc8",
			"proc/sys/net/ipv4/conf/all/arp_ignore":  "0",
			"proc/sys/net/ipv4/conf/net1/arp_ignore": ignore,
			"proc/sys/net/ipv4/conf/net2/arp_ignore": ignore,
		},
		Probes: map[string]any{"addresses": map[string]any{"11": []string{"10.10.11.200/24"}}},
	}
}

// routes are answers of the kernel: by the source, the index of its interface and the destination, the gateway.
func routes(answers map[string]any) hosttest.Edit {
	return hosttest.Edit{Probes: map[string]any{"routes": answers}}
}

// The node's first two cards, and the port of the switch above the first.
const (
	aboveFirst = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0"
	firstCard  = aboveFirst + "/0000:1a:00.0/"
	secondCard = "sys/devices/pci0000:2a/0000:2a:01.0/0000:2b:00.0/0000:2c:01.0/0000:2f:00.0/"
)

// givesVFs adds virtual functions to the node's first card.
func givesVFs(vfs ...host.VF) hosttest.Edit {
	return hosttest.Edit{
		Files: map[string]string{
			firstCard + "sriov_numvfs": strconv.Itoa(len(vfs)), firstCard + "sriov_totalvfs": "16",
		},
		Probes: map[string]any{"vfs": []host.Link{{Name: "ibp0s0", Index: host.Know(10), VFs: vfs}}},
	}
}

// secondGives sets how many virtual functions the node's second card has and can have.
func secondGives(vfs, most string) hosttest.Edit {
	return hosttest.Edit{Files: map[string]string{secondCard + "sriov_numvfs": vfs, secondCard +
		"sriov_totalvfs": most}}
}

// configSpace is a recorded configuration space with the control registers of PCI Express and ACS
// (include/uapi/linux/pci_regs.h).
func configSpace(express, acs uint32) string {
	return fmt.Sprintf("configuration space of 4096 bytes\n034: 00000060\n060: 00020010\n068: %08x\n"+
		"100: 0001000d\n104: %08x", express, acs<<16)
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
	{id: rail.UverbsOpenable, status: check.Fail, machine: "pod-efa-hostpath", judge: ofPod, recorded: true},
	{id: rail.TransportSupported, status: check.Warn, machine: "pod-efa", judge: ofPod, recorded: true},
	{id: nccl.TopologyFile, status: check.Warn, machine: "vm-topology-file", judge: ofPod, recorded: true},
	{id: rail.PortActive, status: check.Fail, machine: "host-port-down", judge: Node, recorded: true},
	{id: rail.PortActive, status: check.Fail, machine: "host-port-down", judge: ofPod, recorded: true},
	{
		id: rail.PortActive, status: check.Fail, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"mlx5_0/ports/1/state": "1: DOWN", "mlx5_0/ports/1/phys_state": "3: Disabled",
		}},
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
	{id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod, edit: ofDriver("ionic")},
	{id: VerbsLibrary, status: check.Fail, machine: pod, judge: ofPod, edit: ofDriver("mana")},
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
	{id: RailARP, status: check.Warn, machine: pod, judge: ofPod, edit: oneSubnet("0")},
	{
		id: RailARP, status: check.Fail, machine: pod, judge: ofPod,
		edit: oneSubnet("0").And(hosttest.Edit{Files: map[string]string{
			"proc/net/arp": "IP address       HW type     Flags       HW address            Mask     Device\n" +
				"10.10.11.5       0x1         0x2         3a:11:00:00:00:99     *        net1\n" +
				"10.10.11.6       0x1         0x2         3a:11:00:00:00:99     *        net1\n",
		}}),
	},
	{id: RailARP, status: check.Unknown, machine: pod, judge: ofPod, edit: oneSubnet("! EACCES")},
	{
		id: RailsRoutable, status: check.Fail, machine: pod, judge: ofPod,
		edit: hosttest.Env("NCCL_CROSS_NIC", "1").And(routes(map[string]any{
			"10.10.11.161 10 10.10.12.162": "neighbour",
		})),
	},
	{
		id: RailsRoutable, status: check.Warn, machine: pod, judge: ofPod,
		edit: routes(map[string]any{
			"10.10.11.161 10 10.10.12.162": "neighbour", "10.10.12.161 11 10.10.11.162": "10.10.12.1",
		}),
	},
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
	{ // the slot would carry either port of the card, and does not carry both
		id: PCIeLink, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{
			"0000:1a:00.0/current_link_speed":                     "16.0 GT/s PCIe",
			"mlx5_6/ports/1/rate":                                 "200 Gb/sec (4X HDR)",
			"mlx5_7/ports/1/rate":                                 "200 Gb/sec (4X HDR)",
			"mlx5_10/ports/1/rate":                                "200 Gb/sec (4X HDR)",
			"mlx5_11/ports/1/rate":                                "200 Gb/sec (4X HDR)",
			"0000:2f:00.2/physfn":                                 "-> ../0000:1a:00.1",
			"sys/bus/pci/devices/0000:1a:00.1/current_link_speed": "16.0 GT/s PCIe",
			"sys/bus/pci/devices/0000:1a:00.1/current_link_width": "16",
			"sys/bus/pci/devices/0000:1a:00.1/max_link_speed":     "32.0 GT/s PCIe",
			"sys/bus/pci/devices/0000:1a:00.1/max_link_width":     "16",
		}},
	},
	{
		id: rail.PortNotShared, status: check.Warn, machine: pod, judge: ofPod,
		edit: hosttest.Edit{Files: map[string]string{"0000:2f:00.2/physfn": "-> ../0000:1a:00.0"}},
	},
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
	{
		id: PhysicalUp, status: check.Fail, machine: bareMetal, judge: Node,
		edit: givesVFs(host.VF{}, host.VF{Index: 1}).And(hosttest.Edit{Files: map[string]string{
			"net/ibp0s0/flags": "0x1002", "mlx5_0/ports/1/link_layer": "Ethernet",
		}}),
	},
	{
		id: PhysicalUp, status: check.Fail, machine: bareMetal, judge: Node, // InfiniBand
		edit: givesVFs(host.VF{}, host.VF{Index: 1}).And(hosttest.Edit{Files: map[string]string{
			"mlx5_0/ports/1/state": "2: INIT",
		}}),
	},
	{
		id: VFGUID, status: check.Fail, machine: infiniBand, judge: ofPod,
		edit: locked("unlimited").And(hosttest.Edit{Files: map[string]string{
			"mlx5_10/node_guid": "0000:0000:0000:0000", "mlx5_10/ports/1/state": "1: DOWN",
		}}),
	},
	{id: rail.DeviceAllocated, status: check.Fail, machine: bareMetal, judge: Node, edit: withoutDevices},
	{
		id: VFSettings, status: check.Fail, machine: bareMetal, judge: Node,
		edit: givesVFs(host.VF{LinkState: "disable"}),
	},
	{id: VFSettings, status: check.Fail, machine: "lab-wrong-mac", judge: Node, recorded: true},
	{
		id: VFCount, status: check.Warn, machine: bareMetal, judge: Node,
		edit: givesVFs(host.VF{}, host.VF{Index: 1}).And(secondGives("8", "16")),
	},
	{
		id: VFCount, status: check.Pass, machine: bareMetal, judge: Node,
		edit: givesVFs(host.VF{}, host.VF{Index: 1}).And(secondGives("0", "0")),
	},
	{
		id: VFTrust, status: check.Pass, machine: bareMetal, judge: Node,
		edit: givesVFs(host.VF{Trust: host.Know(false)}, host.VF{Index: 1, Trust: host.Know(true)}),
	},
	{
		id: VFSettings, status: check.Unknown, machine: pod, judge: Node,
		edit: hosttest.Edit{Probes: map[string]any{"vfs": map[string]any{"unreadable": "EPERM"}}},
	},
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
	{
		id: ACSRedirect, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			firstCard + "config":               configSpace(0x5020, 0),
			"sys/bus/pci/devices/0000:17:01.0": "-> ../../../../" + aboveFirst,
			aboveFirst + "/config":             configSpace(0x5020, 0x1d),
		}},
	},
	{
		id: ReadRequest, status: check.Warn, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{firstCard + "config": configSpace(0x2020, 0)}},
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
	{
		id: RuntimeMemlock, status: check.Fail, machine: bareMetal, judge: Node,
		edit: hosttest.Edit{Files: map[string]string{
			"etc/crio/crio.conf.d/99-x.conf": "[crio.runtime]\ndefault_ulimits = [\"memlock=-1:-1\", \"stack=8M\"]",
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
