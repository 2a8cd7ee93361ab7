package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestBlame: a process's own failure is not blamed on another one, nor the other way round, in any order of the lines.
// The cause names the rank and host of its line.
func TestBlame(t *testing.T) {
	var head []string
	for rank, host := range []string{"gpu-a", "gpu-b", "gpu-c"} {
		at := fmt.Sprintf("%s:%d:9 [0] NCCL INFO ", host, 40+rank)
		head = append(head, fmt.Sprintf("%sBootstrap: Using eth0:10.0.0.%d<0>", at, rank+1),
			at+"NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", at+"Using network IB",
			fmt.Sprintf("%scomm 0x5 rank %d nRanks 3 nNodes 3", at, rank),
			fmt.Sprintf("%sncclCommInitRank comm 0x5 rank %d nranks 3 - Init COMPLETE", at, rank))
	}
	const (
		closed   = "gpu-a:40:50 [0] x.cc:1 NCCL WARN socketProgress: Connection closed by remote peer gpu-b<53012>"
		own      = "[rank1]: ValueError: batch size must be positive"
		victims  = "[rank0]: RuntimeError: boom"
		other    = "[rank2]: ValueError: no such file"
		register = "gpu-b:41:50 [0] x.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot " +
			"allocate memory"
		refused = "gpu-a:40:50 [0] x.cc:1 NCCL WARN socketStartConnect: Connect to 10.0.0.2<39275> failed : " +
			"Connection refused"
		memory = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB."
		retry  = "gpu-a:40:50 [0] x.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with status=12 " +
			"opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.1.1 remoteGids::ffff:10.1.1.2 hca mlx5_0"
		port = ":50 [0] x.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)"
	)
	for name, c := range map[string]struct {
		lines []string
		cause story.CauseID
		says  string
	}{
		"an exception of the peer": {[]string{own, closed}, story.PeerDied,
			"rank 1 on gpu-b ended with ValueError"},
		"an exception of its victim":   {[]string{closed, victims}, story.PeerDied, "gpu-b ended first, and its"},
		"an exception of a third rank": {[]string{closed, other}, story.PeerDied, "gpu-b ended first, and its"},
		"the peer's registration":      {[]string{closed, register}, story.Memlock, "rank 1 on gpu-b: ibv_reg_mr"},
		"the peer's memory":            {[]string{refused, memory}, story.GPUOOM, "rank 1 on gpu-b"},
		"the peer's port":              {[]string{retry, "gpu-b:41" + port}, story.PortError, "mlx5_0:1 of gpu-b lost"},
		"a third host's port":          {[]string{retry, "gpu-c:42" + port}, story.RouteOrARP, "rank 0 on gpu-a"},
	} {
		for range 2 {
			run := ofLines("job.log", append(append([]string{}, head...), c.lines...)).Last()
			if len(run.Causes) == 0 || run.Causes[0].ID != c.cause || !strings.Contains(run.Causes[0].Summary, c.says) {
				t.Errorf("%s: want %s %q, got %s", name, c.cause, c.says, run.Summary)
			}
			c.lines[0], c.lines[1] = c.lines[1], c.lines[0]
		}
	}
}

// TestNamesTheProcess: the cause names the rank and the host of a process of which a launcher, the kernel or a library
// prints only the number.
func TestNamesTheProcess(t *testing.T) {
	head := []string{"gpu-a:40:9 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 2",
		"gpu-b:41:9 [0] NCCL INFO comm 0x5 rank 1 nRanks 2 nNodes 2"}
	for line, says := range map[string]string{
		"failed (exitcode: -11) local_rank: 0 (pid: 41) of binary: /usr/bin/python": "rank 1 on gpu-b crashed",
		"[12.5] Out of memory: Killed process 41 (python) total-vm:1234kB":          "rank 1 on gpu-b was killed",
		"[gpu-a:40:0:40] Caught signal 11 (Segmentation fault: address not mapped)": "rank 0 on gpu-a crashed",
		"train.sh: line 12: 41 Killed                  python train.py":             "rank 1 on gpu-b was killed",
		"failed (exitcode: -11) local_rank: 0 (pid: 77) of binary: /usr/bin/python": "a process crashed",
	} {
		run := ofLines("job.log", append(append([]string{}, head...), line)).Last()
		if len(run.Causes) == 0 || run.Causes[0].ID != story.PeerDied || !strings.Contains(run.Causes[0].Summary,
			says) {
			t.Errorf("%s: want %q, got %s", line, says, run.Summary)
		}
	}
}

// TestVerbsOfOthers asserts that verbs in another program say nothing of the network that NCCL uses.
func TestVerbsOfOthers(t *testing.T) {
	for log, want := range map[string]story.Kind{
		"[Handshake] Failed to modify QP to RTR: Connection timed out [110]":                         story.UnknownNetwork,
		"ib_device.c:1 UCX  ERROR ibv_create_ah(dgid=fe80::1) for UD mlx5 connect failed: Timed out": story.UnknownNetwork,
		"terminate called: ibv_create_qp failed with error Cannot allocate memory":                   story.IB,
	} {
		if got := ofLines("train.log", []string{log}).Last().Network.Kind; got != want {
			t.Errorf("%s: %s, want %s", log, got, want)
		}
	}
}
