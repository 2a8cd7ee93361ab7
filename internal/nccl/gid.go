package nccl

import (
	"fmt"
	"net/netip"
	"strconv"
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

// pick is what NCCL 2.21 and later choose on a port (ncclIbGetGidIndex, ncclUpdateGidIndex in
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

// wants reports whether the address is of the wanted family and range.
func (r gidRules) wants(g host.GID) bool {
	return g.Addr.Is4In6() != r.ipv6 && (!r.within.IsValid() || r.within.Contains(g.IP()))
}

func valid(g host.GID) bool { return g.Addr.IsValid() && !g.IP().IsLinkLocalUnicast() }

// gidIndex decides between leaving the choice to NCCL, one index for all HCAs, and an address range.
func (c *computation) gidIndex() {
	roce := c.roceRails()
	if len(roce) == 0 {
		return // InfiniBand: the variable is ignored from 2.22 on, 0 is right before
	}
	rules, ok := c.gidRules(roce)
	if !ok {
		return
	}
	if c.checkUserIndex(roce) {
		return
	}
	common, shared := commonIndex(roce)
	automatic := c.picksOwn(roce, rules)
	need, why := c.needsIndex(roce)
	switch {
	case need && shared:
		c.set("NCCL_IB_GID_INDEX", strconv.Itoa(common), Computed, why)
	case need:
		c.sayNoCommonIndex(roce, why)
	case automatic && len(c.versions) > 0:
		c.leave("NCCL_IB_GID_INDEX", fmt.Sprintf("NCCL %s finds the %s GID of each HCA itself", c.versions[0], wanted(rules)))
	case shared:
		c.set("NCCL_IB_GID_INDEX", strconv.Itoa(common), Computed, c.whyShared(automatic))
	case automatic:
		c.leave("NCCL_IB_GID_INDEX", "no single index holds for all rails; NCCL 2.26.2 and later choose right by themselves")
		c.say(unknownVersion(roce))
	default:
		c.addressRange(roce, rules)
	}
}

// whyShared explains an index that is set although no NCCL was found that needs one.
func (c *computation) whyShared(automatic bool) string {
	if !automatic {
		return "NCCL's own choice would take a GID of another namespace; this slot is the pod's on every rail"
	}
	return "no libnccl found whose version could be told; this slot is RoCE v2 with the pod's address on every rail, right for every version"
}

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

func (c *computation) roceRails() []rail.Rail {
	var roce []rail.Rail
	for _, r := range c.rails {
		if r.GID != nil {
			roce = append(roce, r)
		}
	}
	return roce
}

// gidRules are the rules that fit the rails' own GIDs; they are set where they are not NCCL's defaults.
func (c *computation) gidRules(roce []rail.Rail) (gidRules, bool) {
	first := gidRules{ipv6: !roce[0].GID.Addr.Is4In6(), v1: !roce[0].GID.IsRoCEv2()}
	for _, r := range roce[1:] {
		if other := (gidRules{ipv6: !r.GID.Addr.Is4In6(), v1: !r.GID.IsRoCEv2()}); other != first {
			c.say(check.Finding{
				Check: GIDIndex, Status: check.Fail, Subject: check.Subject(r.Name()),
				Summary:  fmt.Sprintf("its GID is %s, that of %s is %s: NCCL takes one kind for all", wanted(other), roce[0].Name(), wanted(first)),
				Evidence: gidEvidence(roce),
				Fix:      &check.Fix{Text: "Give every rail an address of the same family.", Who: check.Admin},
			})
			return first, false
		}
	}
	if first.ipv6 {
		c.set("NCCL_IB_ADDR_FAMILY", "AF_INET6", Computed, "the rails have IPv6 GIDs only; NCCL looks for IPv4 by default")
	}
	if first.v1 {
		c.set("NCCL_IB_ROCE_VERSION_NUM", "1", Computed, "the rails have RoCE v1 GIDs only; NCCL looks for v2 by default")
	}
	if value, set := c.value("NCCL_IB_ADDR_RANGE"); set {
		first.within, _ = netip.ParsePrefix(value)
	}
	return first, true
}

func (c *computation) picksOwn(roce []rail.Rail, rules gidRules) bool {
	for _, r := range roce {
		if rules.pick(c.gidTable(r)) != r.GID.Index {
			return false
		}
	}
	return true
}

func (c *computation) gidTable(r rail.Rail) []host.GID {
	d, _ := c.s.Device(r.Device)
	for _, p := range d.Ports {
		if p.Number == r.Port {
			return p.GIDs
		}
	}
	return nil
}

// needsIndex says whether a version was found that cannot be left to choose.
func (c *computation) needsIndex(roce []rail.Rail) (bool, string) {
	for _, v := range c.versions {
		if v.before(choosesGID) {
			return true, fmt.Sprintf("NCCL %s does not choose: its default is slot 0, RoCE v1 and link-local", v)
		}
		if !v.before(survivesGaps) {
			break
		}
		for _, r := range roce {
			if table := c.gidTable(r); len(table) == 0 || table[0].Index != 0 {
				return true, fmt.Sprintf("NCCL %s aborts on the empty slot 0 of %s (fixed in 2.26.2)", v, r.Name())
			}
		}
	}
	return false, ""
}

func commonIndex(roce []rail.Rail) (int, bool) {
	for _, r := range roce {
		if r.GID.Index != roce[0].GID.Index {
			return 0, false
		}
	}
	return roce[0].GID.Index, true
}

func gidEvidence(roce []rail.Rail) []check.Evidence {
	var e []check.Evidence
	for _, r := range roce {
		e = append(e, check.Evidence{
			Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/gids/%d", r.Device, r.Port, r.GID.Index),
			Got:    r.GID.IP().String() + ", " + r.GID.Type.String(),
		})
	}
	return e
}

func (c *computation) sayNoCommonIndex(roce []rail.Rail, why string) {
	c.say(check.Finding{
		Check: GIDIndex, Status: check.Fail, Subject: "env/NCCL_IB_GID_INDEX",
		Summary:  why + ", and no single index holds for all rails",
		Evidence: gidEvidence(roce),
		Fix:      &check.Fix{Text: "Use NCCL 2.26.2 or later, which chooses per HCA.", Commands: []string{"pip install -U nvidia-nccl-cu12"}, Who: check.User},
	})
}

func unknownVersion(roce []rail.Rail) check.Finding {
	return check.Finding{
		Check: GIDIndex, Status: check.Unknown, Subject: "env/NCCL_IB_GID_INDEX",
		Summary:  "no libnccl found whose version could be told, and the rails' GIDs have different indices: right from NCCL 2.26.2 on, not before",
		Evidence: gidEvidence(roce),
	}
}

// addressRange narrows NCCL's choice to the pod's own addresses where other namespaces' GIDs come first.
func (c *computation) addressRange(roce []rail.Rail, rules gidRules) {
	rules.within = covering(roce)
	if !c.picksOwn(roce, rules) {
		c.say(check.Finding{
			Check: GIDIndex, Status: check.Fail, Subject: "env/NCCL_IB_GID_INDEX",
			Summary:  "NCCL would take a GID of another namespace, and neither one index nor one address range leads to the pod's own",
			Evidence: gidEvidence(roce),
			Fix:      &check.Fix{Text: "Give the pod virtual functions of its own, whose GID tables are not shared with other pods.", Who: check.Admin},
		})
		return
	}
	c.set("NCCL_IB_ADDR_RANGE", rules.within.String(), Computed, "the GID tables begin with other namespaces' addresses; the pod's own lie in this range")
}

// covering is the smallest prefix that holds every rail's address.
func covering(roce []rail.Rail) netip.Prefix {
	ip := roce[0].GID.IP()
	for bits := ip.BitLen(); bits >= 0; bits-- {
		prefix, _ := ip.Prefix(bits)
		all := true
		for _, r := range roce {
			all = all && prefix.Contains(r.GID.IP())
		}
		if all {
			return prefix
		}
	}
	return netip.Prefix{}
}

// checkUserIndex judges an index that the user set; true when it is kept.
func (c *computation) checkUserIndex(roce []rail.Rail) bool {
	value, set := c.value("NCCL_IB_GID_INDEX")
	index, err := strconv.Atoi(strings.TrimSpace(value))
	if !set || err != nil || index < 0 { // -1 is NCCL's automatic choice
		return false
	}
	for _, r := range roce {
		if problem := c.wrongIndex(r, index); problem != "" {
			c.say(check.Finding{
				Check: GIDIndex, Status: check.Fail, Subject: check.Subject(r.Name()),
				Summary: fmt.Sprintf("NCCL_IB_GID_INDEX=%d is wrong here: slot %d of %s %s; the pod's GID is slot %d", index, index, r.Name(), problem, r.GID.Index),
				Evidence: append([]check.Evidence{{Source: c.origin("NCCL_IB_GID_INDEX"), Got: value, Want: strconv.Itoa(r.GID.Index)}},
					gidEvidence([]rail.Rail{r})...),
				Fix: &check.Fix{Text: "Unset it, or let Railhead choose with --override.", Commands: []string{"unset NCCL_IB_GID_INDEX"}, Who: check.User},
			})
		}
	}
	c.set("NCCL_IB_GID_INDEX", value, UserSet, "")
	return true
}

// wrongIndex says what is wrong with a slot that the user named.
func (c *computation) wrongIndex(r rail.Rail, index int) string {
	table := c.gidTable(r)
	for _, g := range table {
		switch {
		case g.Index != index:
			continue
		case g.IP() == r.GID.IP() && g.Type != r.GID.Type:
			return "is " + g.Type.String()
		case g.IP() == r.GID.IP():
			return ""
		case g.IP().IsLinkLocalUnicast():
			return "is link-local (" + g.IP().String() + ")"
		case !c.ownAddress(g.IP()):
			return fmt.Sprintf("is %s, not an address of this namespace", g.IP())
		default:
			return ""
		}
	}
	return "is empty"
}

func (c *computation) ownAddress(ip netip.Addr) bool {
	known := false
	for _, l := range c.s.Links {
		prefixes, ok := l.Addresses.Get()
		known = known || ok
		for _, p := range prefixes {
			if p.Addr().WithZone("") == ip {
				return true
			}
		}
	}
	return !known
}
