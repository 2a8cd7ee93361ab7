package causes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// Entry is the part of a cause that is the same in every log.
type Entry struct {
	ID         story.CauseID
	Network    bool   // whether the network is at fault
	Title      string // in a few words
	Fix        string
	Experiment string // tells it from other causes

	proof proof
}

// Proof returns the checks of machines that decide about the cause.
func (e Entry) Proof() check.Proof { return e.proof.Proof }

// Catalogue returns all causes that a log can show.
func Catalogue() []Entry {
	return slices.Concat(deviceEntries(), verbsEntries(), fabricEntries(), meetingEntries(), programEntries(),
		pluginEntries())
}

// Page returns the page of a cause, in the form of a check's page; "" if there is no cause of that name.
func Page(id string) string {
	for _, e := range Catalogue() {
		if string(e.ID) == id {
			page := fmt.Sprintf("# %s\n\nA cause that `railhead explain` finds in logs: %s.\n\n## Fix\n\n%s\n\n## "+
				"To be sure\n\n%s\n", id, e.Title, e.Fix, e.Experiment)
			if text := e.OnMachines(func(id check.ID) string { return string(id) }); text != "" {
				page += "\n## On a machine\n\n" + text + "\n"
			}
			return page
		}
	}
	return ""
}

// OnMachines says which checks show or exclude the cause; "" if none does. Link writes the ID of a check.
func (e Entry) OnMachines(link func(check.ID) string) string {
	all := func(ids []check.ID) string {
		links := make([]string, len(ids))
		for i, id := range ids {
			links[i] = link(id)
		}
		return words.And(links)
	}
	text := ""
	if p := e.proof.Proof; len(p.ShownBy) > 0 {
		text = "These checks of `railhead doctor` show it, and `--with` asks them: " + all(p.ShownBy) + "."
		if len(p.ExcludedBy) > 0 {
			text += " Where " + all(p.ExcludedBy) + " passed, the cause is another one."
		}
	}
	return text
}

// ShownBy returns the causes that a finding of a check shows.
func ShownBy(id check.ID) []story.CauseID {
	var all []story.CauseID
	for _, e := range Catalogue() {
		if slices.Contains(e.proof.ShownBy, id) {
			all = append(all, e.ID)
		}
	}
	return all
}

// Titles returns the titles of all causes by their IDs.
func Titles() map[string]string {
	titles := map[string]string{}
	for _, e := range Catalogue() {
		titles[string(e.ID)] = e.Title
	}
	return titles
}

// deviceEntries are causes for which RDMA is not used, or not all of it.
func deviceEntries() []Entry {
	return []Entry{
		{
			ID: story.NoIBDevice, Network: true, Title: "NCCL found no RDMA device",
			Fix: "Give every pod its RDMA devices: request the device plugin's resource, and have libibverbs with " +
				"the HCA's provider (rdma-core) in the image. Set NCCL_NET=IB so that a missing device ends the run " +
				"instead of slowing it.",
			Experiment: "Run `railhead-pod detect` (or `ls /dev/infiniband; ibv_devinfo`) in a pod of the job: no " +
				"device there means that none was allocated, a device with an ACTIVE port means that a filter hides " +
				"it.",
			proof: proof{Proof: check.Proof{
				ShownBy: []check.ID{
					rail.DeviceAllocated, rail.RDMANamespace, rail.UverbsOpenable, rail.TransportSupported,
					rail.PortActive, rail.GIDUsable, machine.PhysicalUp, machine.VFGUID,
				},
				ExcludedBy: []check.ID{rail.DeviceAllocated},
			}},
		},
		{
			ID: story.DisabledByEnv, Network: true, Title: "an environment variable disables RDMA",
			Fix: "Remove NCCL_IB_DISABLE=1 (for HPC-X also NCCL_IBEXT_DISABLE) and NCCL_NET=Socket from the job, the " +
				"image and /etc/nccl.conf.",
			Experiment: "Run once with `env -u NCCL_IB_DISABLE -u NCCL_NET` and NCCL_DEBUG=INFO: if NET/IB then " +
				"lists devices, the variable was the only cause; if it prints No device found, devices are missing " +
				"as well.",
			proof: proof{Proof: check.Proof{ShownBy: []check.ID{nccl.NetworkChoice}}},
		},
		{
			ID: story.HCAFilter, Network: true, Title: "NCCL_IB_HCA selects no device",
			Fix: "Write the names of RDMA devices (`ibv_devices`, not of network interfaces) in the exact form " +
				"NCCL_IB_HCA==mlx5_6:1,mlx5_7:1, with ports that are ACTIVE; or leave it unset.",
			Experiment: "Run once with `env -u NCCL_IB_HCA`: if NET/IB then lists devices, the filter hid them; " +
				"otherwise there are none.",
			proof: proof{
				Proof: check.Proof{ShownBy: []check.ID{nccl.HCAFilter}}, unless: story.NoIBDevice,
				narrowedBy: []check.ID{rail.DeviceAllocated},
				left:       "the machines have usable devices, so something hides them",
			},
		},
		{
			ID: story.ExtraHCA, Network: true, Title: "NCCL also uses an HCA outside the training network",
			Fix: "Exclude it: list the HCAs of the training network exactly, NCCL_IB_HCA==<names>, or exclude it " +
				"with NCCL_IB_HCA=^<name>.",
			Experiment: "Run the same job with NCCL_IB_HCA=^<name>: if that HCA was the reason, bandwidth rises or " +
				"the errors stop.",
		},
		{
			ID: story.VerbsProviderMismatch, Network: true,
			Title: "libibverbs has no driver for the kernel's RDMA device",
			Fix: "Install rdma-core (libibverbs and the provider, such as libmlx5) in the image in the same release " +
				"as on the host, or newer; remove a second copy of it (LD_LIBRARY_PATH, conda).",
			Experiment: "Run `ibv_devinfo` in the image on the node: the same warning there, and none with the " +
				"host's own ibv_devinfo, means the image.",
			proof: proof{Proof: check.Proof{ShownBy: []check.ID{machine.VerbsLibrary}}},
		},
	}
}

// verbsEntries are causes of calls and work requests that fail on one host.
func verbsEntries() []Entry {
	return []Entry{
		{
			ID: story.GIDIndex, Network: true, Title: "the GID index does not match the HCA's GID table",
			Fix: "Leave NCCL_IB_GID_INDEX unset with NCCL 2.26 or newer. With an older NCCL set it per node to the " +
				"slot that is RoCE v2 with the rail's IPv4 (`show_gids`); it differs between nodes and pods. 2.21 to " +
				"2.25 also fail on empty slots: update.",
			Experiment: "Compare `show_gids` of both ends with the index in the log; run ib_write_bw -x <index> " +
				"between them with the same index.",
			proof: proof{Proof: check.Proof{ShownBy: []check.ID{nccl.GIDIndex}}},
		},
		{
			ID: story.Memlock, Network: true, Title: "the limit of locked memory is too small to register buffers",
			Fix: "Raise RLIMIT_MEMLOCK where the container starts: CRI-O default_ulimits = [\"memlock=-1:-1\"], " +
				"containerd LimitMEMLOCK=infinity; or run as uid 0 with IPC_LOCK. limits.conf does not reach " +
				"containers.",
			Experiment: "Run `ulimit -l` inside the rank (`railhead-pod run` does): unlimited rules this out.",
			proof: proof{Proof: check.Proof{
				ShownBy:    []check.ID{machine.MemlockLimit, machine.IPCLockEffective, machine.RuntimeMemlock},
				ExcludedBy: []check.ID{machine.MemlockLimit},
			}},
		},
		{
			ID: story.KernelRegression, Network: true,
			Title: "the kernel refuses to register memory although the limit allows it",
			Fix: "Try the kernel or the driver that worked before, or a newer one; report the kernel version and the " +
				"call to the vendor of the RDMA driver.",
			Experiment: "Run ib_write_bw with host memory, then with --use_cuda: failing with host memory on this " +
				"kernel only, and not on another, proves the kernel.",
			proof: proof{
				narrowedBy: []check.ID{machine.MemlockLimit},
				left:       "the limit is high enough on every machine that was examined",
			},
		},
		{
			ID: story.ACSIOMMU, Network: true,
			Title: "a NIC cannot access memory, usually because of PCI ACS or an IOMMU that translates",
			Fix: "On bare metal disable ACS on the PCI bridges between GPU and NIC and boot with iommu=pt; in a VM " +
				"have the host enable ATS for GPU and NIC.",
			Experiment: "Run once with NCCL_NET_GDR_LEVEL=LOC: if it works, although slowly, the path between GPU " +
				"and NIC is at fault; if it fails in the same way, memory registration is.",
			proof: proof{
				Proof: check.Proof{
					ShownBy:    []check.ID{nccl.IOMMUPassthrough, machine.ACSRedirect},
					ExcludedBy: []check.ID{nccl.IOMMUPassthrough, machine.ACSRedirect},
				},
				narrowedBy: []check.ID{nccl.IOMMUPassthrough},
				left:       "the IOMMU does not translate there (identity), so it can only be ACS",
			},
		},
		{
			ID: story.PeermemMissing, Network: true,
			Title: "no kernel module can register GPU memory for GPUDirect RDMA",
			Fix: "Load nvidia-peermem on every node, or use DMA-BUF (open kernel modules of the GPU driver, kernel " +
				"5.12 or newer, NCCL_DMABUF_ENABLE=1).",
			Experiment: "`lsmod | grep peermem` and `ls /sys/kernel/mm/memory_peers` on the node that has no GDRDMA " +
				"and on one that has; with NCCL_NET_GDR_LEVEL=LOC a failing run works without it.",
			proof: proof{
				Proof:      check.Proof{ShownBy: []check.ID{nccl.GPUDirectPossible, machine.PeermemRegistered}},
				narrowedBy: []check.ID{nccl.GPUDirectPossible},
				left: "every machine has a peer-memory module or DMA-BUF, but it may be broken or belong to another " +
					"driver",
			},
		},
		{
			ID: story.CreateCQ, Network: true, Title: "a completion queue could not be created",
			Fix: "Check `ulimit -l` first: queues are locked memory. Then check the number of queues: `rdma resource " +
				"show` against max_cq of `ibv_devinfo -v`; fewer channels (NCCL_MAX_NCHANNELS) need fewer.",
			Experiment: "Run ib_write_bw in the same container with the same limits: if that fails too, it is the " +
				"limit or the device; if it works, it is the number of queues.",
		},
		{
			ID: story.CreateQP, Network: true, Title: "a queue pair could not be created",
			Fix: "Check `ulimit -l` first, then `rdma resource show` against max_qp of `ibv_devinfo -v` (VFs have " +
				"fewer); NCCL_IB_QPS_PER_CONNECTION=1 and fewer channels need fewer.",
			Experiment: "Run ib_write_bw -q 1 and then -q 64 in the same container: if both fail, it is the limit or " +
				"the provider; if only 64 fail, it is the number.",
		},
		{
			ID: story.QPAsyncFatal, Network: true, Title: "the HCA reported a fatal error of a queue pair or of itself",
			Fix: "Check the kernel log of the node for mlx5, and the firmware (`ibv_devinfo`, `mlxfwmanager`); " +
				"update firmware and rdma-core together; then NCCL_IB_ECE_ENABLE=0 and NCCL_IB_QPS_PER_CONNECTION=1 " +
				"as trials.",
			Experiment: "Run ib_write_bw -a between the same two HCAs; if that is clean, run NCCL with " +
				"NCCL_IB_ECE_ENABLE=0.",
		},
		{
			ID: story.RemoteAccessErr, Network: true,
			Title: "the peer rejected an access because the memory key was no longer valid",
			Fix: "Read the peer's log first: a rank that died or freed its buffers causes this. If none did, update " +
				"NCCL and the driver, and check GPUDirect (peermem).",
			Experiment: "Run with NCCL_NET_GDR_LEVEL=LOC: if it works, the registration of GPU memory is at fault; " +
				"otherwise the peer is.",
		},
	}
}

// fabricEntries are causes between the hosts.
func fabricEntries() []Entry {
	return []Entry{
		{
			ID: story.RouteOrARP, Network: true, Title: "the NICs cannot reach each other",
			Fix: "Give every rail an IPv4 address and a route to its peers (same VLAN and subnet, or routed), one " +
				"subnet per rail or arp_ignore/arp_announce; check GID, MTU, VLAN and PFC along the path.",
			Experiment: "ping -I <netdev of the HCA> <peer's address on that rail>, then ib_write_bw -d <hca> -x " +
				"<gid index>: if ping fails, it is address, route or ARP; if only ib_write_bw fails, it is GID, MTU " +
				"or the switch.",
		},
		{
			ID: story.NoRouteToHost, Network: true, Title: "there is no route to the peer's address",
			Fix: "Let all ranks use an interface that reaches the others: NCCL_SOCKET_IFNAME==<interface>; correct " +
				"the route, or the host firewall that answers with host-prohibited.",
			Experiment: "`ip route get <address>` and `nc -vz <address> <port>` on the rank: if there is a route and " +
				"still No route to host, a firewall answers or the neighbour is down.",
		},
		{
			ID: story.RailIsolation, Network: true,
			Title: "NICs of different rails tried to connect, but the rails are not connected",
			Fix: "Set NCCL_CROSS_NIC=0 (from 2.30 NCCL_IB_SUBNET_AWARE_ROUTING=1 also), use the same HCAs in the " +
				"same order on all nodes, or route between the rails.",
			Experiment: "ib_write_bw between the same rail on two nodes, then between two rails: if only the second " +
				"fails, this is the cause.",
		},
		{
			ID: story.IBFabricNotConnected, Network: true, Title: "the InfiniBand ports are not on one fabric",
			Fix: "Check the fabric: subnet manager, partition keys and, in a cloud, whether the machines are in one " +
				"RDMA domain. Ports must be ACTIVE with a LID of the same subnet.",
			Experiment: "ib_write_bw between the two nodes over the same HCA, and `ibping`: if both directions fail, " +
				"it is the fabric or a partition; if they work, the timeouts of the job.",
		},
		{
			ID: story.PortError, Network: true, Title: "a port of an HCA lost its link",
			Fix: "Check cable, transceiver and switch port: `mlxlink -d <dev>`, link_downed and symbol errors of the " +
				"port's counters; take the node out of the job until it is clean.",
			Experiment: "`ethtool -S`/`perfquery` of that port before and after a run on it alone: link_downed " +
				"rising proves it.",
		},
		{
			ID: story.PhantomLink, Network: true, Title: "only one HCA fails, although its port is up",
			Fix: "Exclude that HCA (NCCL_IB_HCA=^<name>) and check where its cable leads: the port is up, but its " +
				"peers do not answer.",
			Experiment: "ib_write_bw over that HCA and over its neighbour between the same nodes: only the first " +
				"fails.",
		},
		{
			ID: story.MixedIBRoCE, Network: true, Title: "an InfiniBand device tried to connect to a RoCE device",
			Fix: "Select devices of one kind on all nodes: NCCL_IB_HCA==<names>, the exact form.",
			Experiment: "Compare the `NET/IB : Using` lines of two nodes, then run with NCCL_IB_HCA of one kind on " +
				"all of them.",
		},
		{
			ID: story.HCAAsymmetry, Network: true, Title: "the nodes do not have the same usable HCAs",
			Fix: "Give all ranks the same devices: have the device plugin mount every uverbs node that the pod sees, " +
				"or name the common HCAs in NCCL_IB_HCA on all ranks. NCCL_IGNORE_NET_MISMATCH only hides it.",
			Experiment: "`railhead-pod detect` on both nodes; run with NCCL_IB_HCA==<an HCA that all have>: if it " +
				"works, this is the cause.",
		},
		{
			ID: story.EnvNotOnAllRanks, Network: true,
			Title: "the ranks have different variables, so they chose different networks",
			Fix: "Set the variables where all ranks get them: in the pod template, `mpirun -x NAME`, or " +
				"/etc/nccl.conf on all nodes; not in the shell of one of them.",
			Experiment: "Print `env | grep NCCL_` from every rank, then run with the variables passed to all.",
		},
		{
			ID: story.MTUMismatch, Network: true, Title: "the ends of a connection have different MTUs",
			Fix: "Give all rails of all nodes the same MTU (interfaces and switch ports); NCCL 2.20 and later do not " +
				"always use the smaller one.",
			Experiment: "`ibv_devinfo | grep active_mtu` on all nodes; `ping -M do -s 8972 -I <netdev> <peer>` along " +
				"the path.",
		},
		{
			ID: story.ModifyQPNoDev, Network: true, Title: "the GID's network interface is not in this pod",
			Fix: "Use only HCAs whose interface is in the pod: NCCL_IB_HCA==<those that `railhead-pod detect` owns>, " +
				"or attach the rail's network to the pod; leave NCCL_IB_GID_INDEX unset.",
			Experiment: "`cat /sys/class/infiniband/<hca>/ports/1/gid_attrs/ndevs/<index>` in the pod, and `ip " +
				"link`: if it does not list that interface, this is the cause.",
		},
	}
}

// meetingEntries are causes for which ranks do not meet over TCP.
func meetingEntries() []Entry {
	return []Entry{
		{
			ID: story.BootstrapIfname, Network: true, Title: "NCCL found no network interface for its connections",
			Fix: "Name an interface that exists on every node and has an address, in pods mostly eth0: " +
				"NCCL_SOCKET_IFNAME==eth0 and GLOO_SOCKET_IFNAME=eth0.",
			Experiment: "`ip -br addr` on the failing node, then run with the variable unset.",
			proof:      proof{Proof: check.Proof{ShownBy: []check.ID{nccl.SocketInterface}}},
		},
		{
			ID: story.BootstrapWrongAddress, Network: true,
			Title: "ranks advertise an address that other hosts cannot reach",
			Fix: "Name the interface over which all nodes reach each other: NCCL_SOCKET_IFNAME==eth0 on all ranks; " +
				"exclude bridges with ^docker,lo,virbr,cni; map the host's name to its real address in /etc/hosts.",
			Experiment: "Compare the `Bootstrap : Using` lines of two nodes: the same address, or one of docker0, lo " +
				"or virbr0, proves it.",
		},
		{
			ID: story.BootstrapTruncated, Network: true, Title: "a rank received a message of unexpected size",
			Fix: "Run the same NCCL (and plugin) on all ranks, give every job its own MASTER_PORT or NCCL_COMM_ID, " +
				"and have all ranks agree on the number of ranks and GPUs.",
			Experiment: "Print the NCCL version on every rank (NCCL_DEBUG=VERSION), then run with another port: the " +
				"first shows mixed versions, the second another program on the port.",
		},
		{
			ID: story.PeerUnreachable, Network: true, Title: "a peer's address did not answer",
			Fix: "Check that all ranks were started, that MASTER_ADDR resolves to the right node from everywhere, " +
				"and that the interface of NCCL_SOCKET_IFNAME reaches the others.",
			Experiment: "`nc -vz <address> <port>` from the failing rank while a listener runs there: if it answers, " +
				"the rank was not running; if not, it is the network or a firewall.",
		},
		{
			ID: story.PeerDied, Title: "another process ended first",
			Fix: "Find the rank that ended first and its reason: its own log, `dmesg` for the OOM killer, the exit " +
				"codes of the launcher. The other reports are consequences.",
			Experiment: "Collect the logs of all ranks with times and look for the earliest failure; run again with " +
				"the launcher's error file (torchrun --log-dir).",
		},
		{
			ID: story.Firewall, Network: true, Title: "something between the nodes refuses or drops TCP connections",
			Fix: "Open all ports between the nodes for the job (host firewall, security group, NetworkPolicy, " +
				"service mesh sidecar), or fix NCCL's range with net.ipv4.ip_local_port_range.",
			Experiment: "`nc -l 29600` on one node and `nc -vz <node> 29600` on the other, with a port above 32768, " +
				"too.",
		},
	}
}

// programEntries are causes that are not of the network.
func programEntries() []Entry {
	return []Entry{
		{
			ID: story.ShmTooSmall, Title: "/dev/shm is too small",
			Fix: "Mount an emptyDir with medium Memory at /dev/shm (docker: --shm-size=8g or --ipc=host); remove " +
				"stale nccl-* files there.",
			Experiment: "`df -h /dev/shm` in the container; run once with NCCL_SHM_DISABLE=1: if it works, this is " +
				"the cause.",
			proof: proof{Proof: check.Proof{ShownBy: []check.ID{nccl.SharedMemory}}},
		},
		{
			ID: story.TooManyFiles, Title: "a process has too many open files",
			Fix: "Raise the limit of open files where the container starts (CRI-O default_ulimits = " +
				"[\"nofile=1048576:1048576\"], containerd LimitNOFILE=infinity) or in the launch script (`ulimit -n " +
				"1048576`). Each connection between ranks is a file.",
			Experiment: "`ulimit -n` and `ls /proc/<pid>/fd | wc -l` inside the rank that failed.",
		},
		{
			ID: story.DiskFull, Title: "a disk is full",
			Fix: "Free space, or write checkpoints and caches to a larger volume; check the quota of the claim and " +
				"the pod's ephemeral-storage limit.",
			Experiment: "`df -h` and `df -i` on the path of the error, in the pod that failed.",
		},
		{
			ID: story.IMEX, Title: "multi-node NVLink has no working IMEX domain",
			Fix: "Use one way, never both: a ComputeDomain of NVIDIA's DRA driver for the job, whose claim gives " +
				"each pod its channel (its driver runs IMEX itself, and the host's nvidia-imex is off; only in its " +
				"mode hostManaged is it on), or nvidia-imex as a service of all nodes of the domain, with its " +
				"channels in the pods. A channel by hostPath without a domain does not work. After CUDA error 400 " +
				"with a green domain, reboot the node. NCCL_MNNVL_ENABLE=0 runs without multi-node NVLink.",
			Experiment: "`nvidia-imex-ctl -H -N` (good: domain UP, all nodes READY, versions equal), `nvidia-smi " +
				"-q` (Fabric: Completed, equal ClusterUUID and CliqueId on all nodes), `ls " +
				"/dev/nvidia-caps-imex-channels` in the pod; run once with NCCL_MNNVL_ENABLE=0: if it works, this " +
				"is the cause.",
		},
		{
			ID: story.NVLS, Title: "NVLink SHARP (multicast) could not be used",
			Fix: "Set NCCL_NVLS_ENABLE=0, or start Fabric Manager (and IMEX on multi-node NVLink) of the driver's " +
				"version.",
			Experiment: "Run once with NCCL_NVLS_ENABLE=0: if it works, this is the cause.",
		},
		{
			ID: story.CUDAError, Title: "a CUDA call failed, and NCCL's errors follow from it",
			Fix: "Look at the program and the GPU, not at the network: run with CUDA_LAUNCH_BLOCKING=1, look for Xid " +
				"in dmesg, and try the newest NCCL of the same minor version.",
			Experiment: "compute-sanitizer on one rank, or the same step with gloo instead of NCCL: if that fails " +
				"too, it is not NCCL.",
		},
		{
			ID: story.GPUOOM, Title: "a GPU has no memory left",
			Fix: "Use less memory (batch, NCCL_BUFFSIZE, fewer channels), free what other processes hold " +
				"(`nvidia-smi`), or shard the model further.",
			Experiment: "`nvidia-smi` on the node before the start: memory in use there is another process's; none " +
				"means the job itself.",
		},
		{
			ID: story.CUDAInstall, Title: "driver, CUDA and NCCL versions do not match, or there is no GPU",
			Fix: "Bring the driver to at least what the image's CUDA needs, have GPUs given to the container, and " +
				"keep one libnccl in the path.",
			Experiment: "`nvidia-smi` and `python -c 'import torch; torch.cuda.init()'` in the container.",
		},
		{
			ID:    story.FabricManager,
			Title: "the GPUs are not ready: Fabric Manager is not running, or not in the driver's version",
			Fix: "Start it on the node, in exactly the driver's version: `systemctl enable --now " +
				"nvidia-fabricmanager`. Under NVIDIA's GPU operator the driver's container starts it: read the log " +
				"of the node's nvidia-driver-daemonset pod and restart that pod. With the driver installed on the " +
				"host, the host must start it.",
			Experiment: "`systemctl status nvidia-fabricmanager`, and `nvidia-smi -q -i 0 | grep -A 2 Fabric` on the " +
				"node: a state other than Completed means that Fabric Manager has not finished.",
		},
		{
			ID: story.DuplicateGPU, Title: "two ranks use the same GPU",
			Fix: "Start one rank per GPU: --nproc-per-node and slots as GPUs are given, cuda.set_device(LOCAL_RANK) " +
				"before NCCL starts, no CUDA_VISIBLE_DEVICES with one GPU for all ranks.",
			Experiment: "Print LOCAL_RANK, CUDA_VISIBLE_DEVICES and the bus id on every rank.",
		},
		{
			ID: story.TopologyFile, Title: "NCCL cannot use the topology of the machine",
			Fix: "Unset NCCL_TOPO_FILE and NCCL_GRAPH_FILE, or give the file of this type of machine and version of " +
				"NCCL, which must be readable in the container. A plugin (aws-ofi-nccl) may set them: update it.",
			Experiment: "Run once with `env -u NCCL_TOPO_FILE`; NCCL_TOPO_DUMP_FILE=/tmp/topo.xml writes what NCCL " +
				"detects.",
		},
		{
			ID: story.DuplicateRank, Title: "two processes have the same rank",
			Fix: "Start each rank once: one task per GPU (srun --ntasks-per-node) or torchrun once per node, with " +
				"the same world size everywhere, and a MASTER_PORT that no earlier job still uses.",
			Experiment: "Print RANK, WORLD_SIZE, SLURM_PROCID and the host name in every process before NCCL starts.",
		},
		{
			ID: story.PeerAccess, Title: "GPUs of one node cannot access each other's memory",
			Fix: "Start the ranks of one node in one container or with shared IPC and PID namespaces, let every rank " +
				"see all GPUs, or set NCCL_P2P_DISABLE=1.",
			Experiment: "Run once with NCCL_P2P_DISABLE=1: if it works, this is the cause.",
		},
	}
}

// pluginEntries are causes of plugins, and those that no line tells.
func pluginEntries() []Entry {
	return []Entry{
		{
			ID: story.GDRCopyMissing, Title: "GDRCopy's device is not usable in the container",
			Fix: "Load gdrdrv on the node and mount /dev/gdrdrv into the container (libgdrapi in the image), or do " +
				"without device-initiated networking (NCCL_GIN_ENABLE=0).",
			Experiment: "`ls -l /dev/gdrdrv` and `gdrcopy_sanity` in the container.",
		},
		{
			ID: story.OFINoProvider, Network: true, Title: "the OFI plugin found no provider of libfabric",
			Fix: "Give the pod its EFA (or other) devices, install the provider's libfabric in the image, and set " +
				"FI_PROVIDER to it.",
			Experiment: "`fi_info -p efa` in the container: No data available means device or library.",
		},
		{
			ID: story.OFIMRRegister, Network: true, Title: "the OFI plugin could not register memory",
			Fix: "Raise the locked-memory limit, use EFA installer and aws-ofi-nccl of one release, " +
				"FI_EFA_USE_DEVICE_RDMA and huge pages as documented; with old installers " +
				"FI_EFA_SET_CUDA_SYNC_MEMOPS=0.",
			Experiment: "`ulimit -l` in the rank, then nccl-tests with the plugin's own image on the same nodes.",
		},
		{
			ID: story.ProviderRace, Network: true, Title: "the libfabric provider failed intermittently",
			Fix: "Update libfabric's provider and aws-ofi-nccl together; on Slingshot set " +
				"FI_CXI_DISABLE_HOST_REGISTER=1 and FI_MR_CACHE_MONITOR=userfaultfd.",
			Experiment: "Run the same job several times: this is likely if it fails only sometimes, at the first " +
				"collective.",
		},
		{
			ID: story.VersionMismatch, Title: "the ranks run different versions of NCCL",
			Fix:        "Use one image on all nodes and one libnccl in it (LD_LIBRARY_PATH, LD_PRELOAD, conda).",
			Experiment: "NCCL_DEBUG=VERSION on every rank.",
		},
		{
			ID: story.HangTimeout, Title: "a collective did not finish",
			Fix: "Find the rank that is missing from the collective: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 with " +
				"TORCH_NCCL_DUMP_ON_TIMEOUT=1, py-spy dump on every rank, NCCL_DEBUG=INFO. Only then raise a timeout.",
			Experiment: "py-spy dump on all ranks at the hang: if all are in the same collective, suspect the " +
				"network; if one is elsewhere, the program.",
		},
		{
			ID: story.UnknownCause, Title: "the log does not show the cause",
			Fix: "Collect more: run again with " + strings.Join(story.NCCLVariables(), " ") + " on all " +
				"ranks, NCCL_DEBUG_FILE=/tmp/nccl.%h.%p, and give all files to `railhead explain`.",
			Experiment: "`railhead doctor` on the job's pods, and ib_write_bw between two of its nodes.",
		},
	}
}

// The advice for PeerUnreachable over libfabric. EFA carries nothing, though TCP works, until a security group names
// itself in both directions (AWS, "Get started with EFA and NCCL", step 1).
const (
	efaFix = "On AWS, give the instances a security group with one inbound and one outbound rule that allow all " +
		"traffic from and to that same group, by its ID, and put them into one subnet."
	efaExperiment = "`fi_pingpong -p efa` on one node and `fi_pingpong -p efa <address>` on the other: if it fails, " +
		"it is the security group or the subnet; if it works, the receiver had ended."
)

func entryOf(id story.CauseID) Entry {
	for _, e := range Catalogue() {
		if e.ID == id {
			return e
		}
	}
	return Entry{ID: id}
}
