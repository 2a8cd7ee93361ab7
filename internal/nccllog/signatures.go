package nccllog

import (
	"slices"
	"sync"
)

// signatures is the table of lines that show how a run went. Of two rows that both fit a line, the first one counts.
// The words come from NCCL's sources from 2.4 to 2.30, of RCCL, of their plugins, of PyTorch and of the launchers.
var signatures = slices.Concat(connectionSignatures, deviceSignatures, gpuSignatures, consequenceSignatures,
	ofiSignatures, frameworkSignatures, processSignatures, noticeSignatures)

// Signatures returns the table.
func Signatures() []Signature { return slices.Clone(signatures) }

// SignatureOf returns the row that an event is of.
func SignatureOf(e Event) Signature {
	i, known := rowByID()[e.Signature]
	if !known {
		i = slices.IndexFunc(signatures, func(s Signature) bool { return s.Kind == e.Kind })
	}
	if i < 0 {
		return Signature{Kind: e.Kind}
	}
	return signatures[i]
}

var rowByID = sync.OnceValue(func() map[string]int {
	rows := map[string]int{}
	for i := range signatures {
		rows[signatures[i].ID] = i
	}
	return rows
})

var connectionSignatures = []Signature{
	{
		ID: "stranger", Origin: NCCL, Kind: Stranger, Words: []string{"wrong magic"},
		What:    "a connection of another program",
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketFinalizeAccept: wrong magic 12 != 34",
	},
	{
		ID: "sizes-differ", Origin: NCCL, Kind: SizesDiffer, Class: Own, Cause: "env-not-on-all-ranks",
		Confidence: Possible,
		Words:      []string{"message truncated", "collective mismatch"},
		What:       "ranks disagree on the size of a message",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : collective mismatch error, local size 8 " +
			"remote 4",
	},
	{
		ID: "bad-completion", Origin: NCCL, Kind: BadCompletion, Class: ByItsFields, Cause: "route-or-arp",
		Confidence: Likely,
		Words:      []string{"Got completion", "completion with error"}, Read: readCompletion,
		What: "bad completion",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with " +
			"status=12 opcode=0" +
			" len=0 vendor err 129 (Send) localGid ::ffff:10.1.1.1 remoteGids::ffff:10.1.1.2 hca mlx5_0",
	},
	{
		ID: "device-event", Origin: NCCL, Kind: AsyncEvent, Class: ByItsFields, Cause: "port-error", Confidence: Likely,
		Words: []string{"async event", "async fatal event"}, Read: readAsync,
		What: "async event",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : mlx5_3:1 Got non-fatal async event: port " +
			"error(10)",
	},
	{
		ID: "device-not-opened-by-call", Origin: NCCL, Kind: CannotOpen, Class: Soft, Cause: "hca-asymmetry",
		Confidence: Likely,
		Words:      []string{"ibv_open_device"}, Read: readOpenFailed,
		What:    "device cannot be opened",
		Example: "a:1:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_open_device failed",
	},
	{
		ID: "verbs-call", Origin: NCCL, Kind: VerbsFailed, Class: Own, Cause: "memlock", Confidence: Likely,
		Words: []string{"ibv_"}, Read: readVerbs,
		What: "verbs call failed",
		Example: "a:1:9 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate " +
			"memory",
	},
	{
		ID: "network-not-found", Origin: NCCL, Kind: NoNetworkLeft, Class: Own, Cause: "no-ib-device",
		Confidence: Possible,
		Words:      []string{"Error: network "}, Read: readNetworkNotFound,
		What:    "no network found",
		Example: "a:1:9 [0] net.cc:1 NCCL WARN Error: network IB not found.",
	},
	{
		ID: "cuda-call", Origin: NCCL, Kind: CUDAFailed, Class: Own, Cause: "cuda-error", Confidence: Likely,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What:    "CUDA call failed",
		Example: "a:1:9 [0] enqueue.cc:1 NCCL WARN Cuda failure 1 'invalid argument'",
	},
	{
		ID: "cuda-shutdown", Origin: NCCL, Kind: Consequence, Class: Followed,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What:    "operation given up",
		Example: "a:1:9 [0] transport.cc:1 NCCL WARN Cuda failure 'driver shutting down'",
	},
	{
		ID: "gpu-memory", Origin: NCCL, Kind: OutOfMemory, Class: Own, Cause: "gpu-oom", Confidence: Certain,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What:    "GPU out of memory",
		Example: "a:1:9 [0] include/alloc.h:1 NCCL WARN Cuda failure 2 'out of memory'",
	},
	{
		ID: "nvls-call", Origin: NCCL, Kind: NVLSFailed, Class: Own, Cause: "nvls", Confidence: Likely,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What:    "NVLink SHARP failed",
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN Cuda failure 801 'operation not supported'",
	},
	{
		ID: "peer-access-call", Origin: NCCL, Kind: PeerAccess, Class: Own, Cause: "peer-access", Confidence: Likely,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What: "peer access failed",
		Example: "a:1:9 [0] transport/p2p.cc:1 NCCL WARN Cuda failure 217 'peer access is not supported between " +
			"these two devices'",
	},
	{
		ID: "cuda-driver", Origin: NCCL, Kind: CUDAInstall, Class: Own, Cause: "cuda-install", Confidence: Likely,
		AnyCase: true, Words: []string{"cuda failure", "hip failure"}, Read: readCUDA,
		What: "CUDA driver or library missing",
		Example: "a:1:9 [0] misc/cudawrap.cc:1 NCCL WARN Cuda failure 35 'CUDA driver version is insufficient for " +
			"CUDA runtime version'",
	},
	{
		ID: "message-truncated", Origin: NCCL, Kind: Truncated, Class: Own, Cause: "bootstrap-truncated",
		Confidence: Likely,
		Words:      []string{"Message truncated"},
		What:       "message truncated",
		Example:    "a:1:9 [0] bootstrap.cc:1 NCCL WARN Message truncated : received 1024 bytes instead of 256",
	},
}

var deviceSignatures = []Signature{
	{
		ID: "duplicate-gpu", Origin: NCCL, Kind: DuplicateGPU, Class: Own, Cause: "duplicate-gpu", Confidence: Certain,
		Words:   []string{"Duplicate GPU detected"},
		What:    "two ranks on one GPU",
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 18000",
	},
	{
		ID: "versions-differ", Origin: NCCL, Kind: VersionsDiffer, Class: Own, Cause: "version-mismatch",
		Confidence: Certain,
		Words:      []string{"Mismatched NCCL version", "mismatched NCCL version", "version mismatch"},
		What:       "ranks have different NCCL versions",
		Example: "a:1:9 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0 version 22809 rank 1 " +
			"version 22005",
	},
	{
		ID: "no-interface", Origin: NCCL, Kind: NoInterface, Class: Own, Cause: "bootstrap-ifname", Confidence: Likely,
		Words: []string{
			"no socket interface", "No IP interface found", "no usable interface", "No interface found",
		},
		What:    "no interface found",
		Example: "a:1:9 [0] bootstrap.cc:1 NCCL WARN Bootstrap : no socket interface found",
	},
	{ // NCCL 2.29 and later, src/transport/net_ib/p2p_resiliency.cc
		ID: "no-device-left", Origin: NCCL, Kind: Listed, Class: Own, Cause: "qp-async-fatal", Confidence: Possible,
		Words: []string{"No functional devices left"},
		What:  "the last HCA of a connection failed",
		Example: "a:1:9 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: The error is fatal (No functional devices left). " +
			"Cannot continue.",
	},
	{
		ID: "device-failed-over", Origin: NCCL, Kind: Listed, Class: Soft, Cause: "qp-async-fatal",
		Confidence: Possible,
		Words:      []string{"marked as failed"},
		What:       "an HCA failed, and its connections moved to another",
		Example: "a:1:9 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: Device 1 marked as failed. Initiating " +
			"recovery? Yes",
	},
	{
		ID: "no-libibverbs", Origin: NCCL, Kind: NoVerbs, Words: []string{"Failed to open libibverbs"},
		What:    "libibverbs is missing",
		Example: "a:1:9 [0] misc/ibvsymbols.cc:1 NCCL WARN Failed to open libibverbs.so[.1]",
	},
	{
		ID: "device-not-opened", Origin: NCCL, Kind: CannotOpen, Class: Soft, Cause: "hca-asymmetry",
		Confidence: Likely,
		Words:      []string{"Unable to open device", "Failed to open device"}, Read: readDevice,
		What:    "device cannot be opened",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Unable to open device mlx5_3",
	},
	{
		ID: "no-network-plugin", Origin: NCCL, Kind: NoNetworkLeft, Class: Own, Cause: "no-ib-device",
		Confidence: Possible,
		Words:      []string{"Failed to initialize any NET plugin"},
		What:       "no network found",
		Example:    "a:1:9 [0] plugin/net.cc:1 NCCL WARN Failed to initialize any NET plugin",
	},
	{
		ID: "link-layers-differ", Origin: NCCL, Kind: LayersDiffer, Class: Own, Cause: "mixed-ib-roce",
		Confidence: Certain,
		Words:      []string{"is incompatible with the local", "incompatible devices"},
		What:       "InfiniBand and RoCE cannot be connected",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Remote mlx5_0:1/IB device is incompatible " +
			"with the local [mlx5_0:1/RoCE]",
	},
	{
		ID: "devices-differ", Origin: NCCL, Kind: DevicesDiffer, Words: []string{"mismatched physical devices"},
		What: "the peer has other devices",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : There are mismatched physical devices between " +
			"local (2) and remote (1)",
	},
	{
		ID: "gid-unreadable", Origin: NCCL, Kind: GIDUnreadable, Class: Own, Cause: "gid-index", Confidence: Certain,
		Words: []string{"ncclIbRoceGetVersionNum"},
		What:  "GID type cannot be read",
		Example: "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: " +
			"Invalid argument",
	},
	{
		ID: "wrong-transport", Origin: NCCL, Kind: WrongSocket, Class: Own, Cause: "env-not-on-all-ranks",
		Confidence: Likely,
		Words:      []string{"wrong type"},
		What:       "peer uses another transport",
		Example:    "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketFinalizeAccept: wrong type 3 != 4",
	},
	{
		ID: "gdrcopy", Origin: NCCL, Kind: GDRCopyFailed, Class: Own, Cause: "gdrcopy-missing", Confidence: Likely,
		Words:   []string{"GDRCopy", "gdrcopy", "gdr_open"},
		What:    "GDRCopy failed",
		Example: "a:1:9 [0] gdrwrap.cc:1 NCCL WARN gdr_open failed",
	},
	{
		ID: "host-memory", Origin: NCCL, Kind: CUDAFailed, Class: Own, Cause: "cuda-error", Confidence: Likely,
		Words:   []string{"Cuda Host Alloc"},
		What:    "CUDA call failed",
		Example: "a:1:9 [0] include/alloc.h:1 NCCL WARN Cuda Host Alloc Size 4096 failed",
	},
	{
		ID: "shared-memory", Origin: NCCL, Kind: ShmFailed, Class: Own, Cause: "shm-too-small", Confidence: Certain,
		Words: []string{
			"shared memory segment", "posix_fallocate", "shm_open", "nccl-shm", "/dev/shm",
			"Failed to allocate shared memory",
		},
		What: "shared memory failed",
		Example: "a:1:9 [0] misc/shmutils.cc:1 NCCL WARN Error: failed to extend /dev/shm/nccl-Hq5bJx to 33030532 " +
			"bytes," +
			" error: No space left on device",
	},
}

var gpuSignatures = []Signature{
	{
		ID: "peer-access", Origin: NCCL, Kind: PeerAccess, Class: Own, Cause: "peer-access", Confidence: Likely,
		Words:   []string{"peer access", "Peer access", "P2P is disabled between"},
		What:    "peer access failed",
		Example: "a:1:9 [0] transport/p2p.cc:1 NCCL WARN P2P is disabled between connected GPUs 1 and 0",
	},
	{
		ID: "nvls", Origin: NCCL, Kind: NVLSFailed, Class: Own, Cause: "nvls", Confidence: Likely,
		Words: []string{"NVLS", "ulticast", "NVLink SHARP"},
		What:  "NVLink SHARP failed",
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of " +
			"size 2097152",
	},
	{
		ID: "gpu-driver", Origin: NCCL, Kind: CUDAInstall, Class: Own, Cause: "cuda-install", Confidence: Likely,
		Words:   []string{"nvmlInit", "NVML", "Failed to find CUDA library", "libcuda"},
		What:    "CUDA driver or library missing",
		Example: "a:1:9 [0] misc/cudawrap.cc:1 NCCL WARN Failed to find CUDA library libcuda.so",
	},
}

var consequenceSignatures = []Signature{
	{
		ID: "given-up", Origin: NCCL, Kind: Consequence, Class: Followed,
		Words: []string{
			"Service thread] Error encountered", "Service thread] Accept failed",
			"Service thread] Could not receive type",
			"Proxy Call to rank", "ncclProxyClientGetFd call", "Socket recv failed while polling",
			"encountered a fatal error (detected in", "commDestroySync", "commReclaim", "comm async abort",
			"ncclProxyCallBlocking",
			"Async Error", "ncclSocketReady: unexpected socket state",
		},
		What:    "operation given up",
		Example: "a:1:9 [0] proxy.cc:1 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable",
	},
	{
		ID: "connect-wait", Origin: NCCL, Kind: ConnectFailed, Class: Remote, Cause: "peer-unreachable",
		Confidence: Possible,
		Words:      []string{"Timeout waiting for connection"},
		What:       "connection failed",
		Example:    "a:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Timeout waiting for connection",
	},
	{
		ID: "socket-closed", Origin: NCCL, Kind: SocketClosed, Class: Followed, Read: socketOf,
		AnyCase: true, Words: []string{
			"connection closed by remote peer", "connection closed by peer", "connection closed by localrank",
		},
		What:    "connection closed by remote peer",
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer b<53012>",
	},
	{
		ID: "connect-failed", Origin: NCCL, Kind: ConnectFailed, Class: Remote, Cause: "peer-died",
		Confidence: Likely, Read: socketOf,
		AnyCase: true, Words: []string{
			"connect to ", "call to connect ", "pollconnect", "startconnect", "getting address info",
		},
		What:    "connection failed",
		Example: "a:1:9 [0] include/socket.h:1 NCCL WARN Connect to 10.0.0.5<39275> failed : Connection refused",
	},
	{
		ID: "socket-failed", Origin: NCCL, Kind: SocketFailed, Class: Remote, Cause: "peer-died", Confidence: Likely,
		Read:    socketOf,
		AnyCase: true, Words: []string{"socketprogress", "call to "},
		What: "socket failed",
		Example: "a:1:9 [0] misc/socket.cc:1 NCCL WARN socketProgress: Call to recv from 10.0.0.5<1234> failed : " +
			"Connection reset by peer",
	},
	{
		ID: "nvls-source", Origin: NCCL, Kind: NVLSFailed, Class: Own, Cause: "nvls", Confidence: Likely,
		Read:    readNVLSSource,
		What:    "NVLink SHARP failed",
		Example: "a:1:9 [0] transport/nvls.cc:1 NCCL WARN bind of a buffer returned 1",
	},
}

var ofiSignatures = []Signature{
	{
		ID: "ofi-gdrcopy", Origin: OFI, Kind: GDRCopyFailed, Class: Own, Cause: "gdrcopy-missing", Confidence: Likely,
		Words:   []string{"GDRCopy", "gdrcopy"},
		What:    "GDRCopy failed",
		Example: "a:1:9 [0] nccl_ofi_gdrcopy:1 NCCL WARN NET/OFI Failed to open GDRCopy",
	},
	{
		ID: "ofi-register", Origin: OFI, Kind: OFIRegister, Class: Own, Cause: "ofi-mr-register", Confidence: Likely,
		Words: []string{"egister memory", "fi_mr_reg", "mr_reg", "registration", "register MR"},
		What:  "memory registration failed",
		Example: "a:1:9 [0] reg_mr:1 NCCL WARN NET/OFI Unable to register memory (type = 2) for device 0. RC: -22, " +
			"Error: Invalid argument",
	},
	{
		ID: "ofi-completion", Origin: OFI, Kind: OFICompletion, Class: Remote, Cause: "peer-unreachable",
		Confidence: Likely,
		Words:      []string{"completed with error", "Unresponsive receiver"},
		What:       "request failed",
		Example: "a:1:9 [0] process_err:1 NCCL WARN NET/OFI Request completed with error. RC: 110. Error: " +
			"Unresponsive receiver (reachable)",
	},
	{
		ID: "ofi-provider", Origin: OFI, Kind: OFINoProvider, Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words: []string{
			"eligible providers", "optimal provider", "EFA provider is supported", "initialization failed",
			"No provider", "no provider",
			"find any",
		},
		What:    "no libfabric provider",
		Example: "a:1:9 [0] platform_init:1 NCCL WARN NET/OFI Only EFA provider is supported",
	},
	{
		ID: "ofi-environment", Origin: OFI, Kind: Warning, Class: Soft, Cause: "unknown", Confidence: Possible,
		Words:   []string{"pciPath", "product_name", "ncclGetVersion", "environment"},
		What:    "warning",
		Example: "a:1:9 [0] platform:1 NCCL WARN NET/OFI Unable to read product_name",
	},
	{
		ID: "ofi-initialize", Origin: OFI, Kind: OFIFailed, Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"nitialize"},
		What:    "OFI plugin failed",
		Example: "a:1:9 [0] create:1 NCCL WARN NET/OFI Couldn't initialize the endpoint",
	},
	{
		ID: "ofi-getinfo", Origin: OFI, Kind: OFINoProvider, Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"fi_getinfo"},
		What:    "no libfabric provider",
		Example: "a:1:9 [0] get_info:1 NCCL WARN NET/OFI Call to fi_getinfo failed. RC: 61",
	},
	{
		ID: "ofi-call", Origin: OFI, Kind: OFIFailed, Class: Soft, Cause: "ofi-no-provider", Confidence: Likely,
		Words:   []string{"fi_", "ailed", "ould"},
		What:    "OFI plugin failed",
		Example: "a:1:9 [0] create:1 NCCL WARN NET/OFI fi_domain failed. RC: -12",
	},
}

var frameworkSignatures = []Signature{
	{
		ID: "verbs-call-quoted", Origin: Framework, Kind: VerbsFailed, Class: Own, Cause: "memlock", Confidence: Likely,
		Words: []string{
			"ibv_reg", "ibv_create", "ibv_modify", "ibv_open", "ibv_alloc", "ibv_query", "ibv_poll", "ibv_post",
			"ibv_set", "ibv_get",
			"ibv_de", "ibv_fork",
		}, Read: readVerbsQuoted,
		What:    "verbs call failed",
		Example: "terminate called: ibv_create_qp failed with error Cannot allocate memory",
	},
	{
		ID: "verbs-gids-quoted", Origin: Framework, Kind: VerbsFailed, Class: Own, Cause: "gid-index",
		Confidence: Possible,
		Words:      []string{"remote GID ::", "local GID ::"}, Read: readGIDsQuoted,
		What:    "verbs call failed",
		Example: "local GID index 3, local GID ::ffff:10.1.1.1, remote GID ::ffff:10.1.1.2",
	},
	{
		ID: "verbs-provider", Origin: Framework, Kind: ProviderFailed,
		Words: []string{
			"libibverbs: Warning", "libibverbs: GRH is mandatory", "libibverbs: Fatal",
			"does not support the kernel ABI",
		}, Read: readProvider,
		What: "no libibverbs driver",
		Example: "libibverbs: Warning: no userspace device-specific driver found for " +
			"/sys/class/infiniband_verbs/uverbs0",
	},
	{
		ID: "watchdog", Origin: Framework, Kind: Watchdog, Class: Followed, Read: readWatchdog,
		Words: []string{
			"Watchdog caught collective operation timeout", "Received a dump signal due to a collective timeout",
			"heartbeat monitor timed out", "Heartbeat monitor timed out", "ncclCommWatchdog",
			"failed to complete within",
			"Timeout at NCCL work", "Observed flight recorder dump signal",
			"Some NCCL operations have failed or timed out",
			"collective operation timed out", "Watchdog got stuck",
			"To avoid data inconsistency, we are taking the entire process down",
			"wait timeout after", "Timed out waiting for all ranks",
		},
		What: "collective timed out",
		Example: "[rank0]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective " +
			"operation timeout:" +
			" WorkNCCL(SeqNum=1, OpType=BROADCAST, Timeout(ms)=600000) ran for 600081 milliseconds before timing out.",
	},
	{
		ID: "nccl-result", Origin: Framework, Kind: Result, Class: Followed, Read: readResult,
		Words: []string{
			"unhandled cuda error", "ncclUnhandledCudaError", "unhandled system error", "ncclSystemError",
			"ncclInternalError",
			"NCCL error", "ncclInvalidArgument", "ncclInvalidUsage", "ncclRemoteError", "NCCL failure",
			"remote process exited or there was a network error", "DistBackendError", "NCCL communicator was aborted",
			"ncclCommInitRank failed",
		},
		What:    "NCCL returned an error",
		Example: "RuntimeError: unhandled system error, version 2.20.5",
	},
	{
		ID: "gpu-memory-quoted", Origin: Framework, Kind: OutOfMemory, Class: Own, Cause: "gpu-oom",
		Confidence: Certain, Read: readGPUMemory,
		Words: []string{
			"CUDA out of memory", "HIP out of memory", "OutOfMemoryError", "CUDA error: out of memory",
			"CUDA_ERROR_OUT_OF_MEMORY",
			"cudaErrorMemoryAllocation",
		},
		What:    "GPU out of memory",
		Example: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
	},
	{
		ID: "xid", Origin: Framework, Kind: Xid, Class: Own, Cause: "cuda-error", Confidence: Likely, Read: readXid,
		Words:   []string{"NVRM: Xid", "Xid (PCI"},
		What:    "GPU error (Xid)",
		Example: "[ 1234.5] NVRM: Xid (PCI:0000:18:00): 79, pid=1234, GPU has fallen off the bus.",
	},
	{
		ID: "cuda-error", Origin: Framework, Kind: CUDAError, Class: Own, Cause: "cuda-error", Confidence: Certain,
		Read:    readCUDAQuoted,
		Words:   cudaPrefixes,
		What:    "CUDA error",
		Example: "RuntimeError: CUDA error: an illegal memory access was encountered",
	},
	{
		ID: "cuda-error-driver", Origin: Framework, Kind: CUDAInstall, Class: Own, Cause: "cuda-install",
		Confidence: Likely, Read: readCUDAQuoted,
		Words:   cudaPrefixes,
		What:    "CUDA driver or library missing",
		Example: "RuntimeError: CUDA error: no kernel image is available for execution on the device",
	},
	{
		ID: "cuda-library", Origin: Framework, Kind: CUDAInstall, Class: Own, Cause: "cuda-install",
		Confidence: Likely, Read: readCUDALibrary,
		Words:   cudaLibraryWords,
		What:    "CUDA driver or library missing",
		Example: "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
	},
}

var processSignatures = []Signature{
	{
		ID: "process-exit", Origin: Framework, Kind: Exit, Class: Followed, Read: readExit,
		Words: []string{
			"exitcode", "exited on signal ", "srun: error:", "exited with non-zero status", "Exit code:",
			"ChildFailedError",
			"command terminated with exit code", "Segmentation fault", "Bus error",
		},
		What:    "process ended with an error",
		Example: "mpirun noticed that process rank 3 with PID 0 on node gpu-3 exited on signal 9 (Killed).",
	},
	{
		ID: "loader-shared-memory", Origin: Framework, Kind: ShmFailed, Class: Own, Cause: "shm-too-small",
		Confidence: Certain, Read: readLoaderShm,
		Words: []string{"insufficient shared memory (shm)"},
		What:  "shared memory failed",
		Example: "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared " +
			"memory (shm).",
	},
	{
		ID: "time-limit", Origin: Framework, Kind: TimeLimit, Class: Followed, Read: noFields(TimeLimit, ""),
		Words:   []string{"DUE TO TIME LIMIT", "DeadlineExceeded"},
		What:    "time limit",
		Example: "slurmstepd: error: *** JOB 1234 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 DUE TO TIME LIMIT ***",
	},
	{
		ID: "oom-kill", Origin: Framework, Kind: OOMKill, Class: Own, Cause: "peer-died", Confidence: Likely,
		Read: noFields(OOMKill, ""),
		Words: []string{
			"oom_kill", "oom-kill", "OOMKilled", "Out of memory: Killed process", "Memory cgroup out of memory",
			"killed due to memory pressure", "were killed due to the node running low on memory",
		},
		What:    "killed because the machine ran out of memory",
		Example: "[ 1234.5] Out of memory: Killed process 4242 (python) total-vm:1234kB",
	},
	{
		ID: "mpi-abort", Origin: Framework, Kind: Aborted, Class: Followed, Read: readAbort,
		Words:   []string{"MPI_ABORT was invoked"},
		What:    "ended by the launcher",
		Example: "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
	},
	{
		ID: "ray-actor", Origin: Framework, Kind: Aborted, Class: Followed, Read: noFields(Aborted, "Ray"),
		Words:   []string{"ActorDiedError", "RayActorError", "The actor died", "actor is dead", "WorkerCrashedError"},
		What:    "ended by the launcher",
		Example: "The actor died unexpectedly before finishing this task.",
	},
	{
		ID: "node-failure", Origin: Framework, Kind: Aborted, Class: Followed, Read: noFields(Aborted, "node failure"),
		Words:   []string{"NODE FAILURE", "DUE TO NODE FAIL"},
		What:    "ended by the launcher",
		Example: "slurmstepd: error: *** JOB 1234 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 DUE TO NODE FAILURE ***",
	},
	{
		ID: "rendezvous", Origin: Framework, Kind: Rendezvous, Class: Remote, Cause: "peer-unreachable",
		Confidence: Likely, Read: readRendezvous,
		Words: rendezvousWords,
		What:  "rendezvous failed",
		Example: "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying " +
			"to connect to (h-kim-0, 29500).",
	},
	{
		ID: "gloo-interface", Origin: Framework, Kind: NoInterface, Class: Own, Cause: "bootstrap-ifname",
		Confidence: Likely, Read: readGlooInterface,
		Words:   []string{"Unable to find address for", "Unable to find interface for", "ifaddr"},
		What:    "no interface found",
		Example: "RuntimeError: [enforce fail at device.cc:83] ifa != nullptr. Unable to find address for: eno1",
	},
	{
		ID: "exception", Origin: Framework, Kind: Exception, Class: Followed, Read: exception,
		Words:   []string{"Error", "Exception", "Interrupt"},
		What:    "exception",
		Example: "ValueError: batch size must be positive",
	},
}

// noticeSignatures are found by the parser of level INFO, and by the state that it keeps.
var noticeSignatures = []Signature{
	{
		ID: "no-device", Kind: NoDevice, What: "no RDMA device",
		Example: "a:1:9 [0] NCCL INFO NET/IB : No device found.",
	},
	{
		ID: "finished", Kind: Finished, What: "finished",
		Example: "# Avg bus bandwidth    : 42.1",
	},
	{
		ID: "warning", Kind: Warning, Class: Soft, Cause: "unknown", Confidence: Possible, What: "failure",
		Example: "a:1:9 [0] init.cc:1 NCCL WARN this is not known",
	},
}
