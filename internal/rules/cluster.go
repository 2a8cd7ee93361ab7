package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
)

// What of a cluster keeps the pods of a job from their rails, beside what cluster.Missing says.
const (
	DriverPods        check.ID = "driver-pods"
	DevicePlugin      check.ID = "device-plugin"
	ResourceZero      check.ID = "resource-zero"
	ResourcesInjector check.ID = "resources-injector"
	PodResources      check.ID = "pod-resources"
	RDMARequested     check.ID = "rdma-requested"
	SCCGranted        check.ID = "scc-granted"
	SCCScope          check.ID = "scc-scope"
)

// ClusterOptions is what is known beside the State.
type ClusterOptions struct {
	// Found are findings that others made of the same State: of its pools, and of pods that were not made.
	Found []check.Finding
	// Namespace is the one that was asked about, where it was one: what attachments of others lack is not its matter.
	Namespace string
	// Whole is that the cluster itself was asked about: lists that may not be read are unknown then. Where a job was asked
	// about, they are an administrator's matter.
	Whole bool
}

// Cluster judges what the cluster gives to the pods that the State has in detail. What follows from something else that was
// found is folded under it.
func Cluster(s cluster.State, o ClusterOptions) check.Report {
	c := clusterCase{State: s, found: map[check.ID][]check.Finding{}}
	for _, f := range slices.Concat(cluster.Missing(concerning(s, o)), o.Found, podsExplained(s)) {
		id := f.Check
		if !slices.Contains(clusterIDs, id) {
			id = cluster.PodPending
		}
		c.found[id] = append(c.found[id], f)
	}
	r := check.Run(withoutUnseen(clusterChecks(), c), c)
	if !o.Whole {
		r = forbidden(r, s)
	}
	return fold(r)
}

// clusterCase is a State with what others found of it, by the check that it is shown under.
type clusterCase struct {
	cluster.State
	found map[check.ID][]check.Finding
}

// The checks of machine config pools, which plan makes.
const (
	poolHealthy     = "pool-healthy"
	poolNotPaused   = "pool-not-paused"
	poolIdle        = "pool-idle"
	rolloutProgress = "rollout-progress"
)

// clusterIDs are the checks that show findings of others.
var clusterIDs = []check.ID{
	cluster.ClusterReadable, poolHealthy, poolNotPaused, poolIdle, rolloutProgress, cluster.SriovNodeState, cluster.GPUNodes, cluster.RDMAResources,
	cluster.RailsEven, cluster.NetworkResource, cluster.SCCForRDMA,
}

// clusterChecks are the catalogue. A cluster without one RDMA resource has no attachment that works, and no pod either.
func clusterChecks() []check.Check[clusterCase] {
	nodes, pools := []cluster.Kind{cluster.Nodes}, []cluster.Kind{cluster.Pools, cluster.Nodes}
	sccs := []cluster.Kind{cluster.SCCs, cluster.SCCGrants}
	return []check.Check[clusterCase]{
		{ID: cluster.ClusterReadable, Title: "everything that matters could be read", Run: reported(cluster.ClusterReadable)},
		{ID: poolHealthy, Title: "no machine config pool is degraded", Run: reported(poolHealthy, pools...)},
		{ID: rolloutProgress, Title: "every rollout gets on", Run: reported(rolloutProgress, pools...)},
		{ID: poolNotPaused, Title: "no machine config pool is paused", Run: reported(poolNotPaused, pools...)},
		{ID: poolIdle, Title: "all nodes of a pool have its configuration", Run: reported(poolIdle, pools...)},
		{ID: cluster.SriovNodeState, Title: "the SR-IOV operator has set up every node", Run: reported(cluster.SriovNodeState, cluster.SriovNodes)},
		{
			ID: machine.VFCount, Title: "every card has the virtual functions that its policies ask for", Needs: []check.ID{cluster.SriovNodeState},
			Run: seeing(vfCount, cluster.SriovNodes, cluster.SriovPolicies, cluster.Nodes),
		},
		{ID: DriverPods, Title: "the pods that install the network and GPU drivers are ready", Run: seeing(driverPods, cluster.Pods)},
		{ID: DevicePlugin, Title: "the device plugin runs on every node with rails", Run: seeing(devicePlugin, cluster.SriovNodes)},
		{
			ID: ResourceZero, Title: "every node that names a rail's resource has some of it", Needs: []check.ID{cluster.SriovNodeState, DevicePlugin},
			Run: seeing(resourceZero, cluster.Nodes, cluster.Networks),
		},
		{ID: cluster.GPUNodes, Title: "nodes offer GPUs", Run: reported(cluster.GPUNodes, nodes...)},
		{
			ID: cluster.RDMAResources, Title: "nodes offer RDMA resources", Needs: []check.ID{cluster.SriovNodeState, DevicePlugin},
			Run: reported(cluster.RDMAResources, nodes...),
		},
		{
			ID: cluster.RailsEven, Title: "all nodes with GPUs offer the same RDMA resources",
			Needs: []check.ID{cluster.SriovNodeState, DevicePlugin, ResourceZero, cluster.RDMAResources}, Run: reported(cluster.RailsEven, nodes...),
		},
		{
			ID: cluster.NetworkResource, Title: "every attachment names a resource that nodes offer", Needs: []check.ID{cluster.RDMAResources},
			Run: reported(cluster.NetworkResource, cluster.Networks, cluster.Nodes),
		},
		{ID: ResourcesInjector, Title: "the network-resources-injector runs", Run: seeing(injector, cluster.SriovNodes)},
		{ID: PodResources, Title: "every pod asks for the resources of its attachments", Run: seeing(podResources, cluster.Networks)},
		{ID: RDMARequested, Title: "every job with GPUs on several nodes asks for RDMA", Run: seeing(rdmaRequested, cluster.Nodes, cluster.Networks)},
		{ID: cluster.SCCForRDMA, Title: "an SCC, or the nodes, let pods lock memory", Run: reported(cluster.SCCForRDMA, cluster.SCCs)},
		{
			ID: SCCGranted, Title: "the pods' service accounts may use the SCC for RDMA", Needs: []check.ID{cluster.SCCForRDMA},
			Run: seeing(sccGranted, sccs...),
		},
		{ID: SCCScope, Title: "SCCs with rights beyond the restricted are granted in namespaces only", Run: seeing(sccScope, sccs...)},
		{ID: cluster.PodPending, Title: "every pod runs", Run: reported(cluster.PodPending)},
	}
}

// reported is a check whose findings others made, of the lists.
func reported(id check.ID, kinds ...cluster.Kind) func(clusterCase) []check.Finding {
	return seeing(func(c clusterCase) []check.Finding { return c.found[id] }, kinds...)
}

// seeing is a check that cannot pass where one of the lists is not known.
func seeing(run func(clusterCase) []check.Finding, kinds ...cluster.Kind) func(clusterCase) []check.Finding {
	return func(c clusterCase) []check.Finding {
		findings := run(c)
		if len(findings) > 0 {
			return findings
		}
		for _, kind := range kinds {
			if !c.Knows(kind) {
				return unseen(unread(c.State, kind))
			}
		}
		return nil
	}
}

// withoutUnseen lets no check wait for one that cannot be made: who may not see the operator's pods can still be told that an
// attachment is wrong.
func withoutUnseen(checks []check.Check[clusterCase], c clusterCase) []check.Check[clusterCase] {
	var not []check.ID
	for _, k := range checks {
		if found := k.Run(c); len(found) == 1 && found[0].Status == check.Skipped {
			not = append(not, k.ID)
		}
	}
	for i := range checks {
		checks[i].Needs = slices.DeleteFunc(checks[i].Needs, func(id check.ID) bool { return slices.Contains(not, id) })
	}
	return checks
}

// unseen says that a check was not made.
func unseen(why string) []check.Finding {
	return []check.Finding{{Status: check.Skipped, Summary: why}}
}

// unread is why a list is not known.
func unread(s cluster.State, kind cluster.Kind) string {
	switch p := s.Problem(kind); {
	case p == nil:
		return string(kind) + " were not read"
	case p.Forbidden:
		return "you may not list " + string(kind) + ": an administrator can"
	}
	return string(kind) + " could not be read"
}

// podsExplained says why pods do not run, from their own events.
func podsExplained(s cluster.State) []check.Finding {
	of := map[string][]cluster.Event{}
	for _, e := range s.Events {
		key := e.Namespace + "/" + e.Object
		of[key] = append(of[key], e)
	}
	var findings []check.Finding
	for _, p := range detailed(s) {
		events := slices.DeleteFunc(of[p.Namespace+"/Pod/"+p.Name], func(e cluster.Event) bool {
			return e.UID != "" && p.UID != "" && e.UID != p.UID // of a pod that had this name before
		})
		if o, wrong := cluster.Explain(p, events, s); wrong {
			findings = append(findings, o.Finding)
		}
	}
	return findings
}

// detailed are the pods that were read with containers: those that were asked about.
func detailed(s cluster.State) []cluster.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(p cluster.Pod) bool { return len(p.Containers) == 0 || p.Finished() && p.Phase == "Succeeded" })
}

// forbidden turns lists that may not be read into checks that were not made: whoever looks after a job sees what is his.
func forbidden(r check.Report, s cluster.State) check.Report {
	own := []cluster.Kind{cluster.Events}
	if len(detailed(s)) == 0 {
		own = append(own, cluster.Pods) // else those of other namespaces alone are not to be seen
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f check.Finding) bool {
		kind := cluster.Kind(f.Subject)
		p := s.Problem(kind)
		not := f.Check == cluster.ClusterReadable && p != nil && p.Forbidden && !slices.Contains(own, kind)
		if not {
			r.Skipped = append(r.Skipped, check.Skip{Check: f.Check, Why: unread(s, kind)})
		}
		return not
	})
	return r
}

// consequences are the reasons why a pod does not run that follow from what the cluster lacks.
var consequences = []check.ID{
	cluster.InsufficientResource, cluster.ResourceNameMismatch, cluster.NADMissing, cluster.SriovCNI, cluster.DeviceAllocate, cluster.NoIP,
	cluster.SCCIPCLock, cluster.SCCOther, cluster.NodeSelection, PodResources,
}

// causes are what they follow from.
var causes = []check.ID{
	cluster.SriovNodeState, DriverPods, DevicePlugin, ResourceZero, cluster.RDMAResources, cluster.NetworkResource, SCCGranted, cluster.SCCForRDMA,
	poolNotPaused, poolHealthy, rolloutProgress, PodResources,
}

// fold puts the pods that do not run under what of the cluster keeps them: a finding that speaks of the same resource, network
// or node. Of several the first is the cause.
func fold(r check.Report) check.Report {
	var left []check.Finding
	for _, f := range r.Findings {
		i := -1
		if slices.Contains(consequences, f.Check) {
			i = slices.IndexFunc(r.Findings, func(g check.Finding) bool { return slices.Contains(causes, g.Check) && follows(f, g) })
		}
		if i < 0 {
			left = append(left, f)
			continue
		}
		r.Skipped = append(r.Skipped, check.Skip{Check: f.Check, Needs: r.Findings[i].Check, Why: string(f.Subject) + ": " + f.Summary})
	}
	if r.Findings = left; left == nil {
		r.Findings = []check.Finding{}
	}
	slices.SortStableFunc(r.Findings, func(a, b check.Finding) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(ofPods(a), ofPods(b)))
	})
	return r
}

// ofPods is 1 for what is a matter of single pods, which comes after what is one of the cluster.
func ofPods(f check.Finding) int {
	if slices.Contains(causes, f.Check) && f.Check != PodResources {
		return 0
	}
	return 1
}

// follows reports whether what keeps a pod names a resource, network or SCC that the other finding is about.
func follows(f, g check.Finding) bool {
	switch g.Check {
	case SCCGranted, cluster.SCCForRDMA:
		return f.Check == cluster.SCCIPCLock || f.Check == cluster.SCCOther
	case PodResources: // the plugin of the network has no device to move into the pod
		return f.Check == cluster.SriovCNI && f.Subject == g.Subject
	}
	text := words(f)
	for _, name := range names(g) {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

func words(f check.Finding) string {
	var b strings.Builder
	b.WriteString(f.Summary)
	for _, e := range f.Evidence {
		b.WriteString(" " + e.Source + " " + e.Got + " " + e.Want)
	}
	return b.String()
}

// names are the resources that a finding speaks of, and what it is about.
func names(f check.Finding) []string {
	var all []string
	for _, word := range strings.FieldsFunc(words(f), func(c rune) bool { return strings.ContainsRune(" ,;:()'\"", c) }) {
		prefix, base, qualified := strings.Cut(word, "/")
		if qualified && base != "" && strings.Contains(prefix, ".") && !strings.Contains(prefix, "cncf.io") {
			all = append(all, word)
		}
	}
	if _, name, ok := strings.Cut(string(f.Subject), "/"); ok && !strings.HasPrefix(string(f.Subject), "pool/") {
		all = append(all, name)
	}
	return all
}
