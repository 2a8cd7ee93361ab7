package rules

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
)

func set(name, value string) func(*host.Snapshot) {
	return func(s *host.Snapshot) { s.Env[name] = value }
}

// given is the first device that can be opened.
func given(s *host.Snapshot) *host.Device {
	i := slices.IndexFunc(s.Devices, func(d host.Device) bool { return s.AccessTo(d.Name) == host.Openable })
	return &s.Devices[i]
}

func interfaceOf(s *host.Snapshot, name string) *host.Link {
	return &s.Links[slices.IndexFunc(s.Links, func(l host.Link) bool { return l.Name == name })]
}

func eachFunction(s *host.Snapshot, change func(*host.Function)) {
	for i := range s.Devices {
		f := s.Devices[i].Function.Value
		change(&f)
		s.Devices[i].Function = host.Know(f)
	}
}

// limited is a process with a limit of locked memory that no capability lifts.
func limited(limit host.Limit) func(*host.Snapshot) {
	return func(s *host.Snapshot) {
		s.Limits.MemlockSoft, s.Limits.MemlockHard = host.Know(limit), host.Know(limit)
		s.Limits.CapEff, s.Limits.CapBnd = host.Know(host.Caps(0)), host.Know(host.Caps(0))
	}
}

// ofUser is a process of a user that is not root, with IPC_LOCK in its pod's manifest.
func ofUser(s *host.Snapshot) {
	limited(8 << 20)(s)
	s.Limits.UID, s.Limits.CapBnd = host.Know(1000), host.Know(host.Caps(1<<host.CapIPCLock))
}

// inOneSubnet puts the second rail into the first one's network, with the kernel's settings of ARP.
func inOneSubnet(s *host.Snapshot) {
	a := netip.MustParsePrefix("10.10.11.200/24")
	interfaceOf(s, "net2").Addresses = host.Know([]netip.Prefix{a})
	for i := range s.Devices {
		for g := range s.Devices[i].Ports[0].GIDs {
			if gid := &s.Devices[i].Ports[0].GIDs[g]; gid.IP() == netip.MustParseAddr("10.10.12.161") {
				gid.Addr = netip.AddrFrom16(a.Addr().As16())
			}
		}
	}
	s.ARP.Ignore = host.Know(0)
	interfaceOf(s, "net1").ARP.Ignore, interfaceOf(s, "net2").ARP.Ignore = host.Know(0), host.Know(0)
}

func fallbackPains(t testing.TB) map[string]pain {
	return map[string]pain{
		"the job runs on TCP and nobody notices: the pod has no device": asRecorded(t, "pod-no-rdma", nothing, "fail device-allocated"),
		"the job runs on TCP and nobody notices: /dev/infiniband is missing": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			for i := range s.Uverbs {
				s.Uverbs[i].Access = host.Missing
			}
			s.VerbsNodes = host.Know(0)
		}, "fail uverbs-openable"),
		"the job runs on TCP and nobody notices: no libibverbs in the image": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			s.Verbs = &host.VerbsLibrary{}
		}, "fail verbs-library"),
		"the job runs on TCP: a variable of the image says so": inPod(t, "pod-roce-4vf", set("NCCL_IB_DISABLE", "1"), "fail network-choice"),
		"NCCL finds no interface for its sockets":              inPod(t, "pod-roce-4vf", set("NCCL_SOCKET_IFNAME", "eno1"), "fail socket-interface"),
	}
}

func memoryPains(t testing.TB) map[string]pain {
	shm := func(size, free uint64) func(*host.Snapshot) {
		return func(s *host.Snapshot) { s.Limits.ShmBytes, s.Limits.ShmFree = host.Know(size), host.Know(free) }
	}
	return map[string]pain{
		"IPC_LOCK was added and memlock is still 8 MiB":             inPod(t, "pod-roce-4vf", ofUser, "fail ipc-lock-effective"),
		"a pod cannot ask for a limit: 64 KiB is what it gets":      inPod(t, "pod-roce-4vf", limited(64<<10), "fail memlock-limit"),
		"the limit looks unlimited in a user namespace, and is not": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) { s.Limits.Lockable = host.Know[uint64](64 << 10) }, "fail memlock-limit"),
		"a limit of the runtime's own service does not reach its containers": onNode(t, func(s *host.Snapshot) {
			s.Runtime = runtimeOf(t, "-- etc/crio/crio.conf --\n[crio.runtime]\n-- etc/systemd/system/crio.service.d/limits.conf --\n[Service]\nLimitMEMLOCK=infinity\n")
		}, "warn runtime-memlock"),
		"the node has no default limit, and so its pod has none: one thing to mend":       nodeAndPod(t),
		"ibv_reg_mr_iova2 cannot allocate memory though limits.conf was edited: its rank": inPod(t, "pod-roce-4vf", limited(8192<<10), "fail memlock-limit"),
		"one rank of the job alone has a small limit":                                     inJob(t, func(m []Machine) { limited(8 << 20)(&m[1].Snapshot) }, "fail memlock-limit"),
		"no space left on device: /dev/shm is 64 MiB":                                     inPod(t, "pod-roce-4vf", shm(64<<20, 60<<20), "warn shm-size"),
		"no space left on device: segments of a run that crashed":                         inPod(t, "pod-roce-4vf", shm(64<<30, 1<<20), "warn shm-size"),
	}
}

// runtimeOf is what files of a node tell its container runtime.
func runtimeOf(t testing.TB, files string) *host.Runtime {
	archive, err := replay.Parse("-- sys/class/infiniband/ --\n" + files)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := sysfs.Recorded(archive)
	if err != nil {
		t.Fatal(err)
	}
	return machine.Snapshot().Runtime
}

// nodeAndPod is a node without a default, and its pod.
func nodeAndPod(t testing.TB) pain {
	p := onNode(t, func(s *host.Snapshot) { s.Runtime = &host.Runtime{Name: "containerd"} }, "fail runtime-memlock")
	p.sick.Machines = append(p.sick.Machines, lone(check.PodRef("train", "h-kim-0"), changed(t, "pod-roce-4vf", limited(8<<20))).Machines...)
	return p
}

// whole is a pod that opens all HCAs of its node, and has no other fault.
func whole(s *host.Snapshot) {
	for _, name := range []string{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL", "NCCL_SOCKET_IFNAME"} {
		delete(s.Env, name)
	}
	s.GPUs = nil
}

func devicePains(t testing.TB) map[string]pain {
	return map[string]pain{
		"a privileged pod opens all HCAs though one was asked for, and ibv_modify_qp says no such device": asRecorded(t, "pod-privileged", whole, "fail foreign-hca-hidden"),
		"NCCL_IB_HCA=mlx5_2 also selects mlx5_20": asRecorded(t, "pod-privileged", func(s *host.Snapshot) {
			whole(s)
			s.Env["NCCL_IB_HCA"] = "mlx5_2"
		}, "fail hca-filter", "warn foreign-hca-hidden", "warn hca-filter"),
		"the filter has the names of another node's devices":     inPod(t, "pod-roce-4vf", set("NCCL_IB_HCA", "rocep26s0f0v1"), "fail hca-filter"),
		"exclusive mode, and nobody moves the device into a pod": asRecorded(t, "pod-exclusive-unassigned", nothing, "fail rdma-namespace"),
		"exclusive mode, and the shared device plugin crashes": inCluster(func(s *cluster.State) {
			p := podOf(s, "plugin-gpu-1")
			p.Owner, p.Ready, p.Reason = "DaemonSet/rdma-shared-dp-ds", false, "CrashLoopBackOff"
		}, "fail device-plugin"),
		"an InfiniBand virtual function without a GUID is down": inPod(t, "pod-infiniband-4vf", func(s *host.Snapshot) {
			d := given(s)
			d.NodeGUID, d.Ports[0].State = host.Know("0000:0000:0000:0000"), host.Know("DOWN")
		}, "fail vf-guid"),
		"virtual functions whose link state is disabled are down": onNode(t, func(s *host.Snapshot) {
			l := interfaceOf(s, "ibp0s0")
			l.VFs, l.Up, l.Carrier = []host.VF{{LinkState: "disable"}}, host.Know(true), host.Know(true)
		}, "fail vf-settings"),
		"virtual functions are down with their physical function": asRecorded(t, "lab-pf-down", nothing, "fail pf-up", "warn foreign-hca-hidden"),
	}
}

func nothing(*host.Snapshot) {}

func addressPains(t testing.TB) map[string]pain {
	return map[string]pain{
		"NCCL_IB_GID_INDEX=3 is another pod's slot here":                             asRecorded(t, "pod-macvlan-shifted", set("NCCL_IB_GID_INDEX", "3"), "fail gid-index"),
		"NCCL_IB_GID_INDEX=5 is an empty slot":                                       inPod(t, "pod-roce-4vf", set("NCCL_IB_GID_INDEX", "5"), "fail gid-index"),
		"an NCCL that does not choose takes slot 0":                                  asRecorded(t, "pod-shared-plugin", nothing, "fail gid-index"),
		"InfiniBand works, and RoCE fails to modify a queue pair to RTR: no address": asRecorded(t, "pod-no-address", nothing, "fail gid-usable"),
		"several rails in one subnet, and one NIC carries all":                       inPod(t, "pod-roce-4vf", inOneSubnet, "warn rail-arp"),
		"several rails in one subnet, and it hangs: a neighbour's addresses have one MAC": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			inOneSubnet(s)
			for _, last := range []string{"10.10.11.5", "10.10.11.6"} {
				s.Neighbours = append(s.Neighbours, host.Neighbour{Link: "net1", Addr: netip.MustParseAddr(last), MAC: "3a:11:00:00:00:99", Resolved: true})
			}
		}, "fail rail-arp"),
		"each NIC works alone and two together fail: rails do not reach each other": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			s.Env["NCCL_CROSS_NIC"] = "1"
			s.Lookups = []host.Lookup{{From: "net1", Toward: "net2", Dest: netip.MustParseAddr("10.10.12.5")}}
		}, "fail rails-routable"),
		"error 12 at once, TCP works: the rails of a pod are crossed":          inJob(t, fleetCases()["crossed rails"].change, "fail rail-subnet"),
		"a hang, or LOC_LEN_ERR, where the nodes' MTUs differ":                 inJob(t, func(m []Machine) { eachLink(&m[1], func(l *host.Link) { l.MTU = host.Know(1500) }) }, "fail rail-mtu"),
		"two pods have one address, by an IPAM that counts on each node alone": inJob(t, fleetCases()["one address twice"].change, "fail duplicate-address"),
	}
}

func gpuPains(t testing.TB) map[string]pain {
	closed := func(s *host.Snapshot) { s.GPUDirect.OpenModules, s.GPUDirect.Peermem = host.Know(false), nil }
	return map[string]pain{
		"LOC_PROT_ERR: the IOMMU translates": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			eachFunction(s, func(f *host.Function) { f.IOMMUType = host.Know("DMA-FQ") })
		}, "warn iommu-passthrough"),
		"LOC_PROT_ERR: amd_iommu=on was thought to be an option, and the IOMMU translates": onNode(t, func(s *host.Snapshot) {
			s.Cmdline = host.Know("quiet amd_iommu=on")
			eachFunction(s, func(f *host.Function) { f.IOMMUType = host.Know("DMA") })
		}, "warn iommu-options"),
		"LOC_PROT_ERR: bridges redirect what GPU and NIC exchange": onNode(t, func(s *host.Snapshot) {
			eachFunction(s, func(f *host.Function) {
				f.Config = host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(4096)}
			})
			hops := s.Devices[0].Function.Value.Path.Value.Hops
			s.Bridges = []host.Function{{Address: hops[len(hops)-2], Config: host.PCIConfig{ACS: host.Know(0x1d)}}}
		}, "warn acs-redirect"),
		"GPUDirect RDMA is off: nvidia_peermem is loaded and not registered": onNode(t, func(s *host.Snapshot) {
			s.Modules, s.GPUDirect.OpenModules = []string{"nvidia_peermem"}, host.Know(false)
		}, "warn peermem-registered"),
		"GPUDirect RDMA is off: no module and no DMA-BUF":               inPod(t, "pod-roce-4vf", closed, "warn gpudirect-possible"),
		"in a virtual machine NCCL joins cards that have one bus":       asRecorded(t, "vm-one-bus", nothing, "warn vf-fusion"),
		"no device plugin gives a virtual function on the GPU's switch": inPod(t, "pod-roce-4vf", farGPU, "warn gpudirect-distance"),
		"the network driver's pod crashes, and GPUDirect RDMA is gone":  inCluster(func(s *cluster.State) { s.Pods = append(s.Pods, driver("gpu-1")) }, "warn driver-pods"),
		"the network driver took a node's own NIC, and the node is gone": inCluster(func(s *cluster.State) {
			s.Pods = append(s.Pods, driver("gpu-1"))
			s.Nodes[1].Ready = false
		}, "fail driver-pods"),
		"irdma keeps the network driver from being loaded": onNode(t, func(s *host.Snapshot) { s.Modules = []string{"irdma"} }, "remark module-conflict"),
	}
}

// farGPU puts the first GPU below another host bridge than all rails.
func farGPU(s *host.Snapshot) {
	p := s.GPUs[0].Function.Path.Value
	p.HostBridge = "pci0000:e0"
	s.GPUs[0].Function.Path, s.GPUs[0].Function.NUMANode = host.Know(p), host.Know(1)
}

func clusterPains(testing.TB) map[string]pain {
	return map[string]pain{
		"the pod is attached to the rails and asks for no device, as a controller erased its resources": inCluster(func(s *cluster.State) {
			p := podOf(s, "h-kim-0")
			p.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
			p.Requests = cluster.Resources{"nvidia.com/gpu": 8}
		}, "fail pod-resources"),
		"the job runs on TCP and nobody notices: its pods ask for GPUs alone": inCluster(alone, "fail rdma-requested"),
		"the job runs on TCP and nobody notices: its TrainJob replaced what the runtime asks for": inCluster(func(s *cluster.State) {
			trainJob(s, cluster.Resources{"nvidia.com/gpu": 8})
			alone(s)
		}, "fail rdma-requested"),
		"the validator passes, and the users' attachment names a resource that no node offers": inCluster(func(s *cluster.State) {
			s.Networks[1].Resource = "openshift.io/rial1"
			pending(s, "h-kim-1", "FailedScheduling", "0/2 nodes are available: 2 Insufficient openshift.io/rial1.")
			podOf(s, "h-kim-0").Annotations, podOf(s, "h-kim-1").Annotations = nil, nil
		}, "fail network-resource"),
		"the pod stays in ContainerCreating: it has a network and no device of it": inCluster(func(s *cluster.State) {
			pending(s, "h-kim-1", "FailedCreatePodSandBox", `plugin type="multus" failed (add): [train/h-kim-1/:rail0]: error adding container to network "rail0": SRIOV-CNI failed to load netconf: LoadConf(): VF pci addr is required`)
			p := podOf(s, "h-kim-1")
			p.Node, p.Unscheduled = "gpu-1", ""
			delete(p.Requests, "openshift.io/rail0")
		}, "fail pod-resources"),
		"the operator drains and never ends: it failed on a node": inCluster(func(s *cluster.State) {
			s.SriovNodes[1].SyncStatus, s.SriovNodes[1].SyncError = "Failed", "numVfs 64 is more than 16"
			s.Nodes[1].Allocatable["openshift.io/rail1"] = 0
		}, "fail sriov-node-state"),
	}
}
