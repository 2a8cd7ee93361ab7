package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// trained is the log of NCCL 2.28 in the pod of a rank: the first has no RDMA device.
func trained(c kubelet.Container) string {
	rank := 0
	network := "NET/IB : No device found.\nUsing network Socket\nChannel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"
	if strings.HasSuffix(c.Pod, "-1") {
		rank = 1
		network = "NET/IB : Using [0]mlx5_6:1/RoCE [RO]; OOB eth0:10.128.2.15<0>\nUsing network IB\nChannel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA"
	}
	lines := fmt.Sprintf("NCCL version 2.28.9+cuda12.9\ncomm 0x5 rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n%s", rank, network)
	var log strings.Builder
	for line := range strings.Lines(lines + "\n") {
		fmt.Fprintf(&log, "%s:10:20 [0] NCCL INFO %s", c.Pod, line)
	}
	return log.String()
}

// TestExplain: the logs of a job's pods are read together; the pod that differs is named.
func TestExplain(t *testing.T) {
	const ns = "explained"
	setUp(t)
	u := engineer(t, "t-ito", ns)
	startKubelet(t, trained, "gpu-0", "gpu-1")
	u.does(t, deploy("job", ns)...)
	r := u.ends(t, 1, "explain", "job", "-n", ns)
	r.prints(t, "NCCL 2.28.9+cuda12.9, 2 ranks on 2 nodes", "Differs:   network", "[hca-asymmetry]", "job-0:4  job-0:10:20 [0] NCCL INFO Using network Socket")
	u.ends(t, 1, "explain", "job", "-n", ns, "--follow").says(t, "WARNING: 1 rank started on TCP, the others did not")
	u.ends(t, 1, "explain", "jobs", "-n", ns).silent(t).says(t, "there is no job jobs in namespace explained; did you mean job?")
}
