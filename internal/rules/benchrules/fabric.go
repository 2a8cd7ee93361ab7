package benchrules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// SlowPart is a slow part of the fabric, with its finding.
type SlowPart struct {
	bench.Culprit
	Finding check.Finding
}

// SlowParts returns the slow parts of the fabric, the whole last: a part that stands out shows where to look.
func SlowParts(r bench.Result) []SlowPart {
	parts := result{r}.slowParts()
	for _, part := range parts {
		result{r}.name(part.Finding.Fix)
	}
	slices.SortStableFunc(parts, func(a, b SlowPart) int { return a.order() - b.order() })
	return parts
}

func (p SlowPart) order() int {
	if p.Kind == bench.FabricFault {
		return 1
	}
	return 0
}

// slowParts returns the parts of the fabric that are slower than the rest; without one, the links below the gate as one
// part.
func (r result) slowParts() []SlowPart {
	if r.Attribution == nil || r.Matrix == nil || !r.Matrix.Whole() {
		return nil
	}
	var parts []SlowPart
	for _, c := range r.Attribution.Culprits {
		parts = append(parts, SlowPart{c, r.slowPart(c)})
	}
	if len(parts) > 0 {
		return parts
	}
	if part, below := r.belowGate(); below {
		return []SlowPart{part}
	}
	return nil
}

func slowParts(r result) []check.Finding {
	var findings []check.Finding
	for _, part := range r.slowParts() {
		findings = append(findings, part.Finding)
	}
	return findings
}

func (r result) slowPart(c bench.Culprit) check.Finding {
	links := words.Count(c.Links, "link")
	f := check.Finding{
		Check: Fabric, Status: check.Fail, Subject: r.partRef(c),
		Summary:  fmt.Sprintf("%s where %s is healthy, on %s", c.Measured, c.Expected, links),
		Evidence: check.Observed("median of "+links, c.Measured.String(), c.Expected.String()),
		Fix:      r.partFix(c),
	}
	if loop, slow := r.slowLoop(c); slow {
		f.Evidence = append(f.Evidence, loop.evidence())
	}
	switch {
	case c.Measured == 0:
		f.Summary = "no data gets through, on " + links
		if link, why, known := r.failure(c); known {
			f.Evidence = append(f.Evidence, check.Evidence{Source: link, Got: why})
		}
	case c.Kind != bench.FabricFault:
	case len(r.Attribution.Culprits) > 1:
		f.Summary = fmt.Sprintf("even the links outside the slow parts have only %s of a ceiling of %s",
			c.Measured, c.Expected)
	default:
		f.Summary = r.wholeFabric(c)
	}
	return f
}

// wholeFabric describes a fabric that is slow without a part that explains it.
func (r result) wholeFabric(c bench.Culprit) string {
	const alike = 0.8 // the least that the slowest link has of the fastest
	slowest, fastest := c.Measured, c.Measured
	for l := range r.Matrix.Links() {
		slowest, fastest = min(slowest, l.Rate), max(fastest, l.Rate)
	}
	if slowest < alike*fastest {
		return fmt.Sprintf("links reach %s to %s of a ceiling of %s; no single part explains it",
			strings.TrimSuffix(slowest.String(), " Gb/s"), fastest, c.Expected)
	}
	return fmt.Sprintf("all links have only %s of a ceiling of %s: no part of the fabric stands out",
		c.Measured, c.Expected)
}

func (r result) partFix(c bench.Culprit) *check.Fix {
	switch c.Kind {
	case bench.RailFault:
		return check.ByAdmin("Check the switches of this rail: it is slow between all nodes.",
			"railhead doctor NAME --nodes")
	case bench.LeafFault:
		return check.ByAdmin("Check the leaf switch and its uplinks: the links that cross its border are slow.",
			"mlxlink -d DEVICE -m")
	case bench.NodeFault:
		return check.ByAdmin("All rails of this node are slow: check its MTU, BIOS, PCIe and processors.",
			"railhead doctor node/"+c.Node)
	case bench.NICFault:
		if _, slow := r.slowLoop(c); slow {
			return check.ByAdmin("This NIC is slow with all others and to itself: the cable is not the cause. "+ownPath,
				"railhead doctor node/"+r.Pods[c.Pods[0]].Place())
		}
		return check.ByAdmin("This NIC is slow with all others: check its cable, transceiver, slot and switch port.",
			"mlxlink -d "+r.device(c)+" -m")
	case bench.PairFault:
		pair := strconv.Itoa(c.Pods[0]) + "," + strconv.Itoa(c.Pods[1])
		return check.ByAdmin("Both NICs are fast with all others: check the path between them, such as the link that "+
			"their flows are hashed to.", "railhead bench NAME --pair "+pair)
	}
	return check.ByAdmin("Check what all links have in common: MTU, PCIe generation and width, congestion control, "+
		"the limits of the benchmark itself.", "railhead bench NAME")
}

// failure returns why no data gets through one of the links of a part. A result keeps only some of the failures, as
// "pod > pod, rail name: reason".
func (r result) failure(c bench.Culprit) (link, why string, known bool) {
	ends := min(len(c.Pods), 1)
	if c.Kind == bench.PairFault {
		ends = len(c.Pods)
	}
	for _, failure := range r.Failures {
		link, why, known = strings.Cut(failure, ": ")
		pair, rail, _ := strings.Cut(link, ", rail ")
		met := 0
		for _, pod := range c.Pods {
			if slices.Contains(strings.Split(pair, " > "), r.Matrix.Pods[pod].Name) {
				met++
			}
		}
		if known && met >= ends && (c.Rail < 0 || rail == r.Matrix.Rails[c.Rail].Name) {
			return link, why, true
		}
	}
	return "", "", false
}

func (r result) partRef(c bench.Culprit) check.Ref {
	rail := ""
	if c.Rail >= 0 && c.Rail < len(r.Matrix.Rails) {
		rail = " rail " + r.Matrix.Rails[c.Rail].Name
	}
	switch c.Kind {
	case bench.RailFault:
		return check.Named(check.Measured, strings.TrimSpace(rail))
	case bench.LeafFault:
		return check.Named(check.Leaf, strings.Join(c.Leaves, " or ")+rail)
	case bench.NodeFault:
		return check.NodeRef(c.Node)
	case bench.NICFault:
		return check.Named(check.Measured, fmt.Sprintf("NIC %s of %s%s", r.device(c), r.place(c.Pods[0]), rail))
	case bench.PairFault:
		return check.Named(check.Measured, r.place(c.Pods[0])+" and "+r.place(c.Pods[1])+rail)
	}
	return check.Ref{Kind: check.Fabric}
}

func (r result) place(pod int) string {
	p := r.Matrix.Pods[pod]
	if p.Node == "" {
		return "pod " + p.Name
	}
	return fmt.Sprintf("node %s (pod %s)", p.Node, p.Name)
}

// device returns the HCA of a NIC, or a placeholder if its pod's rails are unknown.
func (r result) device(c bench.Culprit) string {
	if len(c.Pods) > 0 && c.Pods[0] < len(r.Pods) && c.Rail >= 0 && c.Rail < len(r.Pods[c.Pods[0]].Rails) {
		return r.Pods[c.Pods[0]].Rails[c.Rail].Device
	}
	return "DEVICE"
}

// belowGate returns the links that miss the target as one part; below is false if there are none.
func (r result) belowGate() (part SlowPart, below bool) {
	links := 0
	where := ""
	c := bench.Culprit{Kind: bench.FabricFault, Rail: bench.EveryRail}
	for l := range r.Matrix.Links() {
		links++
		rail := r.Matrix.Rails[l.Rail]
		if short, _ := r.gate().Short(l.Rate, rail.Ceiling, 1); !short {
			continue
		}
		if c.Links++; c.Links == 1 || l.Rate < c.Measured {
			c.Measured, c.Expected = l.Rate, rail.Ceiling
			where = fmt.Sprintf("%s and %s, rail %s", r.place(l.A), r.place(l.B), rail.Name)
		}
	}
	return SlowPart{c, check.Finding{
		Check: Fabric, Status: check.Fail, Subject: check.Ref{Kind: check.Fabric},
		Summary: fmt.Sprintf("%d of %s miss the target, and no part of the fabric stands out; the slowest has %s: %s",
			c.Links, words.Count(links, "link"), c.Measured, where),
		Evidence: check.Observed(where, c.Measured.String(), r.target(bench.Step{Ceiling: c.Expected})),
		Fix: check.ByUser("Measure again for longer: a link that stays slow has a bad cable or port.",
			"railhead bench NAME --matrix --duration 10s"),
	}}, c.Links > 0
}

// crossRails reports rails that do not reach each other as one finding, because usually none does.
func crossRails(r result) []check.Finding {
	blocked := slices.DeleteFunc(slices.Clone(r.CrossRails), func(c bench.Crossing) bool { return c.Reached })
	if len(blocked) == 0 {
		return nil
	}
	first := blocked[0]
	end := func(e bench.End) string {
		return r.Pods[e.Pod].Rails[e.Rail].Name + " of " + r.Pods[e.Pod].Place()
	}
	return []check.Finding{{
		Check: CrossRail, Status: check.Warn, Subject: check.Ref{Kind: check.Rails},
		Summary: fmt.Sprintf("%d of %s between different rails carry no data: %s does not reach %s",
			len(blocked), words.Count(len(r.CrossRails), "path"), end(first.From), end(first.To)),
		Evidence: check.Observed("ib_write_bw", first.Why, "20 iterations"),
		Fix: check.ByUser("Route between the rails, or keep NCCL on the same rail: NCCL_CROSS_NIC=0.",
			"railhead launch NAME -e NCCL_CROSS_NIC=0 -- COMMAND"),
	}}
}
