package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// maxMellanoxVFs is the limit of the SR-IOV operator's webhook (pkg/webhook/validate.go MlxMaxVFs).
const maxMellanoxVFs = 128

// nic is the physical function of one name on all nodes that have it.
type nic struct {
	Name     string
	Vendor   string
	LinkType string
	MTUs     []int
	TotalVFs int      // the least of its nodes; 0: not known
	Nodes    []string // on which it needs a policy
	Others   []string // on which it must be left alone
	Left     string   // why it is left alone, where that is no finding
}

// Notes about NICs that are always left alone.
const (
	carriesDefault = "it carries the default network"
	slowerThanMost = "it is much slower than its siblings, and taken for the node's management"
)

// noteLeft says why a NIC gets no policy on any node.
func (b *setup) noteLeft(n nic) {
	if n.Left != "" {
		b.note("NIC %s of %s gets no policy: %s.", n.Name, words.Count(len(n.Others), "node"), n.Left)
	}
}

// nics are the NICs that need a policy, by name.
func (b *setup) nics() []nic {
	byName := map[string]*nic{}
	for _, state := range b.s.SriovNodes {
		node, ok := b.s.Node(state.Node)
		if !ok {
			continue
		}
		for _, i := range state.Interfaces {
			if !i.IsRDMANIC() || (len(b.o.PFs) > 0 && !slices.Contains(b.o.PFs, i.Name)) {
				continue
			}
			n := byName[i.Name]
			if n == nil {
				n = &nic{Name: i.Name, Vendor: i.Vendor, LinkType: i.LinkType}
				byName[i.Name] = n
			}
			if why, leave := b.leave(node, state, i); leave {
				n.Others = append(n.Others, node.Name)
				n.Left = cmp.Or(why, n.Left)
				continue
			}
			n.add(node.Name, i)
		}
	}
	var list []nic
	for _, n := range byName {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b nic) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (n *nic) add(node string, i cluster.SriovInterface) {
	n.Nodes = append(n.Nodes, node)
	if !slices.Contains(n.MTUs, i.MTU) {
		n.MTUs = append(n.MTUs, i.MTU)
	}
	if i.TotalVFs > 0 && (n.TotalVFs == 0 || i.TotalVFs < n.TotalVFs) {
		n.TotalVFs = i.TotalVFs
	}
}

// leave reports whether a NIC of a node needs no policy or must get none. What is no matter of course is said in a
// finding, the rest by why.
func (b *setup) leave(node cluster.Node, state cluster.SriovNode, i cluster.SriovInterface) (why string, leave bool) {
	named := slices.Contains(b.o.PFs, i.Name)
	policy, covered := b.policyFor(node, i)
	switch {
	case covered:
		if !policy.RDMA {
			b.sayNIC(
				node, i, check.Warn, fmt.Sprintf("policy %s makes its virtual functions without RDMA", policy.Name),
				check.Evidence{
					Source: "SriovNetworkNodePolicy/" + policy.Name + " spec.isRdma",
					Got:    "false",
					Want:   "true",
				},
				&check.Fix{
					Text: "Let the policy make RDMA devices; its nodes are drained.",
					Who:  check.Admin,
					Commands: []string{
						fmt.Sprintf(
							`oc -n %s patch sriovnetworknodepolicy %s --type=merge -p '{"spec":{"isRdma":true}}'`,
							policy.Namespace, policy.Name,
						),
					},
				},
			)
		}
		return "", true
	case node.GatewayMAC != "" && strings.EqualFold(node.GatewayMAC, i.MAC):
		if named {
			b.sayNIC(node, i, check.Fail, "it carries the node's default network",
				check.Evidence{
					Source: "node/" + node.Name + " annotation k8s.ovn.org/l3-gateway-config mac-address",
					Got:    node.GatewayMAC,
					Want:   "another NIC than " + i.MAC,
				}, nil)
		}
		return carriesDefault, true
	case i.VFs > 0 && !b.ownPolicy(i.Name):
		b.sayNIC(node, i, check.Warn, fmt.Sprintf(
			"it has %s that no policy made", words.Count(i.VFs, "virtual function"),
		),
			check.Evidence{
				Source: "SriovNetworkNodeState/" + node.Name + " " + i.Name + " numVfs",
				Got:    strconv.Itoa(i.VFs),
				Want:   "0, or a policy",
			}, nil)
		return "", true
	case named:
		return "", false
	case i.LinkState == "down":
		b.sayNIC(node, i, check.Warn, "its link is down", check.Evidence{
			Source: "SriovNetworkNodeState/" + node.Name + " " + i.Name,
			Got:    "down",
			Want:   "up",
		}, nil)
		return "", true
	case slowBeside(i, state.Interfaces):
		return slowerThanMost, true
	}
	return "", false
}

// sayNIC says why a NIC gets no policy.
func (b *setup) sayNIC(node cluster.Node, i cluster.SriovInterface, status check.Status, why string, e check.Evidence, fix *check.Fix) {
	b.say(check.Finding{
		Check: SRIOVNICs, Status: status, Subject: check.NodeRef(node.Name),
		Summary:  fmt.Sprintf("NIC %s (%s) of node %s gets no policy: %s", i.Name, i.PCI, node.Name, why),
		Evidence: []check.Evidence{e}, Fix: fix,
	})
}

// slowShare is the share of the fastest NIC's rate below which a NIC is taken for the node's management: 25 Gb/s beside
// 400.
const slowShare = 0.5

func slowBeside(i cluster.SriovInterface, all []cluster.SriovInterface) bool {
	fastest := 0.0
	for _, other := range all {
		if other.IsRDMANIC() {
			fastest = max(fastest, linkSpeed(other))
		}
	}
	speed := linkSpeed(i)
	return speed > 0 && speed < fastest*slowShare
}

// linkSpeed reads "400000 Mb/s"; 0 when it is not known.
func linkSpeed(i cluster.SriovInterface) float64 {
	number, _, _ := strings.Cut(i.LinkSpeed, " ")
	speed, err := strconv.ParseFloat(number, 64)
	if err != nil || speed < 0 {
		return 0
	}
	return speed
}

// policyFor returns the policy that makes virtual functions of a NIC. Railhead's own does not count while another
// number of them is asked for.
func (b *setup) policyFor(node cluster.Node, i cluster.SriovInterface) (cluster.SriovPolicy, bool) {
	var without *cluster.SriovPolicy
	for k, p := range b.s.SriovPolicies {
		own := p.Name == policyName(i.Name) && b.ownPolicy(i.Name)
		switch {
		case p.VFs == 0 || p.ResourceName == "" || !cluster.Selects(p.NodeSelector, nil, node.Labels) || !p.Selects(i):
		case own && b.o.VFs > 0 && b.o.VFs != p.VFs:
		case p.RDMA:
			return p, true
		default:
			without = &b.s.SriovPolicies[k]
		}
	}
	if without == nil {
		return cluster.SriovPolicy{}, false
	}
	return *without, true
}

// ownPolicy reports whether Railhead made the policy of a NIC.
func (b *setup) ownPolicy(pf string) bool {
	_, ok := b.s.Object("SriovNetworkNodePolicy", plan.SriovNamespace(b.s), policyName(pf))
	return ok
}
