package bench

import (
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/story"
)

// JudgeTransport records which network an all-reduce used, by NCCL's own log and by the counters of the RDMA ports. A
// run that did not provably use the network of its mode has failed, whatever its numbers: TCP never passes as RDMA.
func JudgeTransport(run bench.AllReduceRun, r story.Run) bench.AllReduceRun {
	run.Network = r.NetworkLine()
	if run.Failed != "" || run.Skipped != "" {
		return run
	}
	used, channels := r.Network.Transport, r.Traffic.Channels > 0
	counted := run.PortBytes >= 0 && len(run.Sizes) > 0
	moved := counted && run.PortBytes >= run.Moved()
	if run.Mode == "tcp" {
		switch {
		case moved:
			run.Failed = fmt.Sprintf("the run was set to TCP, but the RDMA ports of every node sent %s meanwhile",
				bytesText(run.PortBytes))
		case used != story.TCP || !channels:
			run.Failed = "the run was set to TCP, but NCCL's log does not show that it used TCP: " + r.NetworkLine()
		}
		return run
	}
	switch {
	case used == story.RDMA && channels && counted && !moved:
		run.Failed = fmt.Sprintf("NCCL's log shows RDMA, but the RDMA ports of a node sent only %s of at least %s",
			bytesText(run.PortBytes), bytesText(run.Moved()))
	case used == story.RDMA && channels:
	case used == story.TCP, used == story.MixedTransport:
		run.Failed = "the run was set to RDMA, but used " + r.NetworkLine()
	case used == story.NVLink, used == story.NoTransport:
		run.Failed = "no NIC was measured: " + r.NetworkLine()
	case moved: // the network of a plugin, or a log that shows no channels
		run.Proof = "port_xmit_data: the RDMA ports of every node sent " + bytesText(run.PortBytes) + " or more"
	default:
		run.Failed = "neither NCCL's log nor the port counters prove that the run used RDMA: " + r.NetworkLine()
	}
	return run
}

func bytesText(n int64) string {
	const gib, mib = 1 << 30, 1 << 20
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mib)
}
