// Package clusterrules is the catalogue of checks of a cluster: whether its nodes, operators and policies provide RDMA
// to the pods of a job.
package clusterrules

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// The checks of the catalogue, in the order of its rows. PortActive and TransportSupported are of rail,
// VFCount is one of machine, PodPending one of pods.
const (
	ClusterReadable   check.ID = "cluster-readable"
	PoolHealthy       check.ID = "pool-healthy"
	RolloutProgress   check.ID = "rollout-progress"
	PoolNotPaused     check.ID = "pool-not-paused"
	PoolIdle          check.ID = "pool-idle"
	SriovNodeState    check.ID = "sriov-node-state"
	DriverPods        check.ID = "driver-pods"
	DevicePlugin      check.ID = "device-plugin"
	ResourceZero      check.ID = "resource-zero"
	GPUNodes          check.ID = "gpu-nodes"
	RDMAResources     check.ID = "rdma-resources"
	RailsEven         check.ID = "rails-even"
	NetworkResource   check.ID = "network-resource"
	ResourcesInjector check.ID = "resources-injector"
	InjectionKept     check.ID = "injection-kept"
	PodResources      check.ID = "pod-resources"
	WebhookInjects    check.ID = "webhook-injects"
	RDMARequested     check.ID = "rdma-requested"
	ClaimedDevice     check.ID = "claimed-device"
	ClaimedRails      check.ID = "claimed-rails"
	NVLinkClique      check.ID = "nvlink-clique"
	SCCForRDMA        check.ID = "scc-for-rdma"
	SCCGranted        check.ID = "scc-granted"
	SCCScope          check.ID = "scc-scope"
)

// rows returns the catalogue. A row needs the checks without which its own says nothing new of the cluster, and is
// explained by those whose findings, about the same object, are the cause of its own.
func rows() []check.Check[view] { return slices.Concat(poolRows(), nodeRows(), jobRows()) }

func poolRows() []check.Check[view] {
	return []check.Check[view]{
		{
			ID: ClusterReadable, Title: "every list that the answer depends on could be read",
			Run: unreadLists,
		},
		{
			ID: PoolHealthy, Title: "no machine config pool is degraded",
			Run: poolFindings(PoolHealthy),
		},
		{
			ID: RolloutProgress, Title: "every rollout makes progress",
			Run: poolFindings(RolloutProgress),
		},
		{
			ID: PoolNotPaused, Title: "no machine config pool is paused",
			Run: poolFindings(PoolNotPaused),
		},
		{
			ID: PoolIdle, Title: "all nodes of a pool have its configuration",
			Run: poolFindings(PoolIdle),
		},
	}
}

// nodeRows are about what nodes offer.
func nodeRows() []check.Check[view] {
	return []check.Check[view]{
		{
			ID: SriovNodeState, Title: "the SR-IOV operator has set up every node",
			Run: reading(unfinishedSriovNodes, cluster.SriovNodes),
		},
		{
			ID: rail.PortActive, Title: "the cards that policies select have a link",
			Run: reading(sriovLinks, cluster.SriovNodes),
		},
		{
			ID: machine.VFCount, Title: "every card has the virtual functions that its policies request",
			Needs: []check.ID{SriovNodeState},
			Run:   reading(vfCount, cluster.SriovNodes, cluster.SriovPolicies, cluster.Nodes),
		},
		{
			ID: DriverPods, Title: "the pods that install the network and GPU drivers are ready",
			Run: reading(driverPods, cluster.Pods),
		},
		{
			ID: DevicePlugin, Title: "the device plugin runs on every node with rails",
			Run: reading(devicePlugin, cluster.SriovNodes),
		},
		{
			ID: ResourceZero, Title: "every node offers the devices of its rails' resources",
			Needs: []check.ID{SriovNodeState, DevicePlugin},
			Run:   reading(resourceZero, cluster.Nodes, cluster.Networks),
		},
		{
			ID: GPUNodes, Title: "nodes offer GPUs",
			Run: reading(noGPUs, cluster.Nodes),
		},
		{
			ID: RDMAResources, Title: "nodes with GPUs offer RDMA resources",
			Needs: []check.ID{SriovNodeState, DevicePlugin},
			Run:   reading(noRDMA, cluster.Nodes),
		},
		{
			ID: rail.TransportSupported, Title: "nodes with GPUs offer RDMA devices that NCCL itself can use",
			Needs: []check.ID{RDMAResources},
			Run:   reading(onlyEFA, cluster.Nodes),
		},
		{
			ID: RailsEven, Title: "all nodes with GPUs offer the same RDMA resources",
			Needs: []check.ID{SriovNodeState, DevicePlugin, ResourceZero, RDMAResources},
			Run:   reading(unevenRails, cluster.Nodes),
		},
	}
}

// jobRows are about what jobs need: attachments, requests and permissions.
func jobRows() []check.Check[view] {
	return []check.Check[view]{
		{
			ID: NetworkResource, Title: "every network attachment for RDMA names a resource that nodes offer",
			Needs: []check.ID{RDMAResources},
			Run:   reading(attachmentsWithoutDevice, cluster.Networks, cluster.Nodes),
		},
		{
			ID: ResourcesInjector, Title: "the network-resources-injector runs",
			Run: reading(injector, cluster.SriovNodes),
		},
		{
			ID: InjectionKept, Title: "pods have all that Railhead added to their templates",
			Run: reading(erased, cluster.Workloads),
		},
		{
			ID: PodResources, Title: "every pod requests the resources of its attachments",
			ExplainedBy: slices.Concat([]check.ID{InjectionKept}, devices),
			Run:         reading(podResources, cluster.Networks),
		},
		{
			ID: pods.NADMissing, Title: "every network attachment that the pod names exists and can be used",
			ExplainedBy: []check.ID{NetworkResource},
			Run:         reading(podNetworks, cluster.Networks),
		},
		{
			ID: WebhookInjects, Title: "pods get rails in namespaces with the label of the webhook",
			Run: reading(withoutInjection, cluster.Namespaces),
		},
		{
			ID: RDMARequested, Title: "every job with GPUs on several nodes requests RDMA",
			ExplainedBy: []check.ID{WebhookInjects},
			Run:         reading(rdmaRequested, cluster.Nodes, cluster.Networks),
		},
		{
			ID: ClaimedDevice, Title: "every device that a pod claims is ready in it",
			Run: claiming(claimedDevices),
		},
		{
			ID: ClaimedRails, Title: "all pods of a job claim the same rails",
			Run: claiming(claimedRails),
		},
		{
			ID: NVLinkClique, Title: "the pods of a job in a ComputeDomain are in one NVLink clique",
			Run: claiming(nvlinkCliques),
		},
		{
			ID: SCCForRDMA, Title: "pods can lock the memory that RDMA registers",
			Run: reading(missingSCC, cluster.SCCs),
		},
		{
			ID: SCCGranted, Title: "the pods' service accounts may use the SCC for RDMA",
			Needs: []check.ID{SCCForRDMA},
			Run:   reading(sccGranted, cluster.SCCs, cluster.SCCGrants),
		},
		{
			ID: SCCScope, Title: "SCCs with rights beyond the restricted are granted in namespaces only",
			Run: reading(sccScope, cluster.SCCs, cluster.SCCGrants),
		},
		{
			ID: pods.PodPending, Title: "every pod runs",
			Run: func(v view) []check.Finding { return v.pods },
		},
	}
}

// devices lists the checks that explain why a pod gets no device.
var devices = []check.ID{
	SriovNodeState, DriverPods, DevicePlugin, ResourceZero, RDMAResources, NetworkResource,
	PoolHealthy, RolloutProgress, PoolNotPaused,
}

// podRows lists the reasons why pods do not run that the cluster may explain. The row of pods.PodPending finds all of
// them.
func podRows() []check.Check[view] {
	return []check.Check[view]{
		{ID: pods.SriovCNI, ExplainedBy: slices.Concat([]check.ID{PodResources}, devices)},
		{ID: pods.InsufficientResource, ExplainedBy: devices},
		{ID: pods.ResourceNameMismatch, ExplainedBy: devices},
		{ID: pods.DeviceAllocate, ExplainedBy: devices},
		{ID: pods.NodeSelection, ExplainedBy: devices},
		{ID: pods.DeviceInjection, ExplainedBy: []check.ID{DriverPods}},
		{ID: pods.SCCIPCLock, ExplainedBy: []check.ID{SCCGranted, SCCForRDMA}},
		{ID: pods.SCCOther, ExplainedBy: []check.ID{SCCGranted, SCCForRDMA}},
	}
}

// Options limit the checks to a namespace or job.
type Options struct {
	// Namespace leaves out attachments of other namespaces; empty: the checks are of all namespaces.
	Namespace string
	// Job is a workload of Namespace; empty: none was asked about.
	Job workload.Ref
	// Whole is a diagnosis of the cluster, which reports unreadable lists. One of a job skips them: only an
	// administrator can read them.
	Whole bool
}

// Judge checks the cluster for the pods that the State has in detail. A finding that another one explains is
// reported under that one.
func Judge(s cluster.State, o Options) check.Report {
	v := view{state: s, options: o, pods: Incomplete(s, o)}
	v.pods = append(v.pods, unexamined(s, o, v.pods)...)
	r := check.Run(withoutUnreadNeeds(rows(), v), v)
	if !o.Whole {
		r = skipForbidden(r, s)
	}
	return fold(r)
}

type view struct {
	state   cluster.State
	options Options
	pods    []check.Finding // why pods do not run
}

// reading returns a check that is skipped instead of passed if one of the lists was not read.
func reading(run func(view) []check.Finding, lists ...cluster.Kind) func(view) []check.Finding {
	return func(v view) []check.Finding {
		findings := run(v)
		if len(findings) > 0 {
			return findings
		}
		for _, kind := range lists {
			if !v.state.Knows(kind) {
				return skip(whyUnread(v.state, kind))
			}
		}
		return nil
	}
}

func skip(why string) []check.Finding {
	return []check.Finding{{Status: check.Skipped, Summary: why}}
}

func whyUnread(s cluster.State, kind cluster.Kind) string {
	switch p := s.Problem(kind); {
	case p == nil:
		return string(kind) + " were not read"
	case p.Forbidden && kind == cluster.Workloads: // of these, lists of the server may be missing one by one
		var lists []string
		for _, p := range s.Problems {
			if p.Kind == kind {
				lists = append(lists, p.Resource)
			}
		}
		return "you may not list " + strings.Join(lists, ", ") + ": an administrator can"
	case p.Forbidden:
		return "you may not list " + string(kind) + ": an administrator can"
	}
	return string(kind) + " could not be read"
}

// withoutUnreadNeeds drops needs that were skipped: a user who may not see the operator's pods still learns that an
// attachment is wrong.
func withoutUnreadNeeds(checks []check.Check[view], v view) []check.Check[view] {
	var skipped []check.ID
	for _, c := range checks {
		if found := c.Run(v); len(found) == 1 && found[0].Status == check.Skipped {
			skipped = append(skipped, c.ID)
		}
	}
	unread := func(id check.ID) bool { return slices.Contains(skipped, id) }
	for i := range checks {
		checks[i].Needs = slices.DeleteFunc(checks[i].Needs, unread)
	}
	return checks
}

// ownPodsUnread reports whether the pods in question could not be read. If the Problem has no namespace, only the pods
// of other namespaces are forbidden; older archives do not record that.
func ownPodsUnread(s cluster.State) bool {
	p := s.Problem(cluster.Pods)
	older := !slices.Contains(s.Read, cluster.Workloads)
	return p != nil && (!p.Forbidden || p.Namespace != "" || older && len(detailed(s)) == 0)
}

// ofEveryCluster reports whether a problem is about workloads of Kubernetes itself. The group of a custom resource has
// a dot: pytorchjobs.kubeflow.org (kubernetes apiextensions-apiserver pkg/apis/apiextensions/validation).
func ofEveryCluster(p cluster.Problem) bool {
	return p.Kind == cluster.Workloads && strings.Count(p.Resource, ".") < 2
}

// skipForbidden turns lists that the user may not read into skipped checks, but for those about the user's own objects.
func skipForbidden(r check.Report, s cluster.State) check.Report {
	own := []cluster.Kind{cluster.Events}
	if slices.ContainsFunc(s.Problems, ofEveryCluster) {
		own = append(own, cluster.Workloads)
	}
	if ownPodsUnread(s) {
		own = append(own, cluster.Pods)
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f check.Finding) bool {
		kind := cluster.Kind(f.Subject.Name)
		if p := s.Problem(kind); f.Check != ClusterReadable || p == nil || !p.Forbidden || slices.Contains(own, kind) {
			return false
		}
		r.Skipped = append(r.Skipped, check.Skip{Check: f.Check, Why: whyUnread(s, kind)})
		return true
	})
	return r
}
