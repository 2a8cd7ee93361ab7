package explain

import (
	"strings"
	"testing"
)

// TestTopologyWarning: NCCL that cannot use a topology ends, unless the run goes on after the warning.
func TestTopologyWarning(t *testing.T) {
	const warning = "gpu-0:41:9 [0] graph/xml.h:70 NCCL WARN Attribute arch of node cpu not found\n"
	const trail = "gpu-0:41:9 [0] NCCL INFO graph/topo.cc:503 -> 3\ngpu-0:41:9 [0] NCCL INFO init.cc:1350 -> 3\n"
	const complete = "gpu-0:41:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"
	const result = "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1, internal error, NCCL version 2.20.5\n"
	const memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
	rdma := strings.ReplaceAll(oneRun("IB"), "%[1]d", "41")
	steps := strings.Repeat("step 7 | loss 0.31\n", 100)
	const goes, ends = "RoCE true no degraded topology-file", "RoCE true no fail topology-file"
	for name, c := range map[string]struct{ log, want string }{
		"the run goes on":            {rdma + complete + warning + steps, goes},
		"a communicator comes after": {rdma + warning + complete, goes},
		"the program succeeds":       {rdma + warning + tableEnd, goes},
		"it ends":                    {rdma + warning + trail, ends},
		"it ends, with much text":    {rdma + warning + trail + steps, ends},
		"an error follows":           {rdma + warning + "Traceback (most recent call last):\n" + result, ends},
		"only the warning":           {rdma + warning, ends},
		"another failure later":      {rdma + warning + complete + steps + memory, "RoCE true no fail gpu-oom"},
	} {
		if got := verdict(ofLines("train.log", strings.Split(c.log, "\n"))); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
}
