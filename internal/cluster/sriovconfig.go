package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// SriovConfig is the configuration that the SR-IOV operator writes to a card.
type SriovConfig struct {
	Policies []SriovPolicy // in force; the one with the highest priority comes first
	VFs, MTU int
}

// deprecatedPolicy is the name of a policy that the operator ignores.
const deprecatedPolicy = "default"

// vfGroup is the part of the virtual functions of a card that one policy gives a resource.
type vfGroup struct {
	policy      SriovPolicy
	first, last int
}

// SriovConfigOf returns the configuration of a card of a node. The operator applies the policies from the lowest
// priority (99) to the highest (0), and equal priorities by name (sriov-network-operator 1.6.0
// controllers/helper.go, api/v1/helper.go Apply and mergeConfigs). A later policy replaces an earlier one, but for
// virtual functions that it does not claim itself, if they have another resource. Policies of one priority, and those
// that share a card in this way, get the larger number of virtual functions and the larger MTU.
func SriovConfigOf(all []SriovPolicy, n Node, i SriovInterface) SriovConfig {
	policies := slices.DeleteFunc(slices.Clone(all), func(p SriovPolicy) bool {
		return p.Name == deprecatedPolicy || !p.SelectsNode(n)
	})
	slices.SortFunc(policies, func(a, b SriovPolicy) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	var c SriovConfig
	var groups []vfGroup
	before := -1
	for _, p := range policies {
		equal := p.Priority == before
		before = p.Priority
		if p.VFs == 0 || !p.Selects(i) {
			continue
		}
		own := p.groupOf(i)
		kept := slices.DeleteFunc(slices.Clone(groups), func(g vfGroup) bool {
			return g.policy.ResourceName == p.ResourceName || g.first <= own.last && own.first <= g.last
		})
		vfs, mtu := p.VFs, p.MTU
		if len(kept) > 0 || equal && len(groups) > 0 {
			vfs, mtu = max(vfs, c.VFs), max(mtu, c.MTU)
		}
		groups = append([]vfGroup{own}, kept...)
		c.VFs, c.MTU = vfs, mtu
	}
	for _, g := range groups {
		c.Policies = append(c.Policies, g.policy)
	}
	return c
}

// groupOf returns the virtual functions of a card that a policy claims: those behind the "#" of its name, or all.
func (p SriovPolicy) groupOf(i SriovInterface) vfGroup {
	g := vfGroup{policy: p, last: p.VFs - 1}
	for _, pf := range p.PFs {
		name, span, _ := strings.Cut(pf, "#")
		first, last, _ := strings.Cut(span, "-")
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if name == i.Name {
			if err == nil && err2 == nil {
				g.first, g.last = from, to
			}
			break
		}
	}
	return g
}
