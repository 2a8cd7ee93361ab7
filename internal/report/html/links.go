package html

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// Links is a matrix of links as it is drawn: every number of it, as few bytes as they need.
type Links struct {
	Title string     `json:"title"`
	Pods  []string   `json:"pods"`
	Nodes []string   `json:"nodes,omitempty"`
	Rails []LinkRail `json:"rails"`
	Least float64    `json:"least"` // part of the full colour below which a link is slow
	Step  float64    `json:"step"`  // Gb/s of one level
	Bytes int        `json:"bytes"` // of a level: 1 or 2
	Ends  []float64  `json:"ends"`  // Gb/s: the median of each end's links, at pod*rails+rail; negative: not measured
	Marks []Mark     `json:"marks,omitempty"`

	Table    Table  `json:"-"` // of all links, or of the slowest where there are too many
	slow     []link // the slowest first
	measured int
	packed   string // levels in the matrix's order, little-endian: 0 is not measured, n+1 is n steps
}

// LinkRail is a rail and the rate that has the full colour.
type LinkRail struct {
	Name  string  `json:"name"`
	Full  float64 `json:"full"`  // Gb/s
	Known bool    `json:"known"` // it is the ceiling; else what a healthy link has
}

// Mark is a part of the fabric that explains slow links.
type Mark struct {
	Text string `json:"text"`
	Pods []int  `json:"pods,omitempty"`
	Rail int    `json:"rail"` // -1: several
}

// What a page has room for: two bytes a link up to exact; beyond it one, and as many levels as fit into mostPacked,
// so that 1,024 pods with 8 rails stay below 5 MB, whatever was measured.
const (
	exact      = 600_000
	mostPacked = 4_000_000
)

// linksOf draws a matrix.
func linksOf(m *bench.Matrix, a *bench.Attribution, gate bench.Gate) Links {
	l := Links{Title: fmt.Sprintf("%s, %s", number(len(m.Pods), "pod"), number(len(m.Rails), "rail")), Least: gate.Efficiency}
	named := false
	for _, p := range m.Pods {
		l.Pods, l.Nodes = append(l.Pods, p.Name), append(l.Nodes, p.Node)
		named = named || p.Node != ""
	}
	if !named {
		l.Nodes = nil
	}
	for r, rail := range m.Rails {
		full, known := float64(rail.Ceiling), rail.Ceiling > 0
		if !known {
			full = healthy(m, a, r)
		}
		l.Rails = append(l.Rails, LinkRail{rail.Name, full, known})
	}
	if full := l.Rails[0].Full; gate.Gbps > 0 && full > 0 {
		l.Least = float64(gate.Gbps) / full
	}
	l.Ends = ends(m)
	if a != nil {
		for _, c := range a.Culprits {
			l.Marks = append(l.Marks, Mark{culprit(c, m), c.Pods, c.Rail})
		}
	}
	l.slow, l.measured = slowest(m, most(m))
	l.Table = l.table(m)
	l.quantise(m.Values)
	return l
}

// ceilings reports whether those of all rails are known: then a baseline is a part of them, else it is Gb/s.
func ceilings(m *bench.Matrix) bool {
	return !slices.ContainsFunc(m.Rails, func(r bench.MatrixRail) bool { return r.Ceiling <= 0 })
}

// healthy returns the expected rate of a link of a rail without a known ceiling, otherwise the highest of any link.
func healthy(m *bench.Matrix, a *bench.Attribution, rail int) float64 {
	if a != nil && a.Baseline > 0 && !ceilings(m) {
		return a.Baseline
	}
	most := float32(0)
	links := len(m.Values) / max(1, len(m.Rails))
	for _, v := range m.Values[rail*links : (rail+1)*links] {
		most = max(most, v)
	}
	return float64(most)
}

// quantise chooses how finely the values are kept.
func (l *Links) quantise(values []float32) {
	most := float32(0)
	for _, v := range values {
		most = max(most, v)
	}
	if most <= 0 {
		most = 1
	}
	if len(values) <= exact {
		l.Bytes, l.Step = 2, float64(most)/(math.MaxUint16-1)
		level := make([]byte, 0, 2*len(values))
		for _, v := range values {
			level = binary.LittleEndian.AppendUint16(level, uint16(l.level(v)))
		}
		l.packed = pack(level)
		return
	}
	l.Bytes = 1
	level := make([]byte, len(values))
	for steps := math.MaxUint8 - 1; steps > 8; steps /= 2 {
		l.Step = float64(most) / float64(steps)
		for i, v := range values {
			level[i] = byte(l.level(v))
		}
		if l.packed = pack(level); len(l.packed) <= mostPacked {
			return
		}
	}
}

func (l *Links) level(v float32) int {
	if !(v >= 0) {
		return 0
	}
	return 1 + int(float64(v)/l.Step+0.5)
}

// ends are the medians of the links that meet in each rail of each pod: a bad NIC is one number of them.
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

// culprit describes the slow part in one line.
func culprit(c bench.Culprit, m *bench.Matrix) string {
	rail := "all rails"
	if c.Rail >= 0 && c.Rail < len(m.Rails) {
		rail = m.Rails[c.Rail].Name
	}
	name := func(i int) string {
		if i >= len(c.Pods) || c.Pods[i] < 0 || c.Pods[i] >= len(m.Pods) {
			return "?"
		}
		return m.Pods[c.Pods[i]].Name
	}
	what := "the whole fabric"
	switch c.Kind {
	case bench.FabricFault:
	case bench.RailFault:
		what = "rail " + rail + " of all pods"
	case bench.LeafFault:
		what = "leaf " + strings.Join(c.Leaves[:min(1, len(c.Leaves))], "") + ", " + rail
		if len(c.Leaves) > 1 {
			what = "between leaves " + c.Leaves[0] + " and " + c.Leaves[1] + ", " + rail
		}
	case bench.NodeFault:
		what = "node " + c.Node + ", all rails"
	case bench.NICFault:
		what = name(0) + ", " + rail + " (its NIC, cable or switch port)"
	case bench.PairFault:
		what = name(0) + " with " + name(1) + ", " + rail
	}
	if c.Measured == 0 {
		return fmt.Sprintf("%s: nothing comes through, on %s", what, number(c.Links, "link"))
	}
	return fmt.Sprintf("%s: %s where %s is expected, on %s", what, c.Measured, c.Expected, number(c.Links, "link"))
}

// cards are the numbers of a matrix.
func (l *Links) cards(m *bench.Matrix, a *bench.Attribution, gate bench.Gate) []Card {
	all := Card{Label: "Links measured", Value: thousands(l.measured), Note: fmt.Sprintf("%s × %s", number(len(m.Values)/max(1, len(m.Rails)), "pair"), number(len(m.Rails), "rail")), Status: check.Skipped}
	if missing := len(m.Values) - l.measured; missing > 0 {
		all.Note += fmt.Sprintf(", %s not measured", thousands(missing))
	}
	if l.measured == 0 {
		all.Status = check.Unknown
		return []Card{all}
	}
	var cards []Card
	ceiling := m.Rails[0].Ceiling
	if a != nil && a.Baseline > 0 {
		typical := bench.Gbps(a.Baseline)
		if ceilings(m) {
			typical *= ceiling
		}
		cards = append(cards, Card{"Healthy link", typical.String(), ofCeiling(typical, ceiling), judged(gate, typical, ceiling, 1)})
	}
	low := l.slow[0]
	cards = append(cards, Card{"Slowest link", low.rate.String(), low.name(m), judged(gate, low.rate, m.Rails[low.rail].Ceiling, 1)})
	return append(cards, all)
}

// judged holds a rate of so many rails against the gate.
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
