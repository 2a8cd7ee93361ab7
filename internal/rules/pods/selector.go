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

// pinned explains a pod that its spec keeps on certain nodes, before the scheduler's reasons of all the others count:
// one that names its node, or whose nodeSelector no node fits, or only nodes that take no pod.
func pinned(t target, summary string) (f check.Finding, found bool) {
	selector := t.pod.NodeSelector
	if !t.s.Knows(cluster.Nodes) || len(selector) == 0 {
		return check.Finding{}, false
	}
	if node, known := t.s.Node(t.pod.Node); known {
		return onWrongNode(t, node)
	}
	var selected []cluster.Node
	for _, n := range t.s.Nodes {
		if cluster.Selects(selector, nil, n.Labels) {
			selected = append(selected, n)
		}
	}
	if len(selected) == 0 {
		return noneSelected(t, summary), true
	}
	return selectedTakeNone(t, selected)
}

// onWrongNode explains a pod whose spec.nodeName is a node that its own nodeSelector excludes: the kubelet refuses it
// (kubernetes pkg/kubelet/lifecycle/predicate.go).
func onWrongNode(t target, node cluster.Node) (f check.Finding, found bool) {
	lacking := missingLabels(t.pod.NodeSelector, node)
	if len(lacking) == 0 {
		return check.Finding{}, false
	}
	f = failure(NodeSelection, fmt.Sprintf("%s is on node %s, whose labels its own nodeSelector excludes: %s",
		t.name(), node.Name, strings.Join(lacking, ", ")),
		check.ByUser("Correct nodeSelector, or leave out spec.nodeName: the scheduler then chooses a node.",
			"kubectl get node "+node.Name+" --show-labels"))
	f.About = []check.Ref{check.NodeRef(node.Name)}
	return f, true
}

// noneSelected explains a nodeSelector that fits no node: by a label that no node has, or by labels that no node has
// together.
func noneSelected(t target, summary string) check.Finding {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(t.pod.NodeSelector)) {
		has := func(n cluster.Node) bool {
			value, ok := n.Labels[key]
			return ok && value == t.pod.NodeSelector[key]
		}
		if !slices.ContainsFunc(t.s.Nodes, has) {
			unknown = append(unknown, label(key, t.pod.NodeSelector[key]))
		}
	}
	why := "no node has all labels of its nodeSelector: " + labels(t.pod.NodeSelector)
	if len(unknown) > 0 {
		why = "no node has the label " + words.And(unknown) + " of its nodeSelector"
	}
	f := failure(NodeSelection, "no node fits "+t.name()+": "+why,
		check.ByUser("Correct the nodeSelector (railhead: --node-selector), or label the nodes.", "railhead inventory",
			"kubectl get nodes --show-labels"))
	f.Evidence = []check.Evidence{{Source: "scheduler", Got: summary}}
	return f
}

// selectedTakeNone explains a nodeSelector that fits only nodes that take no pod at present.
func selectedTakeNone(t target, selected []cluster.Node) (f check.Finding, found bool) {
	var reasons []string
	var about []check.Ref
	closed := true
	for _, n := range selected {
		why, ok := n.Schedulable()
		closed = closed && !ok
		reasons, about = append(reasons, n.Name+": "+why), append(about, check.NodeRef(n.Name))
	}
	if !closed {
		return check.Finding{}, false
	}
	f = failure(NodeSelection, fmt.Sprintf("%s may run only on %s, by its nodeSelector %s: %s", t.name(),
		words.Count(len(selected), "node"), labels(t.pod.NodeSelector), words.Few(reasons, 4)),
		check.ByUser(waitForNodes+" Other nodes need another nodeSelector.", "railhead inventory"))
	f.Status, f.About = check.Warn, about
	return f, true
}

func missingLabels(selector map[string]string, n cluster.Node) []string {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if got, ok := n.Labels[key]; !ok || got != selector[key] {
			missing = append(missing, fmt.Sprintf("%s is %s, not %s", key, cmp.Or(got, "missing"),
				cmp.Or(selector[key], `""`)))
		}
	}
	return missing
}

func label(key, value string) string { return key + "=" + value }

func labels(selector map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		all = append(all, label(key, selector[key]))
	}
	return strings.Join(all, ",")
}
