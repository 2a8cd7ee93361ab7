package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// slowPart is a part of the fabric that is slow, and what says so.
type slowPart struct {
	bench.Culprit
	finding check.Finding
}

// slowParts are the parts of a fabric that are slow against the rest, and links that fall short of the gate although
// nobody is to blame.
func (b benched) slowParts() []slowPart {
	if b.Attribution == nil || b.Matrix == nil || !b.Matrix.Whole() {
		return nil
	}
	var parts []slowPart
	for _, c := range b.Attribution.Culprits {
		parts = append(parts, slowPart{c, b.culprit(c)})
	}
	if len(parts) > 0 {
		return parts
	}
	if part, below := b.below(); below {
		return []slowPart{part}
	}
	return nil
}

func slowFindings(b benched) []check.Finding {
	var findings []check.Finding
	for _, part := range b.slowParts() {
		findings = append(findings, part.finding)
	}
	return findings
}

func (b benched) culprit(c bench.Culprit) check.Finding {
	f := check.Finding{Check: BenchFabric, Status: check.Fail, Subject: b.part(c), Fix: &check.Fix{Who: check.Admin}}
	f.Summary = fmt.Sprintf("%s where %s is healthy, on %s", c.Measured, c.Expected, words.Count(c.Links, "link"))
	switch c.Kind {
	case bench.FabricFault:
		f.Summary = fmt.Sprintf("all links alike have %s of a ceiling of %s: no part of the fabric stands out", c.Measured, c.Expected)
		if len(b.Attribution.Culprits) > 1 {
			f.Summary = fmt.Sprintf("even the links that no part is to blame for have %s of a ceiling of %s", c.Measured, c.Expected)
		}
		f.Fix.Text, f.Fix.Commands = "Look for what all have in common: MTU, PCIe generation and width, congestion control, the benchmark's own limits.", []string{"railhead bench NAME --ladder"}
	case bench.RailFault:
		f.Fix.Text, f.Fix.Commands = "Look at the switches of this rail: it is slow between all nodes.", []string{"railhead doctor NAME --nodes"}
	case bench.LeafFault:
		f.Fix.Text, f.Fix.Commands = "Look at the leaf switch and its uplinks: what crosses its border is slow.", []string{"mlxlink -d DEVICE -m"}
	case bench.NodeFault:
		f.Fix.Text, f.Fix.Commands = "All rails of this node are slow: look at its MTU, BIOS, PCIe and processors.", []string{"railhead doctor node/" + c.Node}
	case bench.NICFault:
		f.Fix.Text, f.Fix.Commands = "This NIC is slow with all others: look at its cable, its transceiver, its slot and its switch port.", []string{"mlxlink -d " + b.device(c) + " -m"}
		if _, short := b.shortLoop(c); short {
			f.Fix.Text, f.Fix.Commands = "This NIC is slow with all others, and to itself: it is not its cable. "+ownLoop, []string{"railhead doctor node/" + b.Pods[c.Pods[0]].Place()}
		}
	case bench.PairFault:
		f.Fix.Text, f.Fix.Commands = "Both are well with all others: look at the path between them, as a link that flows are spread over.", []string{"railhead bench NAME --pair " + numbers(c.Pods)}
	}
	f.Evidence = []check.Evidence{{Source: "median of " + words.Count(c.Links, "link"), Got: c.Measured.String(), Want: c.Expected.String()}}
	if loop, short := b.shortLoop(c); short {
		f.Evidence = append(f.Evidence, loop.evidence())
	}
	if c.Measured == 0 {
		f.Summary = fmt.Sprintf("nothing comes through, on %s", words.Count(c.Links, "link"))
		if link, why, known := b.failure(c); known {
			f.Evidence = append(f.Evidence, check.Evidence{Source: link, Got: why})
		}
	}
	return f
}

// failure is why nothing came through one of the links of a part, as far as it is among those that are kept.
func (b benched) failure(c bench.Culprit) (link, why string, known bool) {
	ends := min(len(c.Pods), 1)
	if c.Kind == bench.PairFault {
		ends = len(c.Pods)
	}
	for _, failure := range b.Failures {
		link, why, known = strings.Cut(failure, ": ")
		pair, rail, _ := strings.Cut(link, ", rail ")
		met := 0
		for _, pod := range c.Pods {
			if slices.Contains(strings.Split(pair, " > "), b.Matrix.Pods[pod].Name) {
				met++
			}
		}
		if known && met >= ends && (c.Rail < 0 || rail == b.Matrix.Rails[c.Rail].Name) {
			return link, why, true
		}
	}
	return "", "", false
}

// part names a culprit.
func (b benched) part(c bench.Culprit) check.Ref {
	rail := ""
	if c.Rail >= 0 && c.Rail < len(b.Matrix.Rails) {
		rail = " rail " + b.Matrix.Rails[c.Rail].Name
	}
	switch c.Kind {
	case bench.RailFault:
		return check.Named(check.Measured, strings.TrimSpace(rail))
	case bench.LeafFault:
		return check.Named(check.Leaf, strings.Join(c.Leaves, " or ")+rail)
	case bench.NodeFault:
		return check.NodeRef(c.Node)
	case bench.NICFault:
		return check.Named(check.Measured, fmt.Sprintf("NIC %s of %s%s", b.device(c), b.place(c.Pods[0]), rail))
	case bench.PairFault:
		return check.Named(check.Measured, fmt.Sprintf("%s and %s%s", b.place(c.Pods[0]), b.place(c.Pods[1]), rail))
	case bench.FabricFault:
	}
	return check.Ref{Kind: check.Fabric}
}

func (b benched) place(pod int) string {
	p := b.Matrix.Pods[pod]
	if p.Node == "" {
		return "pod " + p.Name
	}
	return fmt.Sprintf("node %s (pod %s)", p.Node, p.Name)
}

// device is the HCA of a NIC's culprit, as far as the pod's rails are known.
func (b benched) device(c bench.Culprit) string {
	if len(c.Pods) > 0 && c.Pods[0] < len(b.Pods) && c.Rail >= 0 && c.Rail < len(b.Pods[c.Pods[0]].Rails) {
		return b.Pods[c.Pods[0]].Rails[c.Rail].Device
	}
	return "DEVICE"
}

// below is the links that fall short of the gate, as one part.
func (b benched) below() (slowPart, bool) {
	short, links := 0, 0
	worst, where := bench.Gbps(-1), ""
	var ceiling bench.Gbps
	for l := range b.Matrix.Links() {
		links++
		rail := b.Matrix.Rails[l.Rail]
		if s, _ := b.gate().Short(l.Rate, rail.Ceiling, 1); !s {
			continue
		}
		short++
		if worst < 0 || l.Rate < worst {
			worst, ceiling, where = l.Rate, rail.Ceiling, fmt.Sprintf("%s and %s, rail %s", b.place(l.A), b.place(l.B), rail.Name)
		}
	}
	finding := check.Finding{
		Check: BenchFabric, Status: check.Fail, Subject: check.Ref{Kind: check.Fabric}, Summary: fmt.Sprintf("%d of %s fall short, and no part of the fabric is to blame; the slowest has %s: %s", short, words.Count(links, "link"), worst, where),
		Evidence: []check.Evidence{{Source: where, Got: worst.String(), Want: b.want(bench.Step{Ceiling: ceiling})}},
		Fix:      &check.Fix{Text: "Measure again, longer: what stays slow is a cable or a port.", Who: check.User, Commands: []string{"railhead bench NAME --matrix --duration 10s"}},
	}
	return slowPart{bench.Culprit{Kind: bench.FabricFault, Rail: bench.EveryRail, Links: short, Measured: worst, Expected: ceiling}, finding}, short > 0
}

// crossRails are rails that do not reach each other, as one finding: mostly all of them do not.
func crossRails(b benched) []check.Finding {
	var first *bench.Crossing
	n := 0
	for i, c := range b.CrossRails {
		if c.Reached {
			continue
		}
		if n++; first == nil {
			first = &b.CrossRails[i]
		}
	}
	if first == nil {
		return nil
	}
	from, to := b.Pods[first.From.Pod], b.Pods[first.To.Pod]
	return []check.Finding{{
		Check: BenchCrossRail, Status: check.Warn, Subject: check.Ref{Kind: check.Rails},
		Summary: fmt.Sprintf("%d of %s between different rails carry nothing: %s of %s does not reach %s of %s", n, words.Count(len(b.CrossRails), "path"),
			from.Rails[first.From.Rail].Name, from.Place(), to.Rails[first.To.Rail].Name, to.Place()),
		Evidence: []check.Evidence{{Source: "ib_write_bw", Got: first.Why, Want: "20 iterations"}},
		Fix:      &check.Fix{Text: "Route between the rails, or keep NCCL on them: NCCL_CROSS_NIC=0.", Who: check.User, Commands: []string{"railhead launch NAME -e NCCL_CROSS_NIC=0 -- COMMAND"}},
	}}
}

func numbers(pods []int) string {
	words := make([]string, len(pods))
	for i, p := range pods {
		words[i] = fmt.Sprint(p)
	}
	return strings.Join(words, ",")
}
