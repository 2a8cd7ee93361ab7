package html

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
)

// link is a measurement with its part of the ceiling; if a ceiling is unknown, part is the rate in Gb/s.
type link struct {
	bench.MatrixLink
	part float64
}

// slowest returns the slowest links in order, and the number of measured links. It never holds all links in memory.
func slowest(m *bench.Matrix, most int) (links []link, measured int) {
	byCeiling := allCeilingsKnown(m)
	for l := range m.Links() {
		measured++
		part := float64(l.Rate)
		if byCeiling {
			part /= float64(m.Rails[l.Rail].Ceiling)
		}
		if len(links) == most && part >= links[most-1].part {
			continue
		}
		// after the links that are as slow
		at, _ := slices.BinarySearchFunc(links, part, func(l link, part float64) int {
			if l.part <= part {
				return -1
			}
			return 1
		})
		links = slices.Insert(links, at, link{l, part})
		links = links[:min(len(links), most)]
	}
	return links, measured
}

// mostListed returns the number of links that the page lists as text. With few pods it lists all links, whose numbers
// the map shows, too.
func mostListed(m *bench.Matrix) int {
	const fewPods = 10
	if len(m.Pods) <= fewPods {
		return len(m.Values)
	}
	return 20
}

// table lists the slowest links for readers who cannot see the map.
func (l *Links) table(m *bench.Matrix) Table {
	t := Table{
		Title:   fmt.Sprintf("The %d slowest links", len(l.slow)),
		Columns: []string{"Pod", "Pod", "Rail", "Measured", "Of ceiling"},
	}
	if len(l.slow) == l.measured {
		t.Title = "All links, the slowest first"
	}
	for _, s := range l.slow {
		rail := l.Rails[s.Rail]
		of := ofCeiling(s.Rate, bench.Gbps(rail.Full))
		if !rail.Known {
			of += ", a healthy link"
		}
		t.Rows = append(t.Rows, []string{m.Pods[s.A].Name, m.Pods[s.B].Name, rail.Name, s.Rate.String(), of})
	}
	return t
}
