package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// modern is what 2.19 prints with MPI over two nodes, with the device's full PCI address.
const modern = `# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   9688 on demo-pod-1 device  0 [0000:18:00] NVIDIA H200
#  Rank  1 Group  0 Pid   9689 on demo-pod-1 device  1 [0000:2a:00] NVIDIA H200
#  Rank  2 Group  0 Pid    412 on demo-pod-2 device  0 [0000:18:00] NVIDIA H200
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
           8             2     float     sum      -1    28.11    0.00    0.00       0    27.90    0.00    0.00       0
  8589934592    2147483648     float     sum      -1   150000   57.27   76.36       0   149000   57.65   76.87       2
# Out of bounds values : 2 FAILED
# Avg bus bandwidth    : 48.1234 OK
#
# Collective test concluded: all_reduce_perf
#
`

func half1(us float64, alg, bus GBps) host.Fact[NCCLTime] {
	return host.Know(NCCLTime{us, alg, bus, host.Know(int64(0))})
}

func unchecked(us float64, alg, bus GBps) host.Fact[NCCLTime] {
	return host.Know(NCCLTime{Micros: us, Algbw: alg, Busbw: bus})
}

func sum(bytes, count int64, out, in host.Fact[NCCLTime]) NCCLRow {
	return NCCLRow{bytes, count, "float", "sum", host.Know(-1), out, in}
}

func TestParseNCCLTests(t *testing.T) {
	two := host.Know(NCCLTime{149000, 57.65, 76.87, host.Know(int64(2))})
	whole := NCCLTest{
		Version: "2.19.6", Op: AllReduce, Ranks: 3, Hosts: []string{"demo-pod-1", "demo-pod-2"}, GPUs: []string{"NVIDIA H200"},
		Rows: []NCCLRow{
			sum(8, 2, half1(28.11, 0, 0), half1(27.90, 0, 0)),
			sum(8589934592, 2147483648, half1(150000, 57.27, 76.36), two),
		},
		OutOfBounds: host.Know(2), Average: host.Know(GBps(48.1234)),
	}
	prefixed := func(prefix string) string {
		var b strings.Builder
		for line := range strings.Lines(modern) {
			b.WriteString(prefix + line)
		}
		return b.String()
	}
	const row = "1024 256 float sum -1 10.00 0.10 0.20 0 11.00 0.09 0.18 0"
	tail := NCCLTest{Rows: []NCCLRow{sum(1024, 256, half1(10, .1, .2), half1(11, .09, .18))}}
	for name, c := range map[string]struct {
		log  string
		want []NCCLTest
	}{
		"whole log":                      {modern, []NCCLTest{whole}},
		"with the prefix of mpirun":      {prefixed("[1,0]<stdout>:"), []NCCLTest{whole}},
		"with the prefix of OpenMPI 5":   {prefixed("[prterun-a-1@1,0]<stdout>: "), []NCCLTest{whole}},
		"with the prefix of torchrun":    {prefixed("[default0]:"), []NCCLTest{whole}},
		"with the prefix of srun":        {prefixed("0: "), []NCCLTest{whole}},
		"with the times of kubectl logs": {prefixed("2026-11-21T13:46:22.123456789Z "), []NCCLTest{whole}},
		"with the names of kubectl logs": {prefixed("[pod/demo-0/main] "), []NCCLTest{whole}},
		"with carriage returns":          {strings.ReplaceAll(modern, "\n", "\r\n"), []NCCLTest{whole}},
		"two tables in one log":          {modern + "noise\n" + modern, []NCCLTest{whole, whole}},
		"a row without its header":       {row, []NCCLTest{tail}},
		"a row with a time stamp":        {row + "  2026-11-21 13:46:22", []NCCLTest{tail}},
		"a table with time stamps": {
			"# size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp\n" + row + " 2026-11-21 13:46:22\n",
			[]NCCLTest{tail},
		},
		"cputime of -C": {"# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong\n" + row, []NCCLTest{tail}},
		"four more columns of -I": {
			"1024 256 float sum -1 10.00 0.10 0.20 0 9.1 12.0 11.9 3.2 11.00 0.09 0.18 0 9.3 12.1 12.0 3.3", []NCCLTest{tail},
		},
		"no in-place of alltoall": {
			"# Collective test starting: alltoall_perf\n1024 256 float none -1 10.00 0.10 0.05 0 N/A N/A N/A N/A",
			[]NCCLTest{{Op: AllToAll, Rows: []NCCLRow{{1024, 256, "float", "none", host.Know(-1), half1(10, .1, .05), host.Fact[NCCLTime]{}}}}},
		},
		"old broadcast, without redop": {
			"2048 512 float 0 10.00 0.10 0.10 0 11.00 0.09 0.09 N/A",
			[]NCCLTest{{Rows: []NCCLRow{{2048, 512, "float", "", host.Know(0), half1(10, .1, .1), unchecked(11, .09, .09)}}}},
		},
		"many wrong values": {
			"1024 256 float sum -1 10.00 0.10 0.20 1e+06 11.00 0.09 0.18 0",
			[]NCCLTest{{Rows: []NCCLRow{sum(1024, 256, host.Know(NCCLTime{10, .1, .2, host.Know(int64(1000000))}), half1(11, .09, .18))}}},
		},
		"another line printed into a row": {
			row + "\n1024 256 float sumhost-1:433602:433862 [5] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f\n1024 256 float sum host:1:2 [0] NCCL INFO x",
			[]NCCLTest{{Rows: tail.Rows, Torn: 2}},
		},
		"it failed": {
			"demo-0: Test NCCL failure common.cu:958 'unhandled system error'\n",
			[]NCCLTest{{Errors: []string{"demo-0: Test NCCL failure common.cu:958 'unhandled system error'"}}},
		},
		"not a log of it": {"12 13 hello\nnothing\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := ParseNCCLTests(c.log)
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(NCCLTest{})); d != "" && (len(c.want) > 0 || len(got) > 0) {
				t.Error(d)
			}
		})
	}
}

func FuzzParseNCCLTests(f *testing.F) {
	f.Add(modern)
	f.Add("[1,0]<stdout>:   536870912     134217728     float     sum      -1   171351    3.13    3.13      0   171823    3.12    3.12      0")
	f.Fuzz(func(t *testing.T, log string) {
		var run AllReduceRun
		run.Take(log)
		if best, ok := run.Best(); ok && (best.Busbw <= 0 || best.Bytes <= 0) {
			t.Errorf("%+v", best)
		}
		for _, test := range ParseNCCLTests(log) {
			if test.Ranks < len(test.Hosts) {
				t.Errorf("%d ranks on %q", test.Ranks, test.Hosts)
			}
		}
	})
}

func BenchmarkParseNCCLTests(b *testing.B) {
	log := strings.Repeat(modern, 100)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if got := ParseNCCLTests(log); len(got) != 100 {
			b.Fatal(len(got))
		}
	}
}
