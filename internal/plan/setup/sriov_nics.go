package setup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

// nic is the physical function of one name on all nodes that have it.
type nic struct {
	name     string
	vendor   string
	linkType string
	mtus     []int
	totalVFs int                 // the least of its nodes; 0: unknown
	own      cluster.SriovPolicy // that Railhead created; its name is empty if there is none
	nodes    []string            // on which it needs a policy
	kept     []string            // on which its own policy creates the virtual functions that are asked for
	others   []string            // on which it must be left alone
	reason   string              // for leaving it alone, unless a finding says so
}

func (n nic) infiniBand() bool { return strings.EqualFold(n.linkType, "IB") }

// selected returns the nodes that the policy must select.
func (n nic) selected() []string { return slices.Sorted(slices.Values(slices.Concat(n.nodes, n.kept))) }

func (n nic) maxVFs() int {
	if n.totalVFs == 0 {
		return maxMellanoxVFs
	}
	return min(n.totalVFs, maxMellanoxVFs)
}

func (n *nic) add(node string, i cluster.SriovInterface) {
	n.nodes = append(n.nodes, node)
	if !slices.Contains(n.mtus, i.MTU) {
		n.mtus = append(n.mtus, i.MTU)
	}
	if i.TotalVFs > 0 && (n.totalVFs == 0 || i.TotalVFs < n.totalVFs) {
		n.totalVFs = i.TotalVFs
	}
}

// findNICs returns the requested RDMA NICs, by name.
func findNICs(s cluster.State, o Options) ([]nic, []check.Finding) {
	byName := map[string]*nic{}
	var findings []check.Finding
	for _, state := range s.SriovNodes {
		node, ok := s.Node(state.Node)
		if !ok {
			continue
		}
		for _, i := range state.Interfaces {
			if !i.IsRDMANIC() || (len(o.PFs) > 0 && !slices.Contains(o.PFs, i.Name)) {
				continue
			}
			n := byName[i.Name]
			if n == nil {
				n = &nic{name: i.Name, vendor: i.Vendor, linkType: i.LinkType, own: ownPolicy(s, i.Name)}
				byName[i.Name] = n
			}
			v := judgeNIC(s, o, n.own, node, state, i)
			switch {
			case v.needsPolicy:
				n.add(node.Name, i)
				continue
			case v.kept:
				n.kept = append(n.kept, node.Name)
				continue
			}
			n.others = append(n.others, node.Name)
			n.reason = cmp.Or(v.reason, n.reason)
			findings = append(findings, v.findings...)
		}
	}
	var nics []nic
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		nics = append(nics, *byName[name])
	}
	return nics, findings
}

// nicVerdict says whether a NIC of a node needs a policy. If not, a finding or a reason for a note may say why.
type nicVerdict struct {
	needsPolicy bool
	kept        bool // by its own policy
	reason      string
	findings    []check.Finding
}

func judgeNIC(
	s cluster.State, o Options, own cluster.SriovPolicy,
	node cluster.Node, state cluster.SriovNode, i cluster.SriovInterface,
) nicVerdict {
	named := slices.Contains(o.PFs, i.Name)
	leave := func(status check.Status, why string, e []check.Evidence) nicVerdict {
		return nicVerdict{findings: []check.Finding{nicFinding(node.Name, i, status, why, e)}}
	}
	source := "SriovNetworkNodeState/" + node.Name + " " + i.Name
	policy, covered := policyFor(s, o, own, node, i)
	gateway := node.GatewayMAC != "" && strings.EqualFold(node.GatewayMAC, i.MAC)
	switch {
	case covered:
		return judgeCovered(o, own, node.Name, i, policy)
	case gateway && named:
		annotation := "node/" + node.Name + " annotation k8s.ovn.org/l3-gateway-config mac-address"
		return leave(check.Fail, "it carries the node's default network",
			check.Observed(annotation, node.GatewayMAC, "a NIC other than "+i.MAC))
	case gateway:
		return nicVerdict{reason: "it carries the default network"}
	case i.VFs > 0 && own.Name == "":
		why := fmt.Sprintf("it has %s that no policy created", words.Count(i.VFs, "virtual function"))
		return leave(check.Warn, why, check.Observed(source+" numVfs", strconv.Itoa(i.VFs), "0, or a policy"))
	case named:
		return nicVerdict{needsPolicy: true}
	case i.LinkState == "down":
		return leave(check.Warn, "its link is down", check.Observed(source, "down", "up"))
	case isSlow(i, state.Interfaces):
		return nicVerdict{reason: "it is much slower than the other NICs, so it is probably for the node's management"}
	}
	return nicVerdict{needsPolicy: true}
}

// judgeCovered judges a NIC whose virtual functions a policy creates.
func judgeCovered(
	o Options, own cluster.SriovPolicy, node string, i cluster.SriovInterface, policy cluster.SriovPolicy,
) nicVerdict {
	switch {
	case !policy.RDMA:
		return nicVerdict{findings: []check.Finding{policyWithoutRDMA(node, i, policy)}}
	case policy.Name == own.Name:
		return nicVerdict{kept: true}
	}
	return nicVerdict{reason: otherMTU(o, i, policy)}
}

func policyWithoutRDMA(node string, i cluster.SriovInterface, policy cluster.SriovPolicy) check.Finding {
	why := fmt.Sprintf("policy %s creates its virtual functions without RDMA", policy.Name)
	f := nicFinding(node, i, check.Warn, why,
		check.Observed("SriovNetworkNodePolicy/"+policy.Name+" spec.isRdma", "false", "true"))
	f.Fix = check.ByAdmin("Let the policy create RDMA devices; its nodes are drained.",
		fmt.Sprintf(`oc -n %s patch sriovnetworknodepolicy %s --type=merge -p '{"spec":{"isRdma":true}}'`,
			policy.Namespace, policy.Name))
	return f
}

func isSlow(i cluster.SriovInterface, all []cluster.SriovInterface) bool {
	fastest := 0.0
	for _, other := range all {
		if other.IsRDMANIC() {
			fastest = max(fastest, linkSpeed(other))
		}
	}
	speed := linkSpeed(i)
	return speed > 0 && rail.IsManagementRate(speed, fastest)
}

// linkSpeed reads "400000 Mb/s"; 0 if it is unknown.
func linkSpeed(i cluster.SriovInterface) float64 {
	number, _, _ := strings.Cut(i.LinkSpeed, " ")
	speed, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return speed
}

// policyFor returns the policy in force that creates virtual functions of a NIC, preferably with RDMA, with the MTU
// that they get. Railhead's own does not count if another number or MTU of them is requested.
func policyFor(
	s cluster.State, o Options, own cluster.SriovPolicy, node cluster.Node, i cluster.SriovInterface,
) (found cluster.SriovPolicy, ok bool) {
	config := cluster.SriovConfigOf(s.SriovPolicies, node, i)
	for _, p := range config.Policies {
		switch {
		case p.ResourceName == "":
		case p.Name == own.Name && ((o.VFs > 0 && o.VFs != p.VFs) || (o.MTU > 0 && o.MTU != p.MTU)):
		case p.RDMA && !found.RDMA || !ok:
			found, ok = p, true
			found.MTU = max(p.MTU, config.MTU)
		}
	}
	return found, ok
}

// ownPolicy returns the policy that Railhead created for a NIC; its name is empty if there is none.
func ownPolicy(s cluster.State, pf string) cluster.SriovPolicy {
	namespace, name := s.SriovNamespace(), policyName(pf)
	if _, ok := s.Object("SriovNetworkNodePolicy", namespace, name); !ok {
		return cluster.SriovPolicy{}
	}
	for _, p := range s.SriovPolicies {
		if p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return cluster.SriovPolicy{}
}
