package event

import (
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
)

// transferSignatures are lines of the libraries that programs use besides NCCL: UCX, NIXL and Mooncake, which move the
// KV cache of servers, DeepEP, HCCL of Ascend NPUs, oneCCL of Intel GPUs.
var transferSignatures = []Signature{
	{ // src/uct/ib/mlx5/ib_mlx5_log.c of UCX, which MPI and NVSHMEM use
		ID: "ucx-retry-ib", Kind: Listed, What: "UCX got no answer from a peer",
		Class: Remote, Cause: "ib-fabric-not-connected", Confidence: Likely,
		Words: []string{"Transport retry count exceeded on"}, Read: readUCXOverIB,
		Example: "[gpu-a:41:0:41] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)",
	},
	{
		ID: "ucx-retry", Kind: Listed, What: "UCX got no answer from a peer",
		Class: Remote, Cause: "route-or-arp", Confidence: Likely,
		Words:   []string{"Transport retry count exceeded"},
		Example: "[gpu-a:41:0:41] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)",
	},
	{ // ompi/mca/pml/ucx/pml_ucx.c: "ucp_ep_create(proc=3) failed: Destination is unreachable"
		ID: "ucx-unreachable", Kind: Listed, What: "UCX cannot reach a peer",
		Class: Remote, Cause: "peer-unreachable", Confidence: Possible,
		Words:   []string{"failed: Destination is unreachable"},
		Example: "[gpu-a:41] pml_ucx.c:424  Error: ucp_ep_create(proc=3) failed: Destination is unreachable",
	},
	{ // src/ucs/sys/sock.c of UCX
		ID: "ucx-connect", Kind: ConnectFailed, What: "a connection of UCX failed",
		Class: Remote, Cause: "peer-died", Confidence: Likely,
		Words: []string{", dest_addr="}, Read: readUCXConnect,
		Example: "[1.2] [gpu-a:41:0]  sock.c:334  UCX  ERROR   connect(fd=143, dest_addr=10.0.0.7:43833) failed: " +
			"Connection refused",
	},
	{ // src/uct/tcp/tcp_ep.c of UCX
		ID: "ucx-tcp", Kind: SocketFailed, What: "a connection of UCX failed",
		Class: Remote, Cause: "peer-unreachable", Confidence: Likely,
		Words: []string{"UCX  ERROR tcp_ep "}, Read: readUCXSocket,
		Example: "[1.2] [gpu-a:41:0]  tcp_ep.c:1260 UCX  ERROR tcp_ep 0x3c50 (state=CONNECTED): send(110) failed: " +
			"Connection timed out",
	},
	{ // src/uct/ib/mlx5/dv of UCX: the queue is created by a command of the firmware, not by libibverbs
		ID: "devx-create", Kind: VerbsFailed, What: "verbs call failed",
		Class: Own, Cause: "create-cq", Confidence: Likely,
		Words: []string{"mlx5dv_devx_obj_create(CQ) failed", "mlx5dv_devx_obj_create(QP) failed"}, Read: readDevx,
		Example: "[1.2] [gpu-a:41:0]  ib_mlx5_dv.c:452  UCX  ERROR   mlx5dv_devx_obj_create(CQ) failed on mlx5_1, " +
			"syndrome 0x2aac7c: Remote I/O error",
	},
	{ // ibv_wc_status_str of rdma-core, which the transfer engine of Mooncake prints
		ID: "transfer-retry", Kind: Recoverable, What: "a NIC got no answer from a peer",
		Class: Remote, Cause: "route-or-arp", Confidence: Possible,
		Words: []string{"transport retry counter exceeded"},
		Example: "E0302 10:00:00.1 41 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, local_nic: " +
			"mlx5_9, peer_nic: 10.0.0.7:15867@mlx5_9, retry_cnt: 0): transport retry counter exceeded",
	},
	{ // src/uct/ib/mlx5/ib_mlx5_log.c of UCX, ibv_wc_status_str
		ID: "transfer-protection", Kind: Recoverable, What: "a NIC was given memory that it must not access",
		Class: Own, Cause: "unknown", Confidence: Possible,
		AnyCase: true, Words: []string{"local protection error on ", "): local protection error"},
		Example: "[1.2] [gpu-a:41:0]  ib_mlx5_log.c:179  UCX  ERROR Local protection error on mlx5_0:1/RoCE (synd " +
			"0x4 vend 0x51 hw_synd 0/2)",
	},
	{
		ID: "transfer-access", Kind: Recoverable, What: "a peer's NIC refused access to its memory",
		Class: Remote, Cause: "remote-access-err", Confidence: Possible,
		AnyCase: true, Words: []string{"remote access error on ", "): remote access error"},
		Example: "[1.2] [gpu-a:41:0]  ib_mlx5_log.c:179  UCX  ERROR Remote access error on mlx5_0:1/IB (synd 0x13 " +
			"vend 0x88 hw_synd 0/0)",
	},
	{ // src/uct/ib/efa/srd/srd_iface.c of UCX
		ID: "transfer-flushed", Kind: Recoverable, What: "work requests were flushed",
		Class: Remote, Cause: "peer-died", Confidence: Possible,
		Words: []string{": Work Request Flushed Error", "NIXL_ERR_REMOTE_DISCONNECT", "nixlRemoteDisconnectError"},
		Example: "[1.2] [gpu-a:41:0]  srd_iface.c:221  UCX  ERROR send completion[0] with error on rdmap96s0/0x55f9: " +
			"Work Request Flushed Error, vendor_err 0x1",
	},
	{ // src/uct/ib/rc/verbs/rc_verbs_iface.c and srd_iface.c of UCX
		ID: "transfer-completion", Kind: Recoverable, What: "a request to a NIC failed",
		Class: Own, Cause: "unknown", Confidence: Possible,
		Words:   []string{"end completion with error: ", "end completion[0] with error on "},
		Example: "[1.2] [gpu-a:41:0] rc_verbs_iface.c:47 UCX ERROR Send completion with error: local QP error",
	},
	{ // src/bindings/python/nixl_bindings.cpp of NIXL; python/sglang/srt/disaggregation of SGLang
		ID: "transfer", Kind: Recoverable, What: "a transfer of KV cache failed",
		Class: Followed,
		Words: []string{
			"nixlBackendError", "nixlUnknownError", "NIXL_ERR_BACKEND", "NIXL_ERR_UNKNOWN",
			"transfer failed for request",
		},
		Example: "ERROR 03-20 02:45:15 engine.py:244] nixlUnknownError('NIXL_ERR_UNKNOWN')",
	},
	{ // csrc/kernels/internode.cu and csrc/deep_ep.cpp of DeepEP
		ID: "deepep-timeout", Kind: Watchdog, What: "DeepEP waited in vain for other ranks",
		Class: Followed,
		Words: []string{
			"DeepEP dispatch ", "DeepEP combine ", "DeepEP error: timeout (", "DeepEP timeout check failed",
		}, Read: readDeepEP,
		Example: "DeepEP dispatch forwarder timeout (RDMA meta), channel: 10, RDMA: 1, nvl: 6, src RDMA lane: 0",
	},
	{ // the codes EE1002, EI0002 and EI9999 of CANN
		ID: "ascend-timeout", Kind: Watchdog, What: "a task of an Ascend NPU timed out",
		Class: Followed,
		Words: []string{
			"Stream synchronize timeout", " task timeout occurred during task execution", "Notify register times out",
		},
		Example: "EE1002: 2026-03-02-10:00:00.041 Stream synchronize timeout. rtDeviceSynchronize execute failed, " +
			"reason=[stream sync timeout]",
	},
	{ // the code EI0006 of CANN
		ID: "hccl-connect", Kind: Listed, What: "HCCL of Ascend NPUs could not connect to another rank in time",
		Class: Remote, Cause: "peer-unreachable", Confidence: Possible,
		Words: []string{"Getting socket times out"},
		Example: "EI0006: [PID: 41] 2026-03-02-10:00:00.444 Getting socket times out. Reason: Remote Rank did not " +
			"send the data in time.",
	},
	{ // torch_npu/csrc/distributed/HCCLUtils.cpp; HCCL's own log
		ID: "hccl", Kind: Aborted, What: "HCCL of Ascend NPUs returned an error",
		Class:   Followed,
		Words:   []string{"HCCL function error", "call hccl api failed", "HcclCommInitRootInfo fail"},
		Example: "[ERROR] 2025-09-03-03:02:37 (PID:7226, Device:1, RankID:-1) ERR02200 DIST call hccl api failed.",
	},
	{ // src/common/log/log.hpp of oneCCL
		ID: "oneccl", Kind: Aborted, What: "oneCCL returned an error",
		Class:   Followed,
		Words:   []string{"|CCL_ERROR|"},
		Example: "2023:11:28-16:35:45:(35980) |CCL_ERROR| exec.cpp:134 start_workers: condition status::success failed",
	},
}

// readUCXConnect reads the address that UCX prints after the file descriptor.
func readUCXConnect(e *Event, text, _ string) bool {
	address, problem, ok := strings.Cut(find.Between(text+"\n", ", dest_addr=", "\n"), ") failed: ")
	e.Socket = &Socket{Peer: address, Error: problem}
	if i := strings.LastIndexByte(address, ':'); i > 0 { // as NCCL writes it
		e.Socket.Peer = address[:i] + "<" + address[i+1:] + ">"
	}
	return ok
}

// readUCXSocket leaves out peers that closed the connection, as all do at the end of a program.
func readUCXSocket(e *Event, text, _ string) bool {
	e.Socket = &Socket{Error: find.LastPart(text)}
	return strings.Contains(text, ") failed: ") &&
		!find.Any(e.Socket.Error, "Broken pipe", "Connection reset by peer", "Bad file descriptor")
}

func readDevx(e *Event, text, _ string) bool {
	e.Verbs = &Verbs{Call: "ibv_create_cq", Device: find.WordAfter(text, " failed on "), Error: find.LastPart(text),
		GIDIndex: -1, Other: true}
	if strings.Contains(text, "(QP)") {
		e.Verbs.Call = "ibv_create_qp"
	}
	e.Verbs.Errno = codes.Errno(e.Verbs.Error)
	return true
}

func readDeepEP(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	return find.Any(text, " timeout, ", " timeout (", " timeout check failed")
}
