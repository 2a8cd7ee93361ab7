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
	counted := run.PortBytes >= 0 && len(run.Sizes) > 0
	moved := counted && run.PortBytes >= run.Moved()
	switch used, logged := r.Network.Transport, r.Traffic.Channels > 0; {
	case run.Mode == "tcp":
		run.Failed = tcpFault(run, used == story.TCP && logged, moved)
	case used == story.RDMA && logged:
		if counted && !moved {
			run.Failed = fmt.Sprintf("NCCL's log shows RDMA, but the RDMA ports of a node sent only %s of at least %s",
				bytesText(run.PortBytes), bytesText(run.Moved()))
		}
	case used == story.TCP, used == story.MixedTransport:
		run.Failed = "the run was set to RDMA, but used " + run.Network
	case used == story.NVLink, used == story.NoTransport:
		run.Failed = "no NIC was measured: " + run.Network
	case moved: // the network of a plugin, or a log that shows no channels
		run.Proof = "port_xmit_data: the RDMA ports of every node sent " + bytesText(run.PortBytes) + " or more"
	default:
		run.Failed = "neither NCCL's log nor the port counters prove that the run used RDMA: " + run.Network
	}
	return run
}

// tcpFault returns why a run over TCP does not count; "" if it does.
func tcpFault(run bench.AllReduceRun, logged, moved bool) string {
	switch {
	case moved:
		return fmt.Sprintf("the run was set to TCP, but the RDMA ports of every node sent %s meanwhile",
			bytesText(run.PortBytes))
	case logged:
		return ""
	}
	return "the run was set to TCP, but NCCL's log does not show that it used TCP: " + run.Network
}

func bytesText(n int64) string {
	const gib, mib = 1 << 30, 1 << 20
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mib)
}
