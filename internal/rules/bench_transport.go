package rules

import (
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/nccllog"
)

// Transport writes into an all-reduce which network carried it, by NCCL's own log and by the counters of the RDMA ports. One
// that is not proven to have used the network of its mode has failed, whatever its numbers are: TCP never passes as RDMA.
func Transport(run bench.AllReduceRun, v nccllog.Verdict) bench.AllReduceRun {
	run.Network = v.String()
	if run.Failed != "" || run.Skipped != "" {
		return run
	}
	counted := run.PortBytes >= 0 && len(run.Sizes) > 0
	moved := counted && run.PortBytes >= run.Moved()
	switch {
	case run.Mode == "tcp" && v.Network == nccllog.TCP && !moved:
	case run.Mode == "tcp" && moved:
		run.Failed = fmt.Sprintf("it was to use TCP, and the RDMA ports of every node sent %s meanwhile", bytesText(run.PortBytes))
	case run.Mode == "tcp":
		run.Failed = "it was to use TCP, and NCCL's log does not show that it did: " + v.String()
	case v.Network == nccllog.RDMA && counted && !moved:
		run.Failed = fmt.Sprintf("NCCL's log shows RDMA, and the RDMA ports of a node sent %s of at least %s", bytesText(run.PortBytes), bytesText(run.Moved()))
	case v.Network == nccllog.RDMA:
	case v.Network == nccllog.TCP, v.Network == nccllog.Mixed:
		run.Failed = "it was to use RDMA, and used " + v.String()
	case v.Network == nccllog.NVLink, v.Network == nccllog.OneNode:
		run.Failed = "no NIC was measured: " + v.String()
	case moved: // a plugin whose name tells nothing, or a log that was not to be had
		run.Proof = fmt.Sprintf("port_xmit_data: the RDMA ports of every node sent %s or more", bytesText(run.PortBytes))
	default:
		run.Failed = "that it used RDMA is not proven, neither by NCCL's log nor by the ports' counters: " + v.String()
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
