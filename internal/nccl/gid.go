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
	ipv6    bool  // NCCL_IB_ADDR_FAMILY=AF_INET6
	version int64 // of RoCE, 1 or 2 (NCCL_IB_ROCE_VERSION_NUM); any other fits no slot
	within  gidRange
}

// pick returns the slot that NCCL 2.21 and later choose on a port with so many slots (ncclIbGetGidIndex,
// ncclUpdateGidIndex in src/transport/net_ib): the walk starts at slot 0; a candidate replaces the current slot if it
// is of the wanted family and the current one is not, or if it is valid and has the wanted RoCE version and the current
// one has another version or is not valid. An empty slot is IPv6 and not valid, and NCCL takes it by the first rule.
func (r gidRules) pick(gids []host.GID, slots int) int {
	var current host.GID
	for i := range slots {
		candidate := host.GID{Index: i, Addr: netip.IPv6Unspecified()}
		if len(gids) > 0 && gids[0].Index == i {
			candidate, gids = gids[0], gids[1:]
		}
		switch {
		case i == 0:
			current = candidate
		case isIPv6(candidate) != r.ipv6 || !r.within.contains(candidate):
		case isIPv6(candidate) != isIPv6(current):
			current = candidate
		case valid(candidate) && roceVersion(candidate) == r.version &&
			(roceVersion(current) != r.version || !valid(current)):
			current = candidate
		}
	}
	return current.Index
}

// isIPv6 reports the family of a GID as NCCL has it: IPv4 are the mapped addresses, and those in ff0e::/96
// (getGidAddrFamily).
func isIPv6(g host.GID) bool {
	raw := g.Addr.As16()
	return !g.Addr.Is4In6() && [12]byte(raw[:12]) != [12]byte{0: 0xff, 1: 0x0e, 10: 0xff, 11: 0xff}
}

// valid reports whether NCCL takes a GID for configured: it is neither empty nor in fe80::/64, the only link-local
// addresses that NCCL knows. 169.254.0.0/16 is not among them (configuredGid, linkLocalGid).
func valid(g host.GID) bool {
	raw := g.Addr.As16()
	return g.Addr.IsValid() && !g.Addr.IsUnspecified() && [8]byte(raw[:8]) != [8]byte{0xfe, 0x80}
}

// roceVersion returns the version of RoCE of a slot; -1: it has none.
func roceVersion(g host.GID) int64 {
	switch {
	case g.IsRoCEv2():
		return 2
	case strings.HasPrefix(g.Type.Value, "IB/RoCE v1"), strings.HasPrefix(g.Type.Value, "RoCE v1"):
		return 1
	}
	return -1
}

// gidRange is the value of NCCL_IB_ADDR_RANGE.
type gidRange struct {
	addr netip.Addr // invalid: every address is in the range
	bits int        // that are compared; 0: every address is in the range; less: none is
}

func rangeOf(p netip.Prefix) gidRange { return gidRange{p.Addr(), p.Bits()} }

// parseRange reads the range as NCCL does (envIbAddrRange): an address of the family, and the digits after the first
// slash. Of a list the first range counts. A value that is no range, or a mask that is too long, means every address.
func parseRange(value string, ipv6 bool) gidRange {
	const longest = 127
	text, mask, ok := strings.Cut(value[:min(len(value), longest)], "/")
	addr, err := netip.ParseAddr(text)
	n, _ := host.Strtol(mask, 10)
	bits, most := int32(n), int32(32) // NCCL converts it to int
	if ipv6 {
		most = 128
	}
	if !ok || err != nil || addr.Zone() != "" || addr.Is4() == ipv6 || bits > most {
		return gidRange{}
	}
	return gidRange{addr, int(bits)}
}

// contains compares the first bits of an address; of an IPv4 one, the last four bytes of the GID.
func (r gidRange) contains(g host.GID) bool {
	if !r.addr.IsValid() || r.bits <= 0 {
		return !r.addr.IsValid() || r.bits == 0
	}
	addr := g.Addr
	if r.addr.Is4() {
		raw := addr.As16()
		addr = netip.AddrFrom4([4]byte(raw[12:]))
	}
	return netip.PrefixFrom(r.addr, r.bits).Contains(addr)
}

// rulesOf returns the rules of the three variables; an empty value is NCCL's default.
func rulesOf(family, version, addrRange string) gidRules {
	r := gidRules{ipv6: family == inet6, version: roceV2} // any other word is AF_INET to NCCL (envIbAddrFamily)
	if n, ok := number(version); ok {
		r.version = n
	}
	r.within = parseRange(addrRange, r.ipv6)
	return r
}

// roceV2 is the version of RoCE that NCCL chooses by default.
const roceV2 = 2

func wanted(r gidRules) string {
	family := "IPv4"
	if r.ipv6 {
		family = "IPv6"
	}
	if r.version != 1 && r.version != roceV2 {
		return family
	}
	return fmt.Sprintf("RoCE v%d %s", r.version, family)
}

// gidRules returns the rules that fit the rails' GIDs, sets those that are not NCCL's defaults, and applies the
// settings of the user.
func (g gidChoice) gidRules() (gidRules, bool) {
	kind := func(r rail.Rail) gidRules {
		return gidRules{ipv6: isIPv6(*r.GID), version: max(roceVersion(*r.GID), 1)}
	}
	rules := kind(g.roce[0])
	for _, r := range g.roce[1:] {
		if other := kind(r); other != rules {
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
		g.c.set("NCCL_IB_ADDR_FAMILY", inet6, Computed,
			"the rails have IPv6 GIDs only; NCCL looks for IPv4 by default")
	}
	if rules.version == 1 {
		g.c.set("NCCL_IB_ROCE_VERSION_NUM", "1", Computed,
			"the rails have RoCE v1 GIDs only; NCCL looks for v2 by default")
	}
	or := func(name, computed string) string {
		if value, set := g.c.value(name); set {
			return value
		}
		return computed
	}
	family := inet
	if rules.ipv6 {
		family = inet6
	}
	return rulesOf(or("NCCL_IB_ADDR_FAMILY", family), or("NCCL_IB_ROCE_VERSION_NUM", fmt.Sprint(rules.version)),
		or("NCCL_IB_ADDR_RANGE", "")), true
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

func (m misfit) String() string {
	return fmt.Sprintf("slot %d of %s, which %s", m.slot, m.rail.Name(), m.why)
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
	table, _ := gidTable(g.c.s, r)
	for _, gid := range table {
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

// gidTable returns the filled slots of a rail, and how many it has. Where the table was not read to its end, that is
// one more than the last of them: mlx5 has 256.
func gidTable(s *host.Snapshot, r rail.Rail) (gids []host.GID, slots int) {
	d, _ := s.Device(r.Device)
	for _, p := range d.Ports {
		if p.Number != r.Port {
			continue
		}
		last := -1
		if len(p.GIDs) > 0 {
			last = p.GIDs[len(p.GIDs)-1].Index
		}
		return p.GIDs, p.GIDTable.Or(last + 2)
	}
	return nil, 0
}
