package bench

import (
	"math"
	"slices"
)

// Kind is what a slow part of a fabric is.
type Kind string

// The parts that can be at fault, the widest first.
const (
	FabricFault Kind = "fabric" // everything: below the ceiling, and no part of it slower than the rest
	RailFault   Kind = "rail"   // one rail of all pods
	LeafFault   Kind = "leaf"   // what crosses one leaf switch's border
	NodeFault   Kind = "node"   // all rails of one node
	NICFault    Kind = "nic"    // one rail of one pod: its NIC, cable or switch port
	PairFault   Kind = "pair"   // two pods that are both well with everybody else
)

// EveryRail as a Culprit's Rail means that no single rail is at fault.
const EveryRail = -1

// Culprit is one part of the fabric that explains slow links.
type Culprit struct {
	Kind     Kind     `json:"kind"`
	Pods     []int    `json:"pods,omitempty"`   // of a NIC one, of a pair two, of a node all its pods
	Rail     int      `json:"rail"`             // -1: several
	Node     string   `json:"node,omitempty"`   // of a node
	Leaves   []string `json:"leaves,omitempty"` // of a leaf; two, where they were measured only against each other
	Links    int      `json:"links"`            // that it explains
	Measured Gbps     `json:"measured"`         // their median
	Expected Gbps     `json:"expected"`         // of a healthy link; of the fabric the ceiling
}

// Attribution is which parts of a fabric are slow.
type Attribution struct {
	Culprits []Culprit `json:"culprits,omitempty"` // the dead first, then the widest; each link is explained once
	Links    int       `json:"links"`              // measured
	Baseline float64   `json:"baseline"`           // a healthy link: of its ceiling, or Gb/s where ceilings are not known
	Spread   float64   `json:"spread"`             // standard deviation of healthy links, of the baseline
}

// How much a link or a group must fall short to be slow. Means of many are known better than single values: MTU 1500 on
// a 400G node costs 5.6 % on each of its links, which no single link can prove.
const (
	groupShort  = 0.03 // a group: that, or so many standard errors
	groupErrors = 6
	linkShort   = 0.10 // a single link of a million: that, or so many standard deviations
	linkSpreads = 8
	slowSpreads = 3    // a link counts as slow in its group's vote
	majority    = 0.8  // of a leaf's or a rail's links
	mostRails   = 0.75 // of a node's, or of a pair's
)

// attributor holds what is known while links are being explained.
type attributor struct {
	m         *Matrix
	scale     []float32 // by rail: from Gb/s to a part of the healthy value
	expected  []Gbps    // by rail: the healthy value
	spread    float64
	medians   []float32 // of each end's links, at pod*rails+rail; negative: it has fewer than two
	explained []bool
	railFault []bool
	result    Attribution
}

// Attribute finds the parts of a fabric that are slow against the rest of it, and whether all of it is below min (0.9)
// of its ceilings. A part is blamed when the majority of its links are slow that no wider part explains: rails, then
// leaves of several rails, whole nodes, leaves of one rail and NICs, and what is left are pairs; within what a wider part
// explains nothing more is looked for. Of a Matrix that is not Whole nothing is said.
func (m *Matrix) Attribute(min float64) Attribution {
	if !m.Whole() {
		return Attribution{}
	}
	a := &attributor{m: m, explained: make([]bool, len(m.Values)), railFault: make([]bool, len(m.Rails))}
	if !a.baseline() {
		return a.result
	}
	a.fabric(min)
	a.rails()
	a.wholeLeaves()
	a.wholeNodes()
	a.leaves()
	a.nodes()
	a.pairs()
	slices.SortStableFunc(a.result.Culprits, func(x, y Culprit) int { return x.alive() - y.alive() })
	return a.result
}

// alive is 0 of a part through which nothing comes, else 1: a job that needs it does not run, however fast the rest is.
func (c Culprit) alive() int {
	if c.Measured == 0 {
		return 0
	}
	return 1
}

// ceilings are what rails are compared by: their ceilings, else 1 for all.
func (a *attributor) ceilings() []float64 {
	ceilings := make([]float64, len(a.m.Rails))
	for i, r := range a.m.Rails {
		if r.Ceiling <= 0 {
			for j := range ceilings {
				ceilings[j] = 1
			}
			return ceilings
		}
		ceilings[i] = float64(r.Ceiling)
	}
	return ceilings
}

// baseline finds what healthy links have: the median of those within a fifth of the upper eighth, so that it is not
// moved by faults until seven eighths of all links are slow. False if nothing came through.
func (a *attributor) baseline() bool {
	const sample, near = 1 << 16, 0.2
	ceilings, pairs := a.ceilings(), a.m.pairs()
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
		a.result.Culprits = append(a.result.Culprits, Culprit{Kind: FabricFault, Rail: EveryRail, Links: a.result.Links,
			Expected: a.m.Rails[0].Ceiling})
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

// fabric blames everything where even healthy links are below min of their ceiling.
func (a *attributor) fabric(min float64) {
	if a.m.Rails[0].Ceiling > 0 && a.ceilings()[0] > 1 && a.result.Baseline < min {
		a.result.Culprits = append(a.result.Culprits, Culprit{Kind: FabricFault, Rail: EveryRail, Links: a.result.Links,
			Measured: a.expected[0], Expected: a.m.Rails[0].Ceiling})
	}
}

// floor raises a least shortfall where so few links were measured that their spread is not known.
func (a *attributor) floor(short float64) float64 {
	const few = 10
	return short * (1 + few/float64(a.result.Links))
}

// slow is the value, as a part of the healthy one, below which a link counts as slow in its group's vote.
func (a *attributor) slow() float32 {
	return float32(1 - max(a.floor(groupShort), slowSpreads*a.spread))
}

// ratio is a link's value as a part of the healthy one; false if it was not measured or is explained already.
func (a *attributor) ratio(at, rail int) (float32, bool) {
	v := a.m.Values[at]
	return v * a.scale[rail], v >= 0 && !a.explained[at]
}

// blame adds a culprit. ratios are those of the links that it explains, of the given rail.
func (a *attributor) blame(c Culprit, rail int, ratios []float32) {
	slices.Sort(ratios)
	c.Links, c.Expected = len(ratios), a.expected[rail]
	if len(ratios) > 0 {
		c.Measured = a.expected[rail] * Gbps(ratios[len(ratios)/2])
	}
	a.result.Culprits = append(a.result.Culprits, c)
}

// everywhere reports whether few ends of a rail are well: those of half its pods being slow makes most of its links slow, too,
// and yet the others' upper quarter is fast.
func (a *attributor) everywhere(rail int) bool {
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

// rails blames the rails most of whose links are slow. Two pods have one link a rail, which may as well be theirs.
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
		if len(ratios) == 0 || float64(slow) < majority*float64(len(ratios)) || !a.everywhere(r) {
			continue
		}
		a.railFault[r] = true
		for i := r * pairs; i < (r+1)*pairs; i++ {
			a.explained[i] = true
		}
		a.blame(Culprit{Kind: RailFault, Rail: r}, r, ratios)
	}
}
