package benchrules

import (
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// JudgeTransport records which network an all-reduce used, by NCCL's own log and by the counters of the RDMA ports, or
// else by kernel: what proves RDMA on all pods, from their queue pairs; "" if nothing does. A run that did not provably
// use the network of its mode has failed, whatever its numbers: TCP never passes as RDMA.
func JudgeTransport(run bench.AllReduceRun, r story.Run, kernel string) bench.AllReduceRun {
	run.Network = r.NetworkLine()
	if run.Failed != "" || run.Skipped != "" {
		return run
	}
	used, logged := r.Network.Transport, r.Traffic.Channels > 0
	if used == story.NVLink && run.Mode != "tcp" { // as it should be, and no measure of a NIC
		run.Skipped = "NVLink joins these nodes (MNNVL), so no NIC was measured; NCCL_MNNVL_ENABLE=0 measures the rails"
		return run
	}
	if run.Mode == "tcp" {
		run.Failed = tcpFault(run, used == story.TCP && logged)
	} else {
		run.Proof, run.Failed = rdmaProof(run, used, logged, kernel)
	}
	return run
}

// counted reports whether the ports of all nodes were read, and whether they sent the bytes of the run.
func counted(run bench.AllReduceRun) (read, moved bool) {
	read = run.PortBytes >= 0 && len(run.Sizes) > 0
	return read, read && run.PortBytes >= run.Moved()
}

// rdmaProof returns what proves RDMA, or why the run does not count. logged says that NCCL's log shows channels.
func rdmaProof(run bench.AllReduceRun, used story.Transport, logged bool, kernel string) (proof, failed string) {
	read, moved := counted(run)
	switch used {
	case story.TCP, story.MixedTransport:
		return "", "the run was set to RDMA, but used " + run.Network
	case story.NoTransport, story.NVLink:
		return "", "no NIC was measured: " + run.Network
	case story.RDMA:
		if logged && read && !moved {
			return "", fmt.Sprintf("NCCL's log shows RDMA, but the RDMA ports of a node sent only %s of at least %s",
				words.Bytes(run.PortBytes), words.Bytes(run.Moved()))
		}
		if logged {
			return run.Proof, ""
		}
	case story.Plugin, story.Unconnected, story.UnknownTransport: // its name, or the log, does not tell
	}
	switch {
	case moved:
		return "port_xmit_data: the RDMA ports of every node sent " + words.Bytes(run.PortBytes) + " or more", ""
	case kernel != "" && !read && used != story.Unconnected:
		return kernel, ""
	}
	return "", "neither NCCL's log nor the port counters nor the kernel's queue pairs prove that the run used RDMA: " +
		run.Network
}

// tcpFault returns why a run over TCP does not count; "" if it does.
func tcpFault(run bench.AllReduceRun, logged bool) string {
	switch _, moved := counted(run); {
	case moved:
		return fmt.Sprintf("the run was set to TCP, but the RDMA ports of every node sent %s meanwhile",
			words.Bytes(run.PortBytes))
	case logged:
		return ""
	}
	return "the run was set to TCP, but NCCL's log does not show that it used TCP: " + run.Network
}
