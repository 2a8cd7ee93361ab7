package benchrules

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// ownPath is the advice for a NIC that is slow to itself.
const ownPath = "Only the card, its slot and its host are involved: check the slot's speed and width, and the IOMMU."

// slowLoop is an HCA that moves less data to itself than the same rail of other pods.
type slowLoop struct {
	bench.OwnLoop
	others bench.Gbps
}

// slowLoops returns the slow loopbacks. Both directions share the slot, so each is compared with the others, not with
// the ceiling.
func (r result) slowLoops() []slowLoop {
	const fewest, part = 3, 0.8
	rates := map[int][]bench.Gbps{} // by rail
	for _, l := range r.Loopbacks {
		if l.Failed == "" {
			rates[l.At.Rail] = append(rates[l.At.Rail], l.Measured)
		}
	}
	for _, all := range rates {
		slices.Sort(all)
	}
	var slow []slowLoop
	for _, l := range r.Loopbacks {
		median := bench.Gbps(0)
		if all := rates[l.At.Rail]; len(all) >= fewest {
			median = all[len(all)/2]
		}
		if l.Failed != "" || l.Measured < part*median {
			slow = append(slow, slowLoop{l, median})
		}
	}
	return slow
}

// slowLoop returns the slow loopback of a NIC that also has slow links.
func (r result) slowLoop(c bench.Culprit) (slowLoop, bool) {
	if c.Kind == bench.NICFault {
		for _, l := range r.slowLoops() {
			if l.At == (bench.End{Pod: c.Pods[0], Rail: c.Rail}) {
				return l, true
			}
		}
	}
	return slowLoop{}, false
}

func (l slowLoop) evidence() check.Evidence {
	if l.Failed != "" {
		return check.Evidence{Source: "loopback", Got: l.Failed}
	}
	return check.Evidence{Source: "loopback", Got: l.Measured.String(), Want: l.others.String()}
}

// loopbacks reports the slow loopbacks. If the links of the NIC are slow too, its loopback is evidence of that finding.
func loopbacks(r result) []check.Finding {
	reported := map[bench.End]bool{}
	for _, part := range r.slowParts() {
		if loop, slow := r.slowLoop(part.Culprit); slow {
			reported[loop.At] = true
		}
	}
	var findings []check.Finding
	for _, l := range r.slowLoops() {
		if reported[l.At] {
			continue
		}
		pod := r.Pods[l.At.Pod]
		summary := "it does not reach itself: " + l.Failed
		if l.Failed == "" {
			summary = fmt.Sprintf("it moves %s to itself, where others move %s", l.Measured, l.others)
		}
		nic := fmt.Sprintf("NIC %s of %s", pod.Rails[l.At.Rail].Device, pod.Place())
		findings = append(findings, check.Finding{
			Check: Loopback, Status: check.Warn, Subject: check.Named(check.Measured, nic), Summary: summary,
			Evidence: []check.Evidence{l.evidence()},
			Fix:      check.ByAdmin(ownPath, "railhead doctor node/"+pod.Place()),
		})
	}
	return findings
}
