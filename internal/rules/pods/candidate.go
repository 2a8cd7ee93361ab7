package pods

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// candidate is a node that offers as much of some resources as the pod requests.
type candidate struct {
	node  cluster.Node
	lacks []string // resources that the pod requests and that are not free
	bars  string   // not Ready, cordoned or a taint; "" if nothing that is known keeps the pod off
}

func (t target) candidates(resources []string, text string) []candidate {
	free := t.room().free
	var all []candidate
	for _, n := range t.s.Nodes {
		c := candidate{node: n}
		offers := func(r string) bool { return n.Allocatable[r] >= max(t.pod.Requests[r], 1) }
		if slices.ContainsFunc(resources, func(r string) bool { return !offers(r) }) {
			continue
		}
		for _, r := range slices.Sorted(maps.Keys(t.pod.Requests)) {
			if t.pod.Requests[r] > free[n.Name][r] {
				c.lacks = append(c.lacks, r)
			}
		}
		why, ok := n.Schedulable()
		if tolerated := n.Ready && !n.Unschedulable && !tainted.MatchString(text); !ok && !tolerated {
			c.bars = why
		}
		all = append(all, c)
	}
	return all
}

// keptOff explains why no node takes the pod although each resource that the scheduler found short somewhere is free in
// sufficient quantity on some node.
func (t target) keptOff(resources []string, text string) check.Finding {
	all := t.candidates(resources, text)
	fits := func(c candidate) bool { return len(c.lacks) == 0 }
	var f check.Finding
	switch {
	case len(all) == 0:
		f = failure(InsufficientResource, "no node offers all that "+t.name()+" requests of "+words.And(resources),
			check.ByUser("Request what one node offers together.", "railhead inventory"))
	case slices.ContainsFunc(all, fits):
		full := slices.DeleteFunc(slices.Clone(all), fits)
		all = slices.DeleteFunc(all, func(c candidate) bool { return !fits(c) })
		barred := slices.ContainsFunc(all, func(c candidate) bool { return c.bars != "" })
		if f = t.barred(all, resources, text); len(full) > 0 && !barred && f.Check == NodeSelection {
			// The scheduler counts resources only on nodes that the pod selects: at least one of these is full.
			f.Check, f.Status, f.Summary = InsufficientResource, check.Warn, lacking(full)+"; "+f.Summary
			f.Fix = check.ByUser("Wait until other pods on these nodes end, or let the pod run on the others.",
				"railhead inventory")
			all = append(full, all...)
		}
	default:
		f = failure(InsufficientResource, "no node has all that "+t.name()+" requests free at the same time: "+
			lacking(all), check.ByUser("Wait until other pods on these nodes end, or request less."))
		f.Status = check.Warn
	}
	const most = 8
	for _, c := range all[:min(len(all), most)] {
		got := t.room().usage(c.node, slices.MaxFunc(resources, byDevice))
		for _, r := range c.lacks {
			got += "; " + t.room().usage(c.node, r)
		}
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "node/" + c.node.Name,
			Got:    strings.TrimSuffix(got+"; "+c.bars, "; "),
		})
		f.About = append(f.About, check.NodeRef(c.node.Name))
	}
	return f
}

// byDevice orders devices, which have a domain in their name, after cpu and memory.
func byDevice(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) }

func lacking(all []candidate) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, c.node.Name+" lacks "+words.And(c.lacks))
	}
	return words.Few(parts, 4)
}

// barred explains that nodes with everything that the pod requests do not take it.
func (t target) barred(all []candidate, resources []string, text string) check.Finding {
	var names, reasons []string
	away := false
	for _, c := range all {
		names = append(names, c.node.Name)
		away = away || !c.node.Ready || c.node.Unschedulable
		if c.bars != "" {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", c.node.Name, c.bars))
		}
	}
	var free []string
	for _, r := range resources {
		free = append(free, cluster.Quantity(r, max(t.pod.Requests[r], 1)))
	}
	room := fmt.Sprintf("there is room on %s (%s free)", words.Few(names, 4), words.And(free))
	if len(reasons) == 0 {
		reasons = nodeReasons(text)
	}
	if len(reasons) == 0 {
		f := failure(InsufficientResource, room+" now; the scheduler tries again",
			check.ByUser("Wait a moment. If it stays so, read the scheduler's newest event.", describePod(t)))
		f.Status = check.Warn
		return f
	}
	f := t.noNode(room+", but these nodes do not take "+t.name()+": "+words.Few(reasons, 4), text)
	if away {
		f.Status, f.Fix.Text = check.Warn, waitForNodes
	}
	return f
}
