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

// shortage is one resource that the scheduler found short on some nodes.
type shortage struct {
	free     bool // on other nodes there is enough
	id       check.ID
	rank     int // the higher, the less waiting helps
	summary  string
	amount   string // instead of the summary, if the pods that hold the resource were not read
	evidence []check.Evidence
	fix      *check.Fix
}

// shortOf explains the worst of several shortages and names the others. The scheduler counts nodes that never had a
// resource with those where it is used up (kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go).
func (t target) shortOf(resources []string, text string) check.Finding {
	var all []shortage
	for _, r := range resources {
		if s := t.shortage(r); !s.free {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return t.keptOff(resources, text)
	}
	slices.SortStableFunc(all, func(a, b shortage) int { return cmp.Compare(b.rank, a.rank) })
	f := failure(all[0].id, summaryOf(all), all[0].fix)
	f.Evidence = all[0].evidence
	if all[0].rank < neverRank {
		f.Status = check.Warn
	}
	for _, more := range all[1:] {
		f.Evidence = append(f.Evidence, more.evidence...)
	}
	for _, reason := range nodeReasons(text) {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "scheduler", Got: reason})
	}
	for _, r := range resources {
		f.About = append(f.About, check.Named(check.Resource, r))
	}
	for _, n := range t.s.Nodes {
		offers := func(r string) bool { return n.Allocatable[r] > 0 }
		if _, ok := n.Schedulable(); !ok && slices.ContainsFunc(resources, offers) {
			f.About = append(f.About, check.NodeRef(n.Name))
		}
	}
	return f
}

const neverRank = 2 // waiting does not help

// summaryOf joins the summaries of shortages, with one sentence for all whose pods were not read.
func summaryOf(all []shortage) string {
	var parts, unread []string
	for _, s := range all {
		if s.amount == "" {
			parts = append(parts, s.summary)
		} else {
			unread = append(unread, s.amount)
		}
	}
	pronoun := "it"
	if len(unread) > 1 {
		pronoun = "them"
	}
	if len(unread) > 0 {
		parts = append(parts, "no node that fits has "+words.And(unread)+" free; the pods that hold "+pronoun+
			" were not read")
	}
	return strings.Join(parts, "; ")
}

func (t target) shortage(resource string) shortage {
	want := max(t.pod.Requests[resource], 1)
	most, total := int64(0), int64(0)
	var nodes []string
	for _, n := range t.s.Nodes {
		if count := n.Allocatable[resource]; count > 0 {
			nodes = append(nodes, n.Name)
			most, total = max(most, count), total+count
		}
	}
	special := min(strings.Count(resource, "/"), 1) // a device is worse than cpu and memory
	s := shortage{id: InsufficientResource, rank: special, fix: lookAtNodes(resource)}
	switch {
	case !t.s.Knows(cluster.Nodes):
		s.summary = "no node has enough " + resource + " free; what nodes offer could not be read"
		return s
	case len(nodes) == 0:
		return t.notOffered(resource, special)
	case want > most:
		amount, largest := cluster.Quantity(resource, want), cluster.Quantity(resource, most)
		s.rank += neverRank
		s.summary = fmt.Sprintf("%s requests %s, and no node has more than %s", t.name(), amount, largest)
		s.fix = check.ByUser("Request no more per pod than a node has.", "railhead inventory")
		s.evidence = check.Observed("nodes status.allocatable", words.Few(nodes, 4)+": at most "+largest, amount)
		return s
	}
	s.fix = check.ByUser("Wait until the pods that hold it end, or request fewer nodes or GPUs.", "railhead inventory")
	return t.usedUp(s, resource, nodes, total)
}

// usedUp completes a shortage if nodes offer as much of the resource as the pod requests.
func (t target) usedUp(s shortage, resource string, nodes []string, total int64) shortage {
	want, known := t.pod.Requests[resource]
	want = max(want, 1)
	amount := cluster.Quantity(resource, want)
	if !t.s.Knows(cluster.Pods) || t.s.SomePods {
		s.amount = amount
		return s
	}
	s.summary = fmt.Sprintf("%s is used up: no node that fits has %s free of %s in all",
		resource, amount, cluster.Quantity(resource, total))
	if !known {
		s.summary = "no node that fits has enough " + resource + " free"
	}
	free := t.room().free
	s.free = known && slices.ContainsFunc(nodes, func(node string) bool { return free[node][resource] >= want })
	s.evidence = t.usage(resource, nodes, amount)
	return s
}

// room has the free resources of the nodes of a State, and the pods that hold the rest. It is counted once for all
// pods.
type room struct {
	free map[string]cluster.Resources
	on   map[string][]cluster.Pod // by node
}

func roomOf(s cluster.State) room {
	r := room{free: s.Free(), on: map[string][]cluster.Pod{}}
	for _, p := range s.Pods {
		r.on[p.Node] = append(r.on[p.Node], p)
	}
	return r
}

// usage says how much of a node's resource is free, and which pods hold the rest.
func (r room) usage(n cluster.Node, resource string) string {
	return cluster.State{Pods: r.on[n.Name]}.Usage(n, resource)
}

// usage lists the nodes with most of a resource free, and who holds the rest.
func (t target) usage(resource string, nodes []string, amount string) []check.Evidence {
	const most = 8
	var evidence []check.Evidence
	free := t.room().free
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(free[b][resource], free[a][resource]) })
	for _, node := range nodes[:min(len(nodes), most)] {
		n, _ := t.s.Node(node)
		evidence = append(evidence, check.Evidence{
			Source: "node/" + node,
			Got:    t.room().usage(n, resource),
			Want:   amount + " free",
		})
	}
	return evidence
}

// notOffered tells a resource that is meant to exist from a name that this cluster does not have.
func (t target) notOffered(resource string, special int) shortage {
	_, base, _ := strings.Cut(resource, "/")
	offered := check.Evidence{
		Source: "nodes status.allocatable",
		Got:    fmt.Sprintf("%d nodes, none names %s", len(t.s.Nodes), resource),
		Want:   resource,
	}
	s := shortage{
		id:       InsufficientResource,
		rank:     neverRank + special + 1,
		summary:  "no node offers " + resource,
		evidence: []check.Evidence{offered},
		fix:      lookAtNodes(resource),
	}
	for _, policy := range t.s.SriovPolicies {
		if policy.ResourceName == base {
			s.summary += ", which SriovNetworkNodePolicy " + policy.Name + " should create"
			s.evidence = append(s.evidence, sriovStates(t)...)
			s.fix = check.ByAdmin("The SR-IOV operator has not created the devices: read its state of the nodes.",
				"oc -n "+t.s.SriovNamespace()+" get sriovnetworknodestates -o yaml")
			return s
		}
	}
	instead := t.s.SimilarResources(resource)
	if cluster.IsGPU(resource) {
		instead = gpusOffered(t.s)
	}
	if len(instead) > 0 && special > 0 {
		names := strings.Join(instead, ", ")
		s.id = ResourceNameMismatch
		s.summary += "; nodes offer " + names
		s.evidence = append(s.evidence, check.Evidence{Source: "nodes status.allocatable", Got: names})
		s.fix = check.ByUser("Request a resource under the name that nodes offer; railhead takes the names from the "+
			"network attachments of the namespace.",
			"railhead inventory", t.kubectl("get network-attachment-definitions -o yaml"))
	}
	return s
}

func gpusOffered(s cluster.State) []string {
	found := map[string]bool{}
	for _, n := range s.Nodes {
		if resource, count := n.GPUs(); count > 0 {
			found[resource] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func sriovStates(t target) []check.Evidence {
	var evidence []check.Evidence
	for _, n := range t.s.SriovNodes {
		if n.SyncStatus != "Succeeded" {
			evidence = append(evidence, check.Evidence{
				Source: "sriovnetworknodestate/" + n.Node,
				Got:    strings.TrimSuffix(n.SyncStatus+": "+n.SyncError, ": "),
				Want:   "Succeeded",
			})
		}
	}
	return evidence
}

func lookAtNodes(resource string) *check.Fix {
	columns := `kubectl get nodes -o custom-columns='NODE:.metadata.name,OFFERS:.status.allocatable.%s'`
	return check.ByAdmin("Find the nodes that offer it. A node whose device plugin does not run offers nothing.",
		fmt.Sprintf(columns, strings.ReplaceAll(resource, ".", `\.`)))
}
