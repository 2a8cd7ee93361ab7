package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// requests returns the resources that each pod requests from its node.
func (j *placement) requests(rails []cluster.Rail) cluster.Resources {
	requests := cluster.Resources{}
	for name, amount := range j.resources() {
		q := resource.MustParse(amount)
		requests[name] = q.Value()
		if name == "cpu" {
			requests[name] = q.MilliValue()
		}
	}
	if j.Memory != "" {
		shm := resource.MustParse(j.shm())
		requests["memory"] += shm.Value()
	}
	requests.Add(perResource(rails))
	return requests
}

// rejectedNode is a node that cannot take a pod.
type rejectedNode struct {
	name   string
	reason string
	rank   int // higher: closer to a node that can
}

// findNodes returns the nodes that can take a pod and the others, the closest first, and sets the candidates. If other
// pods could not be read, all resources count as free.
func (j *placement) findNodes(rails []cluster.Rail) (free []cluster.Node, rejected []rejectedNode) {
	requests, unused := j.requests(rails), j.others.Free()
	j.candidates = nil
	for _, n := range j.s.Nodes {
		rank := 0
		if n.Allocatable[j.GPUResource] > 0 {
			rank = 1
		}
		reason := j.unsuitable(n, requests)
		if reason == "" {
			j.candidates = append(j.candidates, n)
			reason = j.occupied(n, requests, unused[n.Name])
			rank++
		}
		if reason == "" {
			free = append(free, n)
		} else {
			rejected = append(rejected, rejectedNode{n.Name, reason, rank})
		}
	}
	slices.SortStableFunc(rejected, func(a, b rejectedNode) int { return cmp.Compare(b.rank, a.rank) })
	return free, rejected
}

// unsuitable returns why a node can never take a pod of the job; "" if it can.
func (j *placement) unsuitable(n cluster.Node, requests cluster.Resources) string {
	if reason := j.excluded(n); reason != "" {
		return reason
	}
	if name, short := j.shortOf(n.Allocatable, requests); short {
		if n.Allocatable[name] > 0 {
			return "only " + cluster.Quantity(name, n.Allocatable[name])
		}
		return "no " + name
	}
	if reason := j.claim.Lacks(j.s, n.Name); reason != "" {
		return reason
	}
	return taint(n, func(t cluster.Taint) bool {
		return !temporary(t) && !(t.Key == j.GPUResource && j.GPUs > 0) &&
			!slices.ContainsFunc(j.Tolerations, func(own cluster.Taint) bool { return tolerates(own, t) })
	})
}

// occupied returns why a node cannot take a pod of the job now; "" if it can.
func (j *placement) occupied(n cluster.Node, requests, unused cluster.Resources) string {
	switch {
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": ")
	case n.Unschedulable:
		return "cordoned"
	}
	if reason := taint(n, temporary); reason != "" || !j.s.Knows(cluster.Pods) {
		return reason
	}
	all := cluster.Resources{"pods": min(1, n.Allocatable["pods"])} // some States lack it
	all.Add(requests)
	if name, short := j.shortOf(unused, all); short {
		return j.others.Usage(n, name)
	}
	return j.claim.Taken(n.Name)
}

// taint names the first taint of a node that matches and keeps pods away.
func taint(n cluster.Node, matches func(cluster.Taint) bool) string {
	for _, t := range n.Taints {
		if t.Effect != "PreferNoSchedule" && matches(t) {
			return "taint " + t.Key
		}
	}
	return ""
}

// temporary reports whether a taint is a condition of the node: not-ready, unreachable, memory-pressure, unschedulable.
func temporary(t cluster.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

func tolerates(own, t cluster.Taint) bool {
	return own.Key == t.Key && (own.Value == "" || own.Value == t.Value) && (own.Effect == "" || own.Effect == t.Effect)
}

// shortOf returns the first resource that is missing, GPUs before all others.
func (j *request) shortOf(available, requests cluster.Resources) (name string, short bool) {
	if requests[j.GPUResource] > available[j.GPUResource] {
		return j.GPUResource, true
	}
	name, fits := available.Fits(requests)
	return name, !fits
}

// ProjectSelector is the annotation by which OpenShift adds a node selector to all pods of a namespace (openshift/api
// project/v1 types.go; admission plugin scheduling.openshift.io/OriginPodNodeEnvironment). An empty one also disables
// the cluster's default selector.
const ProjectSelector = "openshift.io/node-selector"

// excluded returns why --node, --node-selector or the namespace's selector excludes a node; "" if none does.
func (j *request) excluded(n cluster.Node) string {
	if len(j.NodeNames) > 0 && !slices.Contains(j.NodeNames, n.Name) {
		return "it is not one of the named nodes"
	}
	if reason := mismatch(n, j.NodeSelector); reason != "" {
		return reason
	}
	if reason := mismatch(n, j.projectLabels()); reason != "" {
		return fmt.Sprintf("%s, which the node selector of namespace %s requires", reason, j.Namespace)
	}
	return ""
}

func mismatch(n cluster.Node, selector map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if got, ok := n.Labels[key]; !ok || got != selector[key] {
			return fmt.Sprintf("label %s is not %s", key, cmp.Or(selector[key], `""`))
		}
	}
	return ""
}

// projectLabels parses the node selector of the namespace: KEY=VALUE or KEY==VALUE, separated by commas.
func (j *request) projectLabels() map[string]string {
	labels := map[string]string{}
	if !j.s.Server.OpenShift() {
		return labels
	}
	n, _ := j.s.Namespace(j.Namespace)
	for part := range strings.SplitSeq(n.Annotations[ProjectSelector], ",") {
		key, value, _ := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); key != "" {
			labels[key] = strings.TrimSpace(strings.TrimPrefix(value, "="))
		}
	}
	return labels
}

// requireNodes fails if there are not enough free nodes for the job, and gives the reason for each other node.
func (j *placement) requireNodes() {
	if !j.s.Knows(cluster.Nodes) {
		j.Unknown(j.s, plan.FreeNodes, cluster.Nodes, "nodes could not be read, so whether enough are free is unknown")
		return
	}
	free, rejected := j.findNodes(j.rails)
	if !j.enough(free) {
		j.tooFewNodes(free, rejected)
		return
	}
	j.noteQueue(free)
	j.requireLeaf(free)
	if !j.s.Knows(cluster.Pods) {
		j.Unknown(j.s, plan.FreeNodes, cluster.Pods, fmt.Sprintf("found %s with the resources of a pod; "+
			"pods of all namespaces could not be read, so how much is free is unknown", words.Count(len(free), "node")))
	}
	j.noteMixedGPUs()
}

func (j *placement) tooFewNodes(free []cluster.Node, rejected []rejectedNode) {
	needs := j.describeRequests()
	fix := check.ByUser("Request fewer nodes or GPUs, or wait until other pods end.", "railhead inventory")
	if len(free) > 0 {
		fix.Commands = append(fix.Commands, j.target().CommandWith(fmt.Sprintf("--nodes %d", len(free))))
	}
	var seen []check.Evidence
	for _, n := range free {
		seen = append(seen, check.Observed("node/"+n.Name, "free", "")...)
	}
	j.Report(check.Finding{
		Check:   plan.FreeNodes,
		Status:  check.Fail,
		Subject: j.target().Ref(),
		Summary: fmt.Sprintf("%s needs %s with %s free; %d of %d nodes qualify",
			j.Name, words.Count(j.Nodes, "node"), needs, len(free), len(j.s.Nodes)),
		Evidence: append(seen, rejectionEvidence(rejected, needs)...),
		Fix:      fix,
	})
}

// describeRequests lists the resources of a pod for a sentence.
func (j *placement) describeRequests() string {
	requests := j.requests(nil)
	var parts []string
	if n := requests[j.GPUResource]; n > 0 {
		parts = append(parts, cluster.Quantity(j.GPUResource, n))
		delete(requests, j.GPUResource)
	}
	if j.claim.GPUs > 0 {
		parts = append(parts, words.Count(j.GPUs, "GPU"))
	}
	if len(j.rails) > 0 {
		parts = append(parts, words.Count(len(j.rails), "rail"))
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		parts = append(parts, cluster.Quantity(name, requests[name]))
	}
	return cmp.Or(words.And(parts), "room")
}

// rejectionEvidence groups the nodes by reason.
func rejectionEvidence(rejected []rejectedNode, needs string) []check.Evidence {
	var reasons []string
	nodes := map[string][]string{}
	for _, r := range rejected {
		if !slices.Contains(reasons, r.reason) {
			reasons = append(reasons, r.reason)
		}
		nodes[r.reason] = append(nodes[r.reason], r.name)
	}
	var all []check.Evidence
	for _, reason := range reasons {
		source := "node/" + nodes[reason][0]
		if len(nodes[reason]) > 1 {
			source = "nodes " + words.Few(nodes[reason], 4)
		}
		all = append(all, check.Observed(source, reason, needs)...)
	}
	return all
}

// noteMixedGPUs notes that pods may run on nodes with different GPUs.
func (j *placement) noteMixedGPUs() {
	types := map[string][]string{}
	for _, n := range j.candidates {
		if t := n.GPUType(); t != "" && j.GPUs > 0 {
			types[t] = append(types[t], n.Name)
		}
	}
	if len(types) < 2 || !j.multi() {
		return
	}
	var kinds []string
	for _, t := range slices.Sorted(maps.Keys(types)) {
		kinds = append(kinds, fmt.Sprintf("%s on %s", t, words.Few(types[t], 4)))
	}
	j.Note("The nodes have different GPUs (%s): the slowest sets the pace. Choose with --node-selector.",
		strings.Join(kinds, "; "))
}
