package bench

import (
	"math"
	"testing"
	"time"
)

// A bench reports what perftest printed, neither rounded nor in another unit, and neither its peak nor a part of it.
func TestMeasuredAsPrinted(t *testing.T) {
	const port = 20000
	f := podsWith(2, 1, IBWriteBW)
	f.Duration, f.Size, f.QPs = 3*time.Second, 65536, 4
	link := Link{To: End{Pod: 1}}
	for name, c := range map[string]struct {
		text string
		gbps float64 // that somebody reads there
	}{
		"a duration, GPU memory, Gb/sec": {gpuRun, 391.11},
		"MB/sec":                         {bwHeader + " 65536      5000             11030.78            11030.45\t\t     0.176487\n", 11030.45 * 8 * 1.048576 / 1000},
		"peak above the average": {
			" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             97.81              92.53\t\t     0.176487\n", 92.53,
		},
		"slow": {" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      71              0.000000            0.012368\t\t     0.000024\n", 0.012368},
	} {
		reading := f.Test(Write, link, port).Read(Output{}, Output{Text: c.text})
		climb := f.Ladder(0, 1).Only(WriteHost)
		step := climb.Ladders([][][]Reading{{{reading}}})[0].Steps[0]
		if got, known := step.Measured.Get(); !known || math.Abs(float64(got)-c.gbps) > 1e-9*c.gbps {
			t.Errorf("%s: the ladder has %v Gb/s, perftest %v", name, float64(got), c.gbps)
		}
		s := f.NewSurvey()
		s.Take(Stage{Links: []Link{link}}, []Reading{reading}, Gate{})
		if got, _ := s.Matrix().At(0, 1, 0); math.Abs(float64(got)-c.gbps) > 1e-6*c.gbps { // a float32
			t.Errorf("%s: the matrix has %v Gb/s, perftest %v", name, float64(got), c.gbps)
		}
	}
}

// Of several runs the middle one counts, as it was printed.
func TestMedianOfRuns(t *testing.T) {
	climb := podsWith(2, 1, IBWriteBW).Ladder(0, 1).Only(WriteHost)
	step := climb.Ladders([][][]Reading{{{{Rate: 391.11}}}, {{{Rate: 40}}}, {{{Rate: 390.58}}}})[0].Steps[0]
	if got := step.Measured.Value; got != 390.58 {
		t.Errorf("%v", got)
	}
}
