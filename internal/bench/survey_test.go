package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A port of half the rate on one pod is slow, and its other rails are not.
func TestSurveyOfUnequalPorts(t *testing.T) {
	f := podsWith(8, 4)
	f.Pods[1].Rails[2].Ceiling.Rate = 196
	s := f.NewSurvey()
	gate := Gate{Efficiency: 0.9}
	for r := range RoundCount(8) {
		for _, stage := range s.Round("", Round(8, r)) {
			var readings []Reading
			for _, l := range stage.Links {
				readings = append(readings, Reading{Rate: f.Ceiling(l).Rate - 1})
			}
			s.Take(stage, readings, gate)
		}
	}
	got := s.Matrix().Attribute(gate.Efficiency).Culprits
	for i := range got {
		got[i].Measured, got[i].Expected = got[i].Measured.round(), got[i].Expected.round()
	}
	want := []Culprit{{Kind: NICFault, Pods: []int{1}, Rail: 2, Links: 7, Measured: 195, Expected: 391}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	f.Pods[3].Rails[0].Ceiling = Ceiling{}
	if c := f.NewSurvey().Matrix().Rails[0].Ceiling; c != 0 {
		t.Errorf("the ceiling of a rail that is not known of one pod is %s", c)
	}
}

func (g Gbps) round() Gbps { return Gbps(int(g + 0.5)) }
