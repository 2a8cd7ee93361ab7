package bench

import (
	"cmp"
	"iter"
	"slices"
)

// Matrix holds the rate of each pair of pods on each rail, the lower one of the two directions. It takes 4 bytes a
// link: 17 MB for 1,024 pods x 8 rails.
type Matrix struct {
	Pods  []MatrixPod  `json:"pods"`
	Rails []MatrixRail `json:"rails"`
	// Leaves holds the leaf switch of each end, at pod*len(Rails)+rail. Empty, or "" for an end: unknown.
	Leaves []string `json:"leaves,omitempty"`
	// Values are in Gb/s, at rail*pairs+pair. 0: tried, but the link carried no data; negative: not measured.
	Values []float32 `json:"values"`
}

// MatrixPod is a pod of a Matrix. The pods of one node share its faults.
type MatrixPod struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
}

// MatrixRail is a rail of a Matrix. A Ceiling of 0 is unknown.
type MatrixRail struct {
	Name    string `json:"name"`
	Ceiling Gbps   `json:"ceiling,omitempty"`
}

const notMeasured = -1

// NewMatrix returns a Matrix without measurements.
func NewMatrix(pods []MatrixPod, rails []MatrixRail) *Matrix {
	m := &Matrix{Pods: pods, Rails: rails}
	m.Values = slices.Repeat([]float32{notMeasured}, m.pairs()*len(rails))
	return m
}

func (m *Matrix) pairs() int { return len(m.Pods) * (len(m.Pods) - 1) / 2 }

// Whole reports whether the sizes of the slices match. In a file they may not.
func (m *Matrix) Whole() bool {
	return len(m.Values) == m.pairs()*len(m.Rails) && (len(m.Leaves) == 0 || len(m.Leaves) == len(m.Pods)*len(m.Rails))
}

// at returns the index of a link in Values: the pairs (0,1), (0,2) ... (1,2) ... of each rail.
func (m *Matrix) at(a, b, rail int) int {
	if a > b {
		a, b = b, a
	}
	return rail*m.pairs() + a*(2*len(m.Pods)-a-1)/2 + b - a - 1
}

// Set records a measurement. Of several of one link, as of its two directions, the lowest counts.
func (m *Matrix) Set(a, b, rail int, measured Gbps) {
	at := m.at(a, b, rail)
	if v := m.Values[at]; v < 0 || float32(measured) < v {
		m.Values[at] = float32(max(measured, 0))
	}
}

// At returns a measurement. It is false if there is none.
func (m *Matrix) At(a, b, rail int) (Gbps, bool) {
	if a == b {
		return 0, false
	}
	v := m.Values[m.at(a, b, rail)]
	return Gbps(v), v >= 0
}

func (m *Matrix) leaf(pod, rail int) string {
	if len(m.Leaves) == 0 {
		return ""
	}
	return m.Leaves[pod*len(m.Rails)+rail]
}

func (m *Matrix) node(pod int) string { return cmp.Or(m.Pods[pod].Node, m.Pods[pod].Name) }

// MatrixLink is a measurement of a Matrix: two pods on a rail, as indices.
type MatrixLink struct {
	A, B, Rail int
	Rate       Gbps
}

// Links yields the measured links, rail by rail.
func (m *Matrix) Links() iter.Seq[MatrixLink] {
	return func(yield func(MatrixLink) bool) {
		for r := range m.Rails {
			for a := range m.Pods {
				for b := a + 1; b < len(m.Pods); b++ {
					if rate, measured := m.At(a, b, r); measured && !yield(MatrixLink{a, b, r, rate}) {
						return
					}
				}
			}
		}
	}
}
