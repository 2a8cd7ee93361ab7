package rules

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// slowParts are the parts of a fabric that are slow against the rest, and links that fall short of the gate although nobody is to
// blame.
func slowParts(b benched) []check.Finding {
	if b.Attribution == nil || b.Matrix == nil || !b.Matrix.Whole() {
		return nil
	}
	var findings []check.Finding
	for _, c := range b.Attribution.Culprits {
		findings = append(findings, b.culprit(c))
	}
	if len(findings) > 0 {
		return findings
	}
	if f, below := b.below(); below {
		return []check.Finding{f}
	}
	return nil
}

func (b benched) culprit(c bench.Culprit) check.Finding {
	f := check.Finding{Check: BenchFabric, Status: check.Fail, Subject: b.part(c), Fix: &check.Fix{Who: check.Admin}}
	f.Summary = fmt.Sprintf("%s where %s is healthy, on %s", c.Measured, c.Expected, countOf(c.Links, "link"))
	if c.Measured == 0 {
		f.Summary = fmt.Sprintf("nothing comes through, on %s", countOf(c.Links, "link"))
	}
	switch c.Kind {
	case bench.FabricFault:
		f.Summary = fmt.Sprintf("all links alike have %s of a ceiling of %s: no part of the fabric stands out", c.Measured, c.Expected)
		f.Fix.Text, f.Fix.Commands = "Look for what all have in common: MTU, PCIe generation and width, congestion control, the benchmark's own limits.", []string{"railhead bench NAME --ladder"}
	case bench.RailFault:
		f.Fix.Text, f.Fix.Commands = "Look at the switches of this rail: it is slow between all nodes.", []string{"railhead doctor NAME --nodes"}
	case bench.LeafFault:
		f.Fix.Text, f.Fix.Commands = "Look at the leaf switch and its uplinks: what crosses its border is slow.", []string{"mlxlink -d DEVICE -m"}
	case bench.NodeFault:
		f.Fix.Text, f.Fix.Commands = "All rails of this node are slow: look at its MTU, BIOS, PCIe and processors.", []string{"railhead doctor node/" + c.Node}
	case bench.NICFault:
		f.Fix.Text, f.Fix.Commands = "This NIC is slow with all others: look at its cable, its transceiver, its slot and its switch port.", []string{"mlxlink -d " + b.device(c) + " -m"}
	case bench.PairFault:
		f.Fix.Text, f.Fix.Commands = "Both are well with all others: look at the path between them, as a link that flows are spread over.", []string{"railhead bench NAME --pair " + numbers(c.Pods)}
	}
	f.Evidence = []check.Evidence{{Source: "median of " + countOf(c.Links, "link"), Got: c.Measured.String(), Want: c.Expected.String()}}
	return f
}

// part names a culprit.
func (b benched) part(c bench.Culprit) check.Subject {
	rail := ""
	if c.Rail >= 0 && c.Rail < len(b.Matrix.Rails) {
		rail = " rail " + b.Matrix.Rails[c.Rail].Name
	}
	switch c.Kind {
	case bench.RailFault:
		return check.Subject(strings.TrimSpace(rail))
	case bench.LeafFault:
		return check.Subject("leaf " + strings.Join(c.Leaves, " or ") + rail)
	case bench.NodeFault:
		return check.Subject("node/" + c.Node)
	case bench.NICFault:
		return check.Subject(fmt.Sprintf("NIC %s of %s%s", b.device(c), b.place(c.Pods[0]), rail))
	case bench.PairFault:
		return check.Subject(fmt.Sprintf("%s and %s%s", b.place(c.Pods[0]), b.place(c.Pods[1]), rail))
	case bench.FabricFault:
	}
	return "fabric"
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

// below is the links that fall short of the gate, as one finding.
func (b benched) below() (check.Finding, bool) {
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
	return check.Finding{
		Check: BenchFabric, Status: check.Fail, Subject: "fabric", Summary: fmt.Sprintf("%d of %s fall short, and no part of the fabric is to blame; the slowest has %s: %s", short, countOf(links, "link"), worst, where),
		Evidence: []check.Evidence{{Source: where, Got: worst.String(), Want: b.want(bench.Step{Ceiling: ceiling})}},
		Fix:      &check.Fix{Text: "Measure again, longer: what stays slow is a cable or a port.", Who: check.User, Commands: []string{"railhead bench NAME --matrix --duration 10s"}},
	}, short > 0
}

// loopbacks are HCAs that move less to themselves than the same rail of other pods does.
func loopbacks(b benched) []check.Finding {
	medians := map[int]bench.Gbps{}
	of := map[int][]float64{}
	for _, l := range b.Loopbacks {
		if l.Failed == "" {
			of[l.At.Rail] = append(of[l.At.Rail], float64(l.Measured))
		}
	}
	for rail, values := range of {
		medians[rail] = bench.Gbps(bench.Summarise(values).Median)
	}
	var findings []check.Finding
	for _, l := range b.Loopbacks {
		at := b.Pods[l.At.Pod]
		f := check.Finding{
			Check: BenchLoopback, Subject: check.Subject(fmt.Sprintf("NIC %s of %s", at.Rails[l.At.Rail].Device, at.Place())),
			Fix: &check.Fix{Text: "Nothing but the card, its slot and its host is involved: look at the slot's speed and width, and at the IOMMU.", Who: check.Admin, Commands: []string{"railhead doctor node/" + at.Place()}},
		}
		const others, part = 3, 0.8 // both directions share the slot, so that the ceiling is no measure
		switch {
		case l.Failed != "":
			f.Status, f.Summary = check.Warn, "it does not reach itself: "+l.Failed
			f.Evidence = []check.Evidence{{Source: "loopback", Got: l.Failed}}
		case len(of[l.At.Rail]) >= others && l.Measured < part*medians[l.At.Rail]:
			f.Status, f.Summary = check.Warn, fmt.Sprintf("it moves %s to itself, where others move %s", l.Measured, medians[l.At.Rail])
			f.Evidence = []check.Evidence{{Source: "loopback", Got: l.Measured.String(), Want: medians[l.At.Rail].String()}}
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
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
		Check: BenchCrossRail, Status: check.Warn, Subject: "rails",
		Summary: fmt.Sprintf("%d of %s between different rails carry nothing: %s of %s does not reach %s of %s", n, countOf(len(b.CrossRails), "path"),
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

func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
