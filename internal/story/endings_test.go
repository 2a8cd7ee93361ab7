package story

import (
	"strings"
	"testing"
)

// TestEndings asserts that no way in which a training ends badly is called ok, and which cause it shows. Each ending
// follows some lines of a training.
func TestEndings(t *testing.T) {
	training := strings.Repeat("step 7 | loss 0.31 | lr 3e-4\n", 5)
	for _, c := range []struct {
		log     string
		outcome Outcome
		cause   CauseID
	}{
		// launchers
		{"[2024-05-01 10:00:00,123] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 12345\n" +
			"[2024-05-01 10:00:00,456] [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'train.py'] exits " +
			"with return code = -9", OutcomeFail, PeerDied},
		{"[ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = 1",
			OutcomeFail, UnknownCause},
		{"subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.",
			OutcomeFail, UnknownCause},
		{"[rank: 1] Child process with PID 1234 terminated with code 1. Forcefully terminating all other processes " +
			"to avoid zombies", OutcomeFail, UnknownCause},
		{"E0501 10:00:00.123000 139 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: 1) " +
			"local_rank: 0 (pid: 123) of binary: /usr/bin/python", OutcomeFail, UnknownCause},
		{"E0501 10:00:00.123000 139 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -9) " +
			"local_rank: 0 (pid: 123) of binary: /usr/bin/python", OutcomeFail, PeerDied},
		{"  traceback : Signal 9 (SIGKILL) received by PID 123", OutcomeFail, PeerDied},
		{"torch.distributed.elastic.multiprocessing.api.SignalException: Process 123 got signal: 15",
			OutcomeFail, UnknownCause},
		{"mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be " +
			"terminated. The first process to do so was:\n\n  Process name: [[1234,1],0]\n  Exit code:    1",
			OutcomeFail, UnknownCause},
		{"Primary job  terminated normally, but 1 process returned\na non-zero exit code.", OutcomeFail, UnknownCause},
		{"ORTE has lost communication with a remote daemon.", OutcomeFail, PeerDied},
		{"ray.exceptions.RayTaskError(RuntimeError): ray::train() (pid=1, ip=10.0.0.1)", OutcomeFail, UnknownCause},
		{"Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code " +
			"2. End of file.", OutcomeFail, UnknownCause},
		{"command terminated with exit code 137", OutcomeFail, PeerDied},

		// schedulers
		{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.0. Some of the step tasks have been OOM Killed.",
			OutcomeFail, PeerDied},
		{"srun: error: node1: task 0: Out Of Memory", OutcomeFail, PeerDied},
		{"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", OutcomeFail, UnknownCause},
		{"srun: error: gpu-4: tasks 0-7: Exited with exit code 1", OutcomeFail, UnknownCause},
		{"srun: error: gpu-4: task 3: Segmentation fault (core dumped)", OutcomeFail, PeerDied},
		{"slurmstepd: error: *** STEP 1234.0 ON gpu-1 CANCELLED AT 2026-03-02T10:00:00 ***", OutcomeFail, UnknownCause},

		// shells and processes
		{"train.sh: line 12: 12345 Killed                  python train.py", OutcomeFail, PeerDied},
		{"train.sh: line 12: 12345 Segmentation fault      (core dumped) python train.py", OutcomeFail, PeerDied},
		{"Killed", OutcomeFail, PeerDied},
		{"Bus error (core dumped)", OutcomeFail, ShmTooSmall},
		{"Fatal Python error: Segmentation fault", OutcomeFail, PeerDied},
		{"*** stack smashing detected ***: terminated\nAborted (core dumped)", OutcomeFail, UnknownCause},
		{"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
			OutcomeFail, UnknownCause},
		{"terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory " +
			"access was encountered", OutcomeFail, CUDAError},

		// Python
		{"Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'", OutcomeFail, UnknownCause},
		{"    assert loss > 0\nAssertionError", OutcomeFail, UnknownCause},
		{"OSError: [Errno 24] Too many open files", OutcomeFail, TooManyFiles},

		// GPUs
		{"Failed to initialize NVML: Driver/library version mismatch", OutcomeFail, CUDAInstall},
		{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", OutcomeFail, CUDAInstall},
		{"ImportError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
			OutcomeFail, CUDAInstall},
		{"RuntimeError: No CUDA GPUs are available", OutcomeFail, CUDAInstall},

		// NCCL
		{"gpu-a:41:50 [0] misc/socket.cc:49 NCCL WARN socketStartConnect: Connect to 169.254.3.2<39275> failed : " +
			"Connection timed out", OutcomeFail, BootstrapWrongAddress},
		{"gpu-a:41:50 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: Device 1 marked as failed. Initiating recovery? Yes",
			OutcomeDegraded, PortError},
		{"gpu-a:41:50 [0] p2p_resiliency.cc:1 NCCL WARN NET/IB: The error is fatal (No functional devices left). " +
			"Cannot continue.", OutcomeFail, PortError},
		{"gpu-a:41:50 [0] gin/gin_host.cc:1 NCCL WARN GIN: failed to create the proxy context\n" +
			"gpu-a:41:50 [0] NCCL INFO init.cc:1 -> 2", OutcomeFail, UnknownCause},
		{"torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, " +
			"unhandled system error, NCCL version 2.20.5\nLast error:\nthe moon is full", OutcomeFail, UnknownCause},
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

// TestLastError asserts that the warning is quoted that PyTorch repeats, though it is not known.
func TestLastError(t *testing.T) {
	const warning = "the flux is exhausted"
	for name, log := range map[string]string{
		"next line": "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system " +
			"error, NCCL version 2.20.5\nncclSystemError: System call failed or device error.\nLast error:\n" + warning,
		"same line": "ncclInternalError: Internal check failed.\nLast error: " + warning,
	} {
		run := ofLines("train.log", strings.Split(log, "\n")).Last()
		if run.Outcome != OutcomeFail || len(run.Causes) == 0 || len(run.Causes[0].Evidence) == 0 ||
			!strings.Contains(run.Causes[0].Evidence[0].Text, warning) {
			t.Errorf("%s: %s, %+v", name, run.Outcome, run.Causes)
		}
	}
}

// TestMissingRank asserts that the rank that did not start a collective is named, not one of those that wait.
func TestMissingRank(t *testing.T) {
	var log []string
	for rank, enqueued := range []string{"10", "9", "10"} {
		name := string(rune('0' + rank))
		log = append(log, "[rank"+name+"]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank "+
			name+"] failure detected by watchdog at work sequence id: 10 PG status: last enqueued work: "+enqueued+
			", last completed work: 9")
	}
	run := ofLines("train.log", log).Last()
	if len(run.Causes) == 0 || run.Causes[0].ID != HangTimeout ||
		!strings.Contains(run.Causes[0].Summary, "rank 1 did not start collective 10") {
		t.Errorf("%+v", run.Causes)
	}
}
