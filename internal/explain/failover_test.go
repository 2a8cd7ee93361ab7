package explain

import (
	"strings"
	"testing"
)

// TestFailover reads what NCCL 2.29 and later say of an HCA that fails in a run: with another HCA the run goes on, and
// without one it ends.
func TestFailover(t *testing.T) {
	const warn, info = "gpu-0:41:9 [0] transport/net_ib/p2p_resiliency.cc:1 (f) NCCL WARN NET/IB: ",
		"gpu-0:41:9 [0] NCCL INFO NET/IB: "
	const completion = "gpu-0:41:9 [0] transport/net_ib/p2p.cc:1 (f) NCCL WARN NET/IB: Got completion from peer " +
		"10.0.0.2<3> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129  localGid " +
		"::ffff:10.1.1.1 remoteGids::ffff:10.1.1.2 hca mlx5_0"
	const trail = "gpu-0:41:9 [0] NCCL INFO transport/net.cc:1302 (sendProxyProgress) -> 6"
	const notFatal = info + "ncclIbResiliencyCheckErrorNotFatal: The error is not fatal. Trying to continue..."
	const marked = warn + "Device 0 marked as failed. Initiating recovery? Yes (send comm=0x1, outstandingRecovery=0)"
	const moved = info + "ncclIbResiliencyReplaceQps: Replacing QP: qpIndex=0 (qp_num=12, devIndex=0) to qpIndex=1 " +
		"(qp_num=13, devIndex=1) on send communicator (comm=0x1)"
	const hint = warn + "Got CQE with error (devIndex=0, req=0x7f, comm=0x1 (send), wr_id=12, qp_num=77)"
	steps := strings.Split(strings.Repeat("step 7 | loss 0.31\n", 100), "\n")
	for name, c := range map[string]struct {
		lines []string
		goes  bool
		want  string
	}{
		"queue pairs moved":        {[]string{notFatal, moved}, true, "degraded port-error likely"},
		"a device marked, and all": {[]string{notFatal, marked, moved}, true, "degraded port-error likely"},
		"with its completion":      {[]string{completion, notFatal, marked, moved}, true, "degraded port-error likely"},
		"all devices failed": {[]string{warn + "Fatal error. Detected 2 failed devices out of 2 devices on the send " +
			"communicator (comm=0x1). No support for more than a single failed device.", trail}, false,
			"fail port-error likely"},
		"no device left": {[]string{warn + "The error is fatal (No functional devices left). Cannot continue.", trail},
			false, "fail port-error likely"},
		"no queue pair left": {[]string{marked, warn + "Could not find a replacement QP for the failed QP with " +
			"qpIndex=0 (devIndex=0)", trail}, false, "fail port-error likely"},
		"a status without failover": {[]string{warn + "The error is fatal (Fatal error status in work completion). " +
			"Cannot continue.", trail}, false, "fail port-error possible"},
		"the same with its status": {[]string{warn + "Unsupported completion status IBV_WC_LOC_PROT_ERR (4)",
			warn + "The error is fatal (Fatal error status in work completion). Cannot continue.", trail}, false,
			"fail acs-iommu likely"},
		"failover is off": {[]string{hint, completion, trail}, false, "fail route-or-arp likely"},
		"no status":       {[]string{hint, trail}, false, "fail unknown possible"},
	} {
		const complete = "gpu-0:41:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE"
		log := strings.ReplaceAll(oneRun("IB"), "%[1]d", "41") + complete
		lines := append(strings.Split(log, "\n"), c.lines...)
		if c.goes {
			lines = append(lines, steps...)
		}
		got := "no cause"
		run := ofLines("train.log", lines).Last()
		if len(run.Causes) > 0 {
			got = strings.Join([]string{string(run.Outcome), string(run.Causes[0].ID), string(run.Causes[0].Confidence)}, " ")
		}
		if got != c.want {
			t.Errorf("%s: want %s, got %s: %s", name, c.want, got, run.Summary)
		}
	}
}
