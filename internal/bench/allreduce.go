package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

//go:embed allreduce.py
var allReduceScript string

// How often torchrun's ranks reduce each size.
const (
	allReduceIterations = 20
	allReduceWarmup     = 5
)

// allReduceSizes are message sizes in bytes, from those that latency limits to those that only bandwidth limits.
var allReduceSizes = [...]int64{1 << 20, 8 << 20, 64 << 20, 256 << 20, 1 << 30, 2 << 30}

// TorchAllReduce is the command line that every pod of a job runs. The rendezvous is in its environment (PET_*, which
// torchrun takes as the defaults of its flags: torch/distributed/argparse_util.py), so that all pods have one command
// line.
func TorchAllReduce() []string {
	argv := []string{
		"torchrun", "--no-python", "python3", "-c", allReduceScript,
		strconv.Itoa(allReduceIterations), strconv.Itoa(allReduceWarmup),
	}
	for _, n := range allReduceSizes {
		argv = append(argv, strconv.FormatInt(n, 10))
	}
	return argv
}

// mpiScript starts Open MPI among pods that have no ssh: it prints each command for a remote shell on stderr, for the
// reader to run. $1 is a folder, $2 the name of a file in it. OMPI_MCA_* variables belong to Open MPI 4, PRTE_MCA_*
// to Open MPI 5, whose launcher is PRRTE. MPI only starts the test: its own traffic stays on TCP of the pod network.
const mpiScript = `agent=$1/$2
shift 2
printf '%s\n' 'echo "` + MPIRemote + ` $*" >&2' > "$agent" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="sh $agent"
export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_orte_leave_session_attached=1
export PRTE_MCA_plm=ssh PRTE_MCA_plm_ssh_agent="sh $agent"
export PRTE_MCA_plm_ssh_no_tree_spawn=1 PRTE_MCA_prte_leave_session_attached=1
export OMPI_MCA_pml=^ucx OMPI_MCA_btl=^openib OMPI_MCA_coll_hcoll_enable=0
case $NCCL_SOCKET_IFNAME in
=*)
	interface=${NCCL_SOCKET_IFNAME#=}
	export OMPI_MCA_oob_tcp_if_include="$interface" OMPI_MCA_btl_tcp_if_include="$interface"
	export PRTE_MCA_oob_tcp_if_include="$interface"
	;;
esac
exec mpirun "$@"`

// MPIRemote starts the lines in which mpiScript asks for a command in another pod: the host, then a shell command.
const MPIRemote = "@railhead-mpi"

// ParseMPIRemote reads a line that starts with MPIRemote.
func ParseMPIRemote(line string) (host, command string, ok bool) {
	_, rest, found := strings.Cut(line, MPIRemote+" ")
	if !found {
		return "", "", false
	}
	host, command, ok = strings.Cut(strings.TrimSpace(rest), " ")
	command = strings.TrimSpace(command)
	return host, command, ok && command != ""
}

// NCCLTestsAllReduce returns the command line of the first pod: nccl-tests started by Open MPI, with ranks on each
// host.
func NCCLTestsAllReduce(folder, file string, hosts []string, ranks int) []string {
	slots := make([]string, len(hosts))
	for i, h := range hosts {
		slots[i] = fmt.Sprintf("%s:%d", h, ranks)
	}
	smallest, largest := allReduceSizes[0], allReduceSizes[len(allReduceSizes)-1]
	return []string{
		"sh", "-c", mpiScript, "railhead", folder, file,
		"--host", strings.Join(slots, ","), "-np", strconv.Itoa(len(hosts) * ranks),
		"sh", "-c", `exec "$(command -v all_reduce_perf_mpi || command -v all_reduce_perf)" "$@"`, "all_reduce_perf",
		"-b", strconv.FormatInt(smallest, 10), "-e", strconv.FormatInt(largest, 10), "-f", "4", "-g", "1",
		"-n", strconv.Itoa(allReduceIterations), "-w", strconv.Itoa(allReduceWarmup),
	}
}

// Take reads the output of an all-reduce by PyTorch or nccl-tests.
func (r *AllReduceRun) Take(text string) {
	if ranks, sizes := torchLines(text); len(sizes) > 0 {
		r.Tool, r.Ranks, r.Sizes = "torch", ranks, append(r.Sizes, sizes...)
	}
	if ranks, sizes := ncclTests(text); len(sizes) > 0 {
		r.Tool, r.Sizes = string(AllReducePerf), append(r.Sizes, sizes...)
		r.Ranks = cmp.Or(ranks, r.Ranks) // 0: the table does not list them
	}
}

// Best returns the result by which the network is judged: the highest busbw among sizes of at least an eighth of the
// largest. It is false if there is none.
func (r AllReduceRun) Best() (SizedRate, bool) {
	var largest int64
	for _, s := range r.Sizes {
		largest = max(largest, s.Bytes)
	}
	const near = 8
	var best SizedRate
	for _, s := range r.Sizes {
		if s.Bytes*near >= largest && s.Busbw > best.Busbw {
			best = s
		}
	}
	return best, best.Busbw > 0
}

// Moved returns the least number of bytes that the ports of each node must have sent: half of what a ring sends of
// the measured sizes, without warm-up (nccl-tests doc/PERFORMANCE.md: each rank sends 2(n-1)/n of the bytes, and one
// rank of each node sends to the next node).
func (r AllReduceRun) Moved() int64 {
	var sum int64
	for _, s := range r.Sizes {
		sum += s.Bytes
	}
	return sum / 2 * allReduceIterations
}

// Series returns one series for the best size, 0 if the run failed, and one for each size.
func (r AllReduceRun) Series() []Series {
	algorithm := cmp.Or(r.Algorithm, "NCCL's choice")
	judged := 0.0
	if best, ok := r.Best(); ok && r.Failed == "" {
		judged = float64(best.Busbw)
	}
	all := []Series{{fmt.Sprintf("all-reduce, %s, %s, busbw GB/s", r.Mode, algorithm), []float64{judged}}}
	for _, s := range r.Sizes {
		name := fmt.Sprintf("all-reduce, %s, %s, %d bytes, busbw GB/s", r.Mode, algorithm, s.Bytes)
		all = append(all, Series{name, []float64{float64(s.Busbw)}})
	}
	return all
}

// Step returns the run as a step of the ladder.
func (r AllReduceRun) Step(rails int) Step {
	s := Step{Name: NCCLOwn, Skipped: r.Skipped, Failed: r.Failed, Rails: rails}
	if r.Algorithm == "Ring" {
		s.Name, s.Ceiling, s.By = NCCLRing, r.Ceiling.Gbps(), ByLink
	}
	if best, ok := r.Best(); ok && r.Failed == "" {
		s.Measured = host.Know(best.Busbw.Gbps())
	} else if s.Failed == "" && s.Skipped == "" {
		s.Failed = "it ended without printing a result"
	}
	return s
}

// Merge appends the values of another run to the series of the same names.
func Merge(all, more []Series) []Series {
	for _, s := range more {
		at := slices.IndexFunc(all, func(old Series) bool { return old.Name == s.Name })
		if at < 0 {
			all = append(all, s)
			continue
		}
		all[at].Values = append(all[at].Values, s.Values...)
	}
	return all
}

// AllReduceTimes compares an all-reduce over RDMA with one over TCP.
type AllReduceTimes struct {
	Bytes     int64
	RDMA, TCP GBps // busbw of that size
	Times     float64
	Network   string // of the TCP run, from NCCL's log
}

// AllReduceFactor compares the RDMA and the TCP run with NCCL's own algorithm, at the largest size that both have. It
// is false if either failed, also for lack of proof that it used its network.
func AllReduceFactor(runs []AllReduceRun) (AllReduceTimes, bool) {
	var f AllReduceTimes
	busbw := map[string]map[int64]GBps{}
	for _, r := range runs {
		if r.Failed != "" || r.Skipped != "" || r.Algorithm != "" {
			continue
		}
		if r.Mode == "tcp" {
			f.Network = r.Network
		}
		busbw[r.Mode] = map[int64]GBps{}
		for _, s := range r.Sizes {
			busbw[r.Mode][s.Bytes] = s.Busbw
		}
	}
	for size, tcp := range busbw["tcp"] {
		if rdma := busbw["rdma"][size]; tcp > 0 && rdma > 0 && size > f.Bytes {
			f.Bytes, f.RDMA, f.TCP, f.Times = size, rdma, tcp, float64(rdma/tcp)
		}
	}
	return f, f.Bytes > 0
}
