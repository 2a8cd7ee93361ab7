package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// findNodes looks for nodes for pods with the rails, and sets the candidates.
func (j *request) findNodes(rails []cluster.Rail) nodeChoice {
	c := j.job.needs(rails).find(j.others)
	j.job.candidates = c.candidates
	return c
}

// requireNodes fails if there are not enough free nodes for the job, and gives the reason for each other node.
func (j *request) requireNodes() {
	if !j.s.Knows(cluster.Nodes) {
		j.draft.Unknown(j.s, plan.FreeNodes, cluster.Nodes,
			"nodes could not be read, so whether enough are free is unknown")
		return
	}
	c := j.findNodes(j.job.rails)
	if !c.enough(j.job.Nodes, j.job.Scheduling.Queue) {
		j.draft.Report(j.job.tooFewNodes(c, len(j.s.Nodes)))
		return
	}
	if free := len(c.free); free < j.job.Nodes {
		j.draft.Note("%d of the %d nodes that %s needs are free now: it waits in queue %s.", free, j.job.Nodes,
			j.job.Name, j.job.Scheduling.Queue)
	}
	j.draft.Add(j.job.checkLeaf(c))
	if !j.s.Knows(cluster.Pods) {
		j.draft.Unknown(j.s, plan.FreeNodes, cluster.Pods, fmt.Sprintf("found %s with the resources of a pod; "+
			"pods of all namespaces could not be read, so how much is free is unknown",
			words.Count(len(c.free), "node")))
	}
	if kinds := gpuTypes(c.candidates); len(kinds) > 1 && j.job.GPUs > 0 && isMulti(&j.job.Options) {
		j.draft.Note("The nodes have different GPUs (%s): the slowest sets the pace. Choose with --node-selector.",
			strings.Join(kinds, "; "))
	}
}

// enough reports whether the job can start: on free nodes, or when its queue admits it, on nodes that others use now.
func (c nodeChoice) enough(nodes int, queue string) bool {
	return len(c.free) >= nodes || queue != "" && len(c.candidates) >= nodes
}

func (j *job) tooFewNodes(c nodeChoice, of int) check.Finding {
	needs := j.describeRequests()
	fix := check.ByUser("Request fewer nodes or GPUs, or wait until other pods end.", "railhead inventory")
	if len(c.free) > 0 {
		fix.Commands = append(fix.Commands, targetOf(&j.Options).CommandWith(fmt.Sprintf("--nodes %d", len(c.free))))
	}
	var seen []check.Evidence
	for _, n := range c.free {
		seen = append(seen, check.Observed("node/"+n.Name, "free", "")...)
	}
	return plan.Failure(plan.FreeNodes, targetOf(&j.Options).Ref(),
		fmt.Sprintf("%s needs %s with %s free; %d of %d nodes qualify",
			j.Name, words.Count(j.Nodes, "node"), needs, len(c.free), of),
		append(seen, rejectionEvidence(c.rejected, needs)...), fix)
}

// describeRequests lists the resources of a pod for a sentence.
func (j *job) describeRequests() string {
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

// gpuTypes returns the types of the GPUs of nodes, each with its nodes.
func gpuTypes(nodes []cluster.Node) []string {
	types := map[string][]string{}
	for _, n := range nodes {
		if t := n.GPUType(); t != "" {
			types[t] = append(types[t], n.Name)
		}
	}
	var kinds []string
	for _, t := range slices.Sorted(maps.Keys(types)) {
		kinds = append(kinds, fmt.Sprintf("%s on %s", t, words.Few(types[t], 4)))
	}
	return kinds
}

// Values of --leaf: whether the pods run on nodes of one leaf switch.
const (
	LeafPrefer  = "prefer"
	LeafRequire = "require"
	LeafAny     = "any"
)

// leafLabel returns the label of nodes that names their leaf switch; "" if they have none.
func (s Scheduling) leafLabel(nodes []cluster.Node) string {
	for _, n := range nodes {
		if label := bench.LeafLabel(n.Labels, s.LeafLabel); n.Labels[label] != "" {
			return label
		}
	}
	return ""
}

// checkLeaf fails if no leaf switch has enough of the nodes.
func (j *job) checkLeaf(c nodeChoice) (d plan.Draft) {
	label, nodes := j.Scheduling.leafLabel(c.candidates), c.free
	if j.Scheduling.Queue != "" {
		nodes = c.candidates
	}
	of, most := map[string]int{}, "none"
	for _, n := range nodes {
		if leaf := n.Labels[label]; leaf != "" {
			if of[leaf]++; of[leaf] > of[most] {
				most = leaf
			}
		}
	}
	if j.Scheduling.Leaf == LeafRequire && j.Nodes > 1 && of[most] < j.Nodes {
		d.Fail(plan.FreeNodes, targetOf(&j.Options).Ref(),
			fmt.Sprintf("no leaf switch has the %s that %s needs", words.Count(j.Nodes, "node"), j.Name),
			check.Observed("label "+cmp.Or(label, "of leaf switches"),
				fmt.Sprintf("%s: %d", most, of[most]), fmt.Sprint(j.Nodes)),
			check.ByUser("Request fewer nodes, name the label with --leaf-label, or let the pods only prefer one leaf.",
				targetOf(&j.Options).CommandWith("--leaf prefer")))
	}
	return d
}

// leafAffinity puts the pods behind one leaf switch, if the nodes have labels that name it.
func (j *job) leafAffinity() *corev1.PodAffinity {
	label := j.Scheduling.leafLabel(j.candidates)
	if label == "" || j.Nodes == 1 || j.Scheduling.Leaf == LeafAny {
		return nil
	}
	term := corev1.PodAffinityTerm{
		TopologyKey:   label,
		LabelSelector: &metav1.LabelSelector{MatchLabels: jobSelector(&j.Options)},
	}
	if j.Scheduling.Leaf == LeafRequire {
		return &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
	}
	return &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 100, PodAffinityTerm: term},
	}}
}
