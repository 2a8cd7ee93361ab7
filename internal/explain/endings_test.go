package explain

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestEndings asserts that no way in which a training ends badly is called ok, and which cause it shows. Each ending
// follows some lines of a training.
func TestEndings(t *testing.T) {
	training := strings.Repeat("step 7 | loss 0.31 | lr 3e-4\n", 5)
	for _, c := range []struct {
		log     string
		outcome story.Outcome
		cause   story.CauseID
	}{
		// launchers
		{"[2024-05-01 10:00:00,123] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 12345\n" +
			"[2024-05-01 10:00:00,456] [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'train.py'] exits " +
			"with return code = -9", story.OutcomeFail, story.PeerDied},
		{"[ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = 1",
			story.OutcomeFail, story.UnknownCause},
		{"[ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py'" + strings.Repeat(", '--data', '/data/a'", 200) +
			"] exits with return code = 1", story.OutcomeFail, story.UnknownCause},
		{"subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.",
			story.OutcomeFail, story.UnknownCause},
		{"[rank: 1] Child process with PID 1234 terminated with code 1. Forcefully terminating all other processes " +
			"to avoid zombies", story.OutcomeFail, story.UnknownCause},
		{"E0501 10:00:00.123000 139 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: 1) " +
			"local_rank: 0 (pid: 123) of binary: /usr/bin/python", story.OutcomeFail, story.UnknownCause},
		{"E0501 10:00:00.123000 139 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -9) " +
			"local_rank: 0 (pid: 123) of binary: /usr/bin/python", story.OutcomeFail, story.PeerDied},
		{"  traceback : Signal 9 (SIGKILL) received by PID 123", story.OutcomeFail, story.PeerDied},
		{"torch.distributed.elastic.multiprocessing.api.SignalException: Process 123 got signal: 15",
			story.OutcomeFail, story.UnknownCause},
		{"mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be " +
			"terminated. The first process to do so was:\n\n  Process name: [[1234,1],0]\n  Exit code:    1",
			story.OutcomeFail, story.UnknownCause},
		{"Primary job  terminated normally, but 1 process returned\na non-zero exit code.", story.OutcomeFail,
			story.UnknownCause},
		{"ORTE has lost communication with a remote daemon.", story.OutcomeFail, story.PeerDied},
		{"An MPI communication peer process has unexpectedly disconnected.  This\nusually indicates a failure in the " +
			"peer process", story.OutcomeFail, story.PeerDied},
		{"F0929 17:42:48.594200 1044529 client.h:77] Terminating process because the JAX distributed service detected " +
			"fatal errors. This most likely indicates that another task died.", story.OutcomeFail, story.PeerDied},
		{"2026-03-02 10:00:00.1: E external/xla/xla/service/rendezvous.cc:38] This thread has been waiting for " +
			"`initialize clique for rank 6` for 10 seconds and may be stuck. Expected 8 threads to join the rendezvous",
			story.OutcomeUnknown, story.HangTimeout},
		{"Exception in device=TPU:1: tensorflow/compiler/xla/xla_client/xrt_computation_client.cc:415 : Check failed: " +
			"session->session()->Run(feed) == ::tensorflow::Status::OK()", story.OutcomeFail, story.UnknownCause},
		{"INFO:tensorflow:ShutdownHook: lame workers found: HeartbeatManager(/job:worker/replica:0/task:0/device:CPU:0)",
			story.OutcomeUnknown, story.UnknownCause},
		{"RuntimeError: connect() timed out. Original timeout was 60000 ms.", story.OutcomeFail, story.PeerUnreachable},
		{"RuntimeError                              Traceback (most recent call last)\n" +
			"<ipython-input-14-ad5e40d804c0> in <module>\n----> 4 llm=LLM(model=name)", story.OutcomeFail,
			story.UnknownCause},
		{"[13850.912648] amdgpu 0000:1c:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
			story.OutcomeFail, story.CUDAError},
		{"/opt/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister", story.OutcomeFail, story.CUDAInstall},
		{"ray.exceptions.RayTaskError(RuntimeError): ray::train() (pid=1, ip=10.0.0.1)", story.OutcomeFail,
			story.UnknownCause},
		{"Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code " +
			"2. End of file.", story.OutcomeFail, story.UnknownCause},
		{"command terminated with exit code 137", story.OutcomeFail, story.PeerDied},
		{"No components were able to be opened in the pml framework.", story.OutcomeFail, story.UnknownCause},
		{"An internal error has occurred in ORTE:\n\n[[7,0],0] FORCE-TERMINATE AT Unreachable:-12 - error grpcomm.c(5)",
			story.OutcomeFail, story.UnknownCause},
		{"The LSF process starter (lsb_launch) failed to start the daemons on\nthe nodes in the allocation.",
			story.OutcomeFail, story.UnknownCause},
		{"[proxy:0:2@gpu-a] HYDU_create_process (launch.c:69): execvp error on file ./a (No such file or directory)",
			story.OutcomeFail, story.UnknownCause},
		{"ERROR: Job 4 failed with return code list: [137, 1, 137]", story.OutcomeFail, story.UnknownCause},
		{"2026-03-02 10:00:00 Failed - Training job failed", story.OutcomeFail, story.UnknownCause},
		{"2026-03-02 10:00:00,1 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:", story.OutcomeFail,
			story.UnknownCause},
		{"CRITICAL 03-02 10:00:00 [core_client.py:361] Got fatal signal from worker processes, shutting down. See " +
			"stack trace above for root cause issue.", story.OutcomeFail, story.UnknownCause},
		{"[-]E0302 10:00:00.1 41 actor_mesh.rs:258] unhandled event reached unhandled_fault_hook: MeshFailure(rank=0)",
			story.OutcomeFail, story.UnknownCause},
		{"ERROR:torch.distributed.elastic.multiprocessing.errors.error_handler:{\n  \"message\": {", story.OutcomeFail,
			story.UnknownCause},
		{"Encountered exception: Exception: comm aborted due to timeout,\n  rank: 0, desc: waitRequest for peer 3",
			story.OutcomeFail, story.HangTimeout},
		{"docker: Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed",
			story.OutcomeFail, story.UnknownCause},
		{"stderr: nvidia-container-cli: initialization error: driver error: failed to process request: unknown.",
			story.OutcomeFail, story.CUDAInstall},
		{"gcs_worker_manager.cc:55: exit_detail = Task was killed due to the node running low on memory.",
			story.OutcomeFail,
			story.PeerDied},
		{"train.py: error: argument --fp16: expected one argument", story.OutcomeFail, story.UnknownCause},
		{"train.py: error: the following arguments are required: --data", story.OutcomeFail, story.UnknownCause},
		{"2026-03-02 10:00:00.6: F external/xla/x.cc:460] ptxas returned an error", story.OutcomeFail,
			story.UnknownCause},
		{"W0302 10:00:00.3 41 init.cc:217] *** Aborted at 1590748026 (unix time) try \"date -d @1590748026\" ***",
			story.OutcomeFail, story.UnknownCause},
		{"Program received signal SIGSEGV: Segmentation fault - invalid memory reference.", story.OutcomeFail,
			story.PeerDied},
		{"srun: error: gpu-a: task 3: Floating point exception (core dumped)", story.OutcomeFail, story.PeerDied},
		{"etcd.EtcdKeyNotFound: Key not found : /torch/elastic/store", story.OutcomeFail, story.UnknownCause},
		{"requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='a', port=443): Read timed out.", story.OutcomeFail,
			story.UnknownCause},
		{"[gpu-a:41:0] ib_device.c:1319 UCX  ERROR   ibv_create_ah(dlid=49152 port=1 dgid=::ffff:10.0.0.1 sgid_index=1) " +
			"on mlx5_0 failed: Invalid argument", story.OutcomeFail, story.GIDIndex},
		{"E0302 10:00:00.1 41 rdma_endpoint.cpp:1] Failed to modify QP to RTR, check mtu, gid: Verbindung abgelaufen [110]",
			story.OutcomeFail, story.RouteOrARP},
		{"[gpu-a:1724353] PML ucx cannot be selected", story.OutcomeFail, story.UnknownCause},
		{"[gpu-a:41] *** Process received signal ***\n[gpu-a:41] Signal: Aborted (6)", story.OutcomeFail,
			story.UnknownCause},
		{"[gpu-a:41:0:41] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)",
			story.OutcomeFail, story.PeerDied},
		{"    raise RendezvousClosedError()\ntorch.distributed.elastic.rendezvous.api.RendezvousClosedError",
			story.OutcomeFail, story.UnknownCause},

		{"[gpu-a:07356] *** An error occurred in MPI_Allgather\n[gpu-a:07356] *** MPI_ERRORS_ARE_FATAL (processes in " +
			"this communicator will now abort,", story.OutcomeFail, story.UnknownCause},
		{"[gpu-a:41] pml_ucx.c:424  Error: ucp_ep_create(proc=3) failed: Destination is unreachable", story.OutcomeFail,
			story.PeerUnreachable},
		{"There are not enough slots available in the system to satisfy the 16 slots", story.OutcomeFail,
			story.UnknownCause},
		{"ORTE was unable to reliably start one or more daemons.", story.OutcomeFail, story.UnknownCause},
		{"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 41 RUNNING AT gpu-a\n=   EXIT CODE: 9",
			story.OutcomeFail, story.UnknownCause},
		{"=   KILLED BY SIGNAL: 9 (Killed)", story.OutcomeFail, story.PeerDied},
		{"git@gpu-a: Permission denied (publickey,password).", story.OutcomeFail, story.UnknownCause},
		// torchrun kills the others after the first has failed, and reports the first one last
		{"Failures:\n[1]:\n  exitcode  : -9 (pid: 41)\n  traceback : Signal 9 (SIGKILL) received by PID 41\n" +
			"Root Cause (first observed failure):\n[0]:\n  exitcode  : 1 (pid: 42)", story.OutcomeFail,
			story.UnknownCause},
		{"Failures:\n[1]:\n  exitcode  : 1 (pid: 41)\nRoot Cause (first observed failure):\n[0]:\n" +
			"  exitcode  : -9 (pid: 42)", story.OutcomeFail, story.PeerDied},
		{"subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.", story.OutcomeFail,
			story.PeerDied},
		{"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", story.OutcomeFail, story.PeerDied},
		{"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Hangup (signal 1)", story.OutcomeFail, story.UnknownCause},
		{"[mpiexec@gpu-a] HYDT_bscu_wait_for_completion (bscu_wait.c:76): one of the processes terminated badly; aborting",
			story.OutcomeFail, story.UnknownCause},

		{"mpirun: killing job...", story.OutcomeFail, story.UnknownCause},
		{"TERM_OWNER: job killed by owner.", story.OutcomeFail, story.UnknownCause},
		{"docker: Error response from daemon: could not select device driver", story.OutcomeUnknown,
			story.UnknownCause},
		{"ORTE does not know how to route a message to the specified daemon", story.OutcomeFail, story.UnknownCause},
		{"ssh: connect to host gpu-b port 22: Connection refused", story.OutcomeUnknown, story.UnknownCause},
		{"ssh: Could not resolve hostname train-worker-0.train: Name or service not known", story.OutcomeUnknown,
			story.UnknownCause},
		{"ssh not successful for host train-worker-0:", story.OutcomeFail, story.UnknownCause},
		{"Stalled ops:HorovodAllreduce_loss_0 [missing ranks: 1]", story.OutcomeUnknown, story.HangTimeout},
		{"slurmstepd: error: couldn't chdir to `/root/x': No such file or directory: going to /data instead",
			story.OutcomeUnknown, story.UnknownCause},
		{" Out of bounds values : 248 FAILED", story.OutcomeFail, story.UnknownCause}, // nccl-tests of 2018
		{"client_loop: send disconnect: Broken pipe", story.OutcomeUnknown, story.UnknownCause},
		{"corrupted double-linked list", story.OutcomeFail, story.UnknownCause},
		{"*** SIGSEGV received at time=1720159248 on cpu 5 ***", story.OutcomeFail, story.PeerDied},
		{"Loss is nan, stopping training", story.OutcomeFail, story.UnknownCause},
		{"torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", story.OutcomeFail, story.UnknownCause},
		{"triton.runtime.errors.OutOfResources: out of resource: shared memory", story.OutcomeFail, story.UnknownCause},
		{"watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python:41]", story.OutcomeUnknown, story.UnknownCause},
		{"mlx5: gpu-a: got completion with error:", story.OutcomeUnknown, story.UnknownCause},
		{"[rank3]:[E302 10:00:00.1 ProcessGroupNCCL.cpp:1132] [PG ID 0 PG GUID 0 Rank 3] ProcessGroupNCCL preparing to " +
			"dump debug info.", story.OutcomeFail, story.HangTimeout},

		// stern
		{"h-kim-worker-0 pytorch [rank0]: KeyError: 'labels'", story.OutcomeFail, story.UnknownCause},
		{"h-kim-7x2kp pytorch Killed", story.OutcomeFail, story.PeerDied},

		// a user, a signal
		{"Detected KeyboardInterrupt, attempting graceful shutdown ...", story.OutcomeFail, story.UnknownCause},
		{"[rank: 3] Received SIGTERM: 15", story.OutcomeFail, story.UnknownCause},
		{"[2026-03-02 10:00:00,123] [INFO] [launch.py:324:sigkill_handler] Main process received SIGTERM, exiting",
			story.OutcomeFail, story.UnknownCause},
		{"Main process received SIGINT, exiting", story.OutcomeFail, story.UnknownCause},
		{"srun: forcing job termination", story.OutcomeFail, story.UnknownCause},
		{"wandb: Ctrl + C detected. Stopping sync.", story.OutcomeFail, story.UnknownCause},
		{"trainer: received signal 15, saving a checkpoint", story.OutcomeUnknown, story.UnknownCause},
		{"SIGTERM received, stopping", story.OutcomeUnknown, story.UnknownCause},

		{"[rank2]:[E302 10:00:00.3 ProcessGroupNCCL.cpp:1870] [PG ID 0 PG GUID 0(default_pg) Rank 2] ProcessGroupNCCL's " +
			"watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
			story.OutcomeFail, story.HangTimeout},

		// servers
		{"[2025-02-26 12:01:56 TP2] Scheduler hit an exception: Traceback (most recent call last):", story.OutcomeFail,
			story.UnknownCause},
		{"[2025-03-11 15:02:53] Received sigquit from a child process. It usually means the child failed.",
			story.OutcomeFail, story.UnknownCause},
		{"ERROR 11-08 11:01:29 [multiproc_executor.py:135] Worker proc VllmWorker-3 died unexpectedly, " +
			"shutting down executor.", story.OutcomeFail, story.UnknownCause},
		{"ERROR 08-15 17:38:13 [async_llm.py:416] vllm.v1.engine.exceptions.EngineDeadError: " +
			"EngineCore encountered an issue.", story.OutcomeFail, story.UnknownCause},
		{"(raylet) Raylet is terminated. Termination is unexpected.", story.OutcomeFail, story.PeerDied},
		{"(raylet) The node with node id: 0f21 and address: 10.0.0.51 has been marked dead because the detector has " +
			"missed too many heartbeats from it.", story.OutcomeFail, story.PeerDied},
		{"Task failed because the node it was running on is dead or unavailable.", story.OutcomeFail, story.PeerDied},

		{"[2025-08-02 19:24:30 TP3] Watchdog timeout (self.watchdog_timeout=300)\n[2025-08-02 19:24:31 TP3] Pyspy " +
			"failed to dump PID 71.", story.OutcomeFail, story.HangTimeout},
		{"[2026-03-02 10:00:00] TokenizerManager watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
			story.OutcomeFail, story.HangTimeout},
		{"(raylet, ip=10.0.0.5) [2025-12-12 15:10:48,697 C 71 71] (raylet) provider.cc:153:  An unexpected system " +
			"state has occurred. Check failed: Status not OK", story.OutcomeFail, story.UnknownCause},
		{"E0331 12:03:04.2 56 rdma_endpoint.cpp:385] [Handshake] Failed to modify QP to RTR, check mtu, gid: " +
			"Connection timed out [110]", story.OutcomeFail, story.RouteOrARP},
		{"Failed to modify QP to RTR", story.OutcomeFail, story.GIDIndex},
		{"E0302 10:00:00.1 41 rdma_endpoint.cpp:81] Failed to create QP: Cannot allocate memory [12]", story.OutcomeFail,
			story.Memlock},
		{"could not create loopback QP for device mlx5_0: failed to create queue pair (QP): " +
			"Invalid argument (os error 22)", story.OutcomeFail, story.CreateQP},
		{"ib_device.c:1380 UCX  ERROR   ibv_create_ah(dlid=49152 sl=0 port=1 dgid=fe80::1 sgid_index=0) for UD mlx5 " +
			"connect on mlx5_1 failed: No such device", story.OutcomeFail, story.ModifyQPNoDev},

		{"(Worker pid=41) ERROR 04-17 09:00:33 ray_utils.py:44] Error executing method init_device. This might " +
			"cause deadlock in distributed execution.", story.OutcomeFail, story.UnknownCause},
		{"(raylet) node_manager.cc:2963: System memory low at node with IP 10.0.0.5, killing latest task to avoid " +
			"running out of memory.", story.OutcomeFail, story.PeerDied},

		// schedulers
		{"Status:         Failed\nReason:         Evicted\nMessage:        The node was low on resource: memory.",
			story.OutcomeFail, story.PeerDied},
		{"Message:  The node was low on resource: ephemeral-storage.", story.OutcomeFail, story.UnknownCause},
		{"h-kim-worker-0   0/1   CrashLoopBackOff   5 (40s ago)   9m", story.OutcomeFail, story.UnknownCause},
		{"back-off 40s restarting failed container=train pod=h-kim-worker-0", story.OutcomeFail, story.UnknownCause},
		{"Warning  Failed  9s  kubelet  Error: container create failed: unable to start container process", story.OutcomeFail,
			story.UnknownCause},
		{"runc create failed: container init was OOM-killed (memory limit too low?)", story.OutcomeFail, story.PeerDied},
		{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.0. Some of the step tasks have been OOM Killed.",
			story.OutcomeFail, story.PeerDied},
		{"srun: error: node1: task 0: Out Of Memory", story.OutcomeFail, story.PeerDied},
		{"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", story.OutcomeFail, story.UnknownCause},
		{"srun: error: gpu-4: tasks 0-7: Exited with exit code 1", story.OutcomeFail, story.UnknownCause},
		{"srun: error: Task launch for StepId=36.0 failed on node gpu-4: Job credential expired", story.OutcomeFail,
			story.UnknownCause},
		{"slurmstepd: error: execve(): /tmp/slurmd/job2997814/slurm_script: No such file or directory", story.OutcomeFail,
			story.UnknownCause},
		{"[2022-05-27T11:37:57.377] _job_complete: JobId=127441 WTERMSIG 9", story.OutcomeFail, story.PeerDied},
		{"TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.", story.OutcomeFail,
			story.HangTimeout},
		{"=>> PBS: job killed: walltime 7217 exceeded limit 7200", story.OutcomeFail, story.HangTimeout},
		{"Job exceeded its walltime limit. Job was aborted", story.OutcomeFail, story.HangTimeout},
		{"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", story.OutcomeFail, story.PeerDied},
		{"=>> PBS: job killed: mem 33554kb exceeded limit 32768kb", story.OutcomeFail, story.PeerDied},
		{"Exited with exit code 143.", story.OutcomeFail, story.UnknownCause},
		{"Exited with signal termination: Killed.", story.OutcomeFail, story.PeerDied},
		{"Exited with signal termination: Alarm clock.", story.OutcomeFail, story.UnknownCause},
		{"srun: error: gpu-4: task 3: Segmentation fault (core dumped)", story.OutcomeFail, story.PeerDied},
		{"slurmstepd: error: *** STEP 1234.0 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 ***", story.OutcomeFail, story.UnknownCause},

		// shells and processes
		{"train.sh: line 12: 12345 Killed                  python train.py", story.OutcomeFail, story.PeerDied},
		{"train.sh: line 12: 12345 Segmentation fault      (core dumped) python train.py", story.OutcomeFail, story.PeerDied},
		{"Killed", story.OutcomeFail, story.PeerDied},
		{"Bus error (core dumped)", story.OutcomeFail, story.ShmTooSmall},
		{"Fatal Python error: Segmentation fault", story.OutcomeFail, story.PeerDied},
		{"*** stack smashing detected ***: terminated\nAborted (core dumped)", story.OutcomeFail, story.UnknownCause},
		{"free(): invalid pointer", story.OutcomeFail, story.UnknownCause},
		{"double free or corruption (!prev)", story.OutcomeFail, story.UnknownCause},
		{"python: proxy.cc:41: int run(): Assertion `op != NULL' failed.", story.OutcomeFail, story.UnknownCause},
		{"F0918 10:00:00.1 41 pjrt_client.cc:12] Check failed: status.ok()", story.OutcomeFail, story.UnknownCause},
		{"python: error while loading shared libraries: libmpi.so.40: cannot open shared object file",
			story.OutcomeFail,
			story.UnknownCause},
		{"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
			story.OutcomeFail, story.UnknownCause},
		{"terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory " +
			"access was encountered", story.OutcomeFail, story.CUDAError},

		{"Error executing job with overrides: ['trainer.nodes=4']", story.OutcomeFail, story.UnknownCause},
		{"[  FAILED  ] AllReduce.OutOfPlace (1511 ms)", story.OutcomeFail, story.UnknownCause},
		{"paddle.fluid.core_avx.EnforceNotMet:\n\n0   NCCLCommContext::CreateNCCLComm", story.OutcomeFail,
			story.UnknownCause},
		{"LAUNCH ERROR 2023-08-17 16:45:31,525 Container failed !!!", story.OutcomeFail, story.UnknownCause},
		{"  what():  [08:43:06] src/./rdma_van.h:747: Check failed: 0 OnEvent: unknown event 1 " +
			"(RDMA_CM_EVENT_ADDR_ERROR)", story.OutcomeFail, story.UnknownCause},
		{"2022-06-09 11:12:24,727 - distributed.worker - WARNING - Compute Failed", story.OutcomeUnknown,
			story.UnknownCause},
		{"Abort(15) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Win_create: Other MPI error, error stack:",
			story.OutcomeFail, story.UnknownCause},
		{"libfabric:71:160::efa:mr:efa_mr_reg():267<warn> Unable to register MR: Invalid argument\nAbort(15) on node " +
			"3 (rank 3 in comm 0): Fatal error in PMPI_Init: Other MPI error", story.OutcomeFail, story.OFIMRRegister},

		{"Stopping coordination service as cluster registration failed. This may be due to tasks that crashed earlier.",
			story.OutcomeFail, story.PeerUnreachable},
		{"DEADLINE_EXCEEDED: Deadline Exceeded\nRPC: /tensorflow.CoordinationService/RegisterTask", story.OutcomeFail,
			story.PeerUnreachable},
		{"2024-04-12 23:39:41.6: E client.cc:96] Coordination service agent in error status: DEADLINE_EXCEEDED",
			story.OutcomeFail, story.PeerUnreachable},
		{"W0219 09:17:03.8 14 torch/distributed/elastic/multiprocessing/api.py:858] Sending process 41 closing " +
			"signal SIGTERM", story.OutcomeUnknown, story.UnknownCause},
		{"W0227 17:39:41.9 29 torch/distributed/elastic/multiprocessing/api.py:766] " +
			"Closing process 41 via signal SIGTERM", story.OutcomeUnknown, story.UnknownCause},

		// collectives outside of NCCL
		{"[E ProcessGroupGloo.cpp:136] Rank 1 successfully reached monitoredBarrier, but received errors while " +
			"waiting for send/recv from rank 0.", story.OutcomeFail, story.HangTimeout},
		{"RuntimeError: [Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 2000000 ms", story.OutcomeFail,
			story.HangTimeout},
		{"[1,0]<stderr>:[2019-04-13 13:56:31.8: W horovod/common/operations.cc:588] One or more tensors were " +
			"submitted to be reduced by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n" +
			"[1,0]<stderr>:Stalled ops:bias_0 [missing ranks: 1]", story.OutcomeUnknown, story.HangTimeout},

		// Python
		{"Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'", story.OutcomeFail,
			story.UnknownCause},
		{"    assert loss > 0\nAssertionError", story.OutcomeFail, story.UnknownCause},
		{"    out = torch.cat(parts)\nMemoryError", story.OutcomeFail, story.UnknownCause},
		{"OSError: [Errno 24] Too many open files", story.OutcomeFail, story.TooManyFiles},

		// GPUs
		{"Failed to initialize NVML: Driver/library version mismatch", story.OutcomeFail, story.CUDAInstall},
		{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", story.OutcomeFail,
			story.CUDAInstall},
		{"ImportError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
			story.OutcomeFail, story.CUDAInstall},
		{"RuntimeError: No CUDA GPUs are available", story.OutcomeFail, story.CUDAInstall},
		{"RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at /pytorch/aten/src/THC/x.cpp:265",
			story.OutcomeFail, story.CUDAError},
		{"RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/x.cu:58", story.OutcomeFail,
			story.GPUOOM},

		// the store of c10d
		{"RuntimeError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value " +
			"store by key '0', but store->get('0') got error: Connection reset by peer", story.OutcomeFail,
			story.PeerDied},
		{"RuntimeError: [3] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value " +
			"store by key '1', but store->get('1') got error: Socket Timeout", story.OutcomeFail, story.HangTimeout},

		// NVSHMEM
		{"/nvshmem/src/modules/transport/ibgda/ibgda.cpp:1889: NULL value cannot allocate mlx5dv_devx_uar",
			story.OutcomeFail,
			story.UnknownCause},

		// NCCL
		{"gpu-b:41:50 [0] NCCL INFO Connected all trees\ngpu-a:41:50 [0] proxy.cc:1040 NCCL WARN [Proxy Service 8] Failed " +
			"to execute operation Connect from rank 8, retcode 2\ngpu-a:41:50 [0] NCCL INFO transport/net_ib.cc:664 -> 2\n" +
			"gpu-a:41:50 [0] NCCL INFO proxy.cc:914 -> 2", story.OutcomeFail, story.UnknownCause},
		{"init.cc:1247 NCCL WARN Mismatched collective detected, please check your " +
			"collective calls at and around rank 39.", story.OutcomeFail, story.UnknownCause},
		{"gpu-a:41:50 [0] init.cc:981 NCCL WARN Invalid rank requested : 2/2", story.OutcomeFail, story.DuplicateRank},
		{"gpu-a [0] include/socket.h:185 WARN Call to connect failed : Connection refused\nNCCL failure train.cu:110 " +
			"'unhandled system error'", story.OutcomeFail, story.PeerDied},
		{"gpu-a:41:50 [0] misc/socket.cc:49 NCCL WARN socketStartConnect: Connect to 169.254.3.2<39275> failed : " +
			"Connection timed out", story.OutcomeFail, story.BootstrapWrongAddress},
		{"gpu-a:41:50 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: Device 1 marked as failed. Initiating recovery? Yes",
			story.OutcomeDegraded, story.PortError},
		{"gpu-a:41:50 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: The error is fatal (No functional devices left). " +
			"Cannot continue.", story.OutcomeFail, story.PortError},
		{"gpu-a:41:50 [0] gin/gin_host.cc:1 NCCL WARN GIN: failed to create the proxy context\n" +
			"gpu-a:41:50 [0] NCCL INFO init.cc:1 -> 2", story.OutcomeFail, story.UnknownCause},
		{"gpu-a:41:50 [0] dev_runtime.cc:1 NCCL WARN User requested GIN but not all ranks in the communicator " +
			"support GIN\ngpu-a:41:50 [0] NCCL INFO dev_runtime.cc:1 -> 5", story.OutcomeFail, story.UnknownCause},
		{"gpu-a:41:50 [0] init.cc:1 NCCL WARN GIN Error detected", story.OutcomeUnknown, story.UnknownCause},
		{"gpu-a:41:50 [0] gin.cc:1 NCCL WARN NET/IB/GIN: Got completion from peer 10.0.0.2<3> status=12 opcode=0 " +
			"len=0 vendor err 129 (Send) hca mlx5_0", story.OutcomeFail, story.RouteOrARP},
		{"RuntimeError: Assertion error nccl.cu:87 'props.ginType != NCCL_GIN_TYPE_NONE'", story.OutcomeFail,
			story.UnknownCause},
		{"gpu-a:41:50 [0] nccl_ofi_rdma.cc:1 NCCL WARN NET/OFI Unable to insert remote address into address vector " +
			"for device 1.", story.OutcomeFail, story.PeerUnreachable},
		{"gpu-a:41:50 [0] create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid " +
			"argument\ngpu-a:41:50 [0] NCCL INFO include/net.h:24 -> 2", story.OutcomeFail, story.UnknownCause},
		{"RuntimeError: NCCL communicator was aborted.", story.OutcomeFail, story.UnknownCause},
		{"a:1:2 [0] bootstrap.cc:345 NCCL WARN Bootstrap Root : mismatch in info from procs, nranks 8 vs 8, nroots 1 " +
			"vs 1, iroot 0 vs 0, offset -34 vs 0", story.OutcomeFail, story.VersionMismatch},
		{"XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: save_3. Timed out task names:",
			story.OutcomeFail, story.HangTimeout},
		{"XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. " +
			"Timed out task names:", story.OutcomeFail, story.PeerUnreachable},
		{"RuntimeError: [/gloo/transport/tcp/pair.cc:589] Connection closed by peer [10.0.0.7]:3421", story.OutcomeFail,
			story.PeerDied},
		{"RuntimeError: [/gloo/transport/tcp/pair.cc:799] connect [127.0.1.1]:3421: Connection refused",
			story.OutcomeFail,
			story.BootstrapWrongAddress},
		{"RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms " +
			"for recv operation to complete", story.OutcomeFail, story.HangTimeout},
		{"  what():  [enforce fail at /gloo/transport/tcp/pair.cc:498] optval == 0. 111 vs 0. SO_ERROR: " +
			"Connection refused", story.OutcomeFail, story.PeerDied},
		{"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, " +
			"unhandled system error, NCCL version 2.20.5\nLast error:\nthe moon is full", story.OutcomeFail,
			story.UnknownCause},
	} {
		first, _, _ := strings.Cut(c.log, "\n")
		t.Run(first, func(t *testing.T) {
			run := ofLines("train.log", strings.Split(training+c.log, "\n")).Last()
			if run.Outcome != c.outcome || len(run.Causes) == 0 || run.Causes[0].ID != c.cause {
				t.Errorf("%s, want %s by %s: %s", run.Outcome, c.outcome, c.cause, run.Summary)
			}
		})
	}
}

// TestUnreachableEFA asserts that the advice is about the security group, and that a rendezvous keeps its own.
func TestUnreachableEFA(t *testing.T) {
	for log, about := range map[string]string{
		"a:1:2 [5] ofi_process_cq:1 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 20. " +
			"Error: unknown error.": "security group",
		"a:1:2 [5] ofi_process_cq:1 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 103. Error: 4126 " +
			"(Unresponsive receiver (reachable by EFA device but handshake failed))": "security group",
		"DistNetworkError: The client socket has timed out after 60000ms while " +
			"trying to connect to (a, 29500).": "MASTER_ADDR",
	} {
		cause := ofLines("train.log", []string{log}).Last().Causes[0]
		if cause.ID != story.PeerUnreachable || !strings.Contains(cause.Fix, about) {
			t.Errorf("%s: %s: %s", log, cause.ID, cause.Fix)
		}
	}
}

// TestVariables: a log that does not tell its network, its outcome or its cause names the variables that do, and no
// other log does.
func TestVariables(t *testing.T) {
	nccl := strings.Join(story.NCCLVariables(), " ")
	logs := fixtures(t)
	for name, want := range map[string]string{
		"healthy-version-only": nccl, "unknown-nothing": nccl, "unknown-warning": nccl, "gpu-oom-torch": "",
		"healthy-roce-2.28": "", "healthy-single-node": "", "no-ib-device": "",
		"hang-timeout": "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
	} {
		if got := strings.Join(Log(logs[name].log()).Runs[0].Variables, " "); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
}

// TestVariablesInOnePlace: what the story advises, its fix and its page name the same variables.
func TestVariablesInOnePlace(t *testing.T) {
	page, err := os.ReadFile("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	run := ofLines("train.log", []string{"gpu-a:41:50 [0] init.cc:1 NCCL WARN the flux is exhausted"}).Last()
	want := strings.Join(run.Variables, " ")
	if len(run.Causes) == 0 || !strings.Contains(run.Causes[0].Fix, want) || !strings.Contains(string(page), want+"\n") {
		t.Errorf("%q is not in the fix or in the page: %+v", want, run.Causes)
	}
}

// TestLastError asserts that the warning is quoted that PyTorch repeats, though it is not known.
func TestLastError(t *testing.T) {
	const warning = "the flux is exhausted"
	for name, log := range map[string]string{
		"next line": "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system " +
			"error, NCCL version 2.20.5\nncclSystemError: System call failed or device error.\nLast error:\n" + warning,
		"same line": "ncclInternalError: Internal check failed.\nLast error: " + warning,
	} {
		run := ofLines("train.log", strings.Split(log, "\n")).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || len(run.Causes[0].Evidence) != 2 ||
			!strings.Contains(run.Causes[0].Evidence[1].Text, warning) ||
			!strings.Contains(run.Causes[0].Summary, warning) {
			t.Errorf("%s: %s, %+v", name, run.Outcome, run.Causes)
		}
	}
}

// TestMissingRank asserts that the rank that did not start a collective is named, not one of those that wait.
func TestMissingRank(t *testing.T) {
	line := func(rank int, group, text string) string {
		return fmt.Sprintf("[rank%d]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID %s Rank 0] %s",
			rank, group, text)
	}
	status := func(rank int, group string, enqueued int) string {
		return line(rank, group, fmt.Sprintf("failure detected by watchdog at work sequence id: 10 PG status: last "+
			"enqueued work: %d, last completed work: 4", enqueued))
	}
	waits := func(rank int, group, collective string, number int) string {
		return line(rank, group, fmt.Sprintf("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, "+
			"OpType=%s, NumelIn=1, Timeout(ms)=600000) ran for 600081 milliseconds.", number, collective))
	}
	const all, pair = "0(default_pg)", "3(tp)"
	at := func(rank, enqueued, number int) string {
		return line(rank, all, fmt.Sprintf("Exception (either an error or timeout) detected by watchdog at work: %d, "+
			"last enqueued work: %d, last completed work: %d", number, enqueued, number-1))
	}
	completed := func(rank, enqueued, completed int) string {
		return line(rank, all, fmt.Sprintf("PG status: last enqueued work: %d, last completed work: %d", enqueued,
			completed))
	}
	old := func(rank, enqueued, number int) string {
		return line(rank, all, fmt.Sprintf("Timeout at NCCL work: %d, last enqueued NCCL work: %d, last completed "+
			"NCCL work: %d.", number, enqueued, number-1))
	}
	for name, c := range map[string]struct {
		log  []string
		says string
	}{
		"one rank behind": {[]string{status(0, all, 10), status(1, all, 9), status(2, all, 10)},
			"rank 1 did not start collective 10 of group 0(default_pg)"},
		"groups count for themselves": {[]string{status(0, all, 10), status(1, all, 10), status(2, pair, 5),
			status(3, pair, 5), waits(0, all, "ALLREDUCE", 10)}, "rank 0 waited for ALLREDUCE number 10"},
		"behind, because it waits in another group": {[]string{status(0, all, 10), status(1, all, 9),
			waits(1, pair, "ALLGATHER", 5), status(1, pair, 5), status(2, pair, 4)},
			"rank 2 did not start collective 5 of group 3(tp)"},
		"other collectives with one number": {[]string{waits(0, all, "ALLREDUCE", 7), waits(1, all, "ALLGATHER", 7)},
			"rank 1 for ALLGATHER number 7: the ranks are not at the same collective"},
		"other numbers": {[]string{waits(0, all, "ALLREDUCE", 7), waits(1, all, "ALLREDUCE", 8)},
			"rank 1 for ALLREDUCE number 8: the ranks are not at the same collective"},
		"other groups": {[]string{waits(0, all, "ALLREDUCE", 7), waits(1, pair, "ALLGATHER", 3)},
			"rank 0 waited for ALLREDUCE number 7 of group 0(default_pg)"},
		"ranks that ran ahead": {[]string{at(0, 80, 10), at(1, 79, 10), at(2, 9, 10), at(3, 10, 10)},
			": rank 2 did not start collective 10 of group 0(default_pg), which"},
		"no number in the line": {[]string{completed(0, 80, 77), completed(1, 79, 77), completed(2, 77, 77),
			completed(3, 78, 77)}, ": rank 2 did not start collective 78 of group 0(default_pg), which"},
		"torch 2.4": {[]string{old(0, 10, 10), old(1, 11, 10), old(2, 9, 10)}, ": rank 2 did not start collective 10"},
		"a silent rank": {append(twoByTwo(), at(0, 79, 78), at(1, 79, 78), at(3, 78, 78)),
			": rank 2 on gpu-b did not report that it waits for collective 78, as 3 others do"},
		"a silent rank, another ahead": {append(twoByTwo(), at(0, 78, 78), at(1, 78, 78), at(3, 79, 78)),
			": rank 2 on gpu-b did not report"},
		"a silent rank without lines": {append(twoByTwo()[:15], at(0, 79, 78), at(1, 79, 78), at(2, 78, 78)),
			": rank 3 did not report"},
		"a silent rank, other lines": {append(twoByTwo(), waited(0), at(0, 79, 78), waited(1), waited(3)),
			": rank 2 on gpu-b did not report"},
		"half are silent": {append(twoByTwo(), waited(0), waited(1)), "rank 0 on gpu-a waited for ALLREDUCE"},
		"one waits":       {append(twoByTwo(), waited(0)), "rank 0 on gpu-a waited for ALLREDUCE number 78"},
		"a silent rank, two places": {append(twoByTwo(), waits(0, all, "ALLREDUCE", 7), waits(1, all, "ALLREDUCE", 8),
			waits(3, all, "ALLREDUCE", 7)), "rank 1 on gpu-a for ALLREDUCE number 8: the ranks are not at the same"},
		"a silent rank, in a group": {append(twoByTwo(), waits(0, pair, "ALLREDUCE", 7), waits(1, pair, "ALLREDUCE", 7),
			waits(3, pair, "ALLREDUCE", 7)), "rank 0 on gpu-a waited for ALLREDUCE number 7 of group 3(tp)"},
	} {
		run := ofLines("train.log", c.log).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != story.HangTimeout || !strings.Contains(run.Causes[0].Summary,
			c.says) ||
			name == "other groups" && strings.Contains(run.Causes[0].Summary, "the same") {
			t.Errorf("%s: %+v", name, run.Causes)
		}
	}
}

// TestHarmlessEndings asserts what a run over InfiniBand that ended well may say besides.
func TestHarmlessEndings(t *testing.T) {
	for _, line := range []string{
		"slurmstepd: error: couldn't chdir to `/root/x': No such file or directory: going to /tmp instead",
		"h-kim-0:37:40 [0] NCCL INFO NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'rocep1s0f1",
		"h-kim-0:37:40 [0] misc/ibvwrap.cc:401 (wrap_ibv_query_port_speed) NCCL WARN Call to ibv_query_port_speed " +
			"failed with error Protocol not supported errno 93",
		"h-kim-0:37:37 [0] NCCL INFO Connected all rings\n" +
			"h-kim-0:37:40 [0] recv_close:3201 NCCL WARN NET/OFI Attempt to call recv_close with outstanding " +
			"requests!\nh-kim-0:37:40 [0] NCCL INFO transport/net.cc:1015 -> 3\nh-kim-0:37:40 [0] NCCL INFO comm " +
			"0x55b6aa64a990 rank 0 nranks 2 cudaDev 0 busId 18000 - Abort COMPLETE",
	} {
		lines := append(strings.Split(strings.ReplaceAll(overIB, "/GDRDMA", ""), "\n"), strings.Split(line, "\n")...)
		if run := ofLines("train.log", lines).Last(); run.Outcome != story.OutcomeOK {
			t.Errorf("%s: %s: %s", line, run.Outcome, run.Summary)
		}
	}
}
