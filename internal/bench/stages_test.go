package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// podsWith is a fleet of n pods, each with rails of 392 Gb/s.
func podsWith(n, rails int, tools ...Tool) Fleet {
	f := Fleet{Duration: time.Second, Size: 65536, QPs: 4}
	for i := range n {
		p := Pod{Name: "pod-" + string(rune('a'+i)), Node: "gpu-" + string(rune('a'+i)), IP: "10.0.0.1", Tools: append(tools, Timeout)}
		for r := range rails {
			p.Rails = append(p.Rails, PodRail{
				Name: "net" + string(rune('1'+r)), Device: "mlx5_0", Port: 1, Address: "192.168.1.1", GPU: host.Know(r), Ceiling: Ceiling{Rate: 392, By: ByLink},
			})
		}
		f.Pods = append(f.Pods, p)
	}
	return f
}

// answer gives every link of every stage the rate of its measure.
func answer(c Climb, of func(Stage) Reading) [][]Reading {
	var all [][]Reading
	for _, s := range c.Stages() {
		var stage []Reading
		for range s.Links {
			stage = append(stage, of(s))
		}
		if s.Skipped != "" {
			stage = nil
		}
		all = append(all, stage)
	}
	return all
}

func TestClimb(t *testing.T) {
	c := podsWith(2, 2, IBWriteBW, IBWriteLat, PerftestCUDA, Iperf3).Ladder(0, 1)
	var names []string
	for _, s := range c.Stages() {
		names = append(names, s.Name+strings.Repeat(" *", len(s.Links)-1))
	}
	want := []string{
		"RDMA write, host memory, rail net1", "RDMA write, GPU memory, rail net1", "RDMA write, host memory, rail net2", "RDMA write, GPU memory, rail net2",
		"RDMA write, all rails at once *", "TCP over the pod network", "TCP over the rail, rail net1", "RDMA write latency, rail net1", "RDMA write latency, rail net2",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Fatal(d)
	}
	healthy := func(s Stage) Reading {
		switch s.Measure {
		case Latency:
			return Reading{Micros: 2}
		case TCPOfPod, TCPOfRail:
			return Reading{Rate: 28}
		case Write, WriteOfGPU, Reach:
		}
		return Reading{Rate: 390}
	}
	readings := [][][]Reading{answer(c, healthy), answer(c, func(s Stage) Reading {
		r := healthy(s)
		r.Rate *= 0.98
		return r
	}), answer(c, healthy)}
	ladders := Judged(c.Ladders(readings), Gate{Efficiency: 0.9})
	if len(ladders) != 2 || len(ladders[0].Steps) != 6 || len(ladders[1].Steps) != 3 || ladders[0].State != check.Pass || ladders[1].State != check.Pass {
		t.Fatalf("%+v", ladders)
	}
	all := ladders[0].Steps[2]
	if all.Name != AllRails || all.Measured.Value != 780 || all.Ceiling != 784 || all.Rails != 2 || all.Tool != "ib_write_bw -s 65536 -q 4" {
		t.Errorf("%+v", all)
	}
	series := c.Series(readings)
	if d := cmp.Diff(Series{"gpu-a > gpu-b: RDMA write, host memory, rail net1, Gb/s", []float64{390, 382.2, 390}}, series[0]); d != "" || len(series) != 9 {
		t.Errorf("%d series: %s", len(series), d)
	}
	if d := cmp.Diff(Series{"gpu-a > gpu-b: RDMA write latency, rail net2, 1/us", []float64{0.5, 0.5, 0.5}}, series[8]); d != "" {
		t.Error(d)
	}
}

// What failed in one run of several has failed: training would, too.
func TestClimbFailures(t *testing.T) {
	c := podsWith(2, 2, IBWriteBW).Ladder(0, 1)
	good, bad := answer(c, func(Stage) Reading { return Reading{Rate: 390} }), answer(c, func(s Stage) Reading {
		if len(s.Links) > 1 {
			return Reading{Failed: "it hangs"}
		}
		return Reading{Rate: 390}
	})
	l := Judged(c.Ladders([][][]Reading{good, bad}), Gate{Efficiency: 0.9})[0]
	if l.State != check.Fail || l.Gap.Step.Name != AllRails || l.Gap.Step.Failed != "rail net1: it hangs" {
		t.Errorf("%+v", l.Gap)
	}
	for _, s := range l.Steps {
		switch s.Name {
		case WriteGPU:
			if s.Skipped != "the image of pod-a has no perftest built with CUDA" {
				t.Errorf("%+v", s)
			}
		case TCPPod, TCPRail:
			if s.Skipped == "" {
				t.Errorf("%+v", s)
			}
		case WriteHost, AllRails, NCCLRing, NCCLOwn, WriteLatency:
		}
	}
	if none := podsWith(2, 0, Iperf3).Ladder(0, 1).Stages(); len(none) != 1 || none[0].Measure != TCPOfPod {
		t.Errorf("without rails: %+v", none)
	}
	only := c.Only(WriteHost, AllRails).Stages()
	if len(only) != 3 {
		t.Errorf("%+v", only)
	}
}

// TestUnknownCeiling: all rails at once have no ceiling if that of one is unknown.
func TestUnknownCeiling(t *testing.T) {
	f := podsWith(2, 2, IBWriteBW)
	f.Pods[1].Rails[1].Ceiling = Ceiling{}
	c := f.Ladder(0, 1).Only(AllRails)
	readings := answer(c, func(Stage) Reading { return Reading{Rate: 190} })
	l := Judged(c.Ladders([][][]Reading{readings}), Gate{Efficiency: 0.9})[0]
	if s := l.Steps[0]; s.Ceiling != 0 || s.Measured.Value != 380 || l.State != check.Unknown {
		t.Errorf("%v: %+v", l.State, s)
	}
}

func TestStageTests(t *testing.T) {
	f := podsWith(2, 2, IBWriteBW)
	tests, err := f.Tests(Stage{Measure: Write, Links: SameRail([]Pair{{0, 1}}, 2)}, 20064)
	if err != nil || len(tests) != 2 {
		t.Fatal(tests, err)
	}
	for i, port := range []string{"20064", "20065"} {
		if tests[i].Server.Argv[6] != port || tests[i].Client.Argv[6] != port {
			t.Errorf("%v, %v: want port %s", tests[i].Server.Argv, tests[i].Client.Argv, port)
		}
	}
}

func TestSurvey(t *testing.T) {
	f := podsWith(4, 2, IBWriteBW)
	s := f.NewSurvey()
	gate := Gate{Efficiency: 0.9}
	slow := Link{End{0, 1}, End{2, 1}}
	for r := range RoundCount(4) {
		for _, stage := range s.Round("x", Round(4, r)) {
			readings := make([]Reading, len(stage.Links))
			for i, l := range stage.Links {
				if readings[i] = (Reading{Rate: 390}); l == slow { // one way only
					readings[i] = Reading{Failed: "it hangs"}
				}
			}
			s.Take(stage, readings, gate)
		}
	}
	if rate, known := s.Matrix().At(0, 2, 1); !known || rate != 0 {
		t.Errorf("%v, %v", rate, known)
	}
	if links := slices.Collect(s.Matrix().Links()); len(links) != 12 || !s.Matrix().Whole() {
		t.Errorf("%d links", len(links))
	}
	if got := s.Failures(); len(got) != 1 || !strings.Contains(got[0], "rail net2: it hangs") {
		t.Errorf("%q", got)
	}
	if got := s.Confirm(); got != nil {
		t.Errorf("both ends of a slow link have passed with others, but are tested again: %v", got)
	}
	series := s.Series()
	if len(series) != 24 || !strings.HasPrefix(series[0].Name, "matrix: gpu-") || !strings.HasSuffix(series[0].Name, ", rail net1, Gb/s") {
		t.Errorf("%d series, the first %+v", len(series), series[0])
	}
	f.Pods[3].Tools = Tools{Timeout}
	if got := f.NewSurvey().Round("x", Round(4, 0))[0]; got.Skipped != "the image of pod-d has no ib_write_bw (perftest)" {
		t.Errorf("%q", got.Skipped)
	}
}

func TestCrossingsAndLoopbacks(t *testing.T) {
	f := podsWith(2, 3, IBWriteBW)
	across, loops := f.Crossings(Round(2, 0)), f.Loopbacks()
	if len(across) != 2 || len(across[0].Links) != 3 || across[0].Measure != Reach || len(loops) != 3 || len(loops[0].Links) != 2 {
		t.Fatalf("%+v %+v", across, loops)
	}
	crossed := Crossed(across[0], []Reading{{Rate: 1}, {Failed: "it hangs"}, {Rate: 1}})
	if crossed[0].Reached != true || crossed[1].Reached || crossed[1].Why != "it hangs" || crossed[1].From.Rail == crossed[1].To.Rail {
		t.Errorf("%+v", crossed)
	}
	looped := Looped(loops[2], []Reading{{Rate: 380}, {Failed: "x"}})
	if d := cmp.Diff([]OwnLoop{{At: End{0, 2}, Measured: 380}, {At: End{1, 2}, Failed: "x"}}, looped); d != "" {
		t.Error(d)
	}
}
