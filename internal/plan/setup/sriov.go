package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// sriovCapable is the label that node feature discovery gives nodes with SR-IOV NICs.
const sriovCapable = "feature.node.kubernetes.io/network-sriov.capable"

const (
	defaultVFs     = 8   // virtual functions per NIC, if no node has GPUs
	maxMellanoxVFs = 128 // the limit of the SR-IOV operator's webhook (pkg/webhook/validate.go MlxMaxVFs)
)

// policy is a SriovNetworkNodePolicy to write.
type policy struct {
	nic
	selector map[string]string
	vfs      int
	mtu      int // 0: the operator leaves it at 1500
}

// sriovPart creates a policy for each RDMA NIC without one.
func sriovPart(s cluster.State, o Options) part {
	var p part
	switch {
	case !o.Sriov:
		return p
	case !s.Server.Serves(cluster.SriovGroup):
		p.Report(noOperator())
		return p
	}
	nics, findings := findNICs(s, o)
	p.Report(findings...)
	p.Report(badMTU(o)...)
	p.Report(missingNICs(s, o, nics)...)
	var policies []policy
	var nodes []string
	var changes []plan.Change
	for _, n := range nics {
		if len(n.nodes) == 0 {
			if n.reason != "" {
				p.Note("NIC %s of %s gets no policy: %s.", n.name, words.Count(len(n.others), "node"), n.reason)
			}
			continue
		}
		selector, ok := selectorFor(s, n)
		if !ok {
			p.Report(noSelector(n))
			continue
		}
		if name := resourceName(n.name); plan.TrainerTakesForGPU(name) {
			p.Note("Kubeflow Trainer takes the resource %s for GPUs, because of its name: set numProcPerNode in "+
				"TrainJobs that run MPI.", name)
		}
		if o.VFs > n.maxVFs() {
			p.Report(tooManyVFs(n, o.VFs))
		}
		policy := policy{nic: n, selector: selector, vfs: vfsFor(s, o, n), mtu: mtuFor(o, n)}
		why := fmt.Sprintf("makes %s of %s on %s", words.Count(policy.vfs, "virtual function"), n.name,
			words.Count(len(n.selected()), "node"))
		if change := plan.ApplyIfChanged(s, policyObject(s, policy), why); change != nil {
			changes = append(changes, change...)
			policies = append(policies, policy)
			nodes = append(nodes, n.nodes...)
			if policy.vfs != n.own.VFs || policy.mtu != n.own.MTU {
				nodes = append(nodes, n.kept...)
			}
		}
	}
	if len(changes) == 0 {
		return p
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if len(o.PFs) == 0 {
		p.Report(unknownGateways(s, nodes, policies)...)
	}
	p.noteMTUs(policies)
	p.Note("The SR-IOV operator drains %s, one at a time unless a SriovNetworkPoolConfig says otherwise, "+
		"and reboots those whose NIC firmware must change.", words.Count(len(nodes), "node"))
	p.steps = []plan.Step{sriovStep(s, "Write", changes, nodes, sriovDone(nodes, policies))}
	return p
}

// sriovStep is the step of changed policies. The SR-IOV operator drains the nodes one by one, and may reboot them.
func sriovStep(s cluster.State, verb string, changes []plan.Change, nodes []string, done plan.Condition) plan.Step {
	step := plan.Step{
		ID:      "sriov",
		Title:   verb + " 1 SriovNetworkNodePolicy",
		Changes: changes,
		Done:    done,
		Watch:   []cluster.Kind{cluster.SriovNodes, cluster.Nodes},
	}
	if len(changes) > 1 {
		step.Title = fmt.Sprintf("%s %d SriovNetworkNodePolicies", verb, len(changes))
	}
	if len(nodes) > 0 {
		step.Title += fmt.Sprintf(": %s %s drained", words.Count(len(nodes), "node"), isAre(len(nodes)))
		step.Disruption.RestartsPods = true
	}
	byPool := map[string]int{}
	for _, name := range nodes {
		node, _ := s.Node(name)
		pool, _ := s.PoolOf(node)
		i, ok := byPool[pool.Name]
		if !ok {
			i = len(step.Disruption.Reboots)
			byPool[pool.Name] = i
			step.Disruption.Reboots = append(step.Disruption.Reboots, plan.Reboot{Pool: pool.Name, AtOnce: 1})
		}
		step.Disruption.Reboots[i].Nodes = append(step.Disruption.Reboots[i].Nodes, name)
	}
	return step
}

func policyName(pf string) string {
	return plan.ProgramName + "-" + strings.Trim(replaceOthers(strings.ToLower(pf), '-'), "-")
}

// resourceName has only letters, digits and underscores, as the operator's webhook demands (pkg/webhook/validate.go).
func resourceName(pf string) string { return replaceOthers(pf, '_') + "rdma" }

// replaceOthers replaces everything but ASCII letters and digits.
func replaceOthers(name string, by rune) string {
	return strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return by
	}, name)
}

func policyObject(s cluster.State, p policy) unstructured.Unstructured {
	selector := map[string]any{}
	for key, value := range p.selector {
		selector[key] = value
	}
	spec := map[string]any{
		"resourceName": resourceName(p.name),
		"nodeSelector": selector,
		"numVfs":       int64(p.vfs),
		"priority":     int64(99),
		"nicSelector":  map[string]any{"vendor": p.vendor, "pfNames": []any{p.name}},
		"deviceType":   "netdevice",
		"isRdma":       true,
	}
	if p.infiniBand() {
		spec["linkType"] = "IB"
	}
	if p.mtu > 0 {
		spec["mtu"] = int64(p.mtu)
	}
	o := object(cluster.SriovGroup+"/v1", "SriovNetworkNodePolicy", policyName(p.name), map[string]any{"spec": spec})
	o.SetNamespace(s.SriovNamespace())
	return o
}

// vfsFor returns the number of virtual functions: the requested number, otherwise the number in Railhead's policy,
// otherwise one for each GPU, so that as many pods with one GPU each can share the node. It never exceeds the number
// that the NIC supports.
func vfsFor(s cluster.State, o Options, n nic) int {
	vfs := cmp.Or(o.VFs, n.own.VFs)
	if vfs == 0 {
		for _, name := range n.nodes {
			node, _ := s.Node(name)
			_, gpus := node.GPUs()
			vfs = max(vfs, int(gpus))
		}
	}
	if vfs == 0 {
		vfs = defaultVFs
	}
	return min(vfs, n.maxVFs())
}

// selectorFor returns a node selector that takes all nodes on which the NIC needs a policy or has Railhead's, and none
// on which it must be left alone. Nodes without a NIC of that name do not matter.
func selectorFor(s cluster.State, n nic) (map[string]string, bool) {
	var candidates []map[string]string
	if n.own.Name != "" {
		candidates = append(candidates, n.own.NodeSelector)
	}
	candidates = append(candidates, map[string]string{sriovCapable: "true"})
	for _, p := range s.Pools {
		if len(p.NodeExpressions) == 0 {
			candidates = append(candidates, p.NodeSelector)
		}
	}
	candidates = append(candidates, map[string]string{"kubernetes.io/os": "linux"})
	selected := n.selected()
	if len(selected) == 1 {
		const hostname = "kubernetes.io/hostname"
		node, _ := s.Node(selected[0])
		candidates = append(candidates, map[string]string{hostname: node.Labels[hostname]})
	}
	for _, selector := range candidates {
		takes := func(name string) bool {
			node, ok := s.Node(name)
			return ok && cluster.Selects(selector, nil, node.Labels)
		}
		leaves := func(name string) bool { return !takes(name) }
		if !slices.ContainsFunc(selected, leaves) && !slices.ContainsFunc(n.others, takes) {
			return selector, true
		}
	}
	return nil, false
}
