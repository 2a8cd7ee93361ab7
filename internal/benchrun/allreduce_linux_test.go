package benchrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/launch/launchtest"
)

// standInTorchrun replays what the ranks of a job of two nodes say of an all-reduce: the rate of the network that NCCL's log
// names, which FABRIC/network says.
const standInTorchrun = `#!/bin/sh
network=$(cat "$FABRIC/network")
[ "$RAILHEAD_MODE" != tcp ] || network=Socket
file=${NCCL_DEBUG_FILE%%.%h*}.n$NODE_RANK.$$
{
	echo "n$NODE_RANK:10:20 [0] NCCL INFO Using network $network"
	echo "n$NODE_RANK:10:20 [0] NCCL INFO comm 0x5 rank $NODE_RANK nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0"
	echo "n$NODE_RANK:10:20 [0] NCCL INFO Channel 00/0 : $NODE_RANK[0] -> $((1 - NODE_RANK))[0] [send] via NET/$network/0"
} > "$file"
[ "$NODE_RANK" = 0 ] || exit 0
[ "$network" = Socket ] || { echo "[bench] op=all_reduce world=2 bytes=1073741824 iters=20 avg_sec=0.005720 approx_alg_BW=174.83 GiB/s"; exit 0; }
echo "[bench] op=all_reduce world=2 bytes=1073741824 iters=20 avg_sec=0.486200 approx_alg_BW=2.06 GiB/s"
`

func newAllReduceTrial(t *testing.T, network string) *benchTrial {
	t.Helper()
	b := newBenchTrial(t, 2)
	b.tool(t, "torchrun", standInTorchrun)
	if err := os.WriteFile(filepath.Join(b.fabric, "network"), []byte(network), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBenchAllReduce(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "IB")
	b.options.Plan = AllReduce
	r, text, code := b.carry(t)
	if code != 0 || len(r.AllReduces) != 2 || r.AllReduces[0].Failed != "" || r.AllReduces[0].PortBytes != -1 {
		t.Errorf("exit code %d, %+v", code, r.AllReduces)
	}
	launchtest.Has(t, text, "All-reduce, RDMA, Ring: 2 ranks on 2 nodes, torch",
		"1 GiB   187.7 GB/s   174.8 GiB/s      187.7 GB/s   95.7 %", "Network: RDMA: 2 channels over NET/IB",
		" NCCL INFO Channel 00/0 : ", "[0] [send] via NET/IB/0")
	if left := b.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// A run over TCP is refused as RDMA, however the job came to it.
func TestBenchPlantedTCP(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "Socket")
	r, text, code := b.carry(t)
	if code != 1 || r.Findings[0].Check != "bench-transport" {
		t.Errorf("exit code %d, %v", code, r.Findings)
	}
	launchtest.Has(t, text, "NCCL all-reduce, ring            FAILED",
		"the run was set to RDMA, but used TCP: 2 channels over NET/Socket")
}

// standInMpirun asks for its daemon as Open MPI 4 does, by the agent that it is told, and replays nccl-tests when the daemon has come.
const standInMpirun = `#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
[ "$1 $2 $3 $4" = "--host 10.128.2.10:4,10.128.2.11:4 -np 8" ] || { echo "mpirun: $*" >&2; exit 1; }
$OMPI_MCA_plm_rsh_agent 10.128.2.11 " orted" -mca ess '"env"' -mca orte_hnp_uri '"1.0;tcp://10.128.2.10:46639"' || exit 1
while [ ! -e "$FABRIC/orted" ]; do sleep 0.05; done
log=${NCCL_DEBUG_FILE%%.%h*}.n0.$$
echo "n0:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0" > "$log"
echo "# Collective test starting: all_reduce_perf"
echo "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
echo "  1073741824     268435456     float     sum      -1  10740.0  99.98  187.46      0  10750.0  99.88  187.28      0"
echo "# Out of bounds values : 0 OK"
echo "# Avg bus bandwidth    : 187.37"
`

const standInOrted = `#!/bin/sh
[ "$1 $2 $3 $4" = '-mca ess env -mca' ] || { echo "orted: $*" >&2; exit 1; }
log=${NCCL_DEBUG_FILE%%.%h*}.n1.$$
echo "n1:10:20 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/0" > "$log"
echo "$5 $6" > "$FABRIC/orted"
`

// nccl-tests runs where the image has it with MPI, over pods that have no ssh between them.
func TestBenchNCCLTests(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "IB")
	for name, text := range map[string]string{"mpirun": standInMpirun, "orted": standInOrted, "all_reduce_perf_mpi": "#!/bin/sh\n"} {
		b.tool(t, name, text)
	}
	b.options.Plan = AllReduce
	r, text, code := b.carry(t)
	if code != 0 || r.AllReduces[0].Tool != "all_reduce_perf" || r.AllReduces[0].Failed != "" {
		t.Errorf("exit code %d, %+v", code, r.AllReduces)
	}
	launchtest.Has(t, text, "1 GiB   100.0 GB/s   93.1 GiB/s       187.5 GB/s", "Network: RDMA: 2 channels over NET/IB")
	uri, err := os.ReadFile(filepath.Join(b.fabric, "orted"))
	if string(uri) != "orte_hnp_uri 1.0;tcp://10.128.2.10:46639\n" {
		t.Errorf("%q, %v", uri, err)
	}
	if left := b.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// standInTest is a rank of nccl-tests: it logs as NCCL does, and rank 0 prints the table.
const standInTest = `#!/bin/sh
rank=$OMPI_COMM_WORLD_RANK
echo "n$((rank / 4)):10:2$rank [0] NCCL INFO Channel 00/0 : $rank[0] -> $(((rank + 4) % 8))[0] [send] via NET/IB/0" > "${NCCL_DEBUG_FILE%%.%h*}.n$rank.$$"
[ "$rank" = 0 ] || exit 0
echo "# Collective test starting: all_reduce_perf"
echo "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
echo "  1073741824     268435456     float     sum      -1  10740.0  99.98  187.46      0  10750.0  99.88  187.28      0"
`

// Open MPI itself, where this machine has it, starts ranks in both pods, without a remote shell between them.
func TestBenchOpenMPI(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "IB")
	for _, name := range []string{"mpirun", "orted"} {
		b.link(t, name)
	}
	b.tool(t, "all_reduce_perf_mpi", standInTest)
	b.targets[0].Pod.IP = "127.0.0.1" // mpirun knows which host is its own
	b.options.Plan = AllReduce
	r, text, code := b.carry(t)
	if code != 0 || r.AllReduces[0].Tool != "all_reduce_perf" || r.AllReduces[0].Failed != "" {
		t.Errorf("exit code %d, %+v", code, r.AllReduces)
	}
	launchtest.Has(t, text, "8 ranks on 2 nodes", "1 GiB   100.0 GB/s   93.1 GiB/s       187.5 GB/s",
		"Network: RDMA: 8 channels over NET/IB")
}

// A daemon that does not start ends the run, with its reason.
func TestBenchNCCLTestsWithoutDaemon(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "IB")
	b.tool(t, "mpirun", standInMpirun)
	b.tool(t, "all_reduce_perf_mpi", "#!/bin/sh\n")
	b.options.Plan = AllReduce
	r, _, code := b.carry(t)
	if code != 1 || len(r.Findings) == 0 || !strings.Contains(r.AllReduces[0].Failed, "orted") {
		t.Errorf("exit code %d, %+v", code, r.AllReduces)
	}
}

func TestBenchCompare(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "IB")
	b.options.Plan = Compare
	_, text, code := b.carry(t)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, text,
		"The all-reduce over RDMA is 84.9 times as fast as over TCP: busbw 187.7 GB/s instead of 2.21 GB/s with 1 GiB (TCP: 2 channels over NET/Socket on all 2 ranks)")
}
