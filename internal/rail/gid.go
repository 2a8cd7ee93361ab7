package rail

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// gidChoice is the GID to use on a RoCE port, or the reason why there is none.
type gidChoice struct {
	gid     *host.GID
	netdev  string
	reason  string
	checked bool // the address was looked up in this namespace
}

// chooseGID takes the best usable slot: RoCE v2 before v1, IPv4 before IPv6, then the lowest index. NCCL's own default
// is RoCE v2 over IPv4 (NCCL_IB_ROCE_VERSION_NUM 2, NCCL_IB_ADDR_FAMILY AF_INET).
func (j *judge) chooseGID(p host.Port) gidChoice {
	var best gidChoice
	rank, reason := 0, fmt.Sprintf("no GID: the table of port %d is empty or missing", p.Number)
	onlyLinkLocal := true
	for _, g := range p.GIDs {
		netdev, checked, refused := ownGID(j, g)
		if refused != "" {
			if onlyLinkLocal {
				reason, onlyLinkLocal = refused, linkLocal(g.Addr)
			}
			continue
		}
		if r := gidRank(g); r > rank {
			rank, best = r, gidChoice{gid: &g, netdev: netdev, checked: checked}
		}
	}
	if best.gid == nil {
		best.reason = reason
	}
	return best
}

func gidRank(g host.GID) int {
	rank := 1
	if g.IsRoCEv2() {
		rank += 2
	}
	if g.Addr.Is4In6() {
		rank++
	}
	return rank
}

func linkLocal(a netip.Addr) bool { return a.Unmap().IsLinkLocalUnicast() }

// ownGID returns the interface of this namespace that has the GID, or why the GID is not usable here. The address
// decides: ndevs shows only a name, and another pod's net1 looks like this one's.
func ownGID(j *judge, g host.GID) (netdev string, checked bool, reason string) {
	if linkLocal(g.Addr) {
		return "", false, fmt.Sprintf("only link-local GIDs: %s has no IP address", g.Netdev.Or("its interface"))
	}
	link, addressesKnown := j.s.OwnAddress(g.IP())
	if link != "" {
		return link, true, ""
	}
	ndev, named := g.Netdev.Get()
	_, here := j.s.Link(ndev)
	switch {
	case addressesKnown && named:
		return "", true, fmt.Sprintf("GID %d (%s) belongs to %s of another namespace", g.Index, g.IP(), ndev)
	case addressesKnown:
		return "", true, fmt.Sprintf("GID %d (%s) is not an address of this namespace", g.Index, g.IP())
	case named && !here && len(j.s.Links) > 0:
		return "", false, fmt.Sprintf("GID %d belongs to %s of another namespace", g.Index, ndev)
	}
	return ndev, false, ""
}

func (c gidChoice) evidence(r Rail) []check.Evidence {
	if c.gid == nil {
		return []check.Evidence{
			{Source: r.PortFile("gids"), Got: c.reason, Want: "a routable address of this network namespace"},
		}
	}
	index := strconv.Itoa(c.gid.Index)
	return []check.Evidence{
		{Source: r.PortFile("gids/" + index), Got: c.words(), Want: "RoCE v2"},
		{
			Source: r.PortFile("gid_attrs/ndevs/" + index), Got: c.gid.Netdev.String(),
			Want: "an interface of this namespace",
		},
	}
}

func (c gidChoice) words() string { return c.gid.IP().String() + ", " + c.gid.Type.String() }

// findings reports faults of the chosen GID.
func (c gidChoice) findings(r Rail) []check.Finding {
	var found []check.Finding
	say := func(status check.Status, summary string) {
		found = append(found, check.Finding{
			Check: GIDUsable, Status: status, Subject: check.RailRef(r.Name()), Summary: summary,
			Evidence: []check.Evidence{{Source: r.PortFile("gids/" + strconv.Itoa(c.gid.Index)), Got: c.words()}},
		})
	}
	if !c.checked {
		say(check.Unknown, "the addresses of this namespace are unknown: the GID may be another pod's")
	}
	switch version, ok := c.gid.Type.Get(); {
	case !ok:
		say(check.Unknown, "the RoCE version of the GID could not be read")
	case version != "RoCE v2":
		say(check.Warn, "the GID is RoCE v1, which routers do not forward: peers must be on the same Ethernet segment")
	}
	return found
}
