package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const torchRun = "[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.003012 approx_alg_BW=83.00 GiB/s"

func TestParseTorchLines(t *testing.T) {
	one := TorchLine{AllReduce, 8, 268435456, 50, 0.003012, 83}
	for name, c := range map[string]struct {
		log  string
		want []TorchLine
	}{
		"the line":                 {torchRun + "\n", []TorchLine{one}},
		"with torchrun's prefix":   {"[default0]:" + torchRun, []TorchLine{one}},
		"two sizes":                {torchRun + "\nnoise\n" + torchRun, []TorchLine{one, one}},
		"cut in the middle":        {"[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.003012", nil},
		"another unit":             {"[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.003012 approx_alg_BW=83.00 GB/s", nil},
		"nothing was timed":        {"[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0 approx_alg_BW=0 GiB/s", nil},
		"the rate is another's":    {"[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.003012 approx_alg_BW=830.00 GiB/s", nil},
		"not a number":             {"[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=nan approx_alg_BW=nan GiB/s", nil},
		"more fields, other order": {"[bench] busbw=156.0 GB/s op=all_reduce bytes=268435456 world=8 iters=50 avg_sec=0.003012 approx_alg_BW=83.00 GiB/s x=y", []TorchLine{one}},
	} {
		if d := cmp.Diff(c.want, ParseTorchLines(c.log)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	// 83 GiB/s is 89.1 GB/s; over 8 ranks 1.75 of it crosses each link.
	if bus, err := one.Busbw(); err != nil || math.Abs(float64(bus)-155.96) > 0.01 {
		t.Errorf("%v, %v", bus, err)
	}
}

func FuzzParseTorchLines(f *testing.F) {
	f.Add(torchRun)
	f.Fuzz(func(t *testing.T, log string) {
		for _, l := range ParseTorchLines(log) {
			if !(l.Seconds > 0) || l.Bytes <= 0 || math.IsInf(float64(l.AlgBW), 0) {
				t.Errorf("%+v", l)
			}
		}
	})
}

func FuzzParsePayloads(f *testing.F) {
	f.Add("|   32KiB |   0.92GBps |   0.48GBps |\n")
	f.Fuzz(func(t *testing.T, log string) {
		for _, r := range ParsePayloads(log) {
			if r.Bytes < 0 || r.Busbw < 0 || r.Algbw < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestBusFactor(t *testing.T) {
	for _, c := range []struct {
		op   Op
		n    int
		want float64
	}{
		{AllReduce, 2, 1}, {AllReduce, 8, 1.75}, {AllReduce, 16, 1.875}, {AllGather, 8, 0.875}, {ReduceScatter, 8, 0.875},
		{AllToAll, 4, 0.75}, {Gather, 4, 0.75}, {Scatter, 4, 0.75}, {Broadcast, 8, 1}, {Reduce, 8, 1}, {SendRecv, 2, 1}, {Hypercube, 8, 1},
	} {
		if got, err := BusFactor(c.op, c.n); err != nil || got != c.want {
			t.Errorf("%s over %d: %g, %v", c.op, c.n, got, err)
		}
	}
	if got, err := BusFactor(AllReduce, 1); err == nil {
		t.Errorf("one rank: %g", got)
	}
	if got, err := BusFactor("all_reduce_perf", 8); err == nil {
		t.Errorf("not an operation: %g", got)
	}
	if got := opOfProgram("/opt/nccl-tests/build/all_reduce_perf_mpi"); got != AllReduce {
		t.Errorf("%q", got)
	}
}
