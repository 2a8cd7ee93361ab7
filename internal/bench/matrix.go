package bench

import (
	"iter"
	"slices"
)

// Matrix is what was measured between all pods on all rails: one number for each pair and rail, the lower of the two
// directions. It holds 4 bytes a link: 17 MB for 1,024 pods x 8 rails.
type Matrix struct {
	Pods  []MatrixPod  `json:"pods"`
	Rails []MatrixRail `json:"rails"`
	// Leaves name the leaf switch of each end, at pod*len(Rails)+rail. Empty, or "" for an end: not known.
	Leaves []string `json:"leaves,omitempty"`
	// Values are Gb/s, at the rail's number times the number of pairs plus the pair's. 0: tried, and nothing came through;
	// negative: not measured.
	Values []float32 `json:"values"`
}

// MatrixPod is a pod. The pods of one node share its faults.
type MatrixPod struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
}

// MatrixRail is a rail. Ceiling 0: not known.
type MatrixRail struct {
	Name    string `json:"name"`
	Ceiling Gbps   `json:"ceiling,omitempty"`
}

const notMeasured = -1

// NewMatrix is a matrix in which nothing was measured yet.
func NewMatrix(pods []MatrixPod, rails []MatrixRail) *Matrix {
	m := &Matrix{Pods: pods, Rails: rails}
	m.Values = slices.Repeat([]float32{notMeasured}, m.pairs()*len(rails))
	return m
}

func (m *Matrix) pairs() int { return len(m.Pods) * (len(m.Pods) - 1) / 2 }

// Whole reports whether the sizes fit each other, which those of a file may not.
func (m *Matrix) Whole() bool {
	return len(m.Values) == m.pairs()*len(m.Rails) && (len(m.Leaves) == 0 || len(m.Leaves) == len(m.Pods)*len(m.Rails))
}

// at is where the value of two pods on a rail stands: the pairs (0,1), (0,2) ... (1,2) ... of each rail.
func (m *Matrix) at(a, b, rail int) int {
	if a > b {
		a, b = b, a
	}
	return rail*m.pairs() + a*(2*len(m.Pods)-a-1)/2 + b - a - 1
}

// Set notes a measurement. Of two of one link, as of its two directions, the lower one stays.
func (m *Matrix) Set(a, b, rail int, measured Gbps) {
	at := m.at(a, b, rail)
	if v := m.Values[at]; v < 0 || float32(measured) < v {
		m.Values[at] = float32(max(measured, 0))
	}
}

// At is a measurement; false if there is none.
func (m *Matrix) At(a, b, rail int) (Gbps, bool) {
	if a == b {
		return 0, false
	}
	v := m.Values[m.at(a, b, rail)]
	return Gbps(v), v >= 0
}

// leaf is the leaf of an end, "" if it is not known.
func (m *Matrix) leaf(pod, rail int) string {
	if len(m.Leaves) == 0 {
		return ""
	}
	return m.Leaves[pod*len(m.Rails)+rail]
}

// node is the name of a pod's node, else its own.
func (m *Matrix) node(pod int) string {
	if n := m.Pods[pod].Node; n != "" {
		return n
	}
	return m.Pods[pod].Name
}

// MatrixLink is one measurement of a Matrix: two pods, by their numbers, on a rail.
type MatrixLink struct {
	A, B, Rail int
	Rate       Gbps
}

// Links are all that were measured, rail by rail.
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
