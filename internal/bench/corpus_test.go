package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/railhead/railhead/internal/corpustest"
)

func fromCorpus(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpustest.Folder(t, "bench"), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCorpusNCCLTests(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int
		ranks int // as the log lists them
		n     int // ranks that busbw/algbw of an all-reduce tells; 0: another operation
		peak  GBps
	}{
		"0x-allgather.log":                  {34, 8, 0, 230.07},
		"0x-reducescatter.log":              {34, 8, 0, 231.52},
		"10-efa-1nic-2ranks-mpi-prefix.txt": {2, 0, 2, 3.13},
		"11-2ranks-config-a.txt":            {4, 0, 2, 2.31},
		"13-16ranks-195.txt":                {5, 0, 16, 196.52},
		"14-8ranks-448.txt":                 {4, 0, 8, 470.73},
		"16-2gpu-47.txt":                    {4, 0, 2, 47.49},
	} {
		t.Run(name, func(t *testing.T) {
			var run AllReduceRun
			run.Take(fromCorpus(t, name))
			peak, _ := run.Best()
			if len(run.Sizes) != c.rows || run.Ranks != c.ranks || peak.Busbw != c.peak {
				t.Errorf("%d rows, %d ranks, peak %v", len(run.Sizes), run.Ranks, peak.Busbw)
			}
			if c.n > 0 && math.Abs(float64(peak.Busbw/peak.Algbw-busbw(c.n, 1))) > 0.01 {
				t.Errorf("busbw/algbw %g", peak.Busbw/peak.Algbw)
			}
		})
	}
}

func TestCorpusPerftest(t *testing.T) {
	p := ParsePerftest(fromCorpus(t, "02-ib-loopback-all-sizes.log"))
	best, err := p.Best()
	const sizes = 24 // 2 B to 8 MiB; the server prints the last again
	if err != nil || len(p.bandwidth) != sizes || best.String() != "195.3 Gb/s" || len(p.Errors) != 0 {
		t.Errorf("%+v, %v of %+v", best, err, p)
	}
}
