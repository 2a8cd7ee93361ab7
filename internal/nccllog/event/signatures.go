package event

import "slices"

var cudaFailure = []string{"cuda failure", "hip failure"}

// ncclSignatures are lines of NCCL and RCCL of level WARN.
var ncclSignatures = []Signature{
	{
		ID: "stranger", Kind: Stranger, What: "connection from another program",
		Words:   []string{"wrong magic"},
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketFinalizeAccept: wrong magic 12 != 34",
	},
	{ // src/init.cc of 2.4 to 2.7: a collective takes long, and NCCL goes on
		ID: "mismatch-suspected", Kind: Stalled, What: "ranks may not be at the same collective",
		Class: Soft, Cause: "hang-timeout", Confidence: Possible,
		Words: []string{"Your program may be hanging"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Your program may be hanging, this may be caused by a collective " +
			"mismatch around rank 1.",
	},
	{
		ID: "sizes-differ", Kind: SizesDiffer, What: "ranks disagree on the size of a message",
		Class: Own, Cause: "env-not-on-all-ranks", Confidence: Possible,
		Words:   []string{"message truncated", "collective mismatch"},
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : collective mismatch error, local size 8 remote 4",
	},
	{ // src/init.cc up to 2.4
		ID: "collectives-differ", Kind: Listed, What: "ranks are not at the same collective",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words:   []string{"Mismatched collective"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Mismatched collective detected, please check your collective calls",
	},
	{
		ID: "bad-completion", Kind: BadCompletion, What: "bad completion",
		Class: ByItsFields, Cause: "route-or-arp", Confidence: Likely,
		Words: []string{"Got completion", "completion with error", "Unsupported completion status"},
		Read:  readCompletion,
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with " +
			"status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.1.1 " +
			"remoteGids::ffff:10.1.1.2 hca mlx5_0",
	},
	{ // src/transport/net_ib/p2p.cc of 2.29.7 and later; the next warning has the status
		ID: "completion-error", Kind: Result, What: "a work request ended with an error",
		Class: Followed,
		Words: []string{"Got CQE with error"},
		Example: "a:1:9 [0] transport/net_ib/p2p.cc:854 NCCL WARN NET/IB: Got CQE with error (devIndex=0, " +
			"req=0x7f, comm=0x1 (send), wr_id=12, qp_num=77)",
	},
	{
		ID: "device-event", Kind: AsyncEvent, What: "async event",
		Class: ByItsFields, Cause: "port-error", Confidence: Likely,
		Words: []string{"async event", "async fatal event", gidTableChanged}, Read: readAsync,
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : mlx5_3:1 Got " +
			"non-fatal async event: port error(10)",
	},
	{
		ID: "device-not-opened-by-call", Kind: CannotOpen, What: "device cannot be opened",
		Class: Soft, Cause: "hca-asymmetry", Confidence: Likely,
		Words: []string{"ibv_open_device"}, Read: readOpenFailed,
		Example: "a:1:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_open_device failed",
	},
	{ // src/misc/ibvwrap.cc of 2.30 and later: public runs on H100 and DGX Spark ended well with it
		ID: "port-speed", Kind: Harmless, What: "the driver does not tell the speed of a port",
		Words: []string{"ibv_query_port_speed failed with error Protocol not supported"},
		Example: "a:1:9 [0] misc/ibvwrap.cc:401 (wrap_ibv_query_port_speed) NCCL WARN Call to ibv_query_port_speed " +
			"failed with error Protocol not supported errno 93",
	},
	{ // src/transport/net_ib.cc: a device without a PCI function, as Soft-RoCE's, has no path
		ID: "no-path", Kind: Harmless, What: "a device has no path in sysfs",
		Words: []string{"Could not find real path of "},
		Example: "a:1:9 [0] transport/net_ib.cc:472 NCCL WARN Could not find real path of rxe0 " +
			"(/sys/class/infiniband/rxe0/device)",
	},
	{
		ID: "verbs-call", Kind: VerbsFailed, What: "verbs call failed",
		Class: Own, Cause: "memlock", Confidence: Likely,
		Words: []string{"ibv_"}, Read: readVerbs,
		Example: "a:1:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot " +
			"allocate memory",
	},
	{
		ID: "network-not-found", Kind: NoNetworkLeft, What: "no network found",
		Class: Own, Cause: "no-ib-device", Confidence: Possible,
		Words: []string{"Error: network "}, Read: readNetworkNotFound,
		Example: "a:1:9 [0] net.cc:1 NCCL WARN Error: network IB not found.",
	},
	{
		ID: "cuda-call", Kind: CUDAFailed, What: "CUDA call failed",
		Class: Own, Cause: "cuda-error", Confidence: Likely,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] enqueue.cc:1 NCCL WARN Cuda failure 1 'invalid argument'",
	},
	{
		ID: "cuda-shutdown", Kind: Consequence, What: "operation aborted",
		Class:   Followed,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] transport.cc:1 NCCL WARN Cuda failure 'driver shutting down'",
	},
	{
		ID: "gpu-memory", Kind: OutOfMemory, What: "GPU out of memory",
		Class: Own, Cause: "gpu-oom", Confidence: Certain,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] include/alloc.h:1 NCCL WARN Cuda failure 2 'out of memory'",
	},
	{
		ID: "nvls-call", Kind: NVLSFailed, What: "NVLink SHARP failed",
		Class: Own, Cause: "nvls", Confidence: Likely,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN Cuda failure 801 'operation not supported'",
	},
	{
		ID: "peer-access-call", Kind: PeerAccess, What: "peer access failed",
		Class: Own, Cause: "peer-access", Confidence: Likely,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] transport/p2p.cc:1 NCCL WARN Cuda failure 217 'peer access is not supported " +
			"between these two devices'",
	},
	{
		ID: "fabric-manager-call", Kind: GPUNotReady, What: "Fabric Manager is not running",
		Class: Own, Cause: "fabric-manager", Confidence: Likely,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Cuda failure 802 'system not yet initialized'",
	},
	{
		ID: "cuda-driver", Kind: CUDAInstall, What: "CUDA driver or library missing",
		Class: Own, Cause: "cuda-install", Confidence: Likely,
		AnyCase: true, Words: cudaFailure, Read: readCUDA,
		Example: "a:1:9 [0] misc/cudawrap.cc:1 NCCL WARN Cuda failure 35 'CUDA driver version is insufficient " +
			"for CUDA runtime version'",
	},
	{
		ID: "message-truncated", Kind: Truncated, What: "message truncated",
		Class: Own, Cause: "bootstrap-truncated", Confidence: Likely,
		Words:   []string{"Message truncated"},
		Example: "a:1:9 [0] bootstrap.cc:1 NCCL WARN Message truncated : received 1024 bytes instead of 256",
	},
	{
		ID: "duplicate-gpu", Kind: DuplicateGPU, What: "two ranks on one GPU",
		Class: Own, Cause: "duplicate-gpu", Confidence: Certain,
		Words:   []string{"Duplicate GPU detected", "Multiple Ranks are using the same GPU"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 18000",
	},
	{
		ID: "versions-differ", Kind: VersionsDiffer, What: "ranks have different NCCL versions",
		Class: Own, Cause: "version-mismatch", Confidence: Certain,
		Words: []string{"Mismatched NCCL version", "mismatched NCCL version", "version mismatch"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0 version 22809 rank " +
			"1 version 22005",
	},
	{ // src/bootstrap.cc
		ID: "rank-twice", Kind: Listed, What: "a rank had checked in already",
		Class: Own, Cause: "duplicate-rank", Confidence: Likely,
		Words:   []string{"has already checked in", "mismatch in rank count", "Invalid rank requested"},
		Example: "a:1:9 [0] bootstrap.cc:1 NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in",
	},
	{ // src/bootstrap.cc of 2.23 and later: older versions send a shorter record
		ID: "root-mismatch", Kind: Listed, What: "ranks do not agree about the start of the job",
		Class: Own, Cause: "version-mismatch", Confidence: Possible,
		Words: []string{"mismatch in info from procs"},
		Example: "a:1:9 [0] bootstrap.cc:1 NCCL WARN Bootstrap Root : mismatch in info from procs, nranks 8 vs 8, " +
			"nroots 1 vs 1, iroot 0 vs 0, offset -1 vs 0",
	},
	{ // src/misc/socket.cc, bootstrap.h: since 2.16 the ID of rank 0 has a random number in front of its address, which
		// older versions take for the family; behind an older address later versions find family 0
		ID: "no-address-in-id", Kind: Listed, What: "the ID of rank 0 has no address where this version expects it",
		Class: Own, Cause: "version-mismatch", Confidence: Likely,
		Words: []string{"is neither AF_INET"},
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN ncclSocketInit: connecting to address  with family 0 is " +
			"neither AF_INET(2) nor AF_INET6(10)",
	},
	{
		ID: "no-interface", Kind: NoInterface, What: "no interface found",
		Class: Own, Cause: "bootstrap-ifname", Confidence: Likely,
		Words: []string{
			"no socket interface", "No IP interface found", "no usable interface", "No interface found",
			"No usable listening interface", "Socket : no interface found",
		},
		Example: "a:1:9 [0] bootstrap.cc:1 NCCL WARN Bootstrap : no socket interface found",
	},
	{ // NCCL 2.29 and later, src/transport/net_ib/p2p_resiliency.cc, which returns an error after each of these
		ID: "no-device-left", Kind: FailoverFailed, What: "an HCA failed, and no other could take its connections",
		Class: Own, Cause: "port-error", Confidence: Likely,
		Words: []string{
			"No functional devices left", "failed devices out of ", "Could not find a replacement QP",
			"Could not find a functional device to post the probe", "Maximum number of probing attempts",
		},
		Example: "a:1:9 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: Fatal error. Detected 2 failed devices out of 2 " +
			"devices on the send communicator (comm=0x1). No support for more than a single failed device.",
	},
	{ // the same; a warning before it has the status
		ID: "failover-status", Kind: FailoverFailed, What: "a work request failed in a way that no failover survives",
		Class: Own, Cause: "port-error", Confidence: Possible,
		Words: []string{"The error is fatal ("},
		Example: "a:1:9 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: The error is fatal (Fatal error status in work " +
			"completion). Cannot continue.",
	},
	{
		ID: "device-failed-over", Kind: FailedOver, What: "an HCA failed, and its connections moved to another",
		Class: Soft, Cause: "port-error", Confidence: Likely,
		Words:   []string{"marked as failed"},
		Example: "a:1:9 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: Device 1 marked as failed. Initiating recovery? Yes",
	},
	{ // HPC-X nccl-rdma-sharp-plugins, src/sharp_plugin.c; NCCL src/transport.cc: the ring over NET is used then
		ID: "no-sharp", Kind: NoSHARP, What: "SHARP is not available",
		Words: []string{"Cannot initialize CollNet", "SHARP coll init error", "SHARP group create"},
		Example: "a:1:9 [0] transport.cc:323 NCCL WARN Cannot initialize CollNet, using " +
			"point-to-point network instead",
	},
	{
		ID: "files-nccl", Kind: Listed, What: "too many open files",
		Class: Own, Cause: "too-many-files", Confidence: Certain,
		Words:   []string{"Too many open files", "Poll failed: Invalid argument"}, // poll(2): RLIMIT_NOFILE
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN Call to accept failed : Too many open files",
	},
	// Another value is used; failover needs a second HCA; FastSocket goes on.
	{ // param.cc, init.cc, topo.cc, net_socket.cc, param_registry.cc, p2p_resiliency.cc; net_fastsocket.cc of Google
		ID: "harmless", Kind: Harmless, What: "a setting that has no effect",
		Words: []string{
			"has been removed; use ", "Resiliency is enabled on a ", "Cannot get incoming CPU",
			"Maximum retry reached for ", "NCCL_WORK_FIFO_BYTES=", "NCCL_NET_MERGE_POLICY: unknown value ",
			"NCCL_SOCKET_NTHREADS is greater than the maximum allowed",
			"the total number of sockets is greater than the maximum allowed", "PARAM: Duplicate registration for key ",
		},
		Example: "a:1:9 [0] misc/param.cc:30 NCCL WARN NCCL_LL_THRESHOLD has been removed; use NCCL_PROTO instead",
	},
	{ // RCCL src/init.cc, which says so before each run
		ID: "rccl-passthrough", Kind: NoPassthrough, What: "no IOMMU passthrough",
		Words: []string{`Missing "iommu=pt"`, `Missing "amd_iommu=on"`},
		Example: `a:1:9 [0] init.cc:1 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system ` +
			"instablity or hang!",
	},
	{ // RCCL src/init.cc
		ID: "rccl-advice", Kind: Harmless, What: "a setting that RCCL recommends",
		Words: []string{"NUMA auto balancing enabled", `Missing "HSA_FORCE_FINE_GRAIN_PCIE=1"`,
			"MSCCL++: Cannot enable MSCCL++", "NCCL_MIN_NCHANNELS set by environment is ignored"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN NUMA auto balancing enabled which can lead to variability in the " +
			`RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"`,
	},
	{ // src/graph/xml.cc, src/graph/topo.cc
		ID: "topology-file", Kind: TopologyUnread, What: "the topology could not be read",
		Class: Own, Cause: "topology-file", Confidence: Likely,
		Words: []string{
			"Could not open XML", "XML Parse", "XML Topology", "XML Graph", "XML parser", "Attribute ", "XML Mismatch",
		},
		Example: "a:1:9 [0] graph/xml.h:70 NCCL WARN Attribute arch of node cpu not found",
	},
	{ // src/init.cc
		ID: "nic-counts-differ", Kind: Listed, What: "ranks have different numbers of NICs",
		Class: Own, Cause: "hca-asymmetry", Confidence: Certain,
		Words: []string{"Detected mixed local "},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Detected mixed local Net device counts across ranks (min 1, max 2). " +
			"Set NCCL_IGNORE_NET_MISMATCH=1 to ignore",
	},
	{ // src/transport/net_ib/
		ID: "gin-needs-peermem", Kind: Listed, What: "the NIC cannot register GPU memory",
		Class: Own, Cause: "peermem-missing", Confidence: Certain,
		Words: []string{"Unable to use GIN: Peermem"},
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Unable to use GIN: Peermem is not supported, and device 0 does not " +
			"support DMA-BUF.",
	},
	{ // src/mnnvl.cc
		ID: "imex", Kind: Listed, What: "multi-node NVLink has no IMEX domain",
		Class: Own, Cause: "imex", Confidence: Likely,
		Words:   []string{"IMEX", "imex", "nvidia-caps-imex"},
		Example: "a:1:9 [0] mnnvl.cc:1 NCCL WARN MNNVL: the IMEX daemon is not running on this node",
	},
	{
		ID: "no-libibverbs", Kind: NoVerbs, What: "libibverbs is missing",
		Words:   []string{"Failed to open libibverbs"},
		Example: "a:1:9 [0] misc/ibvsymbols.cc:1 NCCL WARN Failed to open libibverbs.so[.1]",
	},
	{
		ID: "device-not-opened", Kind: CannotOpen, What: "device cannot be opened",
		Class: Soft, Cause: "hca-asymmetry", Confidence: Likely,
		Words: []string{"Unable to open device", "Failed to open device", "Unable to query device"}, Read: readDevice,
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Unable to open device mlx5_3",
	},
	{
		ID: "no-network-plugin", Kind: NoNetworkLeft, What: "no network found",
		Class: Own, Cause: "no-ib-device", Confidence: Possible,
		Words:   []string{"Failed to initialize any NET plugin"},
		Example: "a:1:9 [0] plugin/net.cc:1 NCCL WARN Failed to initialize any NET plugin",
	},
	{
		ID: "link-layers-differ", Kind: LayersDiffer, What: "InfiniBand and RoCE cannot be connected",
		Class: Own, Cause: "mixed-ib-roce", Confidence: Certain,
		Words: []string{"is incompatible with the local", "incompatible devices"},
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Remote mlx5_0:1/IB device is " +
			"incompatible with the local [mlx5_0:1/RoCE]",
	},
	{
		ID: "devices-differ", Kind: DevicesDiffer, What: "the peer has different devices",
		Words: []string{"mismatched physical devices"},
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : There are mismatched physical devices " +
			"between local (2) and remote (1)",
	},
	{
		ID: "gid-unreadable", Kind: GIDUnreadable, What: "GID type cannot be read",
		Class: Own, Cause: "gid-index", Confidence: Certain,
		Words: []string{"ncclIbRoceGetVersionNum"},
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: " +
			"Invalid argument",
	},
	{
		ID: "wrong-transport", Kind: WrongSocket, What: "peer uses another transport",
		Class: Own, Cause: "env-not-on-all-ranks", Confidence: Likely,
		Words:   []string{"wrong type"},
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketFinalizeAccept: wrong type 3 != 4",
	},
	{
		ID: "gdrcopy", Kind: GDRCopyFailed, What: "GDRCopy failed",
		Class: Own, Cause: "gdrcopy-missing", Confidence: Likely,
		Words:   []string{"GDRCopy", "gdrcopy", "GDRCOPY", "gdr_"},
		Example: "a:1:9 [0] gdrwrap.cc:1 NCCL WARN gdr_open failed",
	},
	{
		ID: "host-memory", Kind: CUDAFailed, What: "CUDA call failed",
		Class: Own, Cause: "cuda-error", Confidence: Likely,
		Words:   []string{"Cuda Host Alloc"},
		Example: "a:1:9 [0] include/alloc.h:1 NCCL WARN Cuda Host Alloc Size 4096 failed",
	},
	{
		ID: "shared-memory", Kind: ShmFailed, What: "shared memory failed",
		Class: Own, Cause: "shm-too-small", Confidence: Certain,
		Words: []string{
			"shared memory segment", "posix_fallocate", "shm_open", "nccl-shm", "/dev/shm",
			"Failed to allocate shared memory", "shared memory mapping", "shared memory file", "Error: Could not map ",
		},
		Example: "a:1:9 [0] misc/shmutils.cc:1 NCCL WARN Error: failed to extend /dev/shm/nccl-Hq5bJx to " +
			"33030532 bytes, error: No space left on device",
	},
	{
		ID: "peer-access", Kind: PeerAccess, What: "peer access failed",
		Class: Own, Cause: "peer-access", Confidence: Likely,
		Words: []string{
			"peer access", "Peer access", "P2P is disabled between", "IpcGetMemHandle failed",
			"IpcOpenMemHandle failed", "CUDA IPC handle", "HIP IPC handle", "failed to peer with device",
		},
		Example: "a:1:9 [0] transport/p2p.cc:1 NCCL WARN P2P is disabled between connected GPUs 1 and 0",
	},
	{
		ID: "nvls", Kind: NVLSFailed, What: "NVLink SHARP failed",
		Class: Own, Cause: "nvls", Confidence: Likely,
		Words: []string{"NVLS", "ulticast", "NVLink SHARP"},
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory " +
			"of size 2097152",
	},
	{
		ID: "gpu-driver", Kind: CUDAInstall, What: "CUDA driver or library missing",
		Class: Own, Cause: "cuda-install", Confidence: Likely,
		Words: []string{
			"nvmlInit", "NVML", "nvml.dll", "libnvidia-ml", "Failed to find CUDA library", "libcuda",
			"CUDA Driver version found",
			"NCCL library is ", "too old version of NCCL", // than the one that the program was compiled with
		},
		Example: "a:1:9 [0] misc/cudawrap.cc:1 NCCL WARN Failed to find CUDA library libcuda.so",
	},
	{
		ID: "given-up", Kind: Consequence, What: "operation aborted",
		Class: Followed,
		Words: []string{
			"Service thread] Error encountered", "Service thread] Accept failed",
			"Service thread] Could not receive type", "Proxy Call to rank", "ncclProxyClientGetFd call",
			"Socket recv failed while polling", "encountered a fatal error (detected in", "commDestroySync",
			"commReclaim", "comm async abort", "ncclProxyCallBlocking", "Async Error",
			"ncclSocketReady: unexpected socket state", "Failed to execute operation", "Failed to CUDA ",
			"is in abort state", "Operation aborted",
		},
		Example: "a:1:9 [0] proxy.cc:1 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable",
	},
	{
		ID: "connect-wait", Kind: ConnectFailed, What: "connection failed",
		Class: Remote, Cause: "peer-unreachable", Confidence: Possible,
		Words:   []string{"Timeout waiting for connection"},
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Timeout waiting for connection",
	},
	{
		ID: "socket-closed", Kind: SocketClosed, What: "connection closed by remote peer",
		Class:   Followed,
		AnyCase: true, Words: []string{
			"connection closed by remote peer", "connection closed by peer", "connection closed by localrank",
		}, Read: readSocket,
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer b<53012>",
	},
	{
		ID: "connect-failed", Kind: ConnectFailed, What: "connection failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		AnyCase: true, Words: []string{
			"connect to ", "call to connect ", "pollconnect", "startconnect", "getting address info",
		}, Read: readSocket,
		Example: "a:1:9 [0] include/socket.h:1 NCCL WARN Connect to 10.0.0.5<39275> failed : Connection refused",
	},
	{
		ID: "socket-failed", Kind: SocketFailed, What: "socket failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		AnyCase: true, Words: []string{"socketprogress", "call to "}, Read: readSocket,
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketProgress: Call to recv from 10.0.0.5<1234> " +
			"failed : Connection reset by peer",
	},
	{
		ID: "nvls-source", Kind: NVLSFailed, What: "NVLink SHARP failed",
		Class: Own, Cause: "nvls", Confidence: Likely,
		Read:    readNVLSSource,
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN bind of a buffer returned 1",
	},
}

// ofiSignatures are lines of the OFI plugin of level WARN.
var ofiSignatures = []Signature{
	{
		ID: "ofi-gdrcopy", Kind: GDRCopyFailed, What: "GDRCopy failed",
		Class: Own, Cause: "gdrcopy-missing", Confidence: Likely,
		Words:   []string{"GDRCopy", "gdrcopy"},
		Example: "a:1:9 [0] nccl_ofi_gdrcopy:1 NCCL WARN NET/OFI Failed to open GDRCopy",
	},
	{
		ID: "ofi-register", Kind: OFIRegister, What: "memory registration failed",
		Class: Own, Cause: "ofi-mr-register", Confidence: Likely,
		Words: []string{"egister memory", "fi_mr_reg", "mr_reg", "registration", "register MR"},
		Example: "a:1:9 [0] reg_mr:1 NCCL WARN NET/OFI Unable to register memory (type = 2) for device 0. RC: " +
			"-22, Error: Invalid argument",
	},
	{
		ID: "ofi-completion", Kind: OFICompletion, What: "request failed",
		Class: Remote, Cause: "peer-unreachable", Confidence: Likely,
		Words: []string{"completed with error", "Unresponsive receiver", "insert remote address"},
		Example: "a:1:9 [0] process_err:1 NCCL WARN NET/OFI Request completed with error. RC: 110. Error: " +
			"Unresponsive receiver (reachable)",
	},
	{
		ID: "ofi-provider", Kind: OFINoProvider, What: "no libfabric provider",
		Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words: []string{
			"eligible providers", "optimal provider", "EFA provider is supported", "initialization failed",
			"No provider", "no provider", "find any",
		},
		Example: "a:1:9 [0] platform_init:1 NCCL WARN NET/OFI Only EFA provider is supported",
	},
	{ // aws-ofi-nccl src/nccl_ofi_net.c, src/nccl_ofi_sendrecv.c: a communicator is aborted, or destroyed too early
		ID: "ofi-closed", Kind: Consequence, What: "operation aborted",
		Class:   Followed,
		Words:   []string{"_close with outstanding requests"},
		Example: "a:1:9 [0] recv_close:3201 NCCL WARN NET/OFI Attempt to call recv_close with outstanding requests!",
	},
	{ // aws-ofi-nccl src/nccl_ofi_system.c, src/platform-aws.c: not every platform has the file, or the symbol
		ID: "ofi-environment", Kind: Harmless, What: "a platform that the plugin does not know",
		Words: []string{"product_name", "find ncclGetVersion symbol"},
		Example: "a:1:9 [0] get_product_name:1 NCCL WARN NET/OFI Error opening file: " +
			"/sys/devices/virtual/dmi/id/product_name",
	},
	{ // aws-ofi-nccl src/nccl_ofi_ofiutils.c: objects of a provider that fi_getinfo found
		ID: "ofi-open", Kind: OFIFailed, What: "OFI plugin failed",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words:   []string{"open AV", "open CQ", "allocate endpoint"},
		Example: "a:1:9 [0] create:1 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument",
	},
	{
		ID: "ofi-initialize", Kind: OFIFailed, What: "OFI plugin failed",
		Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"nitialize"},
		Example: "a:1:9 [0] create:1 NCCL WARN NET/OFI Couldn't initialize the endpoint",
	},
	{
		ID: "ofi-getinfo", Kind: OFINoProvider, What: "no libfabric provider",
		Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"fi_getinfo"},
		Example: "a:1:9 [0] get_info:1 NCCL WARN NET/OFI Call to fi_getinfo failed. RC: 61",
	},
	{
		ID: "ofi-call", Kind: OFIFailed, What: "OFI plugin failed",
		Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"fi_", "ailed", "ould"},
		Example: "a:1:9 [0] create:1 NCCL WARN NET/OFI fi_domain failed. RC: -12",
	},
}

// frameworkSignatures are lines of all other programs: PyTorch, launchers, schedulers, the kernel.
var frameworkSignatures = []Signature{
	{
		ID: "verbs-call-quoted", Kind: VerbsFailed, What: "verbs call failed",
		Class: Own, Cause: "memlock", Confidence: Likely,
		Words: []string{
			"ibv_reg", "ibv_create", "ibv_modify", "ibv_open", "ibv_alloc", "ibv_query", "ibv_poll",
			"ibv_post", "ibv_set", "ibv_get", "ibv_de", "ibv_fork",
		}, Read: readVerbsQuoted,
		Example: "terminate called: ibv_create_qp failed with error Cannot allocate memory",
	},
	{ // perftest, the examples of rdma-core, the transfer engine of Mooncake, Monarch
		ID: "verbs-qp-quoted", Kind: VerbsFailed, What: "verbs call failed",
		Class: Own, Cause: "route-or-arp", Confidence: Likely,
		Words:   []string{"Failed to modify QP to ", "Failed to create QP", " failed to create queue pair"},
		Read:    readQPQuoted,
		Example: "E0302 10:00:00.1 41 rdma_endpoint.cpp:1] Failed to modify QP to RTR: Connection timed out [110]",
	},
	{
		ID: "verbs-gids-quoted", Kind: VerbsFailed, What: "verbs call failed",
		Class: Own, Cause: "gid-index", Confidence: Possible,
		Words: []string{"remote GID ::", "local GID ::"}, Read: readGIDsQuoted,
		Example: "local GID index 3, local GID ::ffff:10.1.1.1, remote GID ::ffff:10.1.1.2",
	},
	{
		ID: "verbs-provider", Kind: ProviderFailed, What: "no libibverbs driver",
		Words: []string{
			"libibverbs: Warning", "libibverbs: GRH is mandatory", "libibverbs: Fatal",
			"does not support the kernel ABI",
		}, Read: readProvider,
		Example: "libibverbs: Warning: no userspace device-specific driver found for " +
			"/sys/class/infiniband_verbs/uverbs0",
	},
	{ // ProcessGroupNCCL.cpp, torch 2.3 and later; some versions write "last enqueued NCCL work: 10"
		ID: "work-status", Kind: Watchdog, What: "collective timed out",
		Class: Followed,
		Words: []string{"last enqueued work: ", "last enqueued NCCL work: "}, Read: readWorkStatus,
		Example: "[rank2]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 2] " +
			"failure detected by watchdog at work sequence id: 10 PG status: last enqueued work: 9, last " +
			"completed work: 9",
	},
	{
		ID: "watchdog", Kind: Watchdog, What: "collective timed out",
		Class: Followed,
		Words: []string{
			"Watchdog caught collective operation timeout",
			"Received a dump signal due to a collective timeout", "heartbeat monitor timed out",
			"Heartbeat monitor timed out", "ncclCommWatchdog", "failed to complete within",
			"Timeout at NCCL work", "Observed flight recorder dump signal",
			"Some NCCL operations have failed or timed out", "collective operation timed out",
			"atchdog got stuck", "To avoid data inconsistency, we are taking the entire process down",
			"wait timeout after", "Timed out waiting for all ranks", " got error: Socket Timeout",
			" failed to pass monitoredBarrier", "monitoredBarrier, but received errors", // gloo
			"atchdog timeout (self.", // SGLang ends itself then
			"preparing to dump debug info",
			"comm aborted due to timeout", // torchcomms
		}, Read: readWatchdog,
		Example: "[rank0]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective " +
			"operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, Timeout(ms)=600000) ran for 600081 " +
			"milliseconds before timing out.",
	},
	{ // NCCL 2.24 and later, src/ras/client_support.cc: the text of ncclras, its JSON (2.28), and its events (2.29)
		ID: "ras-missing", Kind: RankMissing, What: "a rank does not answer",
		Class: Own, Cause: "peer-died", Confidence: Likely,
		Words: []string{
			"Missing communicator data from", "considered dead (unreachable", "Warning: missing data from",
			`"missing_ranks_count": `, `"considered_dead": true`, `"unresponsive": true`, "PEER_DEAD",
		}, Read: readMissing,
		Example: "  Missing communicator data from 1 rank",
	},
	{
		ID: "ras-differ", Kind: RanksDiffer, What: "ranks are not at the same operation, or not in the same state",
		Class: Soft, Cause: "hang-timeout", Confidence: Possible,
		Words:   []string{"Communicator ranks have different ", " communication timeout"},
		Example: "  Communicator ranks have different AllReduce operation counts",
	},
	{
		ID: "ras-errors", Kind: Listed, What: "RAS reports errors of ranks",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words: []string{"Initialization error", "Asynchronous error", `"async_error": `}, Read: readRankErrors,
		Example: "  Asynchronous errors on 2 ranks",
	},
	{ // RAS_ACS_ABORT in client_support.cc: the program gave the communicator up
		ID: "ras-aborted", Kind: Listed, What: "a communicator was aborted, as RAS reports",
		Class: Followed,
		Words: []string{"  ABORT  ", "have status ABORT", "has status ABORT", `"abort_flag": true`}, Read: readAborted,
		Example: "    0         1         4         8        32        32     ABORT      OK",
	},
	{
		ID: "ras-rank", Kind: RankNamed, What: "a rank that RAS names",
		Words: []string{" managed by process ", " managing GPU"}, Read: readRankNamed,
		Example: "  Rank 0 -- GPU 5 managed by process 3487984 on node 172.16.64.213",
	},
	{ // nccl-tests, src/common.cu; the second below NCCL_TESTS_MIN_BW
		ID: "wrong-results", Kind: WrongResults, What: "nccl-tests failed",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words:   BenchmarkEnds,
		Example: "# Out of bounds values : 2 FAILED",
	},
	{ // testing/ptest/HPL_pdinfo.c of HPL
		ID: "wrong-residuals", Kind: WrongResults, What: "HPL failed",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words: []string{"tests completed and failed"}, Read: readResiduals,
		Example: "              1 tests completed and failed residual checks,",
	},
	{ // gloo/transport/tcp/pair.cc and unbound_buffer.cc
		ID: "gloo-closed", Kind: SocketClosed, What: "connection of gloo closed by its peer",
		Class: Followed,
		Words: glooSource, Read: readGloo,
		Example: "RuntimeError: [gloo/transport/tcp/pair.cc:589] Connection closed by peer [10.0.0.7]:3421",
	},
	{
		ID: "gloo-connect", Kind: ConnectFailed, What: "connection of gloo failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words: glooSource, Read: readGloo,
		Example: "RuntimeError: [gloo/transport/tcp/pair.cc:799] connect [10.0.0.7]:3421: Connection refused",
	},
	{
		ID: "gloo-failed", Kind: SocketFailed, What: "connection of gloo failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words: glooSource, Read: readGloo,
		Example: "RuntimeError: [gloo/transport/tcp/pair.cc:598] read [10.0.0.7]:3421: Connection reset by peer",
	},
	{
		ID: "gloo-timeout", Kind: Watchdog, What: "operation of gloo timed out",
		Class: Followed,
		Words: glooSource, Read: readGloo,
		Example: "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv " +
			"operation to complete",
	},
	{
		ID: "nccl-result", Kind: Result, What: "NCCL returned an error",
		Class: Followed,
		Words: []string{
			"unhandled cuda error", "ncclUnhandledCudaError", "unhandled system error", "ncclSystemError",
			"ncclInternalError", "NCCL error", "ncclInvalidArgument", "ncclInvalidUsage", "ncclRemoteError",
			"NCCL failure", "remote process exited or there was a network error", "DistBackendError",
			"NCCL communicator was aborted", "ncclCommInitRank failed",
		}, Read: readResult,
		Example: "RuntimeError: unhandled system error, version 2.20.5",
	},
	{
		ID: "gpu-memory-quoted", Kind: OutOfMemory, What: "GPU out of memory",
		Class: Own, Cause: "gpu-oom", Confidence: Certain,
		Words: []string{
			"CUDA out of memory", "HIP out of memory", "OutOfMemoryError", "CUDA error: out of memory",
			"CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation", "cuda runtime error (2)", // PyTorch up to 1.4
			vllmMemory,
		}, Read: readGPUMemory,
		Example: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
	},
	{
		ID: "xid", Kind: Xid, What: "GPU error (Xid)",
		Class: Own, Cause: "cuda-error", Confidence: Likely,
		Words: []string{"NVRM: Xid", "Xid (PCI"}, Read: readXid,
		Example: "[ 1234.5] NVRM: Xid (PCI:0000:18:00): 79, pid=1234, GPU has fallen off the bus.",
	},
	{ // drivers/gpu/drm/amd/amdgpu of Linux: gmc_v9_0.c, amdgpu_ras.c, amdgpu_device.c
		ID: "amdgpu", Kind: Listed, What: "the kernel reports an error of an AMD GPU",
		Class: Own, Cause: "cuda-error", Confidence: Likely,
		Words: []string{
			"VM_L2_PROTECTION_FAULT_STATUS", "no-retry page fault", "uncorrectable hardware error(",
			"amdgpu: GPU reset begin",
		},
		Example: "[ 1234.5] amdgpu 0000:c6:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00341051",
	},
	{ // driver_types.h: CUDA error 802
		ID: "fabric-manager", Kind: GPUNotReady, What: "Fabric Manager is not running",
		Class: Own, Cause: "fabric-manager", Confidence: Likely,
		Words: notReadyWords, Read: readFabricManager,
		Example: "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
	},
	{
		ID: "cuda-error", Kind: CUDAError, What: "CUDA error",
		Class: Own, Cause: "cuda-error", Confidence: Certain,
		Words: cudaPrefixes, Read: readPrintedCUDA,
		Example: "RuntimeError: CUDA error: an illegal memory access was encountered",
	},
	{ // programs that print the fields of an error on lines of their own
		ID: "cuda-error-text", Kind: CUDAError, What: "CUDA error",
		Class: Own, Cause: "cuda-error", Confidence: Certain,
		Words: []string{cudaText}, Read: readCUDAText,
		Example: "    Error text: an illegal memory access was encountered",
	},
	{ // rocdevice.cpp of ROCclr
		ID: "hsa-error", Kind: Recoverable, What: "error of a GPU",
		Class: Own, Cause: "cuda-error", Confidence: Likely,
		Words: []string{"aborting with error : HSA_STATUS_"},
		Example: ":0:rocdevice.cpp:3586: Callback: Queue 0x7f78cb400000 aborting with error : " +
			"HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016",
	},
	{ // src/common/api_wrapper of oneCCL
		ID: "oneccl-port", Kind: Listed, What: "a port of the fabric between GPUs failed",
		Class: Soft, Cause: "port-error", Confidence: Possible,
		Words: []string{"port issue: { status: failed"},
		Example: "2025:04:02-03:30:40:(4119976) |CCL_WARN| host: gpu-a, rank: 0, local_port_id: { 65559 0 1 }, " +
			"port issue: { status: failed, details: training timeout }",
	},
	{
		ID: "cuda-error-driver", Kind: CUDAInstall, What: "CUDA driver or library missing",
		Class: Own, Cause: "cuda-install", Confidence: Likely,
		Words: cudaPrefixes, Read: readPrintedCUDA,
		Example: "RuntimeError: CUDA error: no kernel image is available for execution on the device",
	},
	{
		ID: "cuda-library", Kind: CUDAInstall, What: "CUDA driver or library missing",
		Class: Own, Cause: "cuda-install", Confidence: Likely,
		Words: cudaLibraryWords, Read: readCUDALibrary,
		Example: "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
	},
	{
		ID: "process-exit", Kind: Exit, What: "process ended with an error",
		Class: Followed,
		Words: exitWords, Read: readExit,
		Example: "mpirun noticed that process rank 3 with PID 0 on node gpu-3 exited on signal 9 (Killed).",
	},
	{
		ID: "loader-shared-memory", Kind: ShmFailed, What: "shared memory failed",
		Class: Own, Cause: "shm-too-small", Confidence: Certain,
		Words: []string{"insufficient shared memory (shm)", "No space left on device: '/dev/shm/"}, Read: readLoaderShm,
		Example: "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient " +
			"shared memory (shm).",
	},
	{
		ID: "time-limit", Kind: TimeLimit, What: "time limit",
		Class: Followed,
		Words: []string{
			"DUE TO TIME LIMIT", "DeadlineExceeded",
			"job killed: walltime ", "exceeded its walltime limit", "exceeded wallclock limit", // PBS, Torque, Moab
			"TERM_RUNLIMIT", // LSF
		},
		Example: "slurmstepd: error: *** JOB 1234 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 DUE TO TIME LIMIT ***",
	},
	{
		ID: "oom-kill", Kind: OOMKill, What: "killed because the machine ran out of memory",
		Class: Own, Cause: "peer-died", Confidence: Likely,
		Words: []string{
			"oom_kill", "oom-kill", "OOMKilled", "Out of memory: Killed process",
			"Memory cgroup out of memory", "killed due to memory pressure",
			"exceeded memory limit (", "Exceeded job memory limit", // older Slurm
			"killed due to the node running low on memory", "Ray killed this worker",
			"to avoid running out of memory",       // Ray 2.0
			"is killed by signal: Killed",          // of torch.utils.data
			"was OOM-killed",                       // runc
			"The node was low on resource: memory", // the kubelet
			"TERM_MEMLIMIT", "job killed: mem ",    // LSF, PBS
		},
		Example: "[ 1234.5] Out of memory: Killed process 4242 (python) total-vm:1234kB",
	},
	{ // enroot's log as pyxis prints it, Ray, MPICH, psm3 and opa-psm2, NVSHMEM
		ID: "reason", Kind: Reason, What: "it says why",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words: reasonWords, Read: readReason,
		Example: "slurmstepd: error: pyxis:     id: cannot find name for user ID 42",
	},
	{ // pyxis, plugins of Slurm, runc
		ID: "container-start", Kind: Aborted, What: "the container did not start",
		Class: Followed,
		Words: []string{
			"container start failed with error code", "couldn't start container",
			"OCI runtime create failed",
		}, Read: readContainerStart,
		Example: "slurmstepd: error: pyxis: container start failed with error code: 1",
	},
	{ // xla/tsl/distributed_runtime/coordination/coordination_service.cc
		ID: "heartbeat", Kind: Listed, What: "its heartbeat stopped",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words: []string{"remote task has failed, got preempted, or crashed", "stopped sending heartbeats"},
		Example: "UNAVAILABLE: Task /job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that the " +
			"remote task has failed, got preempted, or crashed unexpectedly.",
	},
	{ // xla/pjrt/distributed/client.h: a task that lost the leader or hears of another's end aborts itself
		ID: "jax-fatal", Kind: Listed, What: "JAX ended it because another task failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words: []string{"because the JAX distributed service detected fatal errors"},
		Example: "F0929 17:42:48.594200 1044529 client.h:77] Terminating process because the JAX distributed service " +
			"detected fatal errors. This most likely indicates that another task died; see the other task logs for " +
			"more details.",
	},
	{ // ompi/mca/btl/tcp/help-mpi-btl-tcp.txt of Open MPI
		ID: "mpi-peer-lost", Kind: Listed, What: "MPI lost its connection to another process",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words:   []string{"MPI communication peer process has unexpectedly disconnected"},
		Example: "An MPI communication peer process has unexpectedly disconnected.  This",
	},
	{ // xla/service/rendezvous.cc: after some time, or never, the threads go on
		ID: "xla-stall", Kind: Stalled, What: "some threads did not start a collective that the others wait for",
		Class: Soft, Cause: "hang-timeout", Confidence: Possible,
		Words: []string{" seconds and may be stuck."},
		Example: "2026-03-02 10:00:00.920189: E external/xla/xla/service/rendezvous.cc:38] This thread has been " +
			"waiting for `initialize clique for rank 6` for 10 seconds and may be stuck. Expected 8 threads to join " +
			"the rendezvous, but not all of them arrived on time.",
	},
	{ // horovod/common/stall_inspector.cc: after some time, or never, the ranks go on
		ID: "horovod-stall", Kind: Stalled, What: "some ranks did not start a collective that the others wait for",
		Class: Soft, Cause: "hang-timeout", Confidence: Possible,
		Words: []string{"waiting for remainder of ranks", " [missing ranks: "},
		Example: "W stall_inspector.cc:1] One or more tensors were submitted by subset of ranks and are waiting for " +
			"remainder of ranks for more than 60 seconds.",
	},
	{ // prov/efa/src/efa_mr.c
		ID: "libfabric-register", Kind: OFIRegister, What: "memory registration failed",
		Class: Soft, Cause: "ofi-mr-register", Confidence: Likely,
		Words: []string{"Unable to register MR"},
		Example: "libfabric:71:1658904526::efa:mr:efa_mr_reg_impl():1<warn> Unable to register MR: " +
			"Cannot allocate memory",
	},
	{ // prov/efa/src/rdm/efa_rdm_ope.c
		ID: "efa-request", Kind: Listed, What: "a request of libfabric failed",
		Class: Remote, Cause: "peer-unreachable", Confidence: Possible,
		Words: []string{"txe_handle_error", "rxe_handle_error"},
		Example: "libfabric:71:1708520807::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: " +
			"Invalid address",
	},
	{ // src/host/init, src/host/transport and the macros of src/include of NVSHMEM
		ID: "nvshmem", Kind: Aborted, What: "NVSHMEM failed to start",
		Class: Followed,
		Words: []string{
			"nvshmem initialization failed", "Unable to initialize any transports", ": non-zero status: ",
			": NULL value ",
		},
		Example: "/nvshmem/src/host/init/init.cu:989: non-zero status: 7 nvshmem detect topo failed",
	},
	{ // src/modules/transport/ibgda of NVSHMEM: another device or transport may work
		ID: "nvshmem-device", Kind: Complaint, What: "NVSHMEM cannot use a device or a transport",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words: []string{
			"cannot allocate buffer on the specified memory type", "init failed for transport",
			"init failed for remote",
		},
		Example: "WARN: device mlx5_0 cannot allocate buffer on the specified memory type. Skipping...",
	},
	{ // libsharp
		ID: "sharp-library", Kind: NoSHARP, What: "SHARP is not available",
		Words:   []string{"Failed to lock SAT tree", "SHARP job", "sharp_coll_init"},
		Example: "[gpu-a:0:174 - comm.c:379][2026-03-02 10:00:00] ERROR Failed to lock SAT tree(ID:0x208)",
	},
	{
		ID: "mpi-abort", Kind: Aborted, What: "aborted by the launcher",
		Class: Followed,
		Words: []string{
			"MPI_ABORT was invoked", "An error occurred in MPI_", "MPI_ERRORS_ARE_FATAL", "BAD TERMINATION OF ONE",
			"Fatal error in PMPI_", "Fatal error in MPI_", "Fatal error in internal_", // MPICH, Intel MPI
			"has exited due to process rank ", "is aborting the MPI job", // Open MPI
			"terminated badly; aborting", // Hydra
		}, Read: readAbort,
		Example: "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
	},
	{
		ID: "launcher", Kind: Aborted, What: "aborted by the launcher",
		Class: Followed,
		Words: []string{
			"ActorDiedError", "RayActorError", "The actor died", "actor is dead", "WorkerCrashedError", "RayTaskError",
			"Worker exit type: SYSTEM_ERROR", "worker died or was killed", // Ray
			"Horovod has been shut down",
			"died unexpectedly", "EngineDeadError", "EngineCore encountered a fatal error", // vLLM
			"EngineCore hit an exception", "EngineCore failed to start", "ngine core initialization failed",
			"Got fatal signal from worker processes",
			"WorkerProc initialization failed", "Engine loop has died", "Engine process failed to start",
			"Error executing method ",
			"Scheduler hit an exception", "Received sigquit from a child proc", // SGLang
			"ShardCannotStart",     // text-generation-inference
			"Container failed !!!", // Paddle
			"ABORT!!! Out of all ", // older Paddle
			"PBS: job killed",
			"unhandled_fault_hook",                                   // Monarch
			"ExecuteUserScriptError", "Failed - Training job failed", // SageMaker
			" failed with return code list: ", // SkyPilot
			"FORCE-TERMINATE AT ",             // Open MPI, src/orted and PRRTE
		},
		Example: "The actor died unexpectedly before finishing this task.",
	},
	{ // Hydra, googletest, RAY_CHECK, Paddle, engine.py of DeiT and its descendants, glog's handler of signals
		ID: "program-failed", Kind: Aborted, What: "the program ended with an error",
		Class: Followed,
		Words: []string{
			"Error executing job with overrides", "[  FAILED  ]", "An unexpected system state has occurred",
			".EnforceNotMet", "Loss is nan, stopping training", "Loss is inf, stopping training",
			" (unix time) try \"date -d @",
			"Exception in device=",      // torch_xla
			"failed with synapse error", // Gaudi
		},
		Example: "Error executing job with overrides: ['nodes=4']",
	},
	{ // Lib/argparse.py of Python, which exits with 2
		ID: "arguments", Kind: Recoverable, What: "the program did not take its arguments",
		Class: Followed,
		Words: []string{
			": error: argument ", ": error: unrecognized arguments: ", ": error: ambiguous option: ",
			": error: the following arguments are required: ", ": error: one of the arguments ",
		},
		Example: "train.py: error: argument --fp16: invalid choice: 'maybe' (choose from on, off)",
	},
	{ // torch/distributed/elastic/multiprocessing/errors/error_handler.py prints the exception as JSON
		ID: "child-exception", Kind: Recoverable, What: "a process ended with an exception",
		Class: Followed,
		Words: []string{"error_handler"}, Read: readChildException,
		Example: "ERROR:torch.distributed.elastic.multiprocessing.errors.error_handler:{",
	},
	{ // LOG(FATAL) of glog, Abseil and PyTorch, with which a process aborts itself
		ID: "fatal-log", Kind: Recoverable, What: "a program aborted itself",
		Class: Followed,
		Words: sourceLines(".cc", ".cpp", ".cu"), Read: readFatalLog,
		Example: "F0302 10:00:00.123456 4242 rail_store.cc:41] the journal of the ranks is gone",
	},
	{
		ID: "node-failure", Kind: Aborted, What: "aborted by the launcher",
		Class: Followed,
		Words: []string{
			"NODE FAILURE", "DUE TO NODE FAIL", "has lost communication with a remote daemon", // Slurm, Open MPI
			"Raylet is terminated", "Raylet failed", "marked dead because", "node it was running on is dead", // Ray
		}, Read: readNodeFailure,
		Example: "slurmstepd: error: *** JOB 1234 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 DUE TO NODE FAILURE ***",
	},
	{ // Slurm, Open MPI, ssh, the kubelet
		ID: "launch-failed", Kind: Aborted, What: "the launcher could not start the processes",
		Class: Followed,
		Words: []string{
			"Task launch for ", "Unable to create step for job", "Unable to allocate resources",
			"slurmstepd: error: execve(",
			"not enough slots available", "able to be opened in the ", "PML ucx cannot be selected",
			"PMIX ERROR: UNREACHABLE",
			"does not know how to route a message",
			"MPI_INIT failed", "unable to reliably start one or more daemons", "daemon has unexpectedly failed",
			"mpirun was unable to ", "Host key verification failed", "Permission denied (publickey",
			"restarting failed container", "CrashLoopBackOff", "container create failed", "CreateContainerError",
			"CreateContainerConfigError", "RunContainerError", "ImagePullBackOff", "ErrImagePull",
			"UnexpectedAdmissionError",
			"ssh not successful for host ",    // horovodrun
			"fallback fabric is not enabled",  // older Intel MPI
			"execvp error on file ",           // Hydra
			" failed to start the daemons on", // Open MPI
		},
		Example: "srun: error: Task launch for StepId=36.0 failed on node gpu-1: Job credential expired",
	},
	{ // events of the kubelet, which it repeats until it succeeds
		ID: "kubelet-retries", Kind: Aborted, What: "the kubelet cannot start a pod",
		Class: Followed,
		Words: []string{"FailedCreatePodSandBox", "FailedMount", "FailedAttachVolume"}, Read: readKubeletRetries,
		Example: "  Warning  FailedCreatePodSandBox  4m (x93 over 24m)  kubelet  Failed to create pod sandbox: rpc",
	},
	{ // pkg/kubelet/eviction
		ID: "evicted", Kind: Aborted, What: "a pod was evicted",
		Class: Followed,
		Words: []string{
			"The node was low on resource: ", "The node had condition: [", "ephemeral local storage usage exceeds",
		},
		Example: "Message:      The node was low on resource: ephemeral-storage.",
	},
	{ // Slurm, src/slurmd/slurmstepd/req.c
		ID: "requeued", Kind: Restarted, What: "cancelled by the scheduler, which queues the job again",
		Class:   Followed,
		Words:   []string{" DUE TO PREEMPTION", " DUE TO JOB REQUEUE"},
		Example: "slurmstepd: error: *** JOB 1234 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 DUE TO PREEMPTION ***",
	},
	{ // torch/distributed/elastic/agent/server/api.py, DLRover, nvidia-resiliency-ext
		ID: "restarted", Kind: Restarted, What: "the launcher starts the processes again",
		Words:   []string{"will restart worker group", "ShutdownHook: lame workers found"}, // TensorFlow on TPUs
		Example: "[INFO] [default] Worker group FAILED. 2/3 attempts left; will restart worker group",
	},
	{
		ID: "cancelled", Kind: Aborted, What: "cancelled by the scheduler or a user",
		Class:   Followed,
		Words:   []string{" CANCELLED AT ", "TERM_OWNER", "TERM_ADMIN", "TERM_PREEMPT"}, // LSF
		Example: "slurmstepd: error: *** STEP 1234.0 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 ***",
	},
	{ // Lightning, launch.py of DeepSpeed and older PyTorch, torchrun, srun, Weights & Biases
		ID: "signalled", Kind: Aborted, What: "told to end by a user or a signal",
		Class: Followed,
		Words: []string{
			"Detected KeyboardInterrupt, attempting graceful", "] Received SIGTERM: ", "ain process received SIG",
			"srun: forcing job termination", "mpirun: killing job", "Ctrl + C detected", "Control-C detected",
			"death signal, shutting down workers",
		},
		Example: "Detected KeyboardInterrupt, attempting graceful shutdown ...",
	},
	{ // coordination_service.cc of XLA: not the barrier with which a job begins
		ID: "barrier", Kind: Listed, What: "some tasks did not reach a barrier in time",
		Class: Remote, Cause: "hang-timeout", Confidence: Likely,
		Words: []string{"DEADLINE_EXCEEDED: Barrier timed out"}, Read: readBarrier,
		Example: "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: checkpoint_7. Timed out task " +
			"names: /job:jax_worker/replica:0/task:3",
	},
	{ // torch/csrc/distributed/c10d/socket.cpp; 98 is EADDRINUSE
		ID: "rendezvous-port", Kind: Recoverable, What: "another process uses the port of the rendezvous",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words: []string{"failed to listen on any local network address", "EADDRINUSE"},
		Example: "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network " +
			"address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
	},
	{ // torch/distributed/elastic/agent/server/api.py
		ID: "gathered", Kind: Gathered, What: "the launchers of all nodes found one another",
		Words:   []string{"Rendezvous complete for workers"},
		Example: "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:",
	},
	{ // src/plugins/mpi/pmix/pmixp_coll_ring.c of Slurm
		ID: "pmix-timeout", Kind: Listed, What: "slurmstepd got no answer from those of other nodes",
		Class: Remote, Cause: "peer-unreachable", Confidence: Possible,
		Words: []string{": collective timeout seq="},
		Example: "slurmstepd: error:  mpi/pmix_v3: pmixp_coll_ring_reset_if_to: gpu-a [0]: pmixp_coll_ring.c:742: " +
			"0x14ce0c02cb20: collective timeout seq=0",
	},
	{ // torch/csrc/distributed/c10d/TCPStore.cpp: another attempt may succeed
		ID: "store-warning", Kind: SocketClosed, What: "connection to the store closed",
		Class: Followed,
		Words: storeClosed, Read: readStoreWarning,
		Example: "[rank3]:[W506 00:43:56.240378877 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=3): " +
			"failed to recv, got 0 bytes",
	},
	{ // torch/csrc/distributed/c10d/Utils.hpp: the process that serves the store has ended
		ID: "store-closed", Kind: SocketClosed, What: "connection to the store closed",
		Class:   Followed,
		Words:   storeClosed,
		Example: "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed.",
	},
	{
		ID: "no-rail", Kind: NoRail, What: "railhead-pod found no rail",
		Words:   []string{NoRDMA},
		Example: NoRDMA,
	},
	{ // torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp, with TORCH_DISTRIBUTED_DEBUG=DETAIL
		ID: "fingerprints-differ", Kind: Listed, What: "the ranks are not at the same collective",
		Class: Own, Cause: "hang-timeout", Confidence: Certain,
		Words: []string{"Detected mismatch between collectives on ranks"},
		Example: "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running " +
			"collective: CollectiveFingerPrint(SequenceNumber=4, OpType=ALLREDUCE, TensorShape=[1048576]), but " +
			"Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=4, OpType=BROADCAST, " +
			"TensorShape=[1048576]).",
	},
	{
		ID: "rendezvous", Kind: Rendezvous, What: "rendezvous failed",
		Class: Remote, Cause: "peer-unreachable", Confidence: Likely,
		Words: rendezvousWords, Read: readRendezvous,
		Example: "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while " +
			"trying to connect to (h-kim-0, 29500).",
	},
	{
		ID: "gloo-interface", Kind: NoInterface, What: "no interface found",
		Class: Own, Cause: "bootstrap-ifname", Confidence: Likely,
		Words:   []string{"Unable to find address for", "Unable to find interface for", "ifaddr"},
		Read:    readGlooInterface,
		Example: "RuntimeError: [enforce fail at device.cc:83] ifa != nullptr. Unable to find address for: eno1",
	},
	{
		ID: "files", Kind: Recoverable, What: "too many open files",
		Class: Own, Cause: "too-many-files", Confidence: Certain,
		Words:   []string{"Too many open files", "EMFILE", "ENFILE"},
		Read:    readTooManyFiles,
		Example: "ncclOsSocketTryAccept: Accept failed: Too many open files",
	},
	{
		ID: "disk-full", Kind: Recoverable, What: "a disk is full",
		Class: Own, Cause: "disk-full", Confidence: Likely,
		Words: []string{
			"No space left on device", "Disk quota exceeded", "ENOSPC",
			"file write failed", "unexpected pos ", "basic_ios::clear", // torch.save
		},
		Read:    readDiskFull,
		Example: "OSError: [Errno 28] No space left on device: '/ckpt/step-1000.pt'",
	},
	{ // torch/utils/data/_utils/signal_handling.py, worker.py
		ID: "loader-worker", Kind: ShmFailed, What: "shared memory failed",
		Class: Own, Cause: "shm-too-small", Confidence: Likely,
		Words: []string{
			"workers are out of shared memory", "is killed by signal: Bus error", "unable to open shared memory object",
			"unable to mmap", "unable to write to file </torch_",
		},
		Example: "RuntimeError: DataLoader worker (pid 3254) is killed by signal: Bus error. It is possible that " +
			"dataloader's workers are out of shared memory.",
	},
	{
		ID: "exception", Kind: Exception, What: "exception",
		Class:   Followed,
		Words:   append([]string{"NotFound: ", "Timeout: ", "Expired: ", "Unavailable: "}, exceptionNames...),
		Read:    readException,
		Example: "ValueError: batch size must be positive",
	},
	{
		ID: "complaint", Kind: Complaint, What: "an error that is not known",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words: slices.Concat(levelWords, endWords, toldWords, levelForms.words(), endForms.words(),
			toldForms.words()), Read: readComplaint,
		Example: "2026-03-02 10:00:00 FATAL trainer: giving up",
	},
	{
		ID: "failure-words", Kind: FailureWords, What: "an error that is not known",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words: []string{
			" failed", "Failed to ", "aborted", "Aborting", "shutting down", "giving up", "eceived SIG",
			"eceived signal ", "SIGTERM received", "SIGINT received", "preempted",
			"ssh: connect to host ", "ssh: Could not resolve hostname ", "send disconnect: Broken pipe",
			"closed by remote host", "response from daemon: ",
			"leaked semaphore objects to clean up", // of Python, after its processes ended otherwise
		}, Read: readFailureWords,
		Example: "trainer: the step failed on 3 hosts",
	},
	{
		ID: "inner-ending", Kind: FailureWords, What: "the last words of a program behind others that are not known",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Words: append([]string{"Killed"}, exceptionNames...), Read: readInnerEnding,
		Example: "trainer of cell 4 $ ValueError: batch size must be positive",
	},
}

// noticeSignatures are found by the parser of level INFO, and by the state that it keeps.
var noticeSignatures = []Signature{
	{
		ID: "no-device", Kind: NoDevice, What: "no RDMA device",
		Example: "a:1:9 [0] NCCL INFO NET/IB : No device found.",
	},
	{ // p2p_resiliency.cc
		ID: "queue-pairs-moved", Kind: FailedOver, What: "an HCA failed, and its connections moved to another",
		Class: Soft, Cause: "port-error", Confidence: Likely,
		Example: "a:1:9 [0] NCCL INFO NET/IB: ncclIbResiliencyReplaceQps: Replacing QP: qpIndex=0 (qp_num=12, " +
			"devIndex=0) to qpIndex=1 (qp_num=13, devIndex=1) on send communicator (comm=0x1)",
	},
	{ // src/transport/net_ib/p2p.cc of 2.28 to 2.30 (NVIDIA/nccl#2334)
		ID: "unused-request", Kind: Stalled, What: "NCCL dropped the completion of a request, after which " +
			"collectives hang",
		Class: Soft, Cause: "unknown", Confidence: Likely,
		Example: "a:1:9 [0] NCCL INFO NET/IB: ncclIbCompletionEventProcess: Receiver got a completion for a CTS but " +
			"retrieved an 'unused' request (req=0x7, comm=0x1, id=3, wc.wr_id=0)",
	},
	{ // src/progress_monitor.cc of 2.32
		ID: "progress-counter", Kind: Stalled, What: "a GPU or its PCIe does not make progress",
		Class: Soft, Cause: "hang-timeout", Confidence: Possible,
		Example: "a:1:9 [0] NCCL INFO NCCL progress counter monitor: counter DMA still pending after 600s (cudaDev " +
			"3, " +
			"2 comms)",
	},
	{
		ID: "finished", Kind: Finished, What: "finished",
		Example: "# Avg bus bandwidth    : 42.1",
	},
	{
		ID: "error-trail", Kind: Trail, What: "NCCL returned an error",
		Class:   Followed,
		Example: "a:1:9 [0] NCCL INFO init.cc:1350 -> 2",
	},
	{ // benign.tsv
		ID: benignID, Kind: Harmless, What: "a complaint that runs with success have, too",
		Example: "[NeMo E 2025-10-08 17:33:39 perf_metrics:110] Failed to calculate TFLOPs per sec per GPU.",
	},
	{
		ID: "last-error", Kind: Warning, What: "NCCL's last warning, which is not known",
		Class: Followed, Cause: "unknown", Confidence: Possible,
		Example: "Last error: the flux is exhausted",
	},
	{
		ID: "warning", Kind: Warning, What: "failure",
		Class: Soft, Cause: "unknown", Confidence: Possible,
		Example: "a:1:9 [0] init.cc:1 NCCL WARN this is not known",
	},
}
