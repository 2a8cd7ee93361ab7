package bench

import (
	"math"
	"slices"
)

// Kind is a kind of part of a fabric.
type Kind string

// The parts that can be at fault, the widest first.
const (
	FabricFault Kind = "fabric" // all of it, no part slower than the rest
	RailFault   Kind = "rail"   // one rail of all pods
	LeafFault   Kind = "leaf"   // one leaf switch and its uplinks
	NodeFault   Kind = "node"   // all rails of one node
	NICFault    Kind = "nic"    // one rail of one pod: its NIC, cable or switch port
	PairFault   Kind = "pair"   // two pods that are both fast with all others
)

// EveryRail as a Culprit's Rail means that no single rail is at fault.
const EveryRail = -1

// Culprit is one part of the fabric that explains slow links.
type Culprit struct {
	Kind     Kind     `json:"kind"`
	Pods     []int    `json:"pods,omitempty"`   // of a NIC one, of a pair two, of a node all its pods
	Rail     int      `json:"rail"`             // -1: several
	Node     string   `json:"node,omitempty"`   // of a node
	Leaves   []string `json:"leaves,omitempty"` // of a leaf; two, if they were measured only against each other
	Links    int      `json:"links"`            // that it explains
	Measured Gbps     `json:"measured"`         // their median
	Expected Gbps     `json:"expected"`         // of a healthy link; of the fabric the ceiling
}

// Attribution lists the slow parts of a fabric.
type Attribution struct {
	Culprits []Culprit `json:"culprits,omitempty"` // dead ones first, then the widest; each link is explained once
	Links    int       `json:"links"`              // measured
	Baseline float64   `json:"baseline"`           // healthy part of the ceiling; in Gb/s if ceilings are unknown
	Spread   float64   `json:"spread"`             // standard deviation of healthy links, as a part of the baseline
}

// How far below the healthy rate a link or a group of links is slow. Groups allow a tighter bound than single links:
// MTU 1500 costs a 400G node 5.6 % on each of its links, which no single link can prove.
const (
	groupShort  = 0.03 // a group; at least groupErrors standard errors
	groupErrors = 6
	linkShort   = 0.10 // a link, of up to a million; at least linkSpreads standard deviations
	linkSpreads = 8
	slowSpreads = 3    // standard deviations: a link in the vote of its group
	majority    = 0.8  // of the links of a leaf or a rail
	mostRails   = 0.75 // of a node or a pair
)

// attributor is one search for slow parts.
type attributor struct {
	m         *Matrix
	scale     []float32 // by rail: 1 / healthy rate in Gb/s
	expected  []Gbps    // by rail: healthy rate
	spread    float64
	medians   []float32 // of the links of each end, at pod*rails+rail; negative: it has fewer than two
	explained []bool
	railFault []bool
	result    Attribution
}

// Attribute finds the parts of a fabric that are slower than the rest of it, and reports the whole fabric if it is
// below min (such as 0.9) of its ceilings. A part is blamed if most of its links are slow that no wider part
// explains: first rails, then leaves of several rails, whole nodes, leaves of one rail, NICs, and pairs. A Matrix
// that is not Whole has no culprits.
func (m *Matrix) Attribute(min float64) Attribution {
	if !m.Whole() {
		return Attribution{}
	}
	a := &attributor{m: m, explained: make([]bool, len(m.Values)), railFault: make([]bool, len(m.Rails))}
	if !hasBaseline(a) {
		return a.result
	}
	if a.m.Rails[0].Ceiling > 0 && ceilingsOf(a)[0] > 1 && a.result.Baseline < min {
		a.fabric(a.expected[0])
	}
	a.rails()
	a.wholeLeaves()
	a.wholeNodes()
	a.leaves()
	a.nodes()
	a.pairs()
	slices.SortStableFunc(a.result.Culprits, func(x, y Culprit) int { return x.alive() - y.alive() })
	return a.result
}

// alive orders dead parts first: a job that needs one does not run at all.
func (c Culprit) alive() int {
	if c.Measured == 0 {
		return 0
	}
	return 1
}

// ceilingsOf returns the ceilings of the rails, or 1 for all if one is unknown.
func ceilingsOf(a *attributor) []float64 {
	ceilings := make([]float64, len(a.m.Rails))
	for i, r := range a.m.Rails {
		if r.Ceiling <= 0 {
			return slices.Repeat([]float64{1}, len(ceilings))
		}
		ceilings[i] = float64(r.Ceiling)
	}
	return ceilings
}

// hasBaseline finds the rate of healthy links: the median of those within a fifth of the upper eighth, which faults do
// not change until seven eighths of all links are slow. It is false if no link carried data.
func hasBaseline(a *attributor) bool {
	const sample, near = 1 << 16, 0.2
	ceilings, pairs := ceilingsOf(a), a.m.pairs()
	var values []float64
	step := len(a.m.Values)/sample | 1
	for i, v := range a.m.Values {
		if v < 0 {
			continue
		}
		a.result.Links++
		if i%step == 0 || len(a.m.Values) < sample {
			values = append(values, float64(v)/ceilings[i/pairs])
		}
	}
	if len(values) == 0 {
		return false
	}
	slices.Sort(values)
	pivot := values[len(values)-1-len(values)/8]
	values = slices.DeleteFunc(values, func(v float64) bool { return math.Abs(v-pivot) > near*pivot })
	base := middle(values)
	if base <= 0 {
		a.fabric(0)
		return false
	}
	for _, c := range ceilings {
		a.scale = append(a.scale, float32(1/(base*c)))
		a.expected = append(a.expected, Gbps(base*c))
	}
	a.endMedians()
	a.spread = a.residuals()
	a.result.Baseline, a.result.Spread = base, a.spread
	return true
}

// fabric blames the whole fabric, whose healthy links have the rate.
func (a *attributor) fabric(measured Gbps) {
	a.result.Culprits = append(a.result.Culprits, Culprit{
		Kind:     FabricFault,
		Rail:     EveryRail,
		Links:    a.result.Links,
		Measured: measured,
		Expected: a.m.Rails[0].Ceiling,
	})
}

// floor raises a bound if so few links were measured that their spread is unknown.
func (a *attributor) floor(short float64) float64 {
	const few = 10
	return short * (1 + few/float64(a.result.Links))
}

// slow is the part of the healthy rate below which a link is slow in the vote of its group.
func (a *attributor) slow() float32 {
	return float32(1 - max(a.floor(groupShort), slowSpreads*a.spread))
}

// ratio returns the rate of a link as a part of the healthy one. It is false if the link was not measured or is
// explained.
func (a *attributor) ratio(at, rail int) (float32, bool) {
	v := a.m.Values[at]
	return v * a.scale[rail], v >= 0 && !a.explained[at]
}

// blame adds a culprit that explains links of the ratios, on the rail.
func (a *attributor) blame(c Culprit, rail int, ratios []float32) {
	slices.Sort(ratios)
	c.Links, c.Expected = len(ratios), a.expected[rail]
	if len(ratios) > 0 {
		c.Measured = a.expected[rail] * Gbps(ratios[len(ratios)/2])
	}
	a.result.Culprits = append(a.result.Culprits, c)
}

// isEverywhere reports whether most ends of a rail are slow. If only half of the pods are, most links of the rail are
// slow too, but the upper quarter of the links of the other pods is fast.
func isEverywhere(a *attributor, rail int) bool {
	ends, slow := 0, 0
	for pod := range a.m.Pods {
		if own := a.of(End{pod, rail}); len(own) > 0 {
			ends++
			if own[len(own)*3/4] < a.slow() {
				slow++
			}
		}
	}
	return float64(slow) >= majority*float64(ends)
}

// rails blames rails most of whose links are slow. Between two pods a rail has one link, so that the fault may be
// theirs.
func (a *attributor) rails() {
	pairs := a.m.pairs()
	if len(a.m.Pods) < 3 || len(a.m.Rails) < 2 {
		return
	}
	for r := range a.m.Rails {
		var ratios []float32
		slow := 0
		for i := r * pairs; i < (r+1)*pairs; i++ {
			if v, ok := a.ratio(i, r); ok {
				ratios = append(ratios, v)
				if v < a.slow() {
					slow++
				}
			}
		}
		if len(ratios) == 0 || float64(slow) < majority*float64(len(ratios)) || !isEverywhere(a, r) {
			continue
		}
		a.railFault[r] = true
		for i := r * pairs; i < (r+1)*pairs; i++ {
			a.explained[i] = true
		}
		a.blame(Culprit{Kind: RailFault, Rail: r}, r, ratios)
	}
}
