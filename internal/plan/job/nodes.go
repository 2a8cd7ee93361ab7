package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/claims"
)

// podNeeds decides on which nodes a pod can run.
type podNeeds struct {
	Scheduling
	namespace   string
	gpuResource string
	gpus        int
	requests    cluster.Resources
	claim       claims.Claim
}

// needs returns the needs of a pod with the rails.
func (j *job) needs(rails []cluster.Rail) podNeeds {
	return podNeeds{j.Scheduling, j.Namespace, j.GPUResource, j.GPUs, j.requests(rails), j.claim}
}

// requests returns the resources that each pod requests from its node.
func (j *job) requests(rails []cluster.Rail) cluster.Resources {
	requests := cluster.Resources{}
	for name, amount := range j.resources() {
		q := resource.MustParse(amount)
		requests[name] = q.Value()
		if name == "cpu" {
			requests[name] = q.MilliValue()
		}
	}
	if j.Memory != "" {
		shm := resource.MustParse(shmSize(&j.Options))
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

// nodeChoice has the nodes of a cluster, as a job sees them.
type nodeChoice struct {
	candidates []cluster.Node // can take a pod once they are free
	free       []cluster.Node // can take a pod now
	rejected   []rejectedNode // the others, the closest first
}

// find chooses among the nodes of a cluster without the job's own pods. If other pods could not be read, all resources
// count as free.
func (p podNeeds) find(s cluster.State) nodeChoice {
	var c nodeChoice
	unused := s.Free()
	for _, n := range s.Nodes {
		rank := 0
		if n.Allocatable[p.gpuResource] > 0 {
			rank = 1
		}
		reason := p.unsuitable(s, n)
		if reason == "" {
			c.candidates = append(c.candidates, n)
			reason = p.occupied(s, n, unused[n.Name])
			rank++
		}
		if reason == "" {
			c.free = append(c.free, n)
		} else {
			c.rejected = append(c.rejected, rejectedNode{n.Name, reason, rank})
		}
	}
	slices.SortStableFunc(c.rejected, func(a, b rejectedNode) int { return cmp.Compare(b.rank, a.rank) })
	return c
}

// suitable returns the names of the nodes that may take the pod. If nodes could not be read, they are those with
// devices.
func (p podNeeds) suitable(s cluster.State) []string {
	var names []string
	for _, d := range s.DRADevices {
		if !s.Knows(cluster.Nodes) && !slices.Contains(names, d.Node) {
			names = append(names, d.Node)
		}
	}
	for _, n := range s.Nodes {
		if p.unsuitable(s, n) == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// unsuitable returns why a node can never take the pod; "" if it can.
func (p podNeeds) unsuitable(s cluster.State, n cluster.Node) string {
	if reason := p.excluded(s, p.namespace, n); reason != "" {
		return reason
	}
	if name, short := p.shortOf(n.Allocatable, p.requests); short {
		if n.Allocatable[name] > 0 {
			return "only " + cluster.Quantity(name, n.Allocatable[name])
		}
		return "no " + name
	}
	if reason := p.claim.Lacks(s, n.Name); reason != "" {
		return reason
	}
	return taint(n, func(t cluster.Taint) bool {
		return !temporary(t) && !(t.Key == p.gpuResource && p.gpus > 0) &&
			!slices.ContainsFunc(p.Tolerations, func(own cluster.Taint) bool { return tolerates(own, t) })
	})
}

// occupied returns why a node cannot take the pod now; "" if it can.
func (p podNeeds) occupied(s cluster.State, n cluster.Node, unused cluster.Resources) string {
	switch {
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": ")
	case n.Unschedulable:
		return "cordoned"
	}
	if reason := taint(n, temporary); reason != "" || !s.Knows(cluster.Pods) {
		return reason
	}
	all := cluster.Resources{"pods": min(1, n.Allocatable["pods"])} // some States lack it
	all.Add(p.requests)
	if name, short := p.shortOf(unused, all); short {
		return s.Usage(n, name)
	}
	return p.claim.Taken(n.Name)
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
func (p podNeeds) shortOf(available, requests cluster.Resources) (name string, short bool) {
	if requests[p.gpuResource] > available[p.gpuResource] {
		return p.gpuResource, true
	}
	name, fits := available.Fits(requests)
	return name, !fits
}

// ProjectSelector is the annotation by which OpenShift adds a node selector to all pods of a namespace (openshift/api
// project/v1 types.go; admission plugin scheduling.openshift.io/OriginPodNodeEnvironment). An empty one also disables
// the cluster's default selector.
const ProjectSelector = "openshift.io/node-selector"

// excluded returns why --node, --node-selector or the namespace's selector excludes a node; "" if none does.
func (c Scheduling) excluded(s cluster.State, namespace string, n cluster.Node) string {
	if len(c.NodeNames) > 0 && !slices.Contains(c.NodeNames, n.Name) {
		return "it is not one of the named nodes"
	}
	if reason := mismatch(n, c.NodeSelector); reason != "" {
		return reason
	}
	if reason := mismatch(n, projectLabels(s, namespace)); reason != "" {
		return fmt.Sprintf("%s, which the node selector of namespace %s requires", reason, namespace)
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

// projectLabels parses the node selector of a namespace: KEY=VALUE or KEY==VALUE, separated by commas.
func projectLabels(s cluster.State, namespace string) map[string]string {
	labels := map[string]string{}
	if !s.Server.OpenShift() {
		return labels
	}
	n, _ := s.Namespace(namespace)
	for part := range strings.SplitSeq(n.Annotations[ProjectSelector], ",") {
		key, value, _ := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); key != "" {
			labels[key] = strings.TrimSpace(strings.TrimPrefix(value, "="))
		}
	}
	return labels
}
