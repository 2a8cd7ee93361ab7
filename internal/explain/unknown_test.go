package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// badEndings are errors of no kind that the table names, in the forms of loggers, shells, launchers and languages.
var badEndings = []string{
	"2026-03-02 10:15:20 ERROR trainer: state is bad",
	"2026-03-02T10:00:00.000 ERROR trainer: state is bad",
	"rank 10 ERROR state is bad",
	"FATAL trainer: got NCCL_ERROR 3",
	"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nmylib.DataIsGone: no shard",
	"[rank2]: Traceback (most recent call last):\n[rank2]: KeyError: 'labels'",
	"F0302 10:00:00.120000 4242 x.cc:12] state is bad",
	"E0302 10:00:00.120000 4242 x.cpp:112] state is bad",
	"E0302 10:00:00.123456 4242 trainer.py:12] state is bad",
	"2026-03-02 10:00:00.1: F tensorflow/core/x.cc:12] state is bad",
	`{"level":"error","msg":"state is bad"}`,
	`{"severity":"ERROR","message":"state is bad"}`,
	`{"level":50,"msg":"state is bad"}`,
	`{"msg":"the job is over","exit_code":1}`,
	"2026-03-02 10:00:00 [error    ] state is bad",
	"2026-03-02T10:00:00Z\terror\ttrainer\tstate is bad",
	"[NeMo E 2026-03-02 10:00:00 trainer:12] state is bad",
	"Fatal Python error: Aborted",
	"*** SIGSEGV (@0x0) received by PID 4242 (TID 0x7f) from PID 0; stack trace: ***",
	"Command terminated by signal 11",
	"Process 4242 was killed by signal 9",
	"./train.sh: line 3:  4242 Illegal instruction     python train.py",
	"Aborted",
	"Terminated",
	"Memory access fault by GPU node-4 (Agent handle: 0x55) on address 0x7f.",
	":0:rocdevice.cpp :2652: Callback: Queue 0x7f aborting with error : HSA_STATUS_ERROR_MEMORY_FAULT: code: 0x2b",
	"NVRM: GPU at PCI:0000:18:00: GPU has fallen off the bus",
	"Unable to determine the device handle for GPU0000:18:00.0: Unknown Error",
	"[INFO] [default] Worker group FAILED. 0/3 attempts left; will not restart worker group",
	"[INFO] [default] Worker group FAILED. 2/3 attempts left; will restart worker group",
	"pdsh@head: gpu-1: ssh exited with exit code 137",
	"flux-job: task(s) exited with exit code 1",
	"Process finished with exit code 1",
	"gpu-1: rank 3 died from signal 9",
	"srun: Force Terminated StepId=123.0",
	"LAUNCH INFO 2026-03-02 10:00:00,1 Exit code -9",
	"train.service: Main process exited, code=exited, status=1/FAILURE",
	"make: *** [Makefile:3: train] Error 1",
	"h-kim-worker-0   0/1     Error     0          5m",
	"Job has reached the specified backoff limit: BackoffLimitExceeded",
	"python: can't open file 'train.py': [Errno 2] No such file or directory",
	"train.py: error: unrecognized arguments: --lr",
	"bash: torchrun: command not found",
	"bash: ./train.sh: Permission denied",
	"thread 'main' panicked at src/main.rs:3:5:",
	`Exception in thread "main" java.lang.IllegalStateException`,
	"SystemExit: 1",
	"error: the shard is gone",
	"  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
	"[2026-03-02 10:00:00,1] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4242",
	"srun: launch/slurm: _step_signal: Terminating StepId=123.0",
	"-- Process 3 terminated with the following error:",
	"packet_write_wait: Connection to 10.0.0.3 port 22: Broken pipe",
	"Stack dump without symbol names (ensure you have llvm-symbolizer in your PATH or set the var):",
	"cudaErrorLaunchFailure: unspecified launch failure",
}

// healthyRun is the log of two ranks that set up their communicator and trained.
func healthyRun(steps int) []string {
	var lines []string
	for rank := range 2 {
		of := fmt.Sprintf("gpu-%d:41:50 [0] NCCL INFO ", rank)
		comm := fmt.Sprintf("ncclCommInitRank comm 0x1 rank %d nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x2 - Init ", rank)
		lines = append(lines, of+comm+"START", of+"Using network IB",
			of+fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/IB/0/GDRDMA", rank, 1-rank),
			of+"Connected all rings", of+comm+"COMPLETE")
	}
	for i := range steps {
		lines = append(lines, fmt.Sprintf("iteration %d/ 5000 | lm loss: 2.%04dE+00 | grad norm: 0.8 |", i, i))
	}
	return lines
}

// TestUnknownIsNeverOK asserts that no error of an unknown kind is called ok: at the end of a log, and with NCCL's
// own lines, another program's variables, or a few steps of other ranks behind it.
func TestUnknownIsNeverOK(t *testing.T) {
	var destroyed, variables []string
	for i := range 100 {
		destroyed = append(destroyed, fmt.Sprintf("gpu-0:41:50 [0] NCCL INFO comm 0x1 rank %d nranks 2 - Destroy COMPLETE", i))
		variables = append(variables, fmt.Sprintf("EPOCHS_%d=3", i))
	}
	for name, behind := range map[string][]string{
		"nothing": nil, "NCCL's lines": destroyed, "variables": variables,
		"two steps": {"iteration 41/ 5000 | lm loss: 2.1E+00", "iteration 42/ 5000 | lm loss: 2.1E+00"},
	} {
		for _, text := range badEndings {
			for _, prefix := range []string{"", "[1,0]<stdout>: "} {
				lines := slices.Concat(healthyRun(40), strings.Split(prefix+strings.ReplaceAll(text, "\n", "\n"+prefix), "\n"), behind)
				if got := ofLines("job.log",
					lines).Runs[0].Outcome; got != story.OutcomeUnknown && got != story.OutcomeFail {
					t.Errorf("%s behind %q: %s", name, prefix+text, got)
				}
			}
		}
	}
}

// TestWentOn asserts that an error is no fault of a run that trains on, and that a count of no errors is none.
func TestWentOn(t *testing.T) {
	for _, text := range append(slices.Clone(badEndings),
		"0 ERRORS", "ERROR SUMMARY: 0 errors", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "exit status 0",
		"INFO: read SCHEMFILE.json", "WARNING: checkpoint cache ENOSPC, retrying on /data2",
		"2026-03-02: E external/xla/cuda_dnn.cc:9261] Unable to register cuDNN factory: already registered",
	) {
		if strings.Contains(text, "SIGSEGV") || strings.Contains(text, "from signal") || strings.Contains(text, "Fatal Python") {
			continue // a process that ended does not go on
		}
		lines := slices.Concat(healthyRun(40), strings.Split(text, "\n"), healthyRun(100)[10:])
		if got := ofLines("job.log", lines).Runs[0]; got.Outcome != story.OutcomeOK {
			t.Errorf("%q: %s, %s", text, got.Outcome, got.Summary)
		}
	}
	for _, text := range []string{"0 ERRORS", "ERROR SUMMARY: 0 errors", "exit status 0", "INFO: read SCHEMFILE.json"} {
		if got := ofLines("job.log", append(healthyRun(3), text)).Runs[0].Outcome; got != story.OutcomeOK {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestUnknownOfNCCL asserts the same of NCCL's own lines: a warning, an error on its way up, an initialization that no
// line completes, and wrong results.
func TestUnknownOfNCCL(t *testing.T) {
	const (
		of      = "gpu-0:41:50 [0] NCCL INFO "
		warning = "gpu-0:41:50 [0] init.cc:3 NCCL WARN "
		row     = "  8589934592  2147483648  float  sum  -1  150000  57.27  76.36  %s  149000  57.65  76.87  %s"
	)
	trail := []string{of + "transport/net.cc:1302 -> 6", of + "proxy.cc:1524 (progressOps) -> 6"}
	table := "#  Rank  0 Group  0 Pid  41 on gpu-0 device  0 [0000:18:00] NVIDIA H200"
	for name, c := range map[string]struct {
		lines []string
		want  story.Outcome
	}{
		"a trail without a warning": {append(healthyRun(40), trail...), story.OutcomeUnknown},
		"a trail and other lines": {append(append(healthyRun(40), trail...), healthyRun(0)[1], healthyRun(0)[1]),
			story.OutcomeUnknown},
		"a trail behind a harmless warning": {slices.Concat(healthyRun(40), []string{
			warning + "NCCL_LL_THRESHOLD has been removed; use NCCL_PROTO instead"}, trail), story.OutcomeUnknown},
		"a trail, and the training goes on": {slices.Concat(healthyRun(40), trail, healthyRun(50)[10:]),
			story.OutcomeOK},
		"a trail, and the rank connects": {append(slices.Clone(trail), healthyRun(40)...), story.OutcomeOK},
		"a warning, and the rank connects": {append([]string{warning + "topology broken, defaulting to socket ring"},
			healthyRun(40)...), story.OutcomeUnknown},
		"a failure that is ignored": {append(healthyRun(0), warning+"comm 0x5 failure of peer 3 is being ignored"),
			story.OutcomeUnknown},
		"no rank completes":          {[]string{healthyRun(0)[0], healthyRun(0)[5]}, story.OutcomeUnknown},
		"wrong values, half checked": {[]string{table, fmt.Sprintf(row, "17", "N/A")}, story.OutcomeFail},
		"right values":               {[]string{table, fmt.Sprintf(row, "0", "0")}, story.OutcomeOK},
		"wrong values":               {[]string{table, fmt.Sprintf(row, "0", "17")}, story.OutcomeFail},
		"wrong values, no root": {[]string{table,
			"  1024  64  float  20.65  0.05  0.04  3  20.1  0.05  0.04  N/A"}, story.OutcomeFail},
	} {
		if got := ofLines("job.log", c.lines).Runs[0]; got.Outcome != c.want {
			t.Errorf("%s: want %s, got %s: %s", name, c.want, got.Outcome, got.Summary)
		}
	}
}

// TestLastOfMany asserts that the last error counts, however many a run survived.
func TestLastOfMany(t *testing.T) {
	const complaint = "2026-03-02 10:15:20 ERROR trainer: "
	many := slices.Repeat([]string{complaint + "metrics were not sent"}, 2000)
	trained := slices.Concat(healthyRun(10), many, healthyRun(400)[10:])
	if got := ofLines("job.log", trained).Runs[0].Outcome; got != story.OutcomeOK {
		t.Errorf("a run that went on: %s", got)
	}
	if got := ofLines("job.log", append(trained,
		complaint+"state is bad")).Runs[0]; got.Outcome != story.OutcomeUnknown ||
		!strings.Contains(got.Causes[0].Evidence[0].Text, "state is bad") {
		t.Errorf("the last error: %s, %+v", got.Outcome, got.Causes)
	}
}
