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
	"github.com/railhead/railhead/internal/rules/rulestest"
)

func unchanged(*host.Snapshot) {}

func set(name, value string) func(*host.Snapshot) {
	return func(s *host.Snapshot) { s.Env[name] = value }
}

// ownDevice returns the first device that the pod can open.
func ownDevice(s *host.Snapshot) *host.Device {
	i := slices.IndexFunc(s.Devices, func(d host.Device) bool { return s.AccessTo(d.Name) == host.Openable })
	return &s.Devices[i]
}

func linkOf(s *host.Snapshot, name string) *host.Link {
	return &s.Links[slices.IndexFunc(s.Links, func(l host.Link) bool { return l.Name == name })]
}

func eachFunction(s *host.Snapshot, change func(*host.Function)) {
	for i := range s.Devices {
		f := s.Devices[i].Function.Value
		change(&f)
		s.Devices[i].Function = host.Know(f)
	}
}

// limited sets the locked-memory limit of a process without capabilities.
func limited(limit host.Limit) func(*host.Snapshot) {
	return func(s *host.Snapshot) {
		s.Limits.MemlockSoft, s.Limits.MemlockHard = host.Know(limit), host.Know(limit)
		s.Limits.CapEff, s.Limits.CapBnd = host.Know(host.Caps(0)), host.Know(host.Caps(0))
	}
}

// ipcLockOfUser makes the process one of a user other than root, with IPC_LOCK in the manifest of its pod.
func ipcLockOfUser(s *host.Snapshot) {
	limited(8 << 20)(s)
	s.Limits.UID, s.Limits.CapBnd = host.Know(1000), host.Know(host.Caps(1<<host.CapIPCLock))
}

// inOneSubnet puts the second rail into the first one's network, with the kernel's default ARP settings.
func inOneSubnet(s *host.Snapshot) {
	a := netip.MustParsePrefix("10.10.11.200/24")
	linkOf(s, "net2").Addresses = host.Know([]netip.Prefix{a})
	for i := range s.Devices {
		for g := range s.Devices[i].Ports[0].GIDs {
			if gid := &s.Devices[i].Ports[0].GIDs[g]; gid.IP() == netip.MustParseAddr("10.10.12.161") {
				gid.Addr = netip.AddrFrom16(a.Addr().As16())
			}
		}
	}
	s.ARP.Ignore = host.Know(0)
	linkOf(s, "net1").ARP.Ignore, linkOf(s, "net2").ARP.Ignore = host.Know(0), host.Know(0)
}

func fallbackPains(t testing.TB) map[string]pain {
	return map[string]pain{
		"the job silently runs on TCP: the pod has no device": asRecorded(t, "pod-no-rdma",
			unchanged, "fail device-allocated"),
		"the job silently runs on TCP: /dev/infiniband is missing": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			for i := range s.Uverbs {
				s.Uverbs[i].Access = host.Missing
			}
			s.VerbsNodes = host.Know(0)
		}, "fail uverbs-openable"),
		"the job silently runs on TCP: no libibverbs in the image": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			s.Verbs = &host.VerbsLibrary{}
		}, "fail verbs-library"),
		"the job runs on TCP: a variable of the image requires it": inPod(t, "pod-roce-4vf",
			set("NCCL_IB_DISABLE", "1"), "fail network-choice"),
		"NCCL finds no interface for its sockets": inPod(t, "pod-roce-4vf",
			set("NCCL_SOCKET_IFNAME", "eno1"), "fail socket-interface"),
	}
}

func memoryPains(t testing.TB) map[string]pain {
	shm := func(size, free uint64) func(*host.Snapshot) {
		return func(s *host.Snapshot) { s.Limits.ShmBytes, s.Limits.ShmFree = host.Know(size), host.Know(free) }
	}
	return map[string]pain{
		"IPC_LOCK was added and memlock is still 8 MiB": inPod(t, "pod-roce-4vf",
			ipcLockOfUser, "fail ipc-lock-effective"),
		"a pod cannot request a limit, and gets 64 KiB": inPod(t, "pod-roce-4vf",
			limited(64<<10), "fail memlock-limit"),
		"the limit looks unlimited in a user namespace, and is not": inPod(t, "pod-roce-4vf",
			func(s *host.Snapshot) { s.Limits.Lockable = host.Know[uint64](64 << 10) }, "fail memlock-limit"),
		"a limit of the runtime's own service does not reach its containers": onNode(t, func(s *host.Snapshot) {
			s.Runtime = runtimeOf(t, "-- etc/crio/crio.conf --\n[crio.runtime]\n-- "+
				"etc/systemd/system/crio.service.d/limits.conf --\n[Service]\nLimitMEMLOCK=infinity\n")
		}, "warn runtime-memlock"),
		"the node has no default limit, and so its pod has none: one fault": nodeAndPod(t),
		"ibv_reg_mr_iova2 cannot allocate memory though limits.conf was edited: its rank": inPod(t, "pod-roce-4vf",
			limited(8192<<10), "fail memlock-limit"),
		"one rank of the job alone has a small limit": inJob(t,
			func(m []Machine) { limited(8 << 20)(&m[1].Snapshot) }, "fail memlock-limit"),
		"no space left on device: /dev/shm is 64 MiB": inPod(t, "pod-roce-4vf",
			shm(64<<20, 60<<20), "warn shm-size"),
		"no space left on device: segments of a run that crashed": inPod(t, "pod-roce-4vf",
			shm(64<<30, 1<<20), "warn shm-size"),
	}
}

// runtimeOf returns the settings of the container runtime in files of a node.
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

// nodeAndPod is a node without a default limit, and its pod.
func nodeAndPod(t testing.TB) pain {
	p := onNode(t, func(s *host.Snapshot) { s.Runtime = &host.Runtime{Name: "containerd"} }, "fail runtime-memlock")
	pod := single(check.PodRef("train", "h-kim-0"), changed(t, "pod-roce-4vf", limited(8<<20)))
	p.sick.Machines = append(p.sick.Machines, pod.Machines...)
	return p
}

// allHCAs leaves a pod that opens all HCAs of its node no other fault.
func allHCAs(s *host.Snapshot) {
	for _, name := range []string{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL", "NCCL_SOCKET_IFNAME"} {
		delete(s.Env, name)
	}
	s.GPUs = nil
}

func devicePains(t testing.TB) map[string]pain {
	return map[string]pain{
		"a privileged pod opens all HCAs though it requested one, and " +
			"ibv_modify_qp fails: no such device": asRecorded(t, "pod-privileged",
			allHCAs, "fail foreign-hca-hidden"),
		"NCCL_IB_HCA=mlx5_2 also selects mlx5_20": asRecorded(t, "pod-privileged", func(s *host.Snapshot) {
			allHCAs(s)
			s.Env["NCCL_IB_HCA"] = "mlx5_2"
		}, "fail hca-filter", "warn foreign-hca-hidden", "warn hca-filter"),
		"the filter has the names of another node's devices": inPod(t, "pod-roce-4vf",
			set("NCCL_IB_HCA", "rocep26s0f0v1"), "fail hca-filter"),
		"exclusive mode, and the device is not moved into the pod": asRecorded(t, "pod-exclusive-unassigned",
			unchanged, "fail rdma-namespace"),
		"exclusive mode, and the shared device plugin crashes": inCluster(t, func(s *cluster.State) {
			p := rulestest.Pod(s, "plugin-gpu-1")
			p.Owner, p.Ready, p.Reason = "DaemonSet/rdma-shared-dp-ds", false, "CrashLoopBackOff"
		}, "fail device-plugin"),
		"an InfiniBand virtual function without a GUID is down": inPod(t, "pod-infiniband-4vf",
			func(s *host.Snapshot) {
				d := ownDevice(s)
				d.NodeGUID, d.Ports[0].State = host.Know("0000:0000:0000:0000"), host.Know("DOWN")
			}, "fail vf-guid"),
		"virtual functions whose link state is disabled are down": onNode(t, func(s *host.Snapshot) {
			l := linkOf(s, "ibp0s0")
			l.VFs, l.Up, l.Carrier = []host.VF{{LinkState: "disable"}}, host.Know(true), host.Know(true)
		}, "fail vf-settings"),
		"virtual functions are down with their physical function": asRecorded(t, "lab-pf-down",
			unchanged, "fail pf-up", "warn foreign-hca-hidden"),
	}
}

func addressPains(t testing.TB) map[string]pain {
	return map[string]pain{
		"NCCL_IB_GID_INDEX=3 is another pod's slot here": asRecorded(t, "pod-macvlan-shifted",
			set("NCCL_IB_GID_INDEX", "3"), "fail gid-index"),
		"NCCL_IB_GID_INDEX=5 is an empty slot": inPod(t, "pod-roce-4vf",
			set("NCCL_IB_GID_INDEX", "5"), "fail gid-index"),
		"an NCCL that does not choose takes slot 0": asRecorded(t, "pod-shared-plugin",
			unchanged, "fail gid-index"),
		"InfiniBand works, and RoCE fails to modify a queue pair to RTR: no address": asRecorded(t, "pod-no-address",
			unchanged, "fail gid-usable"),
		"several rails in one subnet, and one NIC carries all": inPod(t, "pod-roce-4vf",
			inOneSubnet, "warn rail-arp"),
		"several rails in one subnet, and it hangs: a neighbour's addresses have one MAC": inPod(t, "pod-roce-4vf",
			func(s *host.Snapshot) {
				inOneSubnet(s)
				for _, last := range []string{"10.10.11.5", "10.10.11.6"} {
					s.Neighbours = append(s.Neighbours, host.Neighbour{
						Link: "net1", Addr: netip.MustParseAddr(last), MAC: "3a:11:00:00:00:99", Resolved: true,
					})
				}
			}, "fail rail-arp"),
		"each NIC works alone and two together fail: rails do not reach each other": inPod(t, "pod-roce-4vf",
			func(s *host.Snapshot) {
				s.Env["NCCL_CROSS_NIC"] = "1"
				s.Lookups = []host.Lookup{{From: "net1", Toward: "net2", Dest: netip.MustParseAddr("10.10.12.5")}}
			}, "fail rails-routable"),
		"error 12 at once, TCP works: the rails of a pod are crossed": inJob(t,
			func(m []Machine) { rulestest.CrossRails(&m[1]) }, "fail rail-subnet"),
		"a hang, or LOC_LEN_ERR: the MTUs of the nodes differ": inJob(t,
			func(m []Machine) { rulestest.SmallMTU(&m[1]) }, "fail rail-mtu"),
		"two pods have one address, by an IPAM that counts on each node alone": inJob(t,
			func(m []Machine) { rulestest.ShareAddresses(&m[2], &m[1]) }, "fail duplicate-address"),
	}
}

func gpuPains(t testing.TB) map[string]pain {
	closed := func(s *host.Snapshot) { s.GPUDirect.OpenModules, s.GPUDirect.Peermem = host.Know(false), nil }
	return map[string]pain{
		"LOC_PROT_ERR: the IOMMU translates": inPod(t, "pod-roce-4vf", func(s *host.Snapshot) {
			eachFunction(s, func(f *host.Function) { f.IOMMUType = host.Know("DMA-FQ") })
		}, "warn iommu-passthrough"),
		"LOC_PROT_ERR: amd_iommu=on was thought to be an option, and the IOMMU translates": onNode(t,
			func(s *host.Snapshot) {
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
		"GPUDirect RDMA is off: no module and no DMA-BUF": inPod(t, "pod-roce-4vf",
			closed, "warn gpudirect-possible"),
		"in a virtual machine NCCL joins cards that have one bus": asRecorded(t, "vm-one-bus",
			unchanged, "warn vf-fusion"),
		"the device plugin gave no virtual function near the GPU": inPod(t, "pod-roce-4vf",
			farGPU, "warn gpudirect-distance"),
		"the network driver's pod crashes, and GPUDirect RDMA is gone": inCluster(t,
			func(s *cluster.State) { s.Pods = append(s.Pods, rulestest.Driver("gpu-1")) }, "warn driver-pods"),
		"the network driver took a node's own NIC, and the node is gone": inCluster(t, func(s *cluster.State) {
			s.Pods = append(s.Pods, rulestest.Driver("gpu-1"))
			s.Nodes[1].Ready = false
		}, "fail driver-pods"),
		"irdma keeps the network driver from being loaded": onNode(t,
			func(s *host.Snapshot) { s.Modules = []string{"irdma"} }, "remark module-conflict"),
	}
}

// farGPU puts the first GPU below another host bridge than all rails.
func farGPU(s *host.Snapshot) {
	p := s.GPUs[0].Function.Path.Value
	p.HostBridge = "pci0000:e0"
	s.GPUs[0].Function.Path, s.GPUs[0].Function.NUMANode = host.Know(p), host.Know(1)
}

func clusterPains(t testing.TB) map[string]pain {
	return map[string]pain{
		"the pod is attached to the rails and requests no device: a controller erased its resources": inCluster(t,
			func(s *cluster.State) {
				p := rulestest.Pod(s, "h-kim-0")
				p.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
				p.Requests = cluster.Resources{"nvidia.com/gpu": 8}
			}, "fail pod-resources"),
		"the job silently runs on TCP: its pods request only GPUs": inCluster(t,
			rulestest.GPUsOnly, "fail rdma-requested"),
		"the job silently runs on TCP: its TrainJob replaced the requests of the runtime": inCluster(t,
			func(s *cluster.State) {
				rulestest.TrainJob(s, cluster.Resources{"nvidia.com/gpu": 8})
				rulestest.GPUsOnly(s)
			}, "fail rdma-requested"),
		"the validator passes, but the users' attachment names a resource that no node offers": inCluster(t,
			func(s *cluster.State) {
				s.Networks[1].Resource = "openshift.io/rial1"
				rulestest.Pending(s, "h-kim-1", "FailedScheduling", "0/2 nodes are available: 2 Insufficient "+
					"openshift.io/rial1.")
				rulestest.Pod(s, "h-kim-0").Annotations, rulestest.Pod(s, "h-kim-1").Annotations = nil, nil
			}, "fail network-resource"),
		"the pod stays in ContainerCreating: it has a network and no device of it": inCluster(t,
			func(s *cluster.State) {
				rulestest.Pending(s, "h-kim-1", "FailedCreatePodSandBox", `plugin type="multus" failed (add): `+
					`[train/h-kim-1/:rail0]: error adding container to network "rail0": `+
					"SRIOV-CNI failed to load netconf: LoadConf(): VF pci addr is required")
				p := rulestest.Pod(s, "h-kim-1")
				p.Node, p.Unscheduled = "gpu-1", ""
				delete(p.Requests, "openshift.io/rail0")
			}, "fail pod-resources"),
		"some ranks are slow: the pods of the job claimed different rails": inCluster(t,
			func(s *cluster.State) { rulestest.Claim(s, "eth1", "eth2") }, "warn claimed-rails"),
		"the operator drains and never ends: it failed on a node": inCluster(t, func(s *cluster.State) {
			s.SriovNodes[1].SyncStatus, s.SriovNodes[1].SyncError = "Failed", "numVfs 64 is more than 16"
			s.Nodes[1].Allocatable["openshift.io/rail1"] = 0
		}, "fail sriov-node-state"),
	}
}
