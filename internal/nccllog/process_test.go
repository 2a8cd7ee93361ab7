package nccllog

import (
	"fmt"
	"testing"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// TestRankOfAProcess: a line about the end of a process has the rank that NCCL's lines tie to the process, where only
// one rank can be meant.
func TestRankOfAProcess(t *testing.T) {
	nccl := func(host string, pid, device, rank int) string {
		return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO comm 0x5 rank %d nRanks 4 nNodes 2", host, pid, pid+9, device, rank)
	}
	apart := map[string][]string{"job.log": {nccl("gpu-a", 40, 0, 0), nccl("gpu-a", 41, 1, 1), nccl("gpu-b", 42, 0, 2),
		nccl("gpu-b", 43, 1, 3)}}
	same := map[string][]string{"a.log": {nccl("gpu-a", 40, 0, 0), nccl("gpu-a", 41, 1, 1)},
		"b.log": {nccl("gpu-b", 40, 0, 2), nccl("gpu-b", 41, 1, 3)}}
	merged := map[string][]string{"job.log": append(append([]string{}, same["a.log"]...), same["b.log"]...)}
	threads := map[string][]string{"job.log": {nccl("gpu-a", 40, 0, 0), nccl("gpu-a", 40, 1, 1),
		nccl("gpu-b", 40, 0, 2)}}
	single := map[string][]string{"a.log": {nccl("gpu-a", 40, 0, 0)}, "b.log": {nccl("gpu-b", 40, 0, 2)}}
	pods := map[string][]string{"job.log": {"[pod/a/x] " + nccl("gpu-a", 40, 0, 0),
		"[pod/a/x] " + nccl("gpu-a", 41, 1, 1), "[pod/b/x] " + nccl("gpu-b", 42, 0, 2),
		"[pod/b/x] " + nccl("gpu-b", 43, 1, 3)}}
	onePod := map[string][]string{"job.log": {"[pod/a/x] " + nccl("gpu-a", 40, 0, 0), "[pod/b/x] " +
		nccl("gpu-b", 42, 0, 2)}}
	for _, c := range []struct {
		files  map[string][]string
		file   string
		line   string
		number int
		host   string // if no rank is known
	}{
		{apart, "job.log", "failed (exitcode: -11) local_rank: 0 (pid: 42) of binary: /usr/bin/python", 2, ""},
		{apart, "job.log", "  exitcode  : 1 (pid: 43)", 3, ""},
		{apart, "job.log", "  traceback : Signal 9 (SIGKILL) received by PID 43", 3, ""},
		{apart, "job.log", "[ 1234.5] Out of memory: Killed process 42 (python) total-vm:1234kB", 2, ""},
		{apart, "job.log", "[ 1234.5] oom-kill:constraint=CONSTRAINT_MEMCG,task=python,pid=42,uid=0", 2, ""},
		{apart, "job.log", "[gpu-b:42:0:42] Caught signal 11 (Segmentation fault: address not mapped)", 2, ""},
		{apart, "job.log", "[gpu-b.example.com:43] Signal: Segmentation fault (11)", 3, ""},
		{apart, "job.log", "[gpu-c:42:0:42] Caught signal 11 (Segmentation fault: address not mapped)", -1, "gpu-c"},
		{apart, "job.log", "train.sh: line 12: 42 Segmentation fault      (core dumped) python train.py", 2, ""},
		{apart, "job.log", "[ 99.5] NVRM: Xid (PCI:0000:18:00): 79, pid=41, GPU has fallen off the bus.", 1, ""},
		{apart, "job.log", "failed (exitcode: 1) local_rank: 0 (pid: 99) of binary: /usr/bin/python", -1, ""},
		{apart, "job.log", "srun: error: gpu-b: tasks 2-3: Killed", -1, "gpu-b"},
		{apart, "job.log", "Nov 20 23:56:00 gpu-b kernel: Out of memory: Killed process 9 (python)", -1, "gpu-b"},
		{same, "b.log", "failed (exitcode: -9) local_rank: 0 (pid: 40) of binary: /usr/bin/python", 2, ""},
		{merged, "job.log", "failed (exitcode: -9) local_rank: 0 (pid: 40) of binary: /usr/bin/python", -1, ""},
		{merged, "job.log", "[gpu-b:41:0:41] Caught signal 11 (Segmentation fault)", 3, ""},
		{threads, "job.log", "[gpu-a:40:0:40] Caught signal 11 (Segmentation fault)", -1, "gpu-a"},
		{same, "b.log", "KeyError: 'labels'", -1, "gpu-b"},
		{single, "b.log", "KeyError: 'labels'", 2, ""},
		{apart, "job.log", "KeyError: 'labels'", -1, ""},
		{pods, "job.log", "[pod/b/x] KeyError: 'labels'", -1, "gpu-b"},
		{pods, "job.log", "[pod/b/x] [rank3]: KeyError: 'labels'", 3, ""},
		{pods, "job.log", "[default1]:[rank3]: KeyError: 'labels'", 3, ""},
		{onePod, "job.log", "[pod/b/x] KeyError: 'labels'", 2, ""},
		{single, "b.log", "Primary job  terminated normally, but 1 process returned", -1, ""},
	} {
		var p Parser
		for _, file := range []string{"job.log", "a.log", "b.log"} {
			lines := c.files[file]
			if file == c.file {
				lines = append(append([]string{}, lines...), c.line)
			}
			for i, line := range lines {
				p.Line(event.Place{File: file, Line: i + 1}, []byte(line))
			}
		}
		run := p.Log().Runs[0]
		if len(run.Events) != 1 {
			t.Errorf("%s: %d events", c.line, len(run.Events))
			continue
		}
		e := run.Events[0]
		number, host := -1, e.Host
		if e.Rank >= 0 {
			number, host = run.Ranks[e.Rank].Number, ""
		}
		if number != c.number || host != c.host {
			t.Errorf("%s in %s: rank %d, host %q; want %d, %q", c.line, c.file, number, host, c.number, c.host)
		}
	}
}
