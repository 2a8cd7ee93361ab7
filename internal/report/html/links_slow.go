package html

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
)

// link is one measured value of a matrix.
type link struct {
	a, b, rail int
	rate       bench.Gbps
	part       float64 // of its ceiling; Gb/s where that is not known
}

func (l link) name(m *bench.Matrix) string {
	return fmt.Sprintf("%s with %s, %s", m.Pods[l.a].Name, m.Pods[l.b].Name, m.Rails[l.rail].Name)
}

// slowest are the slowest links, the slowest first, and how many were measured.
func slowest(m *bench.Matrix, most int) (links []link, measured int) {
	all := ceilings(m)
	for l := range m.Links() {
		measured++
		part := float64(l.Rate)
		if all {
			part /= float64(m.Rails[l.Rail].Ceiling)
		}
		if len(links) == most && part >= links[most-1].part {
			continue
		}
		at, _ := slices.BinarySearchFunc(links, part, func(l link, part float64) int {
			if l.part <= part {
				return -1
			}
			return 1
		})
		links = slices.Insert(links, at, link{l.A, l.B, l.Rail, l.Rate, part})
		links = links[:min(len(links), most)]
	}
	return links, measured
}

// fewPods are so few that the page has every link of them as a row and as a cell with its number.
const fewPods = 10

// most is the number of links that the page lists as text.
func most(m *bench.Matrix) int {
	if len(m.Pods) <= fewPods {
		return len(m.Values)
	}
	return 20
}

// table is the numbers of the map for those who do not see it.
func (l *Links) table(m *bench.Matrix) Table {
	t := Table{Title: fmt.Sprintf("The %d slowest links", len(l.slow)), Columns: []string{"Pod", "Pod", "Rail", "Measured", "Of"}}
	if len(l.slow) == l.measured {
		t.Title = "All links, the slowest first"
	}
	for _, s := range l.slow {
		rail := l.Rails[s.rail]
		of := ofCeiling(s.rate, bench.Gbps(rail.Full))
		if !rail.Known {
			of += ", a healthy link"
		}
		t.Rows = append(t.Rows, []string{m.Pods[s.a].Name, m.Pods[s.b].Name, rail.Name, s.rate.String(), of})
	}
	return t
}
