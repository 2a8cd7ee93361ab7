// Package claims chooses the devices that pods claim from DRA drivers.
package claims

import (
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// claimsMinor is the first minor version of Kubernetes that serves resource.k8s.io/v1 (KEP-4381).
const claimsMinor = 34

// Claim has the devices that each pod requests from DRA drivers. Each rail is a request of its own that selects the
// port by its name, so all pods of a job get the same ports, on whatever nodes they run.
type Claim struct {
	Rails     []cluster.Rail
	GPUs      int            // of each pod, if it claims them, too
	unclaimed cluster.State  // without the devices that other pods hold
	free      []cluster.Rail // of unclaimed
	spec      resourcev1.DeviceClaim
}

// Pods are the pods of a job that claim their rails.
type Pods struct {
	Job      plan.Target
	Networks []string // the rails that the user chose; empty: all
	Flag     bool     // the user wants claims; otherwise there is no other way to rails
	GPUs     int      // that each pod claims, too
	Nodes    []string // may take a pod, as far as rails do not decide
	Need     int      // the number of nodes that must have the rails; 0: as many as possible
}

// chooser is the decision about the claim of pods.
type chooser struct {
	Pods
	plan.Draft
	s     cluster.State
	claim Claim
}

// Wanted reports whether the pods of a namespace claim their rails: because of a flag, or because there is no other way
// to them.
func Wanted(s cluster.State, namespace string, flag bool) bool {
	return flag || noAttachment(s, namespace) && len(s.ClaimRails()) > 0
}

// Needs returns the lists that claims need, if the pods may have any.
func Needs(s cluster.State, namespace string, flag bool) []cluster.Kind {
	if !(flag || noAttachment(s, namespace)) || !s.Server.Serves(cluster.ResourceGroup) {
		return nil
	}
	return cluster.ClaimKinds()
}

// noAttachment reports whether a namespace is known to have no attachment that is meant to bring an RDMA device.
func noAttachment(s cluster.State, namespace string) bool {
	known := s.Knows(cluster.Networks) || !s.Server.Serves(cluster.NetworkGroup)
	isRDMA := func(r cluster.Rail) bool { return r.RDMA }
	return known && !slices.ContainsFunc(s.Rails(namespace), isRDMA)
}

// GPUs returns the number of GPUs that each pod can claim on that many eligible nodes; 0 if there are none, or a device
// plugin offers GPUs.
func GPUs(s cluster.State, eligible func(cluster.Node) bool, nodes int) int {
	var counts []int
	for _, n := range s.Nodes {
		if _, plugin := n.GPUs(); plugin > 0 {
			return 0
		}
		if gpus := gpusOf(s, n.Name); gpus > 0 && eligible(n) {
			counts = append(counts, gpus)
		}
	}
	if len(counts) == 0 {
		return 0
	}
	slices.Sort(counts)
	return counts[max(len(counts)-nodes, 0)]
}

func gpusOf(s cluster.State, node string) int {
	sum := 0
	for _, n := range s.GPUsByRoot(node) {
		sum += n
	}
	return sum
}

// Require chooses the claim of the pods, and fails if they can claim no rail. others is the cluster without the claims
// of the job's own pods; d is the draft of the job so far.
func Require(s, others cluster.State, p Pods, d plan.Draft) (Claim, plan.Draft) {
	c := chooser{Pods: p, Draft: d, s: s, claim: Claim{GPUs: p.GPUs}}
	if c.validate(); c.Failed() {
		return c.claim, c.Draft
	}
	offered := s.ClaimRails()
	c.checkPorts(offered)
	chosen := slices.DeleteFunc(slices.Clone(offered), func(r cluster.Rail) bool {
		return len(p.Networks) > 0 && !slices.Contains(p.Networks, r.Network)
	})
	rails := bestRails(chosen, p.Nodes, p.Need)
	if len(rails) == 0 || c.Failed() {
		c.noRails(offered)
		return c.claim, c.Draft
	}
	unclaimed := others.WithoutClaimed()
	c.claim = Claim{Rails: rails, GPUs: p.GPUs, unclaimed: unclaimed, free: unclaimed.ClaimRails()}
	if !s.Knows(cluster.ResourceClaims) {
		c.Unknown(s, plan.FreeNodes, cluster.ResourceClaims, "which devices other pods hold could not be read")
	}
	if c.claim.spec = c.deviceClaim(rails); !c.Failed() {
		c.noteClaims(rails)
	}
	return c.claim, c.Draft
}

// Prefer chooses the claim of the pods. If they can claim no rail there is no claim, and findings that do not prevent
// the plan say why. GPUs that only a claim can request keep the failure.
func Prefer(s, others cluster.State, p Pods, d plan.Draft) (Claim, plan.Draft) {
	if d.Failed() {
		return Claim{GPUs: p.GPUs}, d
	}
	claim, d := Require(s, others, p, d)
	if !d.Failed() || p.GPUs > 0 {
		return claim, d
	}
	for i := range d.Findings {
		switch f := &d.Findings[i]; {
		case f.Status == check.Fail && f.Check == clusterrules.ClusterReadable:
			f.Status = check.Unknown
		case f.Status == check.Fail:
			f.Status = check.Warn
		}
	}
	return Claim{}, d
}

// validate fails if the server has no claims, or the lists about them could not be read.
func (c *chooser) validate() {
	fix := check.ByUser("Leave out --claims: attachments bring the rails.", c.Job.SetUpCommand())
	if !c.s.Server.Serves(cluster.ResourceGroup) {
		c.Fail(plan.ServerSupport, check.Ref{Kind: check.Server}, "the cluster has no resource claims",
			check.Observed("API groups", "no "+cluster.ResourceGroup, cluster.ResourceGroup), fix)
		return
	}
	c.RequireVersion(c.s.Server, claimsMinor,
		"does not serve "+cluster.ResourceGroup+"/v1, in which claims are written", fix)
	c.Report(plan.Unreadable(c.s, cluster.DRADevices, cluster.DeviceClasses)...)
}

// checkPorts fails for names in --network that no driver offers.
func (c *chooser) checkPorts(offered []cluster.Rail) {
	ports := cluster.RailNames(offered)
	for _, name := range c.Networks {
		if !slices.Contains(ports, name) {
			c.Fail(plan.RailsAttached, c.Job.Ref(), "no DRA driver offers a rail "+name,
				check.Observed("resourceslices", plan.OrNone(ports), name),
				check.ByUser(words.DidYouMean(name, ports, "Choose existing ones."), "railhead inventory"))
		}
	}
}

// bestRails returns the largest set of rails of one driver that enough nodes have. If need is 0, or too many, it is the
// one that gives most rails on all nodes together.
func bestRails(offered []cluster.Rail, nodes []string, need int) []cluster.Rail {
	sets, nodesOf := map[string][]cluster.Rail{}, map[string]int{}
	for _, node := range nodes {
		for driver, set := range railsOn(offered, node) {
			key := fmt.Sprint(driver, cluster.RailNames(set))
			sets[key] = set
			nodesOf[key]++
		}
	}
	var best []cluster.Rail
	var bestScore [3]int
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		set, count := sets[key], 0
		for other, n := range nodesOf {
			if containsAll(sets[other], set) {
				count += n
			}
		}
		score := [3]int{0, len(set) * count, 0}
		if need > 0 && count >= need {
			score = [3]int{1, len(set), count}
		}
		if slices.Compare(score[:], bestScore[:]) > 0 {
			best, bestScore = set, score
		}
	}
	return best
}

func containsAll(rails, wanted []cluster.Rail) bool {
	return !slices.ContainsFunc(wanted, func(w cluster.Rail) bool {
		return !slices.ContainsFunc(rails, w.Is)
	})
}

// railsOn returns the rails that a node has, by driver.
func railsOn(rails []cluster.Rail, node string) map[string][]cluster.Rail {
	of := map[string][]cluster.Rail{}
	for _, r := range rails {
		if r.PerNode[node] > 0 {
			of[r.Driver] = append(of[r.Driver], r)
		}
	}
	return of
}

// noRails fails because no rail can be claimed.
func (c *chooser) noRails(offered []cluster.Rail) {
	if c.Failed() {
		return
	}
	without := 0
	for _, d := range c.s.DRADevices {
		if !d.RDMA && !d.GPU {
			without++
		}
	}
	got := fmt.Sprintf("0 devices with RDMA, %d without", without)
	if len(offered) > 0 {
		got = words.Count(len(offered), "rail") + ", on no node that may take a pod"
	}
	c.Fail(plan.RailsAttached, c.Job.Ref(), "pods cannot claim a rail: "+got,
		check.Observed("resourceslices", got, "RDMA devices of "+cluster.DRANet+" or "+cluster.DRASriov),
		check.ByAdmin("Find out whether the DRA driver runs on the nodes with NICs, and their RDMA modules are loaded.",
			"kubectl get resourceslices", "railhead inventory"))
}

// Lacks returns why a node cannot take a pod with the claim; "" if it can.
func (c Claim) Lacks(s cluster.State, node string) string {
	for _, r := range c.Rails {
		if r.PerNode[node] == 0 {
			return fmt.Sprintf("no RDMA device of rail %s from %s", r.Network, r.Driver)
		}
	}
	if gpus := gpusOf(s, node); gpus < c.GPUs {
		return words.Count(gpus, "GPU") + " from " + cluster.DRAGPU
	}
	return ""
}

// Taken returns why a node cannot take a pod with the claim now; "" if it can.
func (c Claim) Taken(node string) string {
	for _, r := range c.Rails {
		free := func(f cluster.Rail) bool { return r.Is(f) && f.PerNode[node] > 0 }
		if !slices.ContainsFunc(c.free, free) {
			return "all RDMA devices of rail " + r.Network + " are claimed"
		}
	}
	if gpus := gpusOf(c.unclaimed, node); gpus < c.GPUs {
		return fmt.Sprintf("only %s of %s not claimed", words.Count(gpus, "GPU"), cluster.DRAGPU)
	}
	return ""
}
