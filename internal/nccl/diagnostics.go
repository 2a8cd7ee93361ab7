package nccl

import "fmt"

// hasDiagnostics is the version since which NCCL examines itself while it sets up a communicator (src/diagnostics).
var hasDiagnostics = version{2, 31, 0}

// askForDiagnostics asks NCCL to examine the nodes, and to measure each pair of neighbours, before it connects them.
// Older versions ignore the variables.
func askForDiagnostics(c *computation) {
	if !c.policy.Diagnostics {
		return
	}
	names := []string{"NCCL_RUN_RAS_DIAGNOSTICS", "NCCL_RUN_DIAGNOSTICS"}
	if n := len(c.versions); n > 0 && c.versions[n-1].before(hasDiagnostics) {
		for _, name := range names {
			c.leave(name, fmt.Sprintf("NCCL %s of this image has no diagnostics; 2.31 and later do", c.versions[n-1]))
		}
		return
	}
	c.set(names[0], "1", Decided, "rank 0 prints what differs between the nodes")
	c.set(names[1], "1", Decided, "all ranks measure their way to the next one, with the image's ib_write_bw")
}
