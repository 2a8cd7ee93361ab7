package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestOtherLibraries asserts how runs end whose lines are of UCX, NIXL, Mooncake, DeepEP, HCCL or oneCCL, and of the
// launchers around them. Each line follows some lines of a training.
func TestOtherLibraries(t *testing.T) {
	training := strings.Repeat("step 7 | loss 0.31 | lr 3e-4\n", 5)
	for name, c := range map[string]struct {
		log     string
		outcome story.Outcome
		cause   story.CauseID
	}{
		"ucx cannot connect": {"[1.2] [gpu-a:41:0]  sock.c:334  UCX  ERROR   connect(fd=143, " +
			"dest_addr=10.0.0.7:43833) failed: Connection refused", story.OutcomeFail, story.PeerDied},
		"ucx connects to a bridge": {"[1.2] [gpu-a:41:0]  sock.c:260  UCX  ERROR   connect(fd=41, " +
			"dest_addr=172.17.0.1:45031) failed: Connection refused", story.OutcomeFail, story.BootstrapWrongAddress},
		"ucx over tcp": {"[1.2] [gpu-a:41:0]  tcp_ep.c:1260 UCX  ERROR tcp_ep 0x3c50 (state=CONNECTED): send(110) " +
			"failed: Connection timed out", story.OutcomeFail, story.PeerUnreachable},
		"ucx at the end": {"[1.2] [gpu-a:41:0]  tcp_ep.c:1260 UCX  ERROR tcp_ep 0x3c50 (state=CONNECTED): send(110) " +
			"failed: Broken pipe", story.OutcomeUnknown, story.UnknownCause},
		"ucx completion": {"[1.2] [gpu-a:41:0] rc_verbs_iface.c:47   UCX  ERROR Send completion with error: " +
			"local QP operation error", story.OutcomeFail, story.UnknownCause},
		"ucx queue of the firmware": {"[1.2] [gpu-a:41:0]  ib_mlx5_dv.c:452  UCX  ERROR   " +
			"mlx5dv_devx_obj_create(QP) failed on mlx5_1, syndrome 0x2aac7c: Remote I/O error", story.OutcomeFail,
			story.CreateQP},
		"ucx protection": {"[1.2] [gpu-a:41:0]  ib_mlx5_log.c:179  UCX  ERROR Local protection error on " +
			"mlx5_0:1/RoCE (synd 0x4 vend 0x51 hw_synd 0/2)", story.OutcomeFail, story.UnknownCause},
		"mooncake": {"E0302 10:00:00.1 41 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, " +
			"local_nic: mlx5_9, retry_cnt: 0): transport retry counter exceeded", story.OutcomeFail, story.RouteOrARP},
		"mooncake protection": {"E0302 10:00:00.1 41 worker_pool.cpp:294] Worker: Process failed for slice (opcode: 1, " +
			"local_nic: mlx5_9, retry_cnt: 0): local protection error", story.OutcomeFail, story.UnknownCause},
		"nixl, peer gone": {"nixl._bindings.nixlRemoteDisconnectError: NIXL_ERR_REMOTE_DISCONNECT", story.OutcomeFail,
			story.PeerDied},
		"nixl": {"2026-03-02T10:00:00.861Z ERROR engine.start: nixlBackendError('NIXL_ERR_BACKEND')", story.OutcomeFail,
			story.UnknownCause},
		"nixl, and the server goes on": {"[2026-03-02 10:00:00] Prefill transfer failed for request rank=0\n" +
			strings.Repeat("Decode batch. #running-req: 3, gen throughput (token/s): 93\n", 80), story.OutcomeOK, ""},
		"deepep kernel": {"DeepEP combine NVL sender timeout, channel: 8, RDMA: 1, nvl: 4", story.OutcomeFail,
			story.HangTimeout},
		"deepep setting": {"INFO DeepEP dispatch with timeout 100 s", story.OutcomeOK, ""},
		"deepep host":    {"RuntimeError: DeepEP error: timeout (dispatch CPU)", story.OutcomeFail, story.HangTimeout},
		"hccl": {"[ERROR] 2026-03-02-10:00:00 (PID:41, Device:1, RankID:-1) ERR02200 DIST call hccl api failed.",
			story.OutcomeFail, story.UnknownCause},
		"hccl, a peer that does not come": {"EI0006: [PID: 41] Getting socket times out. Reason: Remote Rank did not " +
			"send the data in time.", story.OutcomeFail, story.PeerUnreachable},
		"ascend stream": {"W NPUStream.cpp:409] Warning: NPU warning, error code is 507046[Error]:\n" +
			"EE1002: Stream synchronize timeout. rtDeviceSynchronize execute failed", story.OutcomeFail,
			story.HangTimeout},
		"hccl, a rank that is late": {"EI0002: [PID: 41] The wait execution of the Notify register times out.",
			story.OutcomeFail,
			story.HangTimeout},
		"oneccl": {"2026:03:02-10:00:00:(41) |CCL_ERROR| base_thread.cpp:36 start: error while creating worker thread",
			story.OutcomeFail, story.UnknownCause},
		"oneccl warning": {"2026:03:02-10:00:00:(41) |CCL_WARN| did not find MPI-launcher specific variables",
			story.OutcomeOK,
			""},
		"nvshmem, with the errno": {"/nvshmem/src/modules/transport/ibrc/ibrc.cpp:417: non-zero status: 110 " +
			"ibv_modify_qp failed", story.OutcomeFail, story.RouteOrARP},
		"hip": {"[FATAL ERROR]: HIP failure: 'invalid device pointer'", story.OutcomeFail, story.CUDAError},
		"worker of vllm": {"(Worker_TP1 pid=41) ERROR 03-02 10:00:00 [multiproc_executor.py:522] RuntimeError: no reply",
			story.OutcomeFail, story.UnknownCause},
		"psm3": {"gpu-a:rank1: Assertion failure at psm3/ptl_am/ptl.c:196: nbytes == len", story.OutcomeFail,
			story.UnknownCause},
		"port of the rendezvous": {"torch.distributed.DistNetworkError: The server socket has failed to listen on any " +
			"local network address. port: 29500, code: -98, name: EADDRINUSE", story.OutcomeFail, story.UnknownCause},

		"composer": {"ERROR:composer.cli.launcher:Global rank 3 (PID 41) exited with code -9", story.OutcomeFail,
			story.PeerDied},
		"composer, old": {"ERROR:composer.cli.launcher:Rank 3 crashed with exit code -11.", story.OutcomeFail,
			story.PeerDied},
		"docker": {"worker-1 exited with code 0", story.OutcomeOK, ""},
		"kubectl describe": {"    Last State:     Terminated\n      Exit Code:    137", story.OutcomeFail,
			story.PeerDied},
		"kubectl describe, ok": {"    State:     Terminated\n      Exit Code:    0", story.OutcomeOK, ""},
		"admission": {"h-kim-0   0/1   UnexpectedAdmissionError   0   4s", story.OutcomeFail,
			story.UnknownCause},
		"gang": {"Warning  FailedScheduling  9s  volcano  2/2 tasks in gang unschedulable", story.OutcomeUnknown,
			story.UnknownCause},
		"sandbox, again and again": {"Warning  FailedCreatePodSandBox  4m (x93 over 24m)  kubelet  Failed to create " +
			"pod sandbox: rpc error", story.OutcomeFail, story.UnknownCause},
		"sandbox, once": {"Warning  FailedCreatePodSandBox  9s  kubelet  Failed to create pod sandbox: rpc error",
			story.OutcomeUnknown, story.UnknownCause},
		"horovodrun": {"Process name: h-kim-worker-1[0]\nExit code: 137", story.OutcomeFail, story.PeerDied},
		"open mpi": {"prterun has exited due to process rank 2 with PID 41 on node gpu-b exiting\nimproperly.",
			story.OutcomeFail, story.UnknownCause},
		"pmix of slurm": {"slurmstepd: error:  mpi/pmix_v3: pmixp_coll_ring_reset_if_to: gpu-a [0]: " +
			"pmixp_coll_ring.c:742: 0x14ce: collective timeout seq=0", story.OutcomeFail, story.PeerUnreachable},
		"slurmstepd": {"slurmstepd: error: the prolog took long", story.OutcomeUnknown, story.UnknownCause},
		"paddle": {"ABORT!!! Out of all 4 trainers, the trainer process with rank=[0, 3] was aborted.",
			story.OutcomeFail,
			story.UnknownCause},
	} {
		t.Run(name, func(t *testing.T) {
			run := ofLines("train.log", strings.Split(training+c.log, "\n")).Last()
			cause := story.CauseID("")
			if len(run.Causes) > 0 {
				cause = run.Causes[0].ID
			}
			if run.Outcome != c.outcome || cause != c.cause {
				t.Errorf("%s by %q, want %s by %q: %s", run.Outcome, cause, c.outcome, c.cause, run.Summary)
			}
			if run.Network.Kind != story.UnknownNetwork {
				t.Errorf("the network of NCCL is %s, which no line tells", run.Network.Kind)
			}
		})
	}
}

// TestNotTraining asserts that words inside other words do not make the output of a scheduler that of a training.
func TestNotTraining(t *testing.T) {
	for name, line := range map[string]string{
		"slurm":    "slurmstepd: task 0 done",
		"operator": `level=info msg="PyTorchJob pytorch-mnist is created."`,
	} {
		if run := ofLines("job.log", []string{line, line, line, line}).Last(); run.Outcome != story.OutcomeUnknown {
			t.Errorf("%s: %s: %s", name, run.Outcome, run.Summary)
		}
	}
}
