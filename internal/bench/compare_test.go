package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSummarise(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   Summary
	}{
		"nothing":                {nil, Summary{}},
		"one run":                {[]float64{390}, Summary{1, 390, 0, 390, 390}},
		"an even number of runs": {[]float64{392, 390}, Summary{2, 391, 1.4826, 390, 392}},
		"one went wrong":         {[]float64{390, 10, 391, 392, 391}, Summary{5, 391, 1.4826, 10, 392}},
		"one is no number":       {[]float64{390, math.NaN(), math.Inf(1)}, Summary{1, 390, 0, 390, 390}},
	} {
		if d := cmp.Diff(c.want, Summarise(c.values), cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		old, now []float64
		want     Verdict
		bound    float64
		assumed  bool
	}{
		"as before":                             {[]float64{390, 391, 392}, []float64{389, 391, 390}, Same, 0.02, false},
		"a tenth slower":                        {[]float64{390, 391, 392}, []float64{350, 351, 352}, Slower, 0.02, false},
		"a tenth faster":                        {[]float64{350, 351, 352}, []float64{390, 391, 392}, Faster, 0.02, false},
		"a tenth slower, and so wide was noise": {[]float64{300, 390, 450}, []float64{350, 351, 352}, Same, 0.4952, false},
		"one run each, a little slower":         {[]float64{390}, []float64{370}, Same, 0.1, true},
		"one run each, much slower":             {[]float64{390}, []float64{200}, Slower, 0.1, true},
		"nothing came through before":           {[]float64{0, 0, 0}, []float64{390, 391, 392}, Unknown, 0, false},
		"nothing comes through now":             {[]float64{390, 391, 392}, []float64{0, 0, 0}, Slower, 0.02, false},
		"nothing came through in one run now":   {[]float64{390, 391, 392}, []float64{390, 0, 392}, Slower, 0.02, false},
		"nor in one run before":                 {[]float64{390, 0, 391}, []float64{390, 0, 391}, Same, 0.02, false},
		"no run now":                            {[]float64{390, 391, 392}, []float64{}, Unknown, 0, false},
	} {
		got := Compare([]Series{{"write", c.old}}, []Series{{"write", c.now}})
		if len(got) != 1 || got[0].Verdict != c.want || got[0].Assumed != c.assumed || math.Abs(got[0].Bound-c.bound) > 1e-4 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	one := []float64{100}
	got := Compare([]Series{{"b", one}, {"a", one}}, []Series{{"c", one}, {"a", one}})
	want := []Change{
		{Name: "b", Old: Summarise(one), Verdict: Gone},
		{Name: "a", Old: Summarise(one), New: Summarise(one), Ratio: 1, Bound: 0.1, Assumed: true, Verdict: Same},
		{Name: "c", New: Summarise(one), Verdict: New},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
