package rules

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// ownLoop is the advice for a NIC that is slow to itself.
const ownLoop = "Nothing but the card, its slot and its host is involved: look at the slot's speed and width, and at the IOMMU."

// shortLoop is an HCA that moves less to itself than the same rail of other pods does.
type shortLoop struct {
	bench.OwnLoop
	others bench.Gbps
}

// shortLoops returns the slow loopbacks of a bench. Both directions share the slot, so each is compared with the
// others, not with the ceiling.
func (b benched) shortLoops() []shortLoop {
	const fewest, part = 3, 0.8
	of := map[int][]bench.Gbps{}
	for _, l := range b.Loopbacks {
		if l.Failed == "" {
			of[l.At.Rail] = append(of[l.At.Rail], l.Measured)
		}
	}
	for _, rates := range of {
		slices.Sort(rates)
	}
	var short []shortLoop
	for _, l := range b.Loopbacks {
		rates, others := of[l.At.Rail], bench.Gbps(0)
		if len(rates) >= fewest {
			others = rates[len(rates)/2]
		}
		if l.Failed != "" || l.Measured < part*others {
			short = append(short, shortLoop{l, others})
		}
	}
	return short
}

// shortLoop returns the slow loopback of a NIC that is to blame for slow links.
func (b benched) shortLoop(c bench.Culprit) (shortLoop, bool) {
	if c.Kind == bench.NICFault {
		for _, l := range b.shortLoops() {
			if l.At == (bench.End{Pod: c.Pods[0], Rail: c.Rail}) {
				return l, true
			}
		}
	}
	return shortLoop{}, false
}

func (l shortLoop) evidence() check.Evidence {
	if l.Failed != "" {
		return check.Evidence{Source: "loopback", Got: l.Failed}
	}
	return check.Evidence{Source: "loopback", Got: l.Measured.String(), Want: l.others.String()}
}

// loopbacks are the HCAs that are short of the others, but those whose links say so, too: there they are evidence.
func loopbacks(b benched) []check.Finding {
	told := map[bench.End]bool{}
	for _, part := range b.slowParts() {
		if loop, short := b.shortLoop(part.Culprit); short {
			told[loop.At] = true
		}
	}
	var findings []check.Finding
	for _, l := range b.shortLoops() {
		if told[l.At] {
			continue
		}
		at := b.Pods[l.At.Pod]
		summary := "it does not reach itself: " + l.Failed
		if l.Failed == "" {
			summary = fmt.Sprintf("it moves %s to itself, where others move %s", l.Measured, l.others)
		}
		findings = append(findings, check.Finding{
			Check: BenchLoopback, Status: check.Warn, Subject: check.Named(check.Measured, fmt.Sprintf("NIC %s of %s", at.Rails[l.At.Rail].Device, at.Place())),
			Summary: summary, Evidence: []check.Evidence{l.evidence()},
			Fix: &check.Fix{Text: ownLoop, Who: check.Admin, Commands: []string{"railhead doctor node/" + at.Place()}},
		})
	}
	return findings
}
