package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

const (
	success = `0: :::MLLOG {"namespace": "", "time_ms": 1745262462069, "key": "run_stop", "value": null, "metadata": ` +
		`{"status": "success"}}`
	aborted = `0: :::MLLOG {"namespace": "", "time_ms": 1745262462069, "key": "run_stop", "value": null, "metadata": ` +
		`{"status": "aborted"}}`
	stepsOfHF = "{'loss': 2.1, 'epoch': 0.1}\n{'loss': 2.0, 'epoch': 0.2}\n{'loss': 1.9, 'epoch': 0.3}\n" +
		"{'loss': 1.8, 'epoch': 0.4}"
	limit   = "slurmstepd: error: *** STEP 1.0 ON gpu-a CANCELLED AT 2026-03-02T10:00:00 DUE TO TIME LIMIT ***"
	closing = "gpu-a:41:50 [1] proxy.cc:1521 NCCL WARN [Proxy Service 37] Failed to execute operation Close from " +
		"rank " +
		"37, retcode 3"
	store = "[rank3]:[W506 00:43:56.240378877 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=3): failed " +
		"to recv, got 0 bytes"
	abort = "terminate called after throwing an instance of 'c10::DistBackendError'\n" +
		"  what():  NCCL error in: NCCLUtils.cpp:77, invalid usage, NCCL version 2.25.1\nLast error:\n" +
		"NET/IB : Requested properties for vNic 4, only 4 vNics have been created\n" +
		"srun: error: gpu-a: task 7: Exited with exit code 134"
)

// verdictOf is the outcome, the first cause and a part of the summary.
type verdictOf struct {
	outcome story.Outcome
	cause   story.CauseID
	says    string
}

func checkVerdicts(t *testing.T, logs map[string]struct {
	log  string
	want verdictOf
}) {
	t.Helper()
	for name, c := range logs {
		run := ofLines("train.log", strings.Split(c.log, "\n")).Last()
		got := verdictOf{outcome: run.Outcome, says: c.want.says}
		if len(run.Causes) > 0 {
			got.cause = run.Causes[0].ID
		}
		if got != c.want || !strings.Contains(run.Summary, c.want.says) {
			t.Errorf("%s: want %v, got %v: %s", name, c.want, got, run.Summary)
		}
	}
}

// TestGoal: what comes after the goal of a program is the end of its processes, but a process that fails then failed.
func TestGoal(t *testing.T) {
	const reported = "The program reported success"
	ok := verdictOf{story.OutcomeOK, "", reported}
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"time limit after it": {stepsOfHF + "\n" + success + "\n" + limit, ok},
		"proxies after it":    {stepsOfHF + "\n" + success + "\n" + closing, ok},
		"store after it":      {stepsOfHF + "\n" + success + "\n" + store, ok},
		"exit 143 after it": {success + "\nsrun: error: gpu-a: task 0: Exited with exit code 143\n0: " +
			"Terminated", ok},
		"step aborted after it": {success + "\nsrun: Job step aborted: Waiting up to 32 seconds for job step to " +
			"finish.", ok},
		"a finalizer after it": {success + "\n" + finalizer, ok},
		"a helper before it": {"srun: error: gpu-a: task 0: Exited with exit code 1\n" + stepsOfHF + "\n" +
			success, ok},
		"of the trainer": {stepsOfHF + "\n{'train_runtime': 532.3, 'epoch': 1.0}\n" + closing, ok},
		"of Lightning":   {"epoch 1\n`Trainer.fit` stopped: `max_epochs=3` reached.\n" + closing, ok},
		"in words":       {stepsOfHF + "\nINFO Training completed in 3:12:07\n" + closing, ok},
		"of HPL": {"              1 tests completed and passed residual checks,\n" +
			noResidualFailed, ok},
		"exit without a goal":   {stepsOfHF + "\n" + services, verdictOf{story.OutcomeOK, "", ""}},
		"exit of nothing known": {services, verdictOf{story.OutcomeFail, "unknown", "misc/socket.cc"}},
		"exit of another error": {stepsOfHF + "\n" + strings.ReplaceAll(services, "-> 3", "-> 6"),
			verdictOf{story.OutcomeFail, "unknown", ""}},
		"aborts after it": {success + "\n" + abort, verdictOf{story.OutcomeFail, "unknown",
			"after the program had reported success"}},
		"aborts, then limit": {success + "\n" + abort + "\n" + limit, verdictOf{story.OutcomeFail, "unknown",
			"only 4 vNics"}},
		"memory after it": {success + "\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 " +
			"GiB.", verdictOf{story.OutcomeFail, "gpu-oom", ""}},
		"missed": {stepsOfHF + "\n" + aborted, verdictOf{story.OutcomeFail, "unknown",
			"without its goal"}},
		"a script's words": {"Traceback (most recent call last):\nValueError: no data\nTraining finished",
			verdictOf{story.OutcomeFail, "unknown", ""}},
		"HPL failed": {"              1 tests completed and failed residual checks,",
			verdictOf{story.OutcomeFail, "unknown", ""}},
		"steps after a first goal": {"{'train_runtime': 532.3}\n" + stepsOfHF + "\n" + store,
			verdictOf{story.OutcomeFail, "peer-died", ""}},
		"closed without a goal": {stepsOfHF + "\n" + store, verdictOf{story.OutcomeFail, "peer-died", ""}},
	})
}

const (
	services = "gpu-a:161:315 [0] NCCL INFO misc/socket.cc:64 -> 3\ngpu-a:161:315 [0] NCCL INFO misc/socket.cc:80 " +
		"-> 3\n" +
		"gpu-a:161:315 [0] NCCL INFO comm 0x2e rank 0 nranks 2 cudaDev 0 busId 1e0 - Abort COMPLETE"
	noResidualFailed = "              0 tests completed and failed residual checks,"
	finalizer        = "Traceback (most recent call last):\n" +
		`  File "/usr/lib/python3.10/multiprocessing/util.py", line 300, in _run_finalizers` + "\n    finalizer()\n" +
		"FileNotFoundError: [Errno 2] No such file or directory"
)

// TestGoingOn: an error after which a process group counts on ended nothing; one process may not print what others had
// buffered.
func TestGoingOn(t *testing.T) {
	counted := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("\nstep " + strings.Repeat("1", 1+i%7) + string(rune('0'+i%10)) + " | loss 0.3")
		}
		return b.String()
	}
	const exit = "srun: error: gpu-a: task 3: Exited with exit code 1"
	const group = "(Worker pid=57) Traceback (most recent call last):\n(Worker pid=57) TypeError: no iterator"
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"many steps after an exit": {exit + counted(400), verdictOf{story.OutcomeOK, "", ""}},
		"few steps after an exit":  {stepsOfHF + "\n" + exit + counted(6), verdictOf{story.OutcomeFail, "unknown", ""}},
		"a process that writes on": {stepsOfHF + "\n" + group + strings.Repeat("\n(Worker pid=57) answer 3 is "+
			"fine", 40),
			verdictOf{story.OutcomeOK, "", ""}},
		"others that write on": {stepsOfHF + "\n" + group + strings.Repeat("\n(Worker pid=58) answer 3 is fine", 40),
			verdictOf{story.OutcomeFail, "unknown", "TypeError"}},
		"a series without names": {"s:1 trl:3.2 norm:0.23\ns:2 trl:3.1 norm:0.25\ns:3 trl:3.3 norm:0.22\ns:4 " +
			"trl:3.0 norm:0.2\n" +
			"s:5 trl:2.9 norm:0.21\ns:6 trl:2.8 norm:0.3\ns:7 trl:2.9 norm:0.22\ns:8 trl:2.7 norm:0.2\ns:9 trl:2.6 " +
			"norm:0.1",
			verdictOf{story.OutcomeOK, "", ""}},
		"a table": {"1    | 999.49 ms | 1.12 GiB/s\n2    | 951.69 ms | 1.15 GiB/s\n3    | 928.74 ms | 1.16 GiB/s\n" +
			"4    | 99.49 ms  | 1.12 GiB/s\n5    | 951.69 ms | 1.15 GiB/s\n6    | 28.74 ms  | 1.16 GiB/s\n" +
			"9    | 999.49 ms | 1.12 GiB/s\n10   | 951.69 ms | 1.15 GiB/s\n11   | 928.74 ms | 1.16 GiB/s",
			verdictOf{story.OutcomeOK, "", ""}},
		"waiting is no series": {strings.Repeat("loading\n", 3) + "still waiting for peers (1 s, 0.5)\n" +
			"still waiting for peers (2 s, 0.7)\nstill waiting for peers (3 s, 0.2)\nstill waiting for peers (4 s, " +
			"0.7)\n" +
			"still waiting for peers (5 s, 0.7)\nstill waiting for peers (6 s, 0.2)\nstill waiting for peers (7 s, " +
			"0.3)\n" +
			"still waiting for peers (8 s, 0.1)", verdictOf{story.OutcomeUnknown, "unknown", ""}},
	})
}

// TestTimeLimitAndSteps: the time of the last step tells a hang from a limit that is too short.
func TestTimeLimitAndSteps(t *testing.T) {
	at := func(first, second, third string) string {
		return "[2026-03-02 " + first + "] step 1 loss 3.0\n[2026-03-02 " + second + "] step 2 loss 2.9\n[2026-03-02 " +
			third + "] step 3 loss 2.8\n" + limit
	}
	mllog := func(offset string) string {
		return strings.ReplaceAll(`0: :::MLLOG {"time_ms": 17724455@0000, "key": "train_loss", "value": 1.21}
0: :::MLLOG {"time_ms": 17724455@5000, "key": "train_loss", "value": 1.22}
0: :::MLLOG {"time_ms": 17724455@9000, "key": "train_loss", "value": 1.23}`, "@", offset) + "\n" + limit
	}
	short := verdictOf{story.OutcomeFail, "unknown", "the time limit is too short"}
	hung := verdictOf{story.OutcomeFail, "hang-timeout", "after its last step"}
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"steps to the second":    {at("09:59:40", "09:59:50", "09:59:58"), short},
		"slow steps":             {at("09:50:00", "09:54:00", "09:58:00"), short},
		"an hour before":         {at("08:59:40", "08:59:50", "08:59:58"), hung},
		"a step and a half":      {at("09:00:40", "09:00:50", "09:58:58"), short},
		"in UTC, minutes before": {mllog("3"), hung},
		"no times": {stepsOfHF + "\n" + limit, verdictOf{story.OutcomeFail, "hang-timeout",
			"or needed more time"}},
		"NCCL's error before": {stepsOfHF + "\n" + abort + "\n" + limit, verdictOf{story.OutcomeFail,
			"unknown", "only 4 vNics"}},
		"the same and no reasons": {stepsOfHF + "\n" + "RuntimeError: NCCL error: internal error\n" + limit,
			verdictOf{story.OutcomeFail, "unknown", "no warning gives the reason"}},
	})
}

// TestStopped: what a user or a scheduler ended is nobody's fault, whatever its processes say then.
func TestStopped(t *testing.T) {
	const stop = "it was stopped"
	cancelled := "slurmstepd: error: *** STEP 1.0 ON gpu-a CANCELLED AT 2026-03-02T10:00:00 ***"
	crash := "\nFatal Python error: Segmentation fault\nsrun: error: gpu-a: task 1: Segmentation fault (core dumped)"
	stopped := verdictOf{story.OutcomeFail, "unknown", stop}
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"Ctrl-C":              {stepsOfHF + "\n^CTraceback (most recent call last):\nKeyboardInterrupt", stopped},
		"Ctrl-C, then crash":  {stepsOfHF + "\nTraceback (most recent call last):\nKeyboardInterrupt" + crash, stopped},
		"scancel, then crash": {stepsOfHF + "\n" + cancelled + crash, stopped},
		"torchrun got SIGTERM": {stepsOfHF + "\n[WARNING] Received Signals.SIGTERM death signal, shutting down " +
			"workers\n" +
			"[WARNING] Sending process 41 closing signal SIGTERM", stopped},
		"crash, then scancel": {stepsOfHF + "\nsrun: error: gpu-a: task 1: Segmentation fault (core dumped)\n" +
			cancelled,
			verdictOf{story.OutcomeFail, "peer-died", "SIGSEGV"}},
	})
}

// TestReasons: where a line says why, it is quoted.
func TestReasons(t *testing.T) {
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"of enroot": {"slurmstepd: error: pyxis: container start failed with error code: 1\n" +
			"slurmstepd: error: pyxis: printing engine log file:\n" +
			"slurmstepd: error: pyxis:     mkdir: cannot create directory /scratch: Permission denied",
			verdictOf{story.OutcomeFail, "unknown", "mkdir: cannot create directory /scratch"}},
		"of runc": {"Error: OCI runtime create failed: exec: train.sh: executable file not found in $PATH",
			verdictOf{story.OutcomeFail, "unknown", "executable file not found"}},
		"of MPICH": {"Fatal error in PMPI_Init: Other MPI error\nMPIDI_NM_mpi_init_hook(758): OFI addrinfo() failed " +
			"(ofi_init.h:758:No data available)", verdictOf{story.OutcomeFail, "unknown", "OFI addrinfo() failed"}},
		"a plugin": {"gpu-a:41:50 [0] net.cc:626 NCCL WARN Error: network AWS Libfabric not found.",
			verdictOf{story.OutcomeFail, "unknown", "plugin that was asked for is not there"}},
		"the network IB": {"gpu-a:41:50 [0] net.cc:626 NCCL WARN Error: network IB not found.",
			verdictOf{story.OutcomeFail, "no-ib-device", ""}},
		"CUDA in fields, then Hydra": {"CUDA Error:\n    Error code: 700\n    Error text: an illegal memory access " +
			"was " +
			"encountered\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   KILLED BY SIGNAL: 9 (Killed)",
			verdictOf{story.OutcomeFail, "cuda-error", "illegal memory access"}},
	})
}

// TestCollectorsLevel: the level that a collector gives to all of stderr is not the writer's.
func TestCollectorsLevel(t *testing.T) {
	var lines, nested, table, yaml []string
	for _, step := range []string{"1 loss 3.0 lr 1e-4", "2 loss 2.9 lr 1e-4", "3 loss 2.8 lr 1e-4",
		"4 loss 2.7 lr 1e-4"} {
		lines = append(lines, `{"textPayload": "step `+step+`", "severity": "ERROR"}`)
		nested = append(nested, `{"severity": "ERROR", "jsonPayload": {"message": "step `+step+`"}}`)
		table = append(table, "  {", `    "insertId": "x1",`, `    "severity": "ERROR",`,
			`    "textPayload": "step `+step+`",`, "  },")
		yaml = append(yaml, "---", "insertId: x1", "severity: ERROR", "textPayload: step "+step)
	}
	ok := verdictOf{story.OutcomeOK, "", ""}
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"a line each":       {strings.Join(lines, "\n"), ok},
		"a payload of JSON": {strings.Join(nested, "\n"), ok},
		"gcloud as JSON":    {strings.Join(table, "\n"), ok},
		"gcloud as YAML":    {strings.Join(yaml, "\n"), ok},
		"the writer's own": {strings.Join(lines, "\n") + "\n" + `{"level":"error","msg":"the disk is on fire"}`,
			verdictOf{story.OutcomeUnknown, "unknown", ""}},
		"a failure inside": {strings.Join(lines, "\n") + "\n" +
			`{"textPayload": "RuntimeError: CUDA error: an illegal memory access", "severity": "INFO"}`,
			verdictOf{story.OutcomeFail, "cuda-error", ""}},
	})
}

// TestUsedHCAs: HCAs that no channel goes over mix nothing, and a NIC that reaches the GPUs near it is as it should be.
func TestUsedHCAs(t *testing.T) {
	const list = "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE [1]mlx5_2:1/RoCE [2]mlx5_7:1/IB/SHARP; OOB " +
		"eth0:10.0.0.1<0>\n" +
		"n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
	channel := func(device string) string {
		return "n1:1:2 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/" + device + "\n"
	}
	const complete = "n1:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId " +
		"0x4 - Init COMPLETE"
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"unused": {list + channel("0/GDRDMA") + channel("1/GDRDMA") + complete, verdictOf{story.OutcomeOK, "",
			"NET/IB (RoCE)"}},
		"used": {list + channel("0/GDRDMA") + channel("2/GDRDMA") + complete,
			verdictOf{story.OutcomeDegraded, "extra-hca", ""}},
		"one is far": {list + channel("0/GDRDMA") + channel("0") + complete, verdictOf{story.OutcomeOK, "", ""}},
		"one is out": {list + channel("0/GDRDMA") + channel("1") + complete, verdictOf{story.OutcomeDegraded, "",
			"1 of 2 ends"}},
		"Data Direct": {strings.ReplaceAll(list, ":1/RoCE", "_dma:1/RoCE") + channel("0/GDRDMA") + complete,
			verdictOf{story.OutcomeOK, "", "NET/IB (RoCE)"}},
		"Spectrum-X": {"n1:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin SPCX (v12)\nn1:1:2 [0] NCCL INFO Using " +
			"network SPCX\n" +
			list[strings.Index(list, "\n")+1:] + "n1:1:2 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via " +
			"NET/SPCX/0/GDRDMA\n" + complete,
			verdictOf{story.OutcomeOK, "", "NET/SPCX (RoCE)"}},
	})
}

// TestNewNCCL: levels and reports of NCCL 2.31 and 2.32, and NVLink between machines.
func TestNewNCCL(t *testing.T) {
	const begin = "gpu-a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n" +
		"gpu-a:1:2 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n" +
		"gpu-a:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 commId 0x4 - Init " +
		"COMPLETE\n"
	const fabric = "gpu-a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 1 " +
		"cliqueId 1 cliqueSize 8\n" +
		"gpu-b:1:2 [0] NCCL INFO comm 0x1 rank 4 nRanks 8 nNodes 1 localRanks 8 localRank 4 MNNVL 1 cliqueId 1 " +
		"cliqueSize 8\n" +
		"gpu-a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB; OOB eth0:10.0.0.1<0>\ngpu-a:1:2 [0] NCCL INFO " +
		"Using network IB\n"
	ok := verdictOf{story.OutcomeOK, "", ""}
	degraded := func(cause story.CauseID) verdictOf {
		return verdictOf{story.OutcomeDegraded, cause, "NCCL's diagnostics"}
	}
	diag := func(text string) string { return begin + "gpu-a:41 NCCL DIAG " + text }
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"ATTN": {begin + "[2026-11-01 10:00:00] gpu-a:1:2 [0] plugin/net.cc:1 (ncclNetPluginInit) " +
			"NCCL ATTN Failed to initialize NET plugin gIB", ok},
		"ATTN of builds": {begin + "gpu-a:1:2 [0] init.cc:1 (init) NCCL ATTN Mismatched NCCL git versions " +
			"detected: rank 0 fingerprint 0x1, rank 3 fingerprint 0x2", verdictOf{story.OutcomeDegraded,
			"version-mismatch", ""}},
		"all is well": {diag("[OK]   ECC: no uncorrected volatile errors across 4 ranks"), ok},
		"what pods lack": {diag("[INFO] PCIe capabilities require root access") + "\n" +
			diag("[INFO] Xid/SXid: no kernel-log source was available on host gpu-a"), ok},
		"own per pod": {diag("[INFO] NCCL_* env vars: mismatch across 4 ranks in comm for NCCL_IB_HCA"), ok},
		"a variable": {diag("[INFO] NCCL_* env vars: mismatch across 4 ranks in comm for NCCL_ALGO"),
			degraded("env-not-on-all-ranks")},
		"bandwidth": {diag("[INFO] net bw: same-nic rank 3 (gpu-b): 97.1 Gbit/s, >30% off median"),
			degraded("phantom-link")},
		"not measured": {diag("[INFO] net bw: mode=same server_rank=0 client_rank=2 required external tool " +
			"missing"), ok},
		"IOMMU": {diag("[INFO] IOMMU mode: enabled (DMA remapping) for 8 relevant device(s) across " +
			"4/4 ranks"), degraded("acs-iommu")},
		"passthrough": {diag("[OK]   IOMMU mode: passthrough for 8 relevant device(s) across 4/4 ranks"), ok},
		"Xid": {diag("[INFO] Xid 79 detected 2 time(s) on host gpu-b. GPU has fallen off the bus"),
			degraded("cuda-error")},
		"no Xid": {diag("[OK]   Xid/SXid: no events requiring immediate attention across 2 host(s)"), ok},
		"an unused request": {begin + "gpu-a:1:2 [0] NCCL INFO NET/IB: ncclIbCompletionEventProcess: Receiver got " +
			"a completion for a CTS but retrieved an 'unused' request (req=0x7)", verdictOf{story.OutcomeUnknown,
			"unknown", "a fault of NCCL 2.28 to 2.30"}},
		"a counter": {begin + "gpu-a:1:2 [0] NCCL INFO NCCL progress counter monitor: counter DMA still " +
			"pending after 600s (cudaDev 3, 2 comms)", verdictOf{story.OutcomeUnknown, "hang-timeout", ""}},
		"rails idle": {fabric + "gpu-a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL\n" +
			"gpu-a:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1b000 commId 0x4 - " +
			"Init COMPLETE", verdictOf{story.OutcomeOK, "", "8 ranks on 2 nodes: NVLink carried"}},
		"no channel node": {fabric + "gpu-a:1:2 [0] transport/nvls.cc:91 NCCL WARN Cuda failure 801 'operation " +
			"not supported'\ngpu-a:1:2 [0] NCCL INFO init.cc:1 -> 1", verdictOf{story.OutcomeFail, "imex", "domain"}},
		"another domain": {fabric + "gpu-a:1:2 [0] transport/p2p.cc:281 NCCL WARN Cuda failure 101 'invalid " +
			"device ordinal'\ngpu-a:1:2 [0] NCCL INFO init.cc:1 -> 1", verdictOf{story.OutcomeFail, "imex",
			"not in the same IMEX domain"}},
		"peers of one node": {begin + "gpu-a:1:2 [0] transport/p2p.cc:281 NCCL WARN Cuda failure 101 'invalid " +
			"device ordinal'\ngpu-a:1:2 [0] NCCL INFO init.cc:1 -> 1", verdictOf{story.OutcomeFail, "peer-access", ""}},
		"channel not usable": {begin + "gpu-a:1:2 [0] transport/p2p.cc:281 NCCL WARN Cuda failure 800 'operation " +
			"not permitted'\ngpu-a:1:2 [0] NCCL INFO init.cc:1 -> 1", verdictOf{story.OutcomeFail, "imex",
			"may not use its IMEX channel"}},
	})
}

// TestTornNames: the end of another line in front of a name is no part of it.
func TestTornNames(t *testing.T) {
	run := ofLines("train.log", strings.Split("g183:161264:166015 [7] NCCL INFO Connected NVLS tree\n"+
		"g183:161264:166015 [7] NCCL INFO threadThresholds 8g183:161258:166018 [1] NCCL INFO ncclCommSplit comm "+
		"0x7f rank 1 "+
		"nranks 16 cudaDev 1 parent 0x55cd375g183:161262:166017 [5] NCCL INFO ncclCommSplit comm 0x7f rank 5 "+
		"nranks 16 "+
		"cudaDev 5 parent 0x55f6e8g183:161260:166045 [3] NCCL INFO [Service thread] Conneg183:161261:162335 [5] "+
		"NCCL INFO x",
		"\n")).Last()
	if run.Nodes != 0 || run.Ranks != 16 {
		t.Errorf("%d ranks on %d nodes", run.Ranks, run.Nodes)
	}
}

// TestEndsOfPrograms: the last words of services, schedulers and programs that did not take their arguments.
func TestEndsOfPrograms(t *testing.T) {
	const (
		served = "(APIServer pid=1) INFO:     Shutting down\n(APIServer pid=1) INFO:     Application shutdown complete."
		died   = "(APIServer pid=1) ERROR 04-27 18:09:47 [core_client.py:600] Engine core proc EngineCore_DP0 died " +
			"unexpectedly, shutting down client.\n(APIServer pid=1) ERROR 04-27 18:09:47 [async_llm.py:546] " +
			"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"
		memory = "ValueError: Free memory on device cuda:0 (16.01/93.0 GiB) on startup is less than desired GPU " +
			"memory utilization (0.8, 74.4 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
		refused = "6: pretrain.py: error: unrecognized arguments: --keep-last-n 3\n" +
			"6: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
			"6:   exitcode  : 2 (pid: 291890)\nsrun: error: gpu-a: task 6: Exited with exit code 1"
	)
	checkVerdicts(t, map[string]struct {
		log  string
		want verdictOf
	}{
		"a service":                   {served, verdictOf{story.OutcomeOK, "", ""}},
		"a service whose engine died": {died + served, verdictOf{story.OutcomeFail, story.UnknownCause, ""}},
		"LSF, exited":                 {"Subject: Job 33: <gpt> in cluster <summit> Exited", verdictOf{story.OutcomeFail, story.UnknownCause, ""}},
		"LSF, done":                   {"Subject: Job 33: <gpt> in cluster <summit> Done", verdictOf{story.OutcomeOK, "", ""}},
		"an exit code of 0":           {"Array task 5 completed with exit code: 0", verdictOf{story.OutcomeOK, "", ""}},
		"GPU memory of others":        {memory, verdictOf{story.OutcomeFail, story.GPUOOM, ""}},
		"arguments": {
			refused, verdictOf{story.OutcomeFail, story.UnknownCause, "the program did not take its arguments"},
		},
		"Open MPI, with times and pieces": {
			"Sun Nov 29 11:26:59 2026[1,1]<stderr>:Traceback (most recent call last):\n" +
				"Sun Nov 29 11:26:59 2026[1,1]<stderr>:ValueErrorSun Nov 29 11:26:59 2026[1,1]<stderr>:: too large",
			verdictOf{story.OutcomeFail, story.UnknownCause, "rank 1 ended with ValueError"},
		},
		"MPICH with its ranks": {
			"[1] Traceback (most recent call last):\n[0] \n[1] ValueError: too large",
			verdictOf{story.OutcomeFail, story.UnknownCause, "rank 1 ended with ValueError"},
		},
		"two kinds of HCAs on one node": {
			"gpu-a:41:50 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_2:1/IB [2]mlx5_3:1/IB [RO]; OOB eth0\n" +
				"gpu-a:41:50 [0] NCCL INFO comm 0x1 rank 0 nRanks 1 nNodes 1 localRanks 1 localRank 0 MNNVL 0\n" +
				"gpu-a:41:50 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Init COMPLETE\n" +
				"gpu-a:41:50 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Destroy COMPLETE",
			verdictOf{story.OutcomeOK, "", ""},
		},
	})
}
