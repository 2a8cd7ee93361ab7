package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// sriovCapable is the label that node feature discovery gives nodes with SR-IOV NICs.
const sriovCapable = "feature.node.kubernetes.io/network-sriov.capable"

// defaultVFs is the number of virtual functions per NIC where no node says how many GPUs it has.
const defaultVFs = 8

// sriovSteps make a policy for each RDMA NIC that has none.
func (b *setup) sriovSteps() []plan.Step {
	switch {
	case !b.o.Sriov:
		return nil
	case !b.s.Server.Serves(cluster.SriovGroup):
		b.say(check.Finding{
			Check: SRIOVOperator, Status: check.Fail, Subject: check.Ref{Kind: check.Cluster},
			Summary: "the SR-IOV network operator is not installed: nothing would act on policies",
			Evidence: []check.Evidence{
				{Source: "API groups", Got: "no " + cluster.SriovGroup, Want: cluster.SriovGroup},
			},
			Fix: &check.Fix{
				Text:     "Install the operator, or leave --sriov out.",
				Commands: []string{"oc get packagemanifests sriov-network-operator"},
				Who:      check.Admin,
			},
		})
		return nil
	}
	var policies []policy
	nics := b.nics()
	b.missingNICs(nics)
	for _, n := range nics {
		if len(n.Nodes) == 0 {
			b.noteLeft(n)
			continue
		}
		selector, ok := b.selectorFor(n)
		if !ok {
			b.say(noSelector(n))
			continue
		}
		policies = append(policies, policy{nic: n, selector: selector, vfs: b.vfsOf(n)})
	}
	return b.policyStep(policies)
}

// policy is a SriovNetworkNodePolicy to write.
type policy struct {
	nic
	selector map[string]string
	vfs      int
}

// policyStep writes the policies.
func (b *setup) policyStep(policies []policy) []plan.Step {
	var changes []plan.Change
	var written []policy
	var nodes []string
	for _, p := range policies {
		change := plan.ApplyUnlessCovered(
			b.s, b.policyObject(p),
			fmt.Sprintf(
				"makes %s of %s on %s", words.Count(p.vfs, "virtual function"), p.Name,
				words.Count(len(p.Nodes), "node"),
			),
		)
		if len(change) > 0 {
			changes = append(changes, change...)
			written = append(written, p)
			nodes = append(nodes, p.Nodes...)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	b.gatewayKnown(nodes, written)
	b.note(
		"The SR-IOV operator drains %s, one at a time unless SriovNetworkPoolConfig says otherwise, and reboots those whose NIC firmware must change.",
		words.Count(len(nodes), "node"),
	)
	return []plan.Step{{
		ID: "sriov",
		Title: fmt.Sprintf(
			"Write %s: %s %s drained", countedPolicies(len(changes)), words.Count(len(nodes), "node"),
			verb(len(nodes)),
		),
		Changes:    changes,
		Disruption: sriovDisruption(b.s, nodes),
		Done:       sriovDone(written),
		Watch:      []cluster.Kind{cluster.SriovNodes, cluster.Nodes},
	}}
}

func countedPolicies(n int) string {
	if n == 1 {
		return "1 SriovNetworkNodePolicy"
	}
	return fmt.Sprintf("%d SriovNetworkNodePolicies", n)
}

// sriovDisruption: the SR-IOV operator drains nodes one by one and may reboot them.
func sriovDisruption(s cluster.State, nodes []string) plan.Disruption {
	d := plan.Disruption{RestartsPods: len(nodes) > 0}
	for _, name := range nodes {
		pool := ""
		if n, ok := s.Node(name); ok {
			p, _ := s.PoolOf(n)
			pool = p.Name
		}
		i := slices.IndexFunc(d.Reboots, func(r plan.Reboot) bool { return r.Pool == pool })
		if i < 0 {
			i = len(d.Reboots)
			d.Reboots = append(d.Reboots, plan.Reboot{Pool: pool, AtOnce: 1})
		}
		d.Reboots[i].Nodes = append(d.Reboots[i].Nodes, name)
	}
	return d
}

// policyName and resourceName are derived from the NIC's name. The operator's webhook accepts letters, digits and
// underscores in a resource's name (pkg/webhook/validate.go).
func policyName(pf string) string {
	return plan.ProgramName + "-" + strings.Trim(translit(strings.ToLower(pf), '-'), "-")
}

func resourceName(pf string) string { return translit(pf, '_') + "rdma" }

func translit(name string, other rune) string {
	return strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return other
	}, name)
}

func (b *setup) policyObject(p policy) unstructured.Unstructured {
	selector := map[string]any{}
	for key, value := range p.selector {
		selector[key] = value
	}
	spec := map[string]any{
		"resourceName": resourceName(p.Name), "nodeSelector": selector, "numVfs": int64(p.vfs), "priority": int64(99),
		"nicSelector": map[string]any{"vendor": p.Vendor, "pfNames": []any{p.Name}},
		"deviceType":  "netdevice", "isRdma": true,
	}
	if strings.EqualFold(p.LinkType, "IB") {
		spec["linkType"] = "IB"
	}
	if len(p.MTUs) == 1 && p.MTUs[0] > 1500 { // else virtual functions have 1500, whatever their NIC has
		spec["mtu"] = int64(p.MTUs[0])
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cluster.SriovGroup + "/v1", "kind": "SriovNetworkNodePolicy",
		"metadata": map[string]any{
			"name":      policyName(p.Name),
			"namespace": plan.SriovNamespace(b.s),
			"labels":    setupLabels(),
		},
		"spec": spec,
	}}
}

// vfsOf is the number of virtual functions: as requested, or one for each GPU, so that as many pods with one GPU each
// can share the node; never more than the NIC can have.
func (b *setup) vfsOf(n nic) int {
	vfs := b.o.VFs
	if vfs == 0 {
		for _, name := range n.Nodes {
			if node, ok := b.s.Node(name); ok {
				_, gpus := node.GPUs()
				vfs = max(vfs, int(gpus))
			}
		}
	}
	if vfs == 0 {
		vfs = defaultVFs
	}
	limit := maxMellanoxVFs
	if n.TotalVFs > 0 {
		limit = min(limit, n.TotalVFs)
	}
	if b.o.VFs > limit {
		b.say(check.Finding{
			Check: SRIOVNICs, Status: check.Fail, Subject: check.Named(check.NIC, n.Name),
			Summary: fmt.Sprintf(
				"NIC %s can have %s, and %d are asked for", n.Name, words.Count(limit, "virtual function"), b.o.VFs,
			),
			Evidence: []check.Evidence{
				{
					Source: "SriovNetworkNodeState " + n.Name + " totalvfs",
					Got:    fmt.Sprint(limit),
					Want:   fmt.Sprint(b.o.VFs),
				},
			},
			Fix: &check.Fix{
				Text:     "Ask for fewer.",
				Commands: []string{fmt.Sprintf("railhead setup cluster --sriov --vfs %d", limit)},
				Who:      check.Admin,
			},
		})
	}
	return min(vfs, limit)
}

// selectorFor is a node selector that takes all nodes on which the NIC needs a policy and none on which it must be left
// alone. Nodes without a NIC of that name do not matter.
func (b *setup) selectorFor(n nic) (map[string]string, bool) {
	candidates := []map[string]string{{sriovCapable: "true"}}
	for _, p := range b.s.Pools {
		if len(p.NodeExpressions) == 0 {
			candidates = append(candidates, p.NodeSelector)
		}
	}
	candidates = append(candidates, map[string]string{"kubernetes.io/os": "linux"})
	if len(n.Nodes) == 1 {
		if node, ok := b.s.Node(n.Nodes[0]); ok {
			candidates = append(candidates, map[string]string{
				"kubernetes.io/hostname": node.Labels["kubernetes.io/hostname"],
			})
		}
	}
	for _, selector := range candidates {
		takes := func(name string) bool {
			node, ok := b.s.Node(name)
			return ok && cluster.Selects(selector, nil, node.Labels)
		}
		if !slices.ContainsFunc(
			n.Nodes, func(name string) bool { return !takes(name) },
		) && !slices.ContainsFunc(n.Others, takes) {
			return selector, true
		}
	}
	return nil, false
}

func noSelector(n nic) check.Finding {
	return check.Finding{
		Check: SRIOVNICs, Status: check.Warn, Subject: check.Named(check.NIC, n.Name),
		Summary: fmt.Sprintf(
			"NIC %s gets no policy: no label tells %s, where it needs one, from %s, where it must be left alone",
			n.Name, words.And(n.Nodes), words.And(n.Others),
		),
		Evidence: []check.Evidence{
			{Source: "nodes on which it needs a policy", Got: strings.Join(n.Nodes, ", ")},
			{Source: "nodes on which it has one, or carries other traffic", Got: strings.Join(n.Others, ", ")},
		},
		Fix: &check.Fix{
			Text:     "Give the first a label and write a policy with it as nodeSelector.",
			Commands: []string{"oc label node " + strings.Join(n.Nodes, " ") + " example.com/rdma-nic=" + n.Name},
			Who:      check.Admin,
		},
	}
}

// missingNICs says that NICs which are asked for are not there, or that there are none at all.
func (b *setup) missingNICs(nics []nic) {
	var found []string
	for _, state := range b.s.SriovNodes {
		for _, i := range state.Interfaces {
			if i.IsRDMANIC() && !slices.Contains(found, i.Name) {
				found = append(found, i.Name)
			}
		}
	}
	slices.Sort(found)
	for _, pf := range b.o.PFs {
		if !slices.ContainsFunc(nics, func(n nic) bool { return n.Name == pf }) {
			b.say(check.Finding{
				Check: SRIOVNICs, Status: check.Fail, Subject: check.Named(check.NIC, pf),
				Summary: fmt.Sprintf("no node has an RDMA NIC %s: there are %s", pf, cmp.Or(words.And(found), "none")),
				Evidence: []check.Evidence{
					{
						Source: "sriovnetworknodestates status.interfaces",
						Got:    cmp.Or(strings.Join(found, ", "), "none"),
						Want:   pf,
					},
				},
				Fix: &check.Fix{
					Text:     "Name one that is there.",
					Commands: []string{"oc get sriovnetworknodestates -A -o yaml"},
					Who:      check.Admin,
				},
			})
		}
	}
	if len(found) == 0 && len(b.o.PFs) == 0 {
		b.say(check.Finding{
			Check: SRIOVNICs, Status: check.Warn, Subject: check.Ref{Kind: check.Cluster},
			Summary: fmt.Sprintf(
				"the SR-IOV operator sees no RDMA NIC on %s", words.Count(len(b.s.SriovNodes), "node"),
			),
			Evidence: []check.Evidence{
				{
					Source: "sriovnetworknodestates status.interfaces vendor",
					Got:    "none of " + strings.Join(cluster.RDMAVendors(), ", "),
				},
			},
			Fix: &check.Fix{
				Text:     "See which nodes the operator's daemon runs on, and which NICs they have.",
				Commands: []string{"oc get sriovnetworknodestates -A -o yaml"},
				Who:      check.Admin,
			},
		})
	}
}

// gatewayKnown says when a NIC that gets a policy may be the one that carries a node's default network.
func (b *setup) gatewayKnown(nodes []string, policies []policy) {
	var unknown []string
	for _, name := range nodes {
		if n, ok := b.s.Node(name); ok && n.GatewayMAC == "" {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 || len(b.o.PFs) > 0 {
		return
	}
	var pfs []string
	for _, p := range policies {
		pfs = append(pfs, p.Name)
	}
	b.say(check.Finding{
		Check: SRIOVNICs, Status: check.Unknown, Subject: check.Ref{Kind: check.Nodes},
		Summary: fmt.Sprintf(
			"which NIC carries the default network of %s is not known: see that it is none of %s",
			words.Count(len(unknown), "node"), words.And(pfs),
		),
		Evidence: []check.Evidence{
			{Source: "annotation k8s.ovn.org/l3-gateway-config of " + strings.Join(unknown, ", "), Got: "not there"},
		},
		Fix: &check.Fix{
			Text:     "Name the NICs to be used.",
			Commands: []string{"railhead setup cluster --sriov --pf " + strings.Join(pfs, ",")},
			Who:      check.Admin,
		},
	})
}
