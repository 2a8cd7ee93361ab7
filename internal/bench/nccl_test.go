package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const torchRun = "[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.003012 approx_alg_BW=83.00 GiB/s"

func TestTorchLines(t *testing.T) {
	const bytes = "[bench] op=all_reduce world=8 bytes=268435456 iters=50 "
	// 83 GiB/s is 89.1 GB/s; over 8 ranks 1.75 of it crosses each link.
	algbw := GiBps(83).GBps()
	one := SizedRate{Bytes: 268435456, Algbw: algbw, Busbw: 1.75 * algbw}
	for name, c := range map[string]struct {
		log  string
		want []SizedRate
	}{
		"the line":               {torchRun + "\n", []SizedRate{one}},
		"with torchrun's prefix": {"[default0]:" + torchRun, []SizedRate{one}},
		"two sizes":              {torchRun + "\nnoise\n" + torchRun, []SizedRate{one, one}},
		"cut in the middle":      {bytes + "avg_sec=0.003012", nil},
		"another unit":           {bytes + "avg_sec=0.003012 approx_alg_BW=83.00 GB/s", nil},
		"nothing was timed":      {bytes + "avg_sec=0 approx_alg_BW=0 GiB/s", nil},
		"the rate is another's":  {bytes + "avg_sec=0.003012 approx_alg_BW=830.00 GiB/s", nil},
		"not a number":           {bytes + "avg_sec=nan approx_alg_BW=nan GiB/s", nil},
		"one rank":               {strings.Replace(torchRun, "world=8", "world=1", 1), nil},
	} {
		ranks, got := torchLines(c.log)
		if d := cmp.Diff(c.want, got); d != "" || len(got) > 0 && ranks != 8 {
			t.Errorf("%s: %d ranks %s", name, ranks, d)
		}
	}
}

func FuzzTorchLines(f *testing.F) {
	f.Add(torchRun)
	f.Fuzz(func(t *testing.T, log string) {
		_, sizes := torchLines(log)
		for _, s := range sizes {
			if s.Bytes <= 0 || math.IsInf(float64(s.Busbw), 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestBusbw(t *testing.T) {
	for n, want := range map[int]GBps{2: 1, 8: 1.75, 16: 1.875} {
		if got := busbw(n, 1); got != want {
			t.Errorf("%d ranks: %v", n, got)
		}
	}
}

// modern is the output of 2.19 with MPI over two nodes, with the device's full PCI address.
const modern = `# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
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

func TestNCCLTests(t *testing.T) {
	whole := []SizedRate{{Bytes: 8}, {Bytes: 8589934592, Algbw: 57.65, Busbw: 76.87}}
	prefixed := func(prefix string) string {
		return prefix + strings.ReplaceAll(modern, "\n", "\n"+prefix)
	}
	const row = "1024 256 float sum -1 10.00 0.10 0.20 0 11.00 0.09 0.18 0"
	tail := []SizedRate{{Bytes: 1024, Algbw: .1, Busbw: .2}}
	for name, c := range map[string]struct {
		log   string
		ranks int
		want  []SizedRate
	}{
		"whole log":                      {modern, 3, whole},
		"with the prefix of mpirun":      {prefixed("[1,0]<stdout>:"), 3, whole},
		"with the prefix of OpenMPI 5":   {prefixed("[prterun-a-1@1,0]<stdout>: "), 3, whole},
		"with the prefix of torchrun":    {prefixed("[default0]:"), 3, whole},
		"with the prefix of srun":        {prefixed("0: "), 3, whole},
		"with the times of kubectl logs": {prefixed("2026-11-21T13:46:22.123456789Z "), 3, whole},
		"with the names of kubectl logs": {prefixed("[pod/demo-0/main] "), 3, whole},
		"with carriage returns":          {strings.ReplaceAll(modern, "\n", "\r\n"), 3, whole},
		"two tables in one log":          {modern + "noise\n" + modern, 3, append(whole, whole...)},
		"a row without its header":       {row, 0, tail},
		"a row with a time stamp":        {row + "  2026-11-21 13:46:22", 0, tail},
		"four more columns of -I": {
			"1024 256 float sum -1 10.00 0.10 0.20 0 9.1 12.0 11.9 3.2 11.00 0.09 0.18 0 9.3 12.1 12.0 3.3", 0, tail,
		},
		"before 2.12, without root":         {"1024 256 float sum 10.00 0.10 0.20 0e+00 11.00 0.09 0.18 N/A", 0, tail},
		"only out of place":                 {"1024 256 float sum -1 10.00 0.10 0.20 0", 0, tail},
		"only out of place, before 2.12":    {"1024 256 float sum 10 0.10 0.20 0e+00", 0, tail},
		"only in place":                     {"1024 256 float sum -1 N/A N/A N/A N/A 10.00 0.10 0.20 0", 0, tail},
		"all-to-all: never in place":        {"1024 256 float none -1 10.00 0.10 0.20 0 N/A N/A N/A N/A", 0, tail},
		"all-to-all before 2.12":            {"1024 256 float 10.00 0.10 0.20 0e+00 11.00 0.09 0.18 N/A", 0, tail},
		"all-to-all of 2.12, with integers": {"1024 256 float none 10 0.10 0.20 N/A 11 0.09 0.18 N/A", 0, tail},
		"broadcast with a root":             {"1024 256 float none 0 10 0.10 0.20 0 11 0.09 0.18 0", 0, tail},
		"a row cut in its second half":      {"1024 256 float sum -1 10.00 0.10 0.20 0 11.00 0.09", 0, nil},
		"a row cut in its first half":       {"1024 256 float sum -1 10.00 0.10", 0, nil},
		"many wrong values":                 {"1024 256 float sum -1 10.00 0.10 0.20 1e+06 11.00 0.09 0.18 0", 0, tail},
		"another line printed into a row": {
			row + "\n1024 256 float sumhost-1:433602:433862 [5] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f\n" +
				"1024 256 float sum host:1:2 [0] NCCL INFO x", 0, tail,
		},
		"it failed":       {"demo-0: Test NCCL failure common.cu:958 'unhandled system error'\n", 0, nil},
		"not a log of it": {"12 13 hello\nnothing\n", 0, nil},
	} {
		ranks, got := ncclTests(c.log)
		if d := cmp.Diff(c.want, got); d != "" || ranks != c.ranks {
			t.Errorf("%s: %d ranks %s", name, ranks, d)
		}
	}
}

func FuzzNCCLTests(f *testing.F) {
	f.Add(modern)
	f.Add("1048576 262144 float 81.60 12.85 12.04 0e+00 82.00 12.79 11.99 N/A")
	f.Add("[1,0]<stdout>: 536870912 134217728 float sum -1 171351 3.13 3.13 0 171823 3.12 3.12 0")
	f.Fuzz(func(t *testing.T, log string) {
		var run AllReduceRun
		run.Take(log)
		if best, ok := run.Best(); ok && (best.Busbw <= 0 || best.Bytes < 0) {
			t.Errorf("%+v", best)
		}
	})
}

func BenchmarkNCCLTests(b *testing.B) {
	log := strings.Repeat(modern, 100)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, got := ncclTests(log); len(got) != 200 {
			b.Fatal(len(got))
		}
	}
}
