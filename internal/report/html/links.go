package html

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/benchrules"
)

// Links is a matrix of links for the heat maps. Rates are in Gb/s.
type Links struct {
	Title string     `json:"-"`
	Pods  []string   `json:"pods"`
	Nodes []string   `json:"nodes"`
	Rails []LinkRail `json:"rails"`
	Least float64    `json:"least"` // part of the full colour below which a link is slow
	Step  float64    `json:"step"`  // size of one level
	Bytes int        `json:"bytes"` // of a level: 1 or 2
	Ends  []float64  `json:"ends"`  // median of the links of each end, at pod*rails+rail; negative: not measured
	Marks []Mark     `json:"marks,omitempty"`

	Table    Table `json:"-"` // of all links, or of the slowest ones of many
	Missing  int   `json:"-"` // links that were not measured
	measured int
	slow     []link // the slowest first
	packed   string // levels in the order of the matrix, little-endian: 0 is not measured, n+1 is n steps
}

// LinkRail is a rail and the rate that has the full colour.
type LinkRail struct {
	Name  string  `json:"name"`
	Full  float64 `json:"full"`
	Known bool    `json:"known"` // Full is the ceiling; otherwise the rate of a healthy link
}

// Mark is a part of the fabric that explains slow links.
type Mark struct {
	Text string `json:"-"`
	Pods []int  `json:"pods,omitempty"`
	Rail int    `json:"rail"` // -1: several
}

// Limits of a page: two bytes a link for up to mostExact links, otherwise one, and as many levels as fit into
// mostPacked. The page of 1,024 pods with 8 rails then stays below 5 MB with any measurements.
const (
	mostExact  = 600_000
	mostPacked = 4_000_000
)

func linksOf(m *bench.Matrix, a *bench.Attribution, slow []benchrules.SlowPart, gate bench.Gate) Links {
	l := Links{
		Title: number(len(m.Pods), "pod") + ", " + number(len(m.Rails), "rail"),
		Least: gate.Efficiency,
		Ends:  ends(m),
	}
	for _, p := range m.Pods {
		l.Pods, l.Nodes = append(l.Pods, p.Name), append(l.Nodes, p.Node)
	}
	for r, rail := range m.Rails {
		full, known := float64(rail.Ceiling), rail.Ceiling > 0
		if !known {
			full = healthyRate(m, a, r)
		}
		l.Rails = append(l.Rails, LinkRail{rail.Name, full, known})
	}
	if full := l.Rails[0].Full; gate.Gbps > 0 && full > 0 {
		l.Least = float64(gate.Gbps) / full
	}
	for _, part := range slow {
		l.Marks = append(l.Marks, Mark{headline(rules.Problem{Finding: part.Finding}), part.Pods, part.Rail})
	}
	l.slow, l.measured = slowest(m, mostListed(m))
	l.Missing = len(m.Values) - l.measured
	l.Table = l.table(m)
	l.quantise(m.Values)
	return l
}

// allCeilingsKnown also reports whether the baseline of an attribution is a part of the ceiling; otherwise it is Gb/s.
func allCeilingsKnown(m *bench.Matrix) bool {
	return !slices.ContainsFunc(m.Rails, func(r bench.MatrixRail) bool { return r.Ceiling <= 0 })
}

// healthyRate returns the expected rate on a rail without a known ceiling, or else the highest measured one.
func healthyRate(m *bench.Matrix, a *bench.Attribution, rail int) float64 {
	if a != nil && a.Baseline > 0 && !allCeilingsKnown(m) {
		return a.Baseline
	}
	links := len(m.Values) / len(m.Rails)
	return float64(max(0, slices.Max(m.Values[rail*links:(rail+1)*links])))
}

// quantise packs the values with the finest steps that fit.
func (l *Links) quantise(values []float32) {
	highest := float64(slices.Max(values))
	if !(highest > 0) {
		highest = 1
	}
	if len(values) <= mostExact {
		l.Bytes, l.Step = 2, highest/(math.MaxUint16-1)
		levels := make([]byte, 0, 2*len(values))
		for _, v := range values {
			levels = binary.LittleEndian.AppendUint16(levels, uint16(l.level(v)))
		}
		l.packed = pack(levels)
		return
	}
	l.Bytes = 1
	levels := make([]byte, len(values))
	for steps := math.MaxUint8 - 1; steps > 8; steps /= 2 {
		l.Step = highest / float64(steps)
		for i, v := range values {
			levels[i] = byte(l.level(v))
		}
		if l.packed = pack(levels); len(l.packed) <= mostPacked {
			return
		}
	}
}

func (l *Links) level(v float32) int {
	if !(v >= 0) { // also NaN
		return 0
	}
	return 1 + int(float64(v)/l.Step+0.5)
}

// ends returns the median of the links of each rail of each pod. A bad NIC shows as one low value.
func ends(m *bench.Matrix) []float64 {
	medians := make([]float64, 0, len(m.Pods)*len(m.Rails))
	values := make([]bench.Gbps, 0, len(m.Pods))
	for pod := range m.Pods {
		for rail := range m.Rails {
			values = values[:0]
			for other := range m.Pods {
				if v, measured := m.At(pod, other, rail); measured {
					values = append(values, v)
				}
			}
			if len(values) == 0 {
				medians = append(medians, -1)
				continue
			}
			slices.Sort(values)
			medians = append(medians, math.Round(10*float64(values[len(values)/2]))/10)
		}
	}
	return medians
}

// cards returns the important numbers of a matrix.
func (l *Links) cards(m *bench.Matrix, a *bench.Attribution, gate bench.Gate) []Card {
	pairs := number(len(m.Values)/len(m.Rails), "pair")
	measured := Card{
		Label:  "Links measured",
		Value:  thousands(l.measured),
		Note:   pairs + " × " + number(len(m.Rails), "rail"),
		Status: check.Skipped,
	}
	if l.Missing > 0 {
		measured.Note += fmt.Sprintf(", %s not measured", thousands(l.Missing))
	}
	if l.measured == 0 {
		measured.Status = check.Unknown
		return []Card{measured}
	}
	var cards []Card
	ceiling := m.Rails[0].Ceiling
	if a != nil && a.Baseline > 0 {
		healthy := bench.Gbps(a.Baseline)
		if allCeilingsKnown(m) {
			healthy *= ceiling
		}
		status := judged(gate, healthy, ceiling, 1)
		cards = append(cards, Card{"Healthy link", healthy.String(), ofCeiling(healthy, ceiling), status})
	}
	low := l.slow[0]
	return append(cards, Card{
		Label:  "Slowest link",
		Value:  low.Rate.String(),
		Note:   fmt.Sprintf("%s to %s, %s", m.Pods[low.A].Name, m.Pods[low.B].Name, m.Rails[low.Rail].Name),
		Status: judged(gate, low.Rate, m.Rails[low.Rail].Ceiling, 1),
	}, measured)
}

// judged compares the rate of a number of rails with the gate.
func judged(gate bench.Gate, measured, ceiling bench.Gbps, rails int) check.Status {
	short, known := gate.Short(measured, ceiling, rails)
	switch {
	case !known:
		return check.Skipped
	case short:
		return check.Fail
	}
	return check.Pass
}
