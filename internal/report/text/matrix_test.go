package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// A warning does not hide that nothing could be judged.
func TestUnknownBench(t *testing.T) {
	r := bench.Result{Namespace: "train", MinEfficiency: 0.9, Findings: []check.Finding{
		{Check: "bench-measured", Status: check.Warn, Summary: "TCP over the pod network: refused"},
		{Check: "bench-measured", Status: check.Unknown, Summary: "nothing was measured that can be judged"},
	}}
	var out strings.Builder
	if err := Bench(&out, r, false); err != nil {
		t.Fatal(err)
	}
	if want := "Result: unknown. The findings above say why.\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
}

// A rail without measurements has no rates, which differs from a rate of 0.
func TestUnmeasuredRail(t *testing.T) {
	rails := []bench.PodRail{{Name: "rail0"}, {Name: "rail1"}}
	r := bench.Result{
		Namespace:     "train",
		Job:           "h-kim",
		Seconds:       3,
		MinEfficiency: 0.9,
		Pods:          []bench.Pod{{Name: "h-kim-0", Rails: rails}, {Name: "h-kim-1", Rails: rails}},
		Matrix: bench.NewMatrix(
			[]bench.MatrixPod{{Name: "h-kim-0"}, {Name: "h-kim-1", Node: "gpu-1"}},
			[]bench.MatrixRail{{Name: "rail0", Ceiling: 392.1}, {Name: "rail1", Ceiling: 392.1}},
		),
		Loopbacks:  []bench.OwnLoop{{Measured: 390}, {At: bench.End{Pod: 1}, Failed: "no data"}},
		CrossRails: []bench.Crossing{{Reached: true}, {}},
		Skipped:    []string{"RDMA write, GPU memory: no perftest"},
	}
	r.Matrix.Set(0, 1, 0, 386)
	var out strings.Builder
	if err := Bench(&out, r, false); err != nil {
		t.Fatal(err)
	}
	const want = `Bench of job h-kim in namespace train: 2 pods, 2 rails, 3s

Matrix: 1 link between 2 pods
RAIL    LINKS   MEDIAN       SLOWEST      FASTEST      CEILING      OF CEILING   WITHOUT DATA
rail0   1       386.0 Gb/s   386.0 Gb/s   386.0 Gb/s   392.1 Gb/s   98.4 %       0
rail1   0       -            -            -            392.1 Gb/s   -            0

SLOWEST LINKS   TO      RAIL    MEASURED     OF CEILING
h-kim-0         gpu-1   rail0   386.0 Gb/s   98.4 %

LOOPBACK OF RAIL   HCAS   MEDIAN       SLOWEST      FAILED
rail0              2      390.0 Gb/s   390.0 Gb/s   1
rail1              0      -            -            0

Cross-rail: 1 of 2 paths between different rails carry data

Skipped: RDMA write, GPU memory: no perftest

Result: on target. Every measurement reaches 90.0 % of the ceiling.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
