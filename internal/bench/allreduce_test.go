package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

const torchSweep = `[0] [bench] op=all_reduce world=16 bytes=1048576 iters=20 avg_sec=0.000100 approx_alg_BW=9.77 GiB/s
[0] [bench] op=all_reduce world=16 bytes=1073741824 iters=20 avg_sec=0.012048 approx_alg_BW=83.00 GiB/s
`

func TestAllReduceRun(t *testing.T) {
	r := AllReduceRun{Mode: "rdma", Algorithm: "Ring", Ceiling: 196}
	r.Take(torchSweep)
	best, ok := r.Best()
	if !ok || r.Ranks != 16 || r.Tool != "torch" || len(r.Sizes) != 2 || best.Bytes != 1<<30 || best.Algbw.String() != "89.1 GB/s" || best.Busbw.String() != "167.1 GB/s" {
		t.Errorf("%+v", r)
	}
	if got := r.Moved(); got != 20*(1<<30+1<<20)/2 {
		t.Errorf("moved %d", got)
	}
	step := r.Step(4)
	if e, known := step.Efficiency(); step.Name != NCCLRing || !known || e < 0.85 || e > 0.86 || step.Rails != 4 {
		t.Errorf("%+v", step)
	}
	r.Failed = "it used TCP"
	if step := r.Step(4); step.Measured.IsKnown() || step.Failed != "it used TCP" {
		t.Errorf("a run that failed has a number: %+v", step)
	}
	if step := (AllReduceRun{Mode: "rdma"}).Step(4); step.Name != NCCLOwn || step.Failed == "" || step.Ceiling != 0 {
		t.Errorf("without a line: %+v", step)
	}
	var tests AllReduceRun
	tests.Take(fromCorpus(t, "13-16ranks-195.txt"))
	if best, ok := tests.Best(); !ok || tests.Tool != "all_reduce_perf" || best.Busbw != 196.52 {
		t.Errorf("nccl-tests: %+v", tests)
	}
}

// What judges a network is the better half of the best of the large sizes: small ones tell of latency.
func TestBestOfNCCLTests(t *testing.T) {
	for name, c := range map[string]struct {
		rows string
		want SizedRate
	}{
		"small sizes lie": {
			"8 2 float sum -1 1.00 1.00 500.00 0 1.00 1.00 1.00 0\n1024 256 float sum -1 1.00 60.00 90.00 0 1.00 63.33 95.00 0\n8192 2048 float sum -1 1.00 60.67 91.00 0 1.00 61.33 92.00 0",
			SizedRate{1024, 63.33, 95},
		},
		"no in-place":       {"8192 2048 float sum -1 1.00 60.67 91.00 0 N/A N/A N/A N/A", SizedRate{8192, 60.67, 91}},
		"nothing was moved": {"8 2 float sum -1 1.00 0.00 0.00 0 1.00 0.00 0.00 0", SizedRate{}},
	} {
		var r AllReduceRun
		r.Take(c.rows)
		if got, ok := r.Best(); got != c.want || ok != (c.want != SizedRate{}) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestAllReduceFactor(t *testing.T) {
	run := func(mode string, busbw GBps, failed string) AllReduceRun {
		return AllReduceRun{Mode: mode, Failed: failed, Network: mode + " it was", Sizes: []SizedRate{{Bytes: 8, Busbw: 1}, {Bytes: 1 << 30, Busbw: busbw}}}
	}
	got, ok := AllReduceFactor([]AllReduceRun{run("tcp", 2, ""), run("rdma", 170, "")})
	if d := cmp.Diff(AllReduceTimes{1 << 30, 170, 2, 85, "tcp it was"}, got); d != "" || !ok {
		t.Error(d)
	}
	for name, runs := range map[string][]AllReduceRun{
		"RDMA was not proven": {run("tcp", 2, ""), run("rdma", 170, "it used TCP")},
		"TCP was not proven":  {run("tcp", 2, "it used RDMA"), run("rdma", 170, "")},
		"RDMA alone":          {run("rdma", 170, "")},
	} {
		if got, ok := AllReduceFactor(runs); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFailedAllReduceIsSlower: a run without a result, or without proof of its network, is worse than any earlier one.
func TestFailedAllReduceIsSlower(t *testing.T) {
	good := AllReduceRun{Mode: "rdma", Algorithm: "Ring", Sizes: []SizedRate{{Bytes: 1 << 30, Busbw: 170}}}
	crashed, unproved := good, good
	crashed.Sizes, crashed.Failed = nil, "rank 1 ended with exit code 1"
	unproved.Failed = "it used TCP"
	for name, c := range map[string]struct {
		now  AllReduceRun
		want Verdict
	}{"as before": {good, Same}, "crashed": {crashed, Slower}, "it used TCP": {unproved, Slower}} {
		changes := Compare(good.Series(), c.now.Series())
		if changes[0].Verdict != c.want || changes[0].Name != "all-reduce, rdma, Ring, busbw GB/s" {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

func TestMerge(t *testing.T) {
	got := Merge([]Series{{"a", []float64{1}}}, []Series{{"b", []float64{3}}, {"a", []float64{2}}})
	if d := cmp.Diff([]Series{{"a", []float64{1, 2}}, {"b", []float64{3}}}, got); d != "" {
		t.Error(d)
	}
}

func TestDifferences(t *testing.T) {
	of := func(node, kernel string, mtu int) Result {
		return Result{
			Pods:     []Pod{{Name: "p", Node: node, Rails: []PodRail{{Name: "net1", MTU: mtu, Rate: 400}}}},
			Machines: []host.Snapshot{{Kernel: host.Know(kernel)}},
		}
	}
	got := Differences(of("gpu-1", "6.12.1", 4096), of("gpu-1", "6.12.9", 1024))
	if d := cmp.Diff([]Differ{{"gpu-1", "MTU of rail net1", "4096", "1024"}, {"gpu-1", "kernel", "6.12.1", "6.12.9"}}, got); d != "" {
		t.Error(d)
	}
	if got := Differences(of("gpu-1", "6.12.1", 4096), of("gpu-2", "6.12.9", 1024)); got != nil {
		t.Errorf("other nodes: %+v", got)
	}
	if got := Differences(of("gpu-1", "6.12.1", 4096), of("gpu-1", "6.12.1", 4096)); got != nil {
		t.Errorf("the same: %+v", got)
	}
	two, one := of("gpu-1", "6.12.1", 4096), of("gpu-1", "6.12.1", 4096)
	two.Pods[0].Rails = append(two.Pods[0].Rails, PodRail{Name: "net2", MTU: 4096, Rate: 400})
	two.Machines = nil
	want := []Differ{
		{"gpu-1", "MTU of rail net2", "4096", ""}, {"gpu-1", "ceiling of rail net2", "0.00 Gb/s", ""},
		{"gpu-1", "rate of rail net2", "400.0 Gb/s", ""},
	}
	if d := cmp.Diff(want, Differences(two, one)); d != "" {
		t.Errorf("a rail is gone, and one result has no machine: %s", d)
	}
}

func TestNCCLTestsAllReduce(t *testing.T) {
	argv := NCCLTestsAllReduce("/dev/shm", "railhead-1.agent", []string{"10.128.2.10", "10.128.3.11"}, 8)
	if d := cmp.Diff([]string{"railhead", "/dev/shm", "railhead-1.agent", "--host", "10.128.2.10:8,10.128.3.11:8", "-np", "16", "sh", "-c"}, argv[3:12]); d != "" {
		t.Error(d)
	}
	if got := strings.Join(argv[13:], " "); got != "all_reduce_perf -b 1048576 -e 2147483648 -f 4 -g 1 -n 20 -w 5" {
		t.Error(got)
	}
}

func TestParseMPIRemote(t *testing.T) {
	for line, want := range map[string][2]string{
		"[0] @railhead-mpi 10.128.3.11  orted -mca ess \"env\"\n": {"10.128.3.11", "orted -mca ess \"env\""},
		"@railhead-mpi 10.128.3.11 PATH=/x:$PATH ; orted\r\n":     {"10.128.3.11", "PATH=/x:$PATH ; orted"},
		"@railhead-mpi 10.128.3.11\n":                             {},
		"@railhead-mpi":                                           {},
		"orted":                                                   {},
	} {
		host, command, ok := ParseMPIRemote(line)
		if ok != (want[0] != "") || ok && (host != want[0] || command != want[1]) {
			t.Errorf("%q: %q, %q, %v", line, host, command, ok)
		}
	}
}
