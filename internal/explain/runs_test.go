package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

const (
	tableHead = "# Using devices\n#  Rank  0 Group  0 Pid %[1]d on gpu-0 device  0 [0000:18:00] NVIDIA H200\n" +
		"#  Rank  1 Group  0 Pid %[1]d on gpu-1 device  0 [0000:18:00] NVIDIA H200\n"
	tableEnd = "1024 256 float sum -1 10.00 0.10 0.20 0 11.00 0.09 0.18 0\n# Out of bounds values : 0 OK\n" +
		"# Avg bus bandwidth    : 42.1\n"
	badCompletion = "gpu-0:%[1]d:9 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with status=12 " +
		"opcode=0 len=0 vendor err 129 (Send) hca mlx5_0\n"
	emptySlot = "gpu-0:%[1]d:9 [0] x.cc:1 NCCL WARN Call to ibv_modify_qp failed with 61 No data available, on dev " +
		"mlx5_0:1, curr state INIT, next state RTR, local GID index 5, local GID ::, remote GID ::ffff:10.1.1.2\n"
)

// oneRun is the log of two ranks up to their channels. %[1]d is the process.
func oneRun(network string) string {
	list := "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
	if network == "Socket" {
		list = "NET/IB : No device found."
	}
	text := ""
	for rank := range 2 {
		for _, line := range []string{
			"Bootstrap: Using eth0:10.0.0.1<0>", list, "Using network " + network,
			fmt.Sprintf("ncclCommInitRank comm 0x5 rank %d nranks 2 commId 0x%%[1]d - Init START", rank),
			fmt.Sprintf("comm 0x5 rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", rank),
			fmt.Sprintf("Channel 00/0 : %d[0] -> %d[0] [send] via NET/%s/0", rank, 1-rank, network),
		} {
			text += fmt.Sprintf("gpu-%d:%%[1]d:9 [0] NCCL INFO %s\n", rank, line)
		}
	}
	return text
}

// TestRunsOfOneFile: each run of a file keeps its own network, outcome and cause, with and without the tables of
// nccl-tests and NCCL's lines.
func TestRunsOfOneFile(t *testing.T) {
	rdma, tcp := oneRun("IB"), oneRun("Socket")
	const complete = "gpu-0:%[1]d:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"
	const exception = "Traceback (most recent call last):\nValueError: batch size must be positive\n"
	const testFailed = "gpu-0: Test NCCL failure common.cu:958 'unhandled system error / '\n"
	steps := strings.Repeat("step 7 | loss 0.31\n", 100)
	const ok, fallback = "RoCE true no ok -", "Socket false no fallback no-ib-device"
	for name, c := range map[string]struct {
		runs []string
		want string
	}{
		"failed, then good": {[]string{rdma + emptySlot, rdma + complete + steps},
			"RoCE false no fail gid-index; " + ok},
		"good, then failed": {[]string{rdma + complete, rdma + badCompletion},
			ok + "; RoCE true no fail route-or-arp"},
		"TCP, then RDMA": {[]string{tcp + complete, rdma + complete}, fallback + "; " + ok},
		"an exception first": {[]string{rdma + complete + exception, rdma + steps},
			"RoCE true no fail unknown; " + ok},
		"tests: failed, then good": {[]string{tableHead + rdma + emptySlot + testFailed, tableHead + rdma + tableEnd},
			"RoCE false no fail gid-index; " + ok},
		"tests: good, then failed": {[]string{tableHead + rdma + tableEnd, tableHead + rdma + badCompletion},
			ok + "; RoCE true no fail route-or-arp"},
		"tests without NCCL's lines": {[]string{tableHead + testFailed, tableHead + tableEnd},
			"unknown null unknown fail unknown; unknown null unknown ok -"},
		"tests with warnings only": {[]string{tableHead + emptySlot + testFailed, tableHead + tableEnd},
			"RoCE false unknown fail gid-index; unknown null unknown ok -"},
		"three tests": {[]string{tableHead + tableEnd, tableHead + testFailed, tableHead + tableEnd},
			"unknown null unknown ok -; unknown null unknown fail unknown; unknown null unknown ok -"},
		"a variable of the second run": {[]string{tcp + complete, "NCCL_IB_DISABLE=1 python\n" + tcp + complete},
			fallback + "; Socket false no fallback disabled-by-env"},
		"wrong results": {[]string{tableHead + strings.Replace(tableEnd, "0 OK", "2 FAILED", 1)},
			"unknown null unknown fail unknown"},
	} {
		text := ""
		for i, run := range c.runs {
			text += strings.ReplaceAll(run, "%[1]d", fmt.Sprint(i+41))
		}
		if got := verdict(ofLines("job.log", strings.Split(text, "\n"))); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
}

// TestRestarted asserts that a failure does not count if the launcher started the job again and it trains since,
// and that it counts otherwise. Slurm may give a job time before it ends it: the steps may be of the same attempt.
func TestRestarted(t *testing.T) {
	const (
		failed = "E0302 10:00:00.123000 41 torch/distributed/elastic/multiprocessing/api.py:869] failed " +
			"(exitcode: 1) local_rank: 0 (pid: 41) of binary: python"
		restart  = "[INFO] [default] Worker group FAILED. 2/3 attempts left; will restart worker group"
		requeued = "slurmstepd: error: *** JOB 1234 ON gpu-a CANCELLED AT 2026-03-02T10:00:00 DUE TO PREEMPTION ***"
		warning  = "[rank3]:[W302 10:00:00.1 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=3): failed to " +
			"recv, got 0 bytes"
	)
	steps := strings.Split("torch | step 1 loss 0.4\nstep 2 loss 0.4\nstep 3 loss 0.3\nstep 4 loss 0.3", "\n")
	for name, c := range map[string]struct {
		lines []string
		want  story.Outcome
	}{
		"restarted, trains":    {slices.Concat(steps, []string{failed, restart}, steps), story.OutcomeOK},
		"restarted":            {slices.Concat(steps, []string{failed, restart}), story.OutcomeFail},
		"restarted, two steps": {slices.Concat(steps, []string{failed, restart}, steps[:2]), story.OutcomeFail},
		"restarted, fails again": {slices.Concat(steps, []string{failed, restart}, steps, []string{failed}),
			story.OutcomeFail},
		"fails, trains":               {slices.Concat(steps, []string{failed}, steps), story.OutcomeFail},
		"requeued, trains":            {slices.Concat(steps, []string{requeued}, steps), story.OutcomeUnknown},
		"requeued":                    {slices.Concat(steps, []string{requeued}), story.OutcomeFail},
		"warned of the store, trains": {slices.Concat(steps, []string{warning}, steps), story.OutcomeOK},
		"warned of the store at last": {slices.Concat(steps, []string{warning}), story.OutcomeFail},
		"restarted without an exit":   {slices.Concat(steps, []string{restart}), story.OutcomeUnknown},
	} {
		got := ofLines("train.log", c.lines).Last()
		if got.Outcome != c.want {
			t.Errorf("%s: want %s, got %s: %s", name, c.want, got.Outcome, got.Summary)
		}
		if got.Outcome == story.OutcomeOK && (len(got.Survived) != 1 || got.Survived[0].Line != len(steps)+1) {
			t.Errorf("%s: survived %v", name, got.Survived)
		}
	}
}

// TestStackIsNoTraining asserts that the paths of PyTorch in a stack do not make a log one of a training.
func TestStackIsNoTraining(t *testing.T) {
	for name, line := range map[string]string{
		"C++":    "frame #3: c10d::ProcessGroupNCCL::watchdogHandler() + 0x213 (0x7f in /x/torch/lib/libtorch_cuda.so)",
		"Python": "  File \"/x/torch/distributed/run.py\", line 794, in main\n    torch.distributed.run(args)",
	} {
		lines := slices.Repeat(strings.Split(line, "\n"), 6)
		if got := ofLines("train.log", lines).Last().Outcome; got != story.OutcomeUnknown {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestRestartedContainer: the process of a restarted container has the number of the one before. A process that sets up
// several communicators of one size stays one run.
func TestRestartedContainer(t *testing.T) {
	const complete = "gpu-0:1:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"
	const destroyed = "gpu-0:1:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 18000 - Destroy COMPLETE\n"
	const memory = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	const killed = "train.sh: line 12: 1 Killed                  python train.py\n"
	const raised = "Traceback (most recent call last):\nValueError: batch size must be positive\n"
	const ok = "RoCE true no ok -"
	run := func(commID string) string {
		return strings.ReplaceAll(strings.ReplaceAll(oneRun("IB"), "commId 0x%[1]d", "commId "+commID), "%[1]d", "1") +
			complete
	}
	silent := func(log string) string { // NCCL_DEBUG_SUBSYS without BOOTSTRAP
		return strings.Join(slices.DeleteFunc(strings.SplitAfter(log, "\n"), func(l string) bool {
			return strings.Contains(l, "Bootstrap")
		}), "")
	}
	steps := strings.Repeat("step 7 | loss 0.31\n", 100)
	for name, c := range map[string]struct{ log, want string }{
		"out of memory, then good": {run("0xa") + memory + run("0xb") + steps, "RoCE true no fail gpu-oom; " + ok},
		"good, then out of memory": {run("0xa") + steps + run("0xb") + memory, ok + "; RoCE true no fail gpu-oom"},
		"killed without a word":    {run("0xa") + steps + run("0xb") + steps, ok + "; " + ok},
		"three starts": {run("0xa") + memory + run("0xb") + killed + run("0xc") + steps,
			"RoCE true no fail gpu-oom; RoCE true no fail peer-died; " + ok},
		"an exception":          {run("0xa") + raised + run("0xb") + steps, "RoCE true no fail unknown; " + ok},
		"without the bootstrap": {silent(run("0xa") + memory + run("0xb") + steps), "RoCE true no fail gpu-oom; " + ok},
		"RDMA, then TCP": {run("0xa") + memory + strings.ReplaceAll(oneRun("Socket"), "%[1]d", "1") + complete,
			"RoCE true no fail gpu-oom; Socket false no fallback no-ib-device"},
		"a second communicator":   {silent(run("0xa")+run("0xb")) + steps, ok},
		"one after it was closed": {silent(run("0xa")+destroyed+run("0xb")) + steps, ok},
		"the same log twice":      {run("0xa") + run("0xa") + steps, ok},
	} {
		if got := verdict(ofLines("job.log", strings.Split(c.log, "\n"))); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
}
