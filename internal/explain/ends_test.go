package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// twoByTwo is the start of a job of ranks 0 and 1 on gpu-a, 2 and 3 on gpu-b.
func twoByTwo() []string {
	var lines []string
	for rank := range 4 {
		at := fmt.Sprintf("gpu-%c:%d:9 [%d] NCCL INFO ", 'a'+rank/2, 40+rank, rank%2)
		lines = append(lines, fmt.Sprintf("%sBootstrap: Using eth0:10.0.0.%d<0>", at, rank/2+1),
			at+"NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", at+"Using network IB",
			fmt.Sprintf("%scomm 0x5 rank %d nRanks 4 nNodes 2", at, rank),
			fmt.Sprintf("%sncclCommInitRank comm 0x5 rank %d nranks 4 - Init COMPLETE", at, rank))
	}
	return lines
}

// warned is a warning of a rank of twoByTwo.
func warned(rank int, text string) string {
	return fmt.Sprintf("gpu-%c:%d:50 [%d] x.cc:1 NCCL WARN %s", 'a'+rank/2, 40+rank, rank%2, text)
}

// completed is a bad completion of a rank of twoByTwo, with the address of its peer.
func completed(rank, status int, peer string) string {
	return warned(rank, fmt.Sprintf("NET/IB: Got completion from peer %s<3> with status=%d opcode=0 len=0 vendor err "+
		"1 (Send) hca mlx5_0", peer, status))
}

func agentSaw(code, pid int) string {
	return fmt.Sprintf("E1218 20:17:21.4 9 api.py:869] failed (exitcode: %d) local_rank: 0 (pid: %d) of binary: python",
		code, pid)
}

func waited(rank int) string {
	return fmt.Sprintf("[rank%d]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective "+
		"operation timeout: WorkNCCL(SeqNum=78, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600081 ms", rank,
		rank)
}

func raised(rank int, exception string) string { return fmt.Sprintf("[rank%d]: %s", rank, exception) }

const (
	hostA, hostB = "10.0.0.1", "10.0.0.2"
	backendError = "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a " +
		"network error, NCCL version 2.28.9"
)

// TestOwnEnds: a process that ended by itself is the cause of what its peers report, and a process that ended because
// it had lost its peers is not.
func TestOwnEnds(t *testing.T) {
	const key, general = "KeyError: 'x'", "RuntimeError: training failed"
	refused := warned(2, "socketPollConnect: connect to 10.0.0.1<39275> returned Connection refused, exceeded error "+
		"retry count after 34 attempts")
	reset := warned(2, "socketProgress: Call to recv from 10.0.0.1<39275> failed : Connection reset by peer")
	for name, c := range map[string]struct {
		lines []string
		cause story.CauseID
		says  string
	}{
		"retry, exception before": {[]string{raised(0, key), completed(2, 12, hostA)}, story.PeerDied,
			"rank 0 on gpu-a ended with KeyError"},
		"retry, exception after": {[]string{completed(2, 12, hostA), raised(2, backendError), raised(0, key)},
			story.PeerDied,
			"rank 0 on gpu-a ended with KeyError"},
		"remote access": {[]string{raised(2, "AssertionError"), completed(0, 10, hostB)}, story.PeerDied,
			"rank 2 on gpu-b ended with AssertionError"},
		"flushed": {[]string{raised(2, key), completed(0, 5, hostB)}, story.PeerDied, "rank 2 on gpu-b"},
		"refused": {[]string{raised(0, key), refused}, story.PeerDied,
			"rank 0 on gpu-a ended with KeyError"},
		"refused, said after": {[]string{refused, raised(0, general)}, story.PeerDied,
			"rank 0 on gpu-a ended with Runtime"},
		"reset": {[]string{raised(0, key), reset}, story.PeerDied, "rank 0 on gpu-a ended with KeyError"},
		"closed, exit after": {[]string{warned(2, "socketProgress: Connection closed by remote peer gpu-a<1>"),
			agentSaw(1, 40)}, story.PeerDied, "rank 0 on gpu-a ended with exit code 1"},
		"remote error": {[]string{raised(2, key), raised(0, backendError)}, story.PeerDied,
			"rank 2 on gpu-b ended with Key"},
		"signal before": {[]string{"[gpu-b:42:0:42] Caught signal 11 (Segmentation fault: address not mapped)",
			completed(0, 12, hostB)}, story.PeerDied, "rank 2 on gpu-b crashed"},
		"signal after": {[]string{completed(0, 12, hostB), "mpirun noticed that process rank 2 with PID 42 on node " +
			"gpu-b.example.com exited on signal 11 (Segmentation fault)."}, story.PeerDied, "rank 2 on gpu-b crashed"},
		"killed": {[]string{agentSaw(-9, 42), completed(0, 12, hostB)}, story.PeerDied, "rank 2 on gpu-b was killed"},
		"killed alone": {[]string{completed(0, 12, hostB), "srun: error: gpu-b: task 2: Killed"}, story.PeerDied,
			"rank 2 on gpu-b was killed"},
		"no rank in front": {[]string{"Traceback (most recent call last):", key, completed(2, 12, hostA)},
			story.PeerDied,
			"a process ended with KeyError"},

		"killed by its launcher": {[]string{completed(0, 12, hostB),
			"srun: error: gpu-a: task 0: Exited with exit code 1", "srun: error: gpu-b: task 2: Killed"},
			story.RouteOrARP,
			"rank 0 on gpu-a"},
		"exit of the peer after": {[]string{completed(2, 12, hostA), agentSaw(1, 40)}, story.RouteOrARP,
			"rank 2 on gpu-b"},
		"general exception after": {[]string{completed(2, 12, hostA), raised(0, general)}, story.RouteOrARP,
			"rank 2 on gpu-b"},
		"both ends": {[]string{completed(0, 12, hostB), completed(2, 12, hostA), raised(0, backendError),
			raised(0, general)}, story.RouteOrARP, "rank 0 on gpu-a"},
		"both hosts": {[]string{completed(2, 12, hostA), completed(0, 12, hostB), raised(1, key)}, story.RouteOrARP,
			"rank 2 on gpu-b"},
		"its own echo": {[]string{completed(2, 12, hostA), raised(2, key)}, story.RouteOrARP, "rank 2 on gpu-b"},
		"a lost connection": {[]string{raised(0, "ConnectionResetError: [Errno 104]"), completed(2, 12, hostA)},
			story.RouteOrARP, "rank 2 on gpu-b"},
		"another host": {[]string{raised(3, key), completed(2, 12, hostA)}, story.RouteOrARP, "rank 2 on gpu-b"},
		"memory of its own": {[]string{raised(0, key), completed(2, 4, hostA)}, story.ACSIOMMU,
			"rank 2 on gpu-b"},
		"a port": {[]string{raised(0, key), warned(2, "NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)"),
			completed(2, 12, hostA)}, story.PortError, "rank 2 on gpu-b"},
		"no route": {[]string{raised(0, key), warned(2, "socketStartConnect: Connect to 10.0.0.1<39275> failed : No "+
			"route to host")}, story.NoRouteToHost, "rank 2 on gpu-b"},
		"an attempt before": {append(append([]string{key}, twoByTwo()...), completed(2, 12, hostA)), story.RouteOrARP,
			"rank 2 on gpu-b"},
	} {
		run := ofLines("job.log", append(twoByTwo(), c.lines...)).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
			continue
		}
		if c.cause == story.PeerDied && run.Causes[0].Network {
			t.Errorf("%s: the network is blamed", name)
		}
		for _, v := range run.Victims {
			if strings.Contains(v.What, "KeyError") || strings.Contains(v.What, "AssertionError") {
				t.Errorf("%s: a mistake of the program is a victim: %+v", name, v)
			}
		}
	}
}

// TestEndedByTheScheduler: a job that its scheduler ended loses its connections, and the network is not at fault.
func TestEndedByTheScheduler(t *testing.T) {
	slurm := func(why string) string {
		return "slurmstepd: error: *** JOB 1 ON gpu-a CANCELLED AT 2026-03-02T10:00:00" + why + " ***"
	}
	closed := warned(0, "socketProgress: Connection closed by remote peer gpu-b<1>")
	retry := completed(0, 12, hostB)
	const evicted = "Message:      The node was low on resource: ephemeral-storage."
	for name, c := range map[string]struct {
		lines []string
		cause story.CauseID
		says  string
	}{
		"preempted, closed": {[]string{slurm(" DUE TO PREEMPTION"), closed}, story.PeerDied,
			"cancelled by the scheduler"},
		"preempted, retry": {[]string{slurm(" DUE TO PREEMPTION"), retry}, story.PeerDied,
			"cancelled by the scheduler"},
		"evicted":            {[]string{evicted, retry}, story.PeerDied, "a pod was evicted, before any process"},
		"a node":             {[]string{slurm(" DUE TO NODE FAILURE"), retry}, story.PeerDied, "a node failed, before"},
		"time limit, closed": {[]string{slurm(" DUE TO TIME LIMIT"), closed}, story.HangTimeout, "at its time limit"},
		"time limit, retry":  {[]string{slurm(" DUE TO TIME LIMIT"), retry}, story.HangTimeout, "at its time limit"},
		"aborted": {[]string{"MPI_ABORT was invoked on rank 2 in communicator X", retry}, story.PeerDied,
			"rank 2 on gpu-b called"},
		"cancelled after":        {[]string{retry, slurm("")}, story.RouteOrARP, "rank 0 on gpu-a"},
		"cancelled after closed": {[]string{closed, slurm("")}, story.PeerDied, "gpu-b ended first, and its reason"},
		"cancelled after an exception": {[]string{raised(2, "KeyError: 'x'"), slurm(""), retry}, story.PeerDied,
			"rank 2 on gpu-b ended with KeyError"},
	} {
		run := ofLines("job.log", append(twoByTwo(), c.lines...)).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
		}
	}
}

// TestKilledOnDemand: a process that its launcher or scheduler killed shows no lack of memory.
func TestKilledOnDemand(t *testing.T) {
	const (
		killed    = "srun: error: gpu-a: task 0: Killed"
		cancelled = "slurmstepd: error: *** STEP 1.0 ON gpu-a CANCELLED AT 2026-03-02T10:00:00 ***"
	)
	for name, c := range map[string]struct {
		lines []string
		cause story.CauseID
	}{
		"alone":             {[]string{killed}, story.PeerDied},
		"before the others": {[]string{killed, cancelled, killed}, story.PeerDied},
		"cancelled":         {[]string{cancelled, killed}, story.UnknownCause},
		"Ctrl-C":            {[]string{"srun: forcing job termination", killed}, story.UnknownCause},
		"memory": {[]string{"slurmstepd: error: Step 1.0 exceeded memory limit (67767 > 62914), being killed", cancelled,
			killed}, story.PeerDied},
	} {
		run := ofLines("slurm.out", c.lines).Last()
		if len(run.Causes) == 0 || run.Outcome != story.OutcomeFail || run.Causes[0].ID != c.cause {
			t.Errorf("%s: want %s, got %s", name, c.cause, run.Summary)
		}
	}
}

// TestTimeLimit: lines that count steps before a time limit leave open whether the job hung. Without any line of NCCL,
// nothing tells.
func TestTimeLimit(t *testing.T) {
	const limit = "slurmstepd: error: *** JOB 1 ON gpu-a CANCELLED AT 2026-03-02T10:00:00 DUE TO TIME LIMIT ***"
	for _, c := range []struct {
		before     []string
		cause      story.CauseID
		confidence story.Confidence
	}{
		{[]string{"loading the dataset", limit}, story.UnknownCause, story.Possible},
		{append(twoByTwo(), limit), story.HangTimeout, story.Likely},
		{[]string{"iteration 1/9 | lm loss: 3.1", "iteration 2/9 | lm loss: 3.0", "iteration 3/9 | lm loss: 2.9", limit},
			story.HangTimeout, story.Possible},
	} {
		run := ofLines("slurm.out", c.before).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || run.Causes[0].Confidence != c.confidence {
			t.Errorf("%q: want %s, got %+v", c.before, c.confidence, run.Causes)
		}
	}
}

// TestOwnEndsOfUnknownHosts: without the lines that tie addresses to hosts, an exception that came before still counts.
func TestOwnEndsOfUnknownHosts(t *testing.T) {
	timeout := func(host string) string {
		return raised(1, "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while "+
			"trying to connect to ("+host+", 29500).")
	}
	const missing = "ImportError: cannot import name 'foo' from 'bar'"
	for name, c := range map[string]struct {
		names []string
		files [][]string
		cause story.CauseID
		says  string
	}{
		"level WARN": {[]string{"job.log"}, [][]string{{raised(0, "KeyError: 'x'"), completed(2, 12, hostA)}},
			story.PeerDied,
			"rank 0 ended with KeyError"},
		"level WARN, after": {[]string{"job.log"}, [][]string{{completed(2, 12, hostA), raised(0, "KeyError: 'x'")}},
			story.RouteOrARP, ""},
		"rendezvous": {[]string{"job.log"}, [][]string{{timeout("train-0"), raised(0, missing)}}, story.PeerDied,
			"rank 0 ended with ImportError"},
		"rendezvous, a file for each pod": {[]string{"train-0.log", "train-1.log"}, [][]string{{missing},
			{timeout("train-0")}}, story.PeerDied, "ended with ImportError"},
		"rendezvous, kubectl's prefix": {[]string{"job.log"}, [][]string{{"[pod/train-1/main] " + timeout("train-0"),
			"[pod/train-0/main] " + missing}}, story.PeerDied, "ended with ImportError"},
		"rendezvous, the pod that waits": {[]string{"train-1.log"}, [][]string{{timeout("train-0"),
			raised(1, missing)}}, story.PeerUnreachable, ""},
		"rendezvous, reaction": {[]string{"train-0.log", "train-1.log"}, [][]string{{"RuntimeError: worker died"},
			{timeout("train-2")}}, story.PeerUnreachable, ""},
	} {
		var p nccllog.Parser
		for i, lines := range c.files {
			for n, l := range lines {
				p.Line(event.Place{File: c.names[i], Line: n + 1}, []byte(l))
			}
			p.End(event.Place{File: c.names[i], Line: len(lines)}, []byte(strings.Join(lines, "\n")))
		}
		run := Log(p.Log()).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
		}
	}
}

// TestEndsBeforeTheWatchdog: the ranks of which the watchdog speaks wait for a process that ended, if one did.
func TestEndsBeforeTheWatchdog(t *testing.T) {
	const file = "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard'"
	others := []string{waited(0), waited(1), waited(3)}
	lateKill := strings.Replace(agentSaw(-9, 42), "20:17", "20:37", 1)
	lateEnd := strings.Replace(agentSaw(-6, 40), "20:17", "20:37", 1)
	training := slices.Repeat([]string{"step 7 | loss 0.31"}, 100)
	for name, c := range map[string]struct {
		lines   []string
		cause   story.CauseID
		says    string
		victims int
	}{
		"exception": {append([]string{"[rank2]: Traceback (most recent call last):", raised(2, file)},
			append(others, agentSaw(1, 42))...), story.PeerDied,
			"rank 2 on gpu-b ended with FileNotFoundError, an exception of the program; the others waited for it", 3},
		"long before": {slices.Concat([]string{raised(2, file)}, training, others), story.PeerDied,
			"FileNotFoundError", 3},
		"no rank": {append([]string{file}, others...), story.PeerDied, "a process ended with FileNotFoundError", 3},
		"killed":  {append([]string{agentSaw(-9, 42)}, others...), story.PeerDied, "rank 2 on gpu-b was killed", 3},
		"exit": {append([]string{agentSaw(1, 42)}, others...), story.PeerDied,
			"rank 2 on gpu-b ended with exit", 3},
		"time limit": {[]string{raised(2, file), "slurmstepd: error: *** JOB 1 ON gpu-a CANCELLED AT " +
			"2026-03-02T10:00:00 DUE TO TIME LIMIT ***"}, story.PeerDied,
			"rank 2 on gpu-b ended with FileNotFoundError", 0},

		"all wait": {append([]string{file, waited(2)}, others...), story.HangTimeout,
			"rank 2 on gpu-b waited", 0},
		"it waits, too": {append([]string{raised(0, file)}, others...), story.HangTimeout, "rank 2 on gpu-b did",
			0},
		"killed after":        {append(others, lateKill), story.HangTimeout, "", 0},
		"ended by its agent":  {append(others, lateEnd), story.HangTimeout, "", 0},
		"raised after":        {append(others, raised(2, "RuntimeError: boom")), story.HangTimeout, "", 0},
		"logged, and went on": {slices.Concat([]string{file}, training, others), story.HangTimeout, "", 0},
	} {
		run := ofLines("job.log", append(twoByTwo(), c.lines...)).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
		}
		if c.victims > 0 && len(run.Victims) != c.victims {
			t.Errorf("%s: victims %+v", name, run.Victims)
		}
	}
}

// TestMistakesElsewhere: a mistake of a program that may have come first is listed, behind what more lines speak for.
func TestMistakesElsewhere(t *testing.T) {
	for name, lines := range map[string][]string{
		"a third host":       {raised(3, "KeyError: 'x'"), completed(2, 12, hostA)},
		"after the watchdog": {waited(0), raised(2, "KeyError: 'x'")},
	} {
		run := ofLines("job.log", append(twoByTwo(), lines...)).Last()
		if !slices.ContainsFunc(run.Causes[1:], func(c story.Cause) bool {
			return c.ID == story.PeerDied && c.Confidence == story.Possible && strings.Contains(c.Summary, "KeyError")
		}) {
			t.Errorf("%s: %+v", name, run.Causes)
		}
	}
}

// TestFileForEachRank: of a folder with one file for each rank, the file that ends in an exception is that of the rank
// that the others wait for.
func TestFileForEachRank(t *testing.T) {
	for last, want := range map[string]story.CauseID{
		"KeyError: 'labels'": story.PeerDied,
		"RuntimeError: The size of tensor a (3) must match the size of tensor b (4)": story.PeerDied,
		"[rank2]: KeyError: 'labels'":                                story.PeerDied,
		"RuntimeError: NCCL communicator timed out":                  story.HangTimeout,
		"ConnectionResetError: [Errno 104] Connection reset by peer": story.HangTimeout,
		"KeyboardInterrupt":                                          story.HangTimeout,
	} {
		var p nccllog.Parser
		for rank := range 4 {
			name := fmt.Sprintf("rank%d.log", rank)
			lines := append(slices.Clone(twoByTwo()[5*rank:5*rank+5]), waited(rank))
			if rank == 2 {
				lines[5] = last
			}
			for n, l := range lines {
				p.Line(event.Place{File: name, Line: n + 1}, []byte(l))
			}
			p.End(event.Place{File: name, Line: len(lines)}, []byte(strings.Join(lines, "\n")))
		}
		run := Log(p.Log()).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != want ||
			want == story.PeerDied && !strings.Contains(run.Causes[0].Summary, "rank 2 on gpu-b ended with") {
			t.Errorf("%s: want %s, got %s", last, want, run.Summary)
		}
	}
}

// TestVagueWatchdog: before it ends a process PyTorch's watchdog also says of errors that operations "have failed or
// timed out", and its frames are in the traces of both.
func TestVagueWatchdog(t *testing.T) {
	const (
		vague  = "[E ProcessGroupNCCL.cpp:341] Some NCCL operations have failed or timed out."
		frame  = "frame #4: c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x10c (0x7f9c in libtorch_cuda.so)"
		failed = "  what():  NCCL error: unhandled system error, NCCL version 2.10.3"
		caught = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE)"
	)
	for name, c := range map[string]struct {
		lines      []string
		cause      story.CauseID
		confidence story.Confidence
	}{
		"alone":                 {[]string{vague}, story.HangTimeout, story.Possible},
		"a frame":               {[]string{frame}, story.HangTimeout, story.Possible},
		"with an error of NCCL": {[]string{vague, failed}, story.UnknownCause, story.Possible},
		"with the timeout":      {[]string{caught, vague, failed}, story.HangTimeout, story.Likely},
	} {
		t.Run(name, func(t *testing.T) {
			run := ofLines("train.log", c.lines).Last()
			if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != c.cause ||
				run.Causes[0].Confidence != c.confidence {
				t.Errorf("want %s (%s), got %s, %+v", c.cause, c.confidence, run.Outcome, run.Causes)
			}
		})
	}
}
