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
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// noGPUs decides for a cluster without GPUs.
func (j *request) noGPUs() {
	j.o.GPUs = NoGPUs
	switch {
	case !j.s.Knows(cluster.Nodes):
		j.wrong(
			"--gpus", "", "the number of GPUs of each pod: nodes could not be read", "Say it.",
			j.deploy("--gpus 8"),
		)
	case j.rdma():
		j.fail(clusterrules.GPUNodes, check.Ref{
			Kind: check.Cluster,
		}, fmt.Sprintf("none of %d nodes offers %s", len(j.s.Nodes), j.o.GPUResource),
			check.Evidence{Source: "nodes status.allocatable", Got: "0 " + j.o.GPUResource, Want: "1 or more"},
			check.Fix{
				Text:     "Let the GPU operator run, correct --node-selector, or ask for no GPU.",
				Who:      check.User,
				Commands: []string{"railhead inventory", j.deploy("--gpus -1")},
			})
	default:
		j.note("No node offers GPUs: the pods ask for none.")
	}
}

// wants returns the resources that each pod requests from its node.
func (j *request) wants(rails []cluster.Rail) cluster.Resources {
	wants := cluster.Resources{}
	for name, amount := range j.resources() {
		q := resource.MustParse(amount)
		wants[name] = q.Value()
		if name == "cpu" {
			wants[name] = q.MilliValue()
		}
	}
	if _, said := wants["memory"]; said {
		shm := resource.MustParse(j.shm())
		wants["memory"] += shm.Value()
	}
	wants.Add(perResource(rails))
	return wants
}

// turned is a node that cannot take a pod.
type turned struct {
	node string
	why  string
	rank int // the higher, the closer it is to one that can
}

// seats tells the nodes that can take a pod from those that cannot, and finds those that could if they were free. Where
// other pods could not be read, free resources are unknown, and all count as free.
func (j *placement) seats(rails []cluster.Rail) (fit []cluster.Node, away []turned) {
	wants, free := j.wants(rails), j.others.Free()
	j.able = nil
	for _, n := range j.s.Nodes {
		rank := 0
		if n.Allocatable[j.o.GPUResource] > 0 {
			rank = 1
		}
		if why := j.barred(n, wants); why != "" {
			away = append(away, turned{n.Name, why, rank})
			continue
		}
		j.able = append(j.able, n)
		if why := j.busy(n, wants, free[n.Name]); why != "" {
			away = append(away, turned{n.Name, why, rank + 1})
			continue
		}
		fit = append(fit, n)
	}
	slices.SortStableFunc(away, func(a, b turned) int { return cmp.Compare(b.rank, a.rank) })
	return fit, away
}

// barred is why a node never takes a pod of the job; "" when it does.
func (j *placement) barred(n cluster.Node, wants cluster.Resources) string {
	if why := j.selected(n); why != "" {
		return why
	}
	if name, short := shortOf(n.Allocatable, wants, j.o.GPUResource); short {
		if have := n.Allocatable[name]; have > 0 {
			return "only " + cluster.Quantity(name, have)
		}
		return "no " + name
	}
	for _, t := range n.Taints {
		own := t.Key == j.o.GPUResource && j.o.GPUs > 0
		if t.Effect != "PreferNoSchedule" && !passing(t) && !own && !slices.ContainsFunc(
			j.o.Tolerations, func(tolerated cluster.Taint) bool { return tolerates(tolerated, t) },
		) {
			return "taint " + t.Key
		}
	}
	return ""
}

// passing reports whether a taint is one of the conditions that come and go: not-ready, unreachable, memory-pressure,
// unschedulable, and those of cordons and drains.
func passing(t cluster.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

// busy is why a node takes no pod of the job now; "" when it does.
func (j *placement) busy(n cluster.Node, wants, free cluster.Resources) string {
	switch {
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": ")
	case n.Unschedulable:
		return "cordoned"
	}
	for _, t := range n.Taints {
		if passing(t) && t.Effect != "PreferNoSchedule" {
			return "taint " + t.Key
		}
	}
	if !j.s.Knows(cluster.Pods) {
		return ""
	}
	all := cluster.Resources{"pods": min(1, n.Allocatable["pods"])} // not every State says it
	all.Add(wants)
	if name, short := shortOf(free, all, j.o.GPUResource); short {
		return j.others.Usage(n, name)
	}
	return ""
}

// shortOf is the first resource of which a node has too little, GPUs before all others.
func shortOf(has, wants cluster.Resources, first string) (name string, short bool) {
	if wants[first] > has[first] {
		return first, true
	}
	name, fits := has.Fits(wants)
	return name, !fits
}

func tolerates(tolerated, t cluster.Taint) bool {
	return tolerated.Key == t.Key && (tolerated.Value == "" || tolerated.Value == t.Value) && (tolerated.Effect == "" || tolerated.Effect == t.Effect)
}

// projectSelector is the annotation by which OpenShift adds a node selector to all pods of a namespace (openshift/api
// project/v1 types.go; admission plugin scheduling.openshift.io/OriginPodNodeEnvironment). One that is empty keeps the
// cluster's default selector away, too.
const projectSelector = "openshift.io/node-selector"

// selected is why --node-selector, or the namespace's own selector, leaves a node out; "" when they do not.
func (j *request) selected(n cluster.Node) string {
	if len(j.o.NodeNames) > 0 && !slices.Contains(j.o.NodeNames, n.Name) {
		return "it is not one of those that were named"
	}
	for _, key := range slices.Sorted(maps.Keys(j.o.NodeSelector)) {
		if got, ok := n.Labels[key]; !ok || got != j.o.NodeSelector[key] {
			return fmt.Sprintf("label %s is not %s", key, cmp.Or(j.o.NodeSelector[key], `""`))
		}
	}
	project := j.projectLabels()
	for _, key := range slices.Sorted(maps.Keys(project)) {
		if got, ok := n.Labels[key]; !ok || got != project[key] {
			return fmt.Sprintf(
				"label %s is not %s, as the node selector of namespace %s wants", key, cmp.Or(project[key], `""`),
				j.o.Namespace,
			)
		}
	}
	return ""
}

// projectLabels are the labels that OpenShift wants of the nodes of the namespace's pods: KEY=VALUE, with commas
// between.
func (j *request) projectLabels() map[string]string {
	if !j.s.Server.OpenShift() {
		return nil
	}
	n, _ := j.s.Namespace(j.o.Namespace)
	labels := map[string]string{}
	for part := range strings.SplitSeq(n.Annotations[projectSelector], ",") {
		key, value, _ := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); key != "" {
			labels[key] = strings.TrimSpace(strings.TrimPrefix(value, "=")) // or KEY==VALUE
		}
	}
	return labels
}

// seat looks for the job's nodes and says why the others do not qualify.
func (j *placement) seat(rails []cluster.Rail) {
	if !j.s.Knows(cluster.Nodes) {
		j.unknown(
			FreeNodes, cluster.Nodes,
			fmt.Sprintf("whether %s free is not known: nodes could not be read", areFree(j.o.Nodes)),
		)
		return
	}
	fit, away := j.seats(rails)
	if len(fit) >= j.o.Nodes {
		if !j.s.Knows(cluster.Pods) {
			j.unknown(
				FreeNodes, cluster.Pods,
				fmt.Sprintf(
					"%s what a pod needs; how much of it is free is not known: pods of all namespaces could not be read",
					have(len(fit)),
				),
			)
		}
		j.mixed()
		return
	}
	needs := j.needs(rails)
	f := check.Finding{
		Check: FreeNodes, Status: check.Fail, Subject: check.Named(check.Job, j.o.Name),
		Summary: fmt.Sprintf(
			"%s needs %s with %s free, and %s", j.o.Name, words.Count(j.o.Nodes, "node"), needs,
			hasOf(len(fit), len(j.s.Nodes)),
		),
		Fix: &check.Fix{
			Text:     "Ask for fewer nodes or GPUs, or wait until pods that hold them end.",
			Who:      check.User,
			Commands: []string{"railhead inventory"},
		},
	}
	if len(fit) > 0 {
		f.Fix.Commands = append(f.Fix.Commands, j.deploy(fmt.Sprintf("--nodes %d", len(fit))))
	}
	for _, n := range fit {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "node/" + n.Name, Got: "free"})
	}
	f.Evidence = append(f.Evidence, table(away, needs)...)
	j.say(f)
}

func have(n int) string {
	if n == 1 {
		return "1 node has"
	}
	return fmt.Sprintf("%d nodes have", n)
}

func hasOf(fit, all int) string {
	switch fit {
	case 0:
		return fmt.Sprintf("none of %d is", all)
	case 1:
		return fmt.Sprintf("1 of %d is", all)
	}
	return fmt.Sprintf("%d of %d are", fit, all)
}

// needs lists the resources of a pod for a sentence.
func (j *placement) needs(rails []cluster.Rail) string {
	wants := j.wants(nil)
	var parts []string
	if n := wants[j.o.GPUResource]; n > 0 {
		parts = append(parts, cluster.Quantity(j.o.GPUResource, n))
		delete(wants, j.o.GPUResource)
	}
	if len(rails) > 0 {
		parts = append(parts, words.Count(len(rails), "rail"))
	}
	for _, name := range slices.Sorted(maps.Keys(wants)) {
		parts = append(parts, cluster.Quantity(name, wants[name]))
	}
	return cmp.Or(words.And(parts), "room")
}

// table says why each node cannot take a pod, those with one reason together, the closest first.
func table(away []turned, needs string) []check.Evidence {
	var reasons []string
	nodes := map[string][]string{}
	for _, t := range away {
		if len(nodes[t.why]) == 0 {
			reasons = append(reasons, t.why)
		}
		nodes[t.why] = append(nodes[t.why], t.node)
	}
	var evidence []check.Evidence
	for _, why := range reasons {
		source := "node/" + nodes[why][0]
		if len(nodes[why]) > 1 {
			source = "nodes " + words.Few(nodes[why], 4)
		}
		evidence = append(evidence, check.Evidence{Source: source, Got: why, Want: needs})
	}
	return evidence
}

// firstReason returns why the closest node cannot run a pod.
func firstReason(away []turned) string {
	if len(away) == 0 {
		return ""
	}
	return away[0].node + ": " + away[0].why
}

// mixed notes that pods may come to nodes with different GPUs: the slowest sets the pace.
func (j *placement) mixed() {
	types := map[string][]string{}
	for _, n := range j.able {
		if t := n.GPUType(); t != "" && j.o.GPUs > 0 {
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
	j.note(
		"The nodes have different GPUs (%s): the slowest sets the pace. Choose with --node-selector.",
		strings.Join(kinds, "; "),
	)
}
