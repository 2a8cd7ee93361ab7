package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// corpus is a folder of logs from real machines, which is not part of the repository.
const corpus = "../../../shared/corpus/bench/"

func fromCorpus(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(corpus + name))
	if err != nil {
		t.Skip("no corpus of real logs beside this tree")
	}
	return string(text)
}

func TestCorpusNCCLTests(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int
		ranks int     // as the log lists them
		n     float64 // ranks that busbw/algbw of an all-reduce tells; 0: another operation
		avg   GBps
		peak  GBps
	}{
		"0x-superbench-allgather.log":       {34, 8, 0, 58.2651, 230.07},
		"0x-superbench-reducescatter.log":   {34, 8, 0, 60.168, 231.52},
		"10-efa-1nic-2ranks-mpi-prefix.txt": {2, 0, 2, 1.15327, 3.13},
		"11-2ranks-config-a.txt":            {4, 0, 2, 1.57614, 2.31},
		"13-16ranks-195.txt":                {5, 0, 16, 194.675, 196.52},
		"14-8ranks-448.txt":                 {4, 0, 8, 448.212, 470.73},
		"16-2gpu-47.txt":                    {4, 0, 2, 47.4509, 47.49},
	} {
		t.Run(name, func(t *testing.T) {
			log := fromCorpus(t, name)
			all := ParseNCCLTests(log)
			if len(all) != 1 {
				t.Fatalf("%d tables", len(all))
			}
			got := all[0]
			var run AllReduceRun
			run.Take(log)
			peak, _ := run.Best()
			if len(got.Rows) != c.rows || got.Ranks != c.ranks || got.Torn != 0 || got.Average.Value != c.avg ||
				peak.Busbw != c.peak || got.OutOfBounds.String() != "0" && got.OutOfBounds.IsKnown() {
				t.Errorf("%d rows, %d ranks, %d torn, average %v, peak %v, out of bounds %v",
					len(got.Rows), got.Ranks, got.Torn, got.Average, peak.Busbw, got.OutOfBounds)
			}
			if c.n > 0 {
				want, err := BusFactor(AllReduce, int(c.n))
				factor := float64(peak.Busbw / peak.Algbw)
				if err != nil || math.Abs(factor-want) > 0.01 {
					t.Errorf("busbw/algbw %g, want %g", factor, want)
				}
			}
		})
	}
}

func TestCorpusPerftest(t *testing.T) {
	p := ParsePerftest(fromCorpus(t, "02-ib-loopback-all-sizes.log"))
	best, err := p.Best()
	const sizes = 23 // 2 B to 8 MiB; the server prints the last again
	if err != nil || len(p.Bandwidth) != sizes || p.Device != "ib0" || p.LinkType != "IB" || p.MTU.Value != 4096 ||
		best.Bytes != 4194304 || best.Average.String() != "195.3 Gb/s" || len(p.Errors) != 0 {
		t.Errorf("%+v, %v of %+v", best, err, p)
	}
}

func TestCorpusPayloads(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		last PayloadRow
	}{
		"04-stas-allreduce-multinode-92GBps.txt": {32, PayloadRow{16 << 30, 91.69, 47.32}},
		"06-stas-h200-single-node.txt":           {8, PayloadRow{16 << 30, 482.26, 275.58}},
	} {
		rows := ParsePayloads(fromCorpus(t, name))
		const sizes = 20 // 32 KiB to 16 GiB
		if len(rows) != sizes || rows[0].Bytes != 32<<10 || rows[sizes-1] != c.last {
			t.Errorf("%s: %+v", name, rows)
			continue
		}
		if bus, err := Busbw(AllReduce, c.n, c.last.Algbw); err != nil || math.Abs(float64(bus-c.last.Busbw)) > 0.02 {
			t.Errorf("%s: busbw %v, %v", name, bus, err)
		}
	}
}
