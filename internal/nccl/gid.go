package nccl

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// gidRules are the settings of NCCL's automatic choice of a GID.
type gidRules struct {
	ipv6   bool         // NCCL_IB_ADDR_FAMILY=AF_INET6
	v1     bool         // NCCL_IB_ROCE_VERSION_NUM=1
	within netip.Prefix // NCCL_IB_ADDR_RANGE; invalid: everything
}

// pick returns the slot that NCCL 2.21 and later choose on a port (ncclIbGetGidIndex, ncclUpdateGidIndex in
// src/transport/net_ib.cc): the walk starts at slot 0; a candidate replaces the current slot if it is of the wanted
// family and the current one is not, or if it is valid and has the wanted RoCE version and the current one has another
// version or is not valid.
func (r gidRules) pick(gids []host.GID) int {
	var current host.GID // slot 0; empty it is IPv6 and not valid
	for _, g := range gids {
		switch {
		case g.Index == 0:
			current = g
		case !r.wants(g):
		case g.Addr.Is4In6() != current.Addr.Is4In6():
			current = g
		case valid(g) && g.IsRoCEv2() != r.v1 && (g.IsRoCEv2() != current.IsRoCEv2() || !valid(current)):
			current = g
		}
	}
	return current.Index
}

func (r gidRules) wants(g host.GID) bool {
	return g.Addr.Is4In6() != r.ipv6 && (!r.within.IsValid() || r.within.Contains(g.IP()))
}

func valid(g host.GID) bool { return g.Addr.IsValid() && !g.IP().IsLinkLocalUnicast() }

func wanted(r gidRules) string {
	text := "RoCE v2"
	if r.v1 {
		text = "RoCE v1"
	}
	if r.ipv6 {
		return text + " IPv6"
	}
	return text + " IPv4"
}

// gidRules returns the rules that fit the rails' GIDs, sets those that are not NCCL's defaults, and applies the
// settings of the user.
func (g gidChoice) gidRules() (gidRules, bool) {
	rules := gidRules{ipv6: !g.roce[0].GID.Addr.Is4In6(), v1: !g.roce[0].GID.IsRoCEv2()}
	for _, r := range g.roce[1:] {
		if other := (gidRules{ipv6: !r.GID.Addr.Is4In6(), v1: !r.GID.IsRoCEv2()}); other != rules {
			g.c.say(check.Finding{
				Check: GIDIndex, Status: check.Fail, Subject: check.RailRef(r.Name()),
				Summary: fmt.Sprintf("its GID is %s, but the GID of %s is %s: NCCL uses one kind for all rails",
					wanted(other), g.roce[0].Name(), wanted(rules)),
				Evidence: gidEvidence(g.roce),
				Fix: check.ByAdmin("Give every rail an address of the same family, " +
					"and use cards that all speak RoCE v2."),
			})
			return rules, false
		}
	}
	if rules.ipv6 {
		g.c.set("NCCL_IB_ADDR_FAMILY", "AF_INET6", Computed,
			"the rails have IPv6 GIDs only; NCCL looks for IPv4 by default")
	}
	if rules.v1 {
		g.c.set("NCCL_IB_ROCE_VERSION_NUM", "1", Computed,
			"the rails have RoCE v1 GIDs only; NCCL looks for v2 by default")
	}
	if value, set := g.c.value("NCCL_IB_ADDR_FAMILY"); set {
		rules.ipv6 = value == "AF_INET6" // any other word is AF_INET to NCCL (envIbAddrFamily)
	}
	if value, set := g.c.value("NCCL_IB_ROCE_VERSION_NUM"); set {
		n, _ := number(value)
		rules.v1 = n == 1
	}
	if value, set := g.c.value("NCCL_IB_ADDR_RANGE"); set {
		rules.within, _ = netip.ParsePrefix(value)
	}
	return rules, true
}

// gidSettings returns the variables of NCCL's choice of a GID that the user set and this run keeps.
func (c settings) gidSettings() []string {
	var names []string
	for _, name := range gidVariables {
		if _, kept := c.value(name); kept {
			names = append(names, name)
		}
	}
	return names
}

// written returns the settings of the user as NAME=value NAME=value.
func (c settings) written(names []string) string {
	settings := make([]string, 0, len(names))
	for _, name := range names {
		value, _ := c.value(name)
		settings = append(settings, name+"="+value)
	}
	return strings.Join(settings, " ")
}

// NCCL's choice of a GID depends on gidVariables.
var gidVariables = []string{
	"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_ADDR_RANGE",
}

// misfit is a slot that is wrong on a rail.
type misfit struct {
	rail   rail.Rail
	slot   int
	status check.Status
	why    string
}

func (g gidChoice) misled(rules gidRules) []misfit {
	var all []misfit
	for _, r := range g.roce {
		slot := rules.pick(gidTable(g.c.s, r))
		if status, why := g.slotFault(r, slot); status != check.Pass {
			all = append(all, misfit{r, slot, status, why})
		}
	}
	return all
}

// slotFault says why a slot of a rail is wrong. From an empty, foreign or link-local one no peer can be reached; from
// the pod's address with the other RoCE version only peers of the same segment.
func (g gidChoice) slotFault(r rail.Rail, slot int) (check.Status, string) {
	for _, gid := range gidTable(g.c.s, r) {
		if gid.Index != slot {
			continue
		}
		link, known := g.c.s.OwnAddress(gid.IP())
		switch {
		case slot == r.GID.Index:
			return check.Pass, ""
		case gid.IP().IsLinkLocalUnicast():
			return check.Fail, "is link-local (" + gid.IP().String() + ")"
		case gid.IP() != r.GID.IP() && known && link == "":
			return check.Fail, fmt.Sprintf("is %s, not an address of this namespace", gid.IP())
		case gid.Type != r.GID.Type:
			return check.Warn, "is " + gid.Type.String()
		}
		return check.Pass, ""
	}
	return check.Fail, "is empty"
}

func gidTable(s *host.Snapshot, r rail.Rail) []host.GID {
	d, _ := s.Device(r.Device)
	for _, p := range d.Ports {
		if p.Number == r.Port {
			return p.GIDs
		}
	}
	return nil
}
