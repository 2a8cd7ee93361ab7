package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// claimsMinor is the first minor version of Kubernetes that serves resource.k8s.io/v1 (KEP-4381).
const claimsMinor = 34

// claim has the devices that each pod requests from DRA drivers. Each rail is a request of its own that selects the
// port by its name, so all pods of a job get the same ports, on whatever nodes they run.
type claim struct {
	rails  []cluster.Rail
	others cluster.State  // without the devices that other pods hold
	free   []cluster.Rail // of others
	spec   resourcev1.DeviceClaim
}

// claimKinds returns the lists that claims need.
func claimKinds(s cluster.State, o Options) []cluster.Kind {
	wanted := o.Claims || noAttachment(s, o.Namespace)
	if o.Mode == nccl.TCP || !wanted || !s.Server.Serves(cluster.ResourceGroup) {
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

// claiming reports whether the pods claim their rails: because of --claims, or because there is no other way to them.
func (j *request) claiming() bool {
	return j.Claims || noAttachment(j.s, j.Namespace) && len(j.s.ClaimRails()) > 0
}

// holds reports whether a claim is one of the job's own pods.
func (j *request) holds(c cluster.ResourceClaim) bool {
	return c.Namespace == j.Namespace && slices.ContainsFunc(j.s.Pods, func(p cluster.Pod) bool {
		return j.owns(p) && (p.Name == c.Pod || slices.Contains(c.Users, p.Name))
	})
}

// claimGPUs lets the pods claim their GPUs as well, if only DRA offers them.
func (j *placement) claimGPUs() {
	if !j.claiming() || j.GPUs == NoGPUs {
		return
	}
	var counts []int
	for _, n := range j.s.Nodes {
		if _, plugin := n.GPUs(); plugin > 0 {
			return
		}
		if gpus := sumOf(j.s.GPUsByRoot(n.Name)); gpus > 0 && j.excluded(n) == "" {
			counts = append(counts, gpus)
		}
	}
	if len(counts) == 0 {
		return
	}
	slices.Sort(counts)
	j.claimedGPUs = true
	j.GPUs = cmp.Or(j.GPUs, counts[max(len(counts)-j.Nodes, 0)])
}

// claimedRails returns the rails that the pods claim, and decides their claim. need is the number of nodes that must
// have them; 0: as many as possible.
func (j *placement) claimedRails(need int) []cluster.Rail {
	if j.validateClaims(); j.Failed() {
		return nil
	}
	offered := j.s.ClaimRails()
	j.checkPorts(offered)
	rails := bestRails(j.chosen(offered), j.suitableNodes(), need)
	if len(rails) == 0 || j.Failed() {
		j.noClaimRails(offered)
		return nil
	}
	free := j.others.WithoutClaimed()
	j.claim = claim{rails: rails, free: free.ClaimRails(), others: free}
	if !j.s.Knows(cluster.ResourceClaims) {
		j.Unknown(j.s, plan.FreeNodes, cluster.ResourceClaims, "which devices other pods hold could not be read")
	}
	if j.claim.spec = j.deviceClaim(rails); j.Failed() {
		return nil
	}
	j.noteClaims(rails)
	return rails
}

// claimedIfPossible returns the rails that the pods claim. If they can claim none there is no claim, and findings that
// do not prevent the plan say why. GPUs that only a claim can request keep the failure.
func (j *placement) claimedIfPossible(need int) []cluster.Rail {
	if j.Failed() {
		return nil
	}
	rails := j.claimedRails(need)
	if !j.Failed() || j.claimedGPUs {
		return rails
	}
	for i := range j.Findings {
		switch f := &j.Findings[i]; {
		case f.Status == check.Fail && f.Check == clusterrules.ClusterReadable:
			f.Status = check.Unknown
		case f.Status == check.Fail:
			f.Status = check.Warn
		}
	}
	j.claim = claim{}
	return nil
}

func sumOf(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// validateClaims fails if the server has no claims, or the lists about them could not be read.
func (j *placement) validateClaims() {
	if !j.s.Server.Serves(cluster.ResourceGroup) {
		j.Fail(plan.ServerSupport, check.Ref{Kind: check.Server}, "the cluster has no resource claims",
			check.Observed("API groups", "no "+cluster.ResourceGroup, cluster.ResourceGroup),
			check.ByUser("Leave out --claims: attachments bring the rails.", j.target().SetUpCommand()))
		return
	}
	j.requireVersion(claimsMinor, "does not serve "+cluster.ResourceGroup+"/v1, in which claims are written",
		check.ByUser("Leave out --claims: attachments bring the rails.", j.target().SetUpCommand()))
	j.Report(plan.Unreadable(j.s, cluster.DRADevices, cluster.DeviceClasses)...)
}

// checkPorts fails for names in --network that no driver offers.
func (j *placement) checkPorts(offered []cluster.Rail) {
	ports := names(offered)
	for _, name := range j.Networks {
		if !slices.Contains(ports, name) {
			j.Fail(plan.RailsAttached, j.target().Ref(), "no DRA driver offers a rail "+name,
				check.Observed("resourceslices", plan.OrNone(ports), name),
				check.ByUser(words.DidYouMean(name, ports, "Choose existing ones."), "railhead inventory"))
		}
	}
}

// suitableNodes returns the names of the nodes that may take a pod, as far as rails do not decide. If nodes could not
// be read, they are those with devices.
func (j *placement) suitableNodes() []string {
	var names []string
	requests := j.requests(nil)
	for _, d := range j.s.DRADevices {
		if !j.s.Knows(cluster.Nodes) && !slices.Contains(names, d.Node) {
			names = append(names, d.Node)
		}
	}
	for _, n := range j.s.Nodes {
		if j.unsuitable(n, requests) == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// bestRails returns the largest set of rails of one driver that enough nodes have. If need is 0, or too many, it is the
// one that gives most rails on all nodes together.
func bestRails(offered []cluster.Rail, nodes []string, need int) []cluster.Rail {
	sets, nodesOf := map[string][]cluster.Rail{}, map[string]int{}
	for _, node := range nodes {
		for driver, set := range railsOn(offered, node) {
			key := fmt.Sprint(driver, names(set))
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

func names(rails []cluster.Rail) []string {
	var all []string
	for _, r := range rails {
		all = append(all, r.Network)
	}
	return all
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

// unclaimable returns why a node cannot take a pod with the claim; "" if it can.
func (j *placement) unclaimable(node string) string {
	for _, r := range j.claim.rails {
		if r.PerNode[node] == 0 {
			return fmt.Sprintf("no RDMA device of rail %s from %s", r.Network, r.Driver)
		}
	}
	if gpus := sumOf(j.s.GPUsByRoot(node)); j.claimedGPUs && gpus < j.GPUs {
		return words.Count(gpus, "GPU") + " from " + cluster.DRAGPU
	}
	return ""
}

// claimedByOthers returns why a node cannot take a pod with the claim now; "" if it can.
func (j *placement) claimedByOthers(node string) string {
	for _, r := range j.claim.rails {
		free := func(f cluster.Rail) bool { return r.Is(f) && f.PerNode[node] > 0 }
		if !slices.ContainsFunc(j.claim.free, free) {
			return "all RDMA devices of rail " + r.Network + " are claimed"
		}
	}
	if gpus := sumOf(j.claim.others.GPUsByRoot(node)); j.claimedGPUs && gpus < j.GPUs {
		return fmt.Sprintf("only %s of %s not claimed", words.Count(gpus, "GPU"), cluster.DRAGPU)
	}
	return ""
}

// noClaimRails fails because no rail can be claimed.
func (j *placement) noClaimRails(offered []cluster.Rail) {
	if j.Failed() {
		return
	}
	without := 0
	for _, d := range j.s.DRADevices {
		if !d.RDMA && !d.GPU {
			without++
		}
	}
	got := fmt.Sprintf("0 devices with RDMA, %d without", without)
	if len(offered) > 0 {
		got = words.Count(len(offered), "rail") + ", on no node that may take a pod"
	}
	j.Fail(plan.RailsAttached, j.target().Ref(), "pods cannot claim a rail: "+got,
		check.Observed("resourceslices", got, "RDMA devices of "+cluster.DRANet+" or "+cluster.DRASriov),
		check.ByAdmin("Find out whether the DRA driver runs on the nodes with NICs, and their RDMA modules are loaded.",
			"kubectl get resourceslices", "railhead inventory"))
}
