package story

import (
	"fmt"
	"slices"
	"strings"
)

// entry is the part of a cause that is the same in every log.
type entry struct {
	id         CauseID
	network    bool // whether the network is at fault
	title      string
	fix        string
	experiment string
}

func catalogue() []entry {
	return slices.Concat(deviceEntries(), verbsEntries(), fabricEntries(), meetingEntries(), programEntries(),
		pluginEntries())
}

// CausePage returns the page of a cause, in the form of a check's page; "" if there is no cause of that name.
func CausePage(id string) string {
	for _, e := range catalogue() {
		if string(e.id) == id {
			return fmt.Sprintf("# %s\n\nA cause that `railhead explain` finds in logs: %s.\n\n## Fix\n\n%s\n\n## "+
				"To be sure\n\n%s\n", id, e.title, e.fix, e.experiment)
		}
	}
	return ""
}

// Causes returns the titles of all causes by their IDs.
func Causes() map[string]string {
	titles := map[string]string{}
	for _, e := range catalogue() {
		titles[string(e.id)] = e.title
	}
	return titles
}

// deviceEntries are causes for which RDMA is not used, or not all of it.
func deviceEntries() []entry {
	return []entry{
		{NoIBDevice, true, "NCCL found no RDMA device",
			"Give every pod its RDMA devices: request the device plugin's resource, and have libibverbs with the " +
				"HCA's provider (rdma-core) in the image. Set NCCL_NET=IB so that a missing device ends the run " +
				"instead of slowing it.",
			"Run `railhead-pod detect` (or `ls /dev/infiniband; ibv_devinfo`) in a pod of the job: no device there " +
				"means that none was allocated, a device with an ACTIVE port means that a filter hides it."},
		{DisabledByEnv, true, "an environment variable disables RDMA",
			"Remove NCCL_IB_DISABLE=1 (for HPC-X also NCCL_IBEXT_DISABLE) and NCCL_NET=Socket from the job, the " +
				"image and /etc/nccl.conf.",
			"Run once with `env -u NCCL_IB_DISABLE -u NCCL_NET` and NCCL_DEBUG=INFO: if NET/IB then lists devices, " +
				"the variable was the only cause; if it prints No device found, devices are missing as well."},
		{HCAFilter, true, "NCCL_IB_HCA selects no device",
			"Write the names of RDMA devices (`ibv_devices`, not of network interfaces) in the exact form " +
				"NCCL_IB_HCA==mlx5_6:1,mlx5_7:1, with ports that are ACTIVE; or leave it unset.",
			"Run once with `env -u NCCL_IB_HCA`: if NET/IB then lists devices, the filter hid them; otherwise " +
				"there are none."},
		{ExtraHCA, true, "NCCL also uses an HCA outside the training network",
			"Exclude it: list the HCAs of the training network exactly, NCCL_IB_HCA==<names>, or exclude it with " +
				"NCCL_IB_HCA=^<name>.",
			"Run the same job with NCCL_IB_HCA=^<name>: if that HCA was the reason, " +
				"bandwidth rises or the errors stop."},
		{VerbsProviderMismatch, true, "libibverbs has no driver for the kernel's RDMA device",
			"Install rdma-core (libibverbs and the provider, such as libmlx5) in the image in the same release " +
				"as on the host, or newer; remove a second copy of it (LD_LIBRARY_PATH, conda).",
			"Run `ibv_devinfo` in the image on the node: the same warning there, and none with the host's own " +
				"ibv_devinfo, means the image."},
	}
}

// verbsEntries are causes of calls and work requests that fail on one host.
func verbsEntries() []entry {
	return []entry{
		{GIDIndex, true, "the GID index does not match the HCA's GID table",
			"Leave NCCL_IB_GID_INDEX unset with NCCL 2.26 or newer. With an older NCCL set it per node to the slot " +
				"that is RoCE v2 with the rail's IPv4 (`show_gids`); it differs between nodes and pods. 2.21 to " +
				"2.25 also fail on empty slots: update.",
			"Compare `show_gids` of both ends with the index in the log; run ib_write_bw -x <index> between them " +
				"with the same index."},
		{Memlock, true, "the limit of locked memory is too small to register buffers",
			"Raise RLIMIT_MEMLOCK where the container starts: CRI-O default_ulimits = [\"memlock=-1:-1\"], " +
				"containerd LimitMEMLOCK=infinity; or run as uid 0 with IPC_LOCK. " +
				"limits.conf does not reach containers.",
			"Run `ulimit -l` inside the rank (`railhead-pod run` does): unlimited rules this out."},
		{KernelRegression, true, "the kernel refuses to register memory although the limit allows it",
			"Try the kernel or the driver that worked before, or a newer one; report " +
				"the kernel version and the call to the vendor of the RDMA driver.",
			"Run ib_write_bw with host memory, then with --use_cuda: failing with host memory on this kernel " +
				"only, and not on another, proves the kernel."},
		{ACSIOMMU, true, "a NIC cannot access memory, usually because of PCI ACS or an IOMMU that translates",
			"On bare metal disable ACS on the PCI bridges between GPU and NIC and boot with iommu=pt; in a VM " +
				"have the host enable ATS for GPU and NIC.",
			"Run once with NCCL_NET_GDR_LEVEL=LOC: if it works, although slowly, the path between GPU and NIC is " +
				"at fault; if it fails in the same way, memory registration is."},
		{PeermemMissing, true, "no kernel module can register GPU memory for GPUDirect RDMA",
			"Load nvidia-peermem on every node, or use DMA-BUF (open kernel modules of the GPU driver, kernel 5.12 " +
				"or newer, NCCL_DMABUF_ENABLE=1).",
			"`lsmod | grep peermem` and `ls /sys/kernel/mm/memory_peers` on the node that has no GDRDMA and on one " +
				"that has; with NCCL_NET_GDR_LEVEL=LOC a failing run works without it."},
		{CreateCQ, true, "a completion queue could not be created",
			"Check `ulimit -l` first: queues are locked memory. Then check the number of queues: `rdma resource " +
				"show` against max_cq of `ibv_devinfo -v`; fewer channels (NCCL_MAX_NCHANNELS) need fewer.",
			"Run ib_write_bw in the same container with the same limits: if that fails too, it is the limit or the " +
				"device; if it works, it is the number of queues."},
		{CreateQP, true, "a queue pair could not be created",
			"Check `ulimit -l` first, then `rdma resource show` against max_qp of `ibv_devinfo -v` (VFs have " +
				"fewer); NCCL_IB_QPS_PER_CONNECTION=1 and fewer channels need fewer.",
			"Run ib_write_bw -q 1 and then -q 64 in the same container: if both fail, it is the limit or the " +
				"provider; if only 64 fail, it is the number."},
		{QPAsyncFatal, true, "the HCA reported a fatal error of a queue pair or of itself",
			"Check the kernel log of the node for mlx5, and the firmware (`ibv_devinfo`, `mlxfwmanager`); " +
				"update firmware and rdma-core together; then NCCL_IB_ECE_ENABLE=0 and " +
				"NCCL_IB_QPS_PER_CONNECTION=1 as trials.",
			"Run ib_write_bw -a between the same two HCAs; if that is clean, run NCCL with NCCL_IB_ECE_ENABLE=0."},
		{RemoteAccessErr, true, "the peer rejected an access because the memory key was no longer valid",
			"Read the peer's log first: a rank that died or freed its buffers causes this. If none did, " +
				"update NCCL and the driver, and check GPUDirect (peermem).",
			"Run with NCCL_NET_GDR_LEVEL=LOC: if it works, the registration of GPU memory is at fault; otherwise " +
				"the peer is."},
	}
}

// fabricEntries are causes between the hosts.
func fabricEntries() []entry {
	return []entry{
		{RouteOrARP, true, "the NICs cannot reach each other",
			"Give every rail an IPv4 address and a route to its peers (same VLAN and subnet, or routed), one " +
				"subnet per rail or arp_ignore/arp_announce; check GID, MTU, VLAN and PFC along the path.",
			"ping -I <netdev of the HCA> <peer's address on that rail>, then ib_write_bw -d <hca> -x <gid index>: " +
				"if ping fails, it is address, route or ARP; if only ib_write_bw fails, it is GID, " +
				"MTU or the switch."},
		{NoRouteToHost, true, "there is no route to the peer's address",
			"Let all ranks use an interface that reaches the others: NCCL_SOCKET_IFNAME==<interface>; correct the " +
				"route, or the host firewall that answers with host-prohibited.",
			"`ip route get <address>` and `nc -vz <address> <port>` on the rank: if there is a route and still No " +
				"route to host, a firewall answers or the neighbour is down."},
		{RailIsolation, true, "NICs of different rails tried to connect, but the rails are not connected",
			"Set NCCL_CROSS_NIC=0 (from 2.30 NCCL_IB_SUBNET_AWARE_ROUTING=1 also), use the same HCAs in the same " +
				"order on all nodes, or route between the rails.",
			"ib_write_bw between the same rail on two nodes, then between two rails: if only the second " +
				"fails, this is the cause."},
		{IBFabricNotConnected, true, "the InfiniBand ports are not on one fabric",
			"Check the fabric: subnet manager, partition keys and, in a cloud, whether the machines are in one " +
				"RDMA domain. Ports must be ACTIVE with a LID of the same subnet.",
			"ib_write_bw between the two nodes over the same HCA, and `ibping`: if both directions fail, it " +
				"is the fabric or a partition; if they work, the timeouts of the job."},
		{PortError, true, "a port of an HCA lost its link",
			"Check cable, transceiver and switch port: `mlxlink -d <dev>`, link_downed and symbol errors of the " +
				"port's counters; take the node out of the job until it is clean.",
			"`ethtool -S`/`perfquery` of that port before and after a run on it alone: link_downed rising proves it."},
		{PhantomLink, true, "only one HCA fails, although its port is up",
			"Exclude that HCA (NCCL_IB_HCA=^<name>) and check where its cable leads: the port is up, but its " +
				"peers do not answer.",
			"ib_write_bw over that HCA and over its neighbour between the same nodes: only the first fails."},
		{MixedIBRoCE, true, "an InfiniBand device tried to connect to a RoCE device",
			"Select devices of one kind on all nodes: NCCL_IB_HCA==<names>, the exact form.",
			"Compare the `NET/IB : Using` lines of two nodes, then run with NCCL_IB_HCA of one kind on all of them."},
		{HCAAsymmetry, true, "the nodes do not have the same usable HCAs",
			"Give all ranks the same devices: have the device plugin mount every uverbs node that the pod sees, or " +
				"name the common HCAs in NCCL_IB_HCA on all ranks. NCCL_IGNORE_NET_MISMATCH only hides it.",
			"`railhead-pod detect` on both nodes; run with NCCL_IB_HCA==<an HCA that all have>: if it works, this " +
				"is the cause."},
		{EnvNotOnAllRanks, true, "the ranks have different variables, so they chose different networks",
			"Set the variables where all ranks get them: in the pod template, `mpirun -x NAME`, or /etc/nccl.conf " +
				"on all nodes; not in the shell of one of them.",
			"Print `env | grep NCCL_` from every rank, then run with the variables passed to all."},
		{MTUMismatch, true, "the ends of a connection have different MTUs",
			"Give all rails of all nodes the same MTU (interfaces and switch ports); NCCL 2.20 and later do not " +
				"always use the smaller one.",
			"`ibv_devinfo | grep active_mtu` on all nodes; `ping -M do -s 8972 -I <netdev> <peer>` along the path."},
		{ModifyQPNoDev, true, "the GID's network interface is not in this pod",
			"Use only HCAs whose interface is in the pod: NCCL_IB_HCA==<those that `railhead-pod detect` owns>, or " +
				"attach the rail's network to the pod; leave NCCL_IB_GID_INDEX unset.",
			"`cat /sys/class/infiniband/<hca>/ports/1/gid_attrs/ndevs/<index>` in the pod, and `ip link`: if it " +
				"does not list that interface, this is the cause."},
	}
}

// meetingEntries are causes for which ranks do not meet over TCP.
func meetingEntries() []entry {
	return []entry{
		{BootstrapIfname, true, "NCCL found no network interface for its connections",
			"Name an interface that exists on every node and has an address, in pods mostly eth0: " +
				"NCCL_SOCKET_IFNAME==eth0 and GLOO_SOCKET_IFNAME=eth0.",
			"`ip -br addr` on the failing node, then run with the variable unset."},
		{BootstrapWrongAddress, true, "ranks advertise an address that other hosts cannot reach",
			"Name the interface over which all nodes reach each other: NCCL_SOCKET_IFNAME==eth0 on all ranks; " +
				"exclude bridges with ^docker,lo,virbr,cni; map the host's name to its real address in /etc/hosts.",
			"Compare the `Bootstrap : Using` lines of two nodes: the same address, or one of docker0, lo or " +
				"virbr0, proves it."},
		{BootstrapTruncated, true, "a rank received a message of unexpected size",
			"Run the same NCCL (and plugin) on all ranks, give every job its own MASTER_PORT or NCCL_COMM_ID, and " +
				"have all ranks agree on the number of ranks and GPUs.",
			"Print the NCCL version on every rank (NCCL_DEBUG=VERSION), then run with another port: the first " +
				"shows mixed versions, the second another program on the port."},
		{PeerUnreachable, true, "a peer's address did not answer",
			"Check that all ranks were started, that MASTER_ADDR resolves to the right node from everywhere, and " +
				"that the interface of NCCL_SOCKET_IFNAME reaches the others.",
			"`nc -vz <address> <port>` from the failing rank while a listener runs there: if it answers, the rank " +
				"was not running; if not, it is the network or a firewall."},
		{PeerDied, false, "another process ended first",
			"Find the rank that ended first and its reason: its own log, `dmesg` for the OOM killer, the exit " +
				"codes of the launcher. The other reports are consequences.",
			"Collect the logs of all ranks with times and look for the earliest failure; run again with the " +
				"launcher's error file (torchrun --log-dir)."},
		{Firewall, true, "something between the nodes refuses or drops TCP connections",
			"Open all ports between the nodes for the job (host firewall, security group, NetworkPolicy, service " +
				"mesh sidecar), or fix NCCL's range with net.ipv4.ip_local_port_range.",
			"`nc -l 29600` on one node and `nc -vz <node> 29600` on the other, with a port above 32768, too."},
	}
}

// programEntries are causes that are not of the network.
func programEntries() []entry {
	return []entry{
		{ShmTooSmall, false, "/dev/shm is too small",
			"Mount an emptyDir with medium Memory at /dev/shm (docker: --shm-size=8g or --ipc=host); remove stale " +
				"nccl-* files there.",
			"`df -h /dev/shm` in the container; run once with NCCL_SHM_DISABLE=1: if it works, this is the cause."},
		{TooManyFiles, false, "a process has too many open files",
			"Raise the limit of open files where the container starts (CRI-O default_ulimits = " +
				"[\"nofile=1048576:1048576\"], containerd LimitNOFILE=infinity) or in the launch script (`ulimit -n " +
				"1048576`). Each connection between ranks is a file.",
			"`ulimit -n` and `ls /proc/<pid>/fd | wc -l` inside the rank that failed."},
		{DiskFull, false, "a disk is full",
			"Free space, or write checkpoints and caches to a larger volume; check the quota of the claim and the " +
				"pod's ephemeral-storage limit.",
			"`df -h` and `df -i` on the path of the error, in the pod that failed."},
		{IMEX, false, "multi-node NVLink has no working IMEX domain",
			"Start nvidia-imex on all nodes of the NVLink domain, and give the pods their IMEX channel (a " +
				"ComputeDomain with the DRA driver). NCCL_MNNVL_ENABLE=0 runs without multi-node NVLink.",
			"`nvidia-imex-ctl -N` on a node, and `ls /dev/nvidia-caps-imex-channels` in the pod; run once with " +
				"NCCL_MNNVL_ENABLE=0: if it works, this is the cause."},
		{NVLS, false, "NVLink SHARP (multicast) could not be used",
			"Set NCCL_NVLS_ENABLE=0, or start Fabric Manager (and IMEX on multi-node NVLink) of the driver's version.",
			"Run once with NCCL_NVLS_ENABLE=0: if it works, this is the cause."},
		{CUDAError, false, "a CUDA call failed, and NCCL's errors follow from it",
			"Look at the program and the GPU, not at the network: run with CUDA_LAUNCH_BLOCKING=1, look for Xid in " +
				"dmesg, and try the newest NCCL of the same minor version.",
			"compute-sanitizer on one rank, or the same step with gloo instead of NCCL: if that fails too, " +
				"it is not NCCL."},
		{GPUOOM, false, "a GPU has no memory left",
			"Use less memory (batch, NCCL_BUFFSIZE, fewer channels), free what other processes hold " +
				"(`nvidia-smi`), or shard the model further.",
			"`nvidia-smi` on the node before the start: memory in use there is another process's; " +
				"none means the job itself."},
		{CUDAInstall, false, "driver, CUDA and NCCL versions do not match, or there is no GPU",
			"Bring the driver to at least what the image's CUDA needs, have GPUs given to the container, and keep " +
				"one libnccl in the path.",
			"`nvidia-smi` and `python -c 'import torch; torch.cuda.init()'` in the container."},
		{FabricManager, false, "the GPUs are not ready: Fabric Manager is not running, or not in the driver's version",
			"Start it on the node, in exactly the driver's version: `systemctl enable --now nvidia-fabricmanager`. " +
				"Under NVIDIA's GPU operator the driver's container starts it: read the log of the node's " +
				"nvidia-driver-daemonset pod and restart that pod. With the driver installed on the host, the host " +
				"must start it.",
			"`systemctl status nvidia-fabricmanager`, and `nvidia-smi -q -i 0 | grep -A 2 Fabric` on the node: a " +
				"state other than Completed means that Fabric Manager has not finished."},
		{DuplicateGPU, false, "two ranks use the same GPU",
			"Start one rank per GPU: --nproc-per-node and slots as GPUs are given, cuda.set_device(LOCAL_RANK) " +
				"before NCCL starts, no CUDA_VISIBLE_DEVICES with one GPU for all ranks.",
			"Print LOCAL_RANK, CUDA_VISIBLE_DEVICES and the bus id on every rank."},
		{TopologyFile, false, "NCCL cannot use the topology of the machine",
			"Unset NCCL_TOPO_FILE and NCCL_GRAPH_FILE, or give the file of this type of machine and version of NCCL, " +
				"which must be readable in the container. A plugin (aws-ofi-nccl) may set them: update it.",
			"Run once with `env -u NCCL_TOPO_FILE`; NCCL_TOPO_DUMP_FILE=/tmp/topo.xml writes what NCCL detects."},
		{DuplicateRank, false, "two processes have the same rank",
			"Start each rank once: one task per GPU (srun --ntasks-per-node) or torchrun once per node, with the " +
				"same world size everywhere, and a MASTER_PORT that no earlier job still uses.",
			"Print RANK, WORLD_SIZE, SLURM_PROCID and the host name in every process before NCCL starts."},
		{PeerAccess, false, "GPUs of one node cannot access each other's memory",
			"Start the ranks of one node in one container or with shared IPC and PID namespaces, let every rank " +
				"see all GPUs, or set NCCL_P2P_DISABLE=1.",
			"Run once with NCCL_P2P_DISABLE=1: if it works, this is the cause."},
	}
}

// pluginEntries are causes of plugins, and those that no line tells.
func pluginEntries() []entry {
	return []entry{
		{GDRCopyMissing, false, "GDRCopy's device is not usable in the container",
			"Load gdrdrv on the node and mount /dev/gdrdrv into the container (libgdrapi in the image), or do " +
				"without device-initiated networking (NCCL_GIN_ENABLE=0).",
			"`ls -l /dev/gdrdrv` and `gdrcopy_sanity` in the container."},
		{OFINoProvider, true, "the OFI plugin found no provider of libfabric",
			"Give the pod its EFA (or other) devices, install the provider's libfabric in the image, and set " +
				"FI_PROVIDER to it.",
			"`fi_info -p efa` in the container: No data available means device or library."},
		{OFIMRRegister, true, "the OFI plugin could not register memory",
			"Raise the locked-memory limit, use EFA installer and aws-ofi-nccl of one release, " +
				"FI_EFA_USE_DEVICE_RDMA and huge pages as documented; with old installers " +
				"FI_EFA_SET_CUDA_SYNC_MEMOPS=0.",
			"`ulimit -l` in the rank, then nccl-tests with the plugin's own image on the same nodes."},
		{ProviderRace, true, "the libfabric provider failed intermittently",
			"Update libfabric's provider and aws-ofi-nccl together; on Slingshot set " +
				"FI_CXI_DISABLE_HOST_REGISTER=1 and FI_MR_CACHE_MONITOR=userfaultfd.",
			"Run the same job several times: this is likely if it fails only sometimes, at the first collective."},
		{VersionMismatch, false, "the ranks run different versions of NCCL",
			"Use one image on all nodes and one libnccl in it (LD_LIBRARY_PATH, LD_PRELOAD, conda).",
			"NCCL_DEBUG=VERSION on every rank."},
		{HangTimeout, false, "a collective did not finish",
			"Find the rank that is missing from the collective: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 with " +
				"TORCH_NCCL_DUMP_ON_TIMEOUT=1, py-spy dump on every rank, NCCL_DEBUG=INFO. Only then raise a timeout.",
			"py-spy dump on all ranks at the hang: if all are in the same collective, suspect the network; " +
				"if one is elsewhere, the program."},
		{UnknownCause, false, "the log does not show the cause",
			"Collect more: run again with " + strings.Join(NCCLVariables(), " ") + " on all " +
				"ranks, NCCL_DEBUG_FILE=/tmp/nccl.%h.%p, and give all files to `railhead explain`.",
			"`railhead doctor` on the job's pods, and ib_write_bw between two of its nodes."},
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

func entryOf(id CauseID) entry {
	for _, e := range catalogue() {
		if e.id == id {
			return e
		}
	}
	return entry{id: id}
}
