package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// largestPacket is the largest RoCE packet, in bytes of payload.
const largestPacket = 4096

// roceMTU returns the RoCE packet size for an interface's MTU: the largest of InfiniBand's sizes that fits with the
// headers (include/rdma/ib_addr.h iboe_get_mtu).
func roceMTU(mtu int) int {
	const headers = 96 // GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4
	for _, size := range []int{largestPacket, 2048, 1024, 512} {
		if mtu >= size+headers {
			return size
		}
	}
	return 256
}

// payload returns the percentage of the line rate that is payload: RoCE v2 over IPv4 adds 82 bytes to each packet.
func payload(size int) float64 { return 100 * float64(size) / float64(size+82) }

// fastRail is the rate in Gb/s from which a small MTU is reported.
const fastRail = 100

func railMTU(t *subject) []check.Finding {
	var all, small group
	var sizes []string
	least := largestPacket
	for _, r := range t.rails {
		mtu, ok := r.MTU.Get()
		if !ok || r.LinkLayer != host.Ethernet {
			continue
		}
		text, file := strconv.Itoa(mtu), "/sys/class/net/"+r.Netdev+"/mtu"
		sizes = append(sizes, text)
		all.add(check.RailRef(r.Name()), file, text, "9000, the same on every rail")
		if size := roceMTU(mtu); size < largestPacket && r.Rate.Value.Gbps >= fastRail {
			small.add(check.RailRef(r.Name()), file, text, "9000")
			least = min(least, size)
		}
	}
	f := check.Finding{
		Status: check.Warn, Evidence: all.evidence,
		Fix: check.ByAdmin("Set one MTU of 9000 on the physical function, its virtual functions and the switch ports.",
			"SriovNetworkNodePolicy spec:\n  mtu: 9000"),
	}
	switch sizes = distinct(sizes); {
	case len(sizes) > 1:
		f.About = all.objects
		f.Summary = "the rails have different MTUs (" + strings.Join(sizes, ", ") + "): a queue pair between two " +
			"of them may fail or hang, because NCCL 2.20 and later do not use the smaller one"
	case len(small.objects) > 0:
		f.About = small.objects
		f.Summary = fmt.Sprintf("MTU %s limits RoCE packets to %d bytes on %s: "+
			"at most %.0f %% of the rate is payload, %.0f %% with 9000",
			sizes[0], least, small.String(), payload(least), payload(largestPacket))
	default:
		return t.ifRead(nil, func(r rail.Rail) bool { return r.LinkLayer != host.Ethernet || r.MTU.IsKnown() })
	}
	return []check.Finding{f}
}

// railARP finds interfaces in the subnet of a rail that may answer ARP for its address, as is the kernel's default. TCP
// and ping then work, but RDMA sends to the wrong NIC.
func railARP(t *subject) []check.Finding {
	var g group
	var pairs []string
	unreadable, missing := "", false
	for k, a := range t.rails {
		for i := range t.Links {
			l := &t.Links[i]
			if !t.sameSubnet(a, l) {
				continue
			}
			switch ignore := strictest(t.ARP.Ignore, l.ARP.Ignore); {
			case ignore.IsUnreadable():
				unreadable = l.Name
			case !ignore.IsKnown():
				missing = missing || t.onRail(l.Name) // it is read only for the interfaces of RDMA devices
			case ignore.Value == 0:
				pairs = append(pairs, t.pair(k, l.Name))
				g.objects = append(g.objects, check.RailRef(a.Name()))
				g.add(check.LinkRef(l.Name), "/proc/sys/net/ipv4/conf/"+l.Name+"/arp_ignore",
					"0, as in conf/all", "1 or 2")
			}
		}
	}
	switch {
	case len(pairs) > 0:
		return []check.Finding{t.arpFlux(distinct(pairs), g)}
	case unreadable != "":
		return []check.Finding{{
			Status:  check.Unknown,
			Summary: unreadable + " is in the subnet of a rail, and its arp_ignore could not be read",
		}}
	case missing:
		return noData()
	}
	return t.ifRead(nil, func(r rail.Rail) bool {
		link, _ := t.Link(r.Netdev)
		return r.LinkLayer != host.Ethernet || link.Addresses.IsKnown()
	})
}

func (t *subject) arpFlux(pairs []string, g group) check.Finding {
	status, effect := check.Warn, "answer ARP for each other: ping works, RDMA may hang"
	if t.sharedMACs(&g) {
		status, effect = check.Fail, "a neighbour has one MAC for two addresses: ping works, RDMA to one of them hangs"
	}
	return check.Finding{
		Status: status, About: g.objects,
		Summary:  strings.Join(pairs, "; ") + " are in one subnet, and " + effect,
		Evidence: g.evidence,
		Fix: check.ByAdmin("Give every rail its own subnet; or let interfaces answer only for their own addresses "+
			"(CNI plugin tuning in the network attachment). OpenShift refuses these settings until its ConfigMap "+
			"cni-sysctl-allowlist has them.",
			`SriovNetwork spec:
  metaPlugins: '{"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_ignore": "1", `+
				`"net.ipv4.conf.IFNAME.arp_announce": "2"}}'`,
			"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"),
	}
}

// strictest returns the setting that applies: the larger of the interface's and of conf/all (ip-sysctl.rst).
func strictest(all, own host.Fact[int]) host.Fact[int] {
	switch {
	case all.IsKnown() && own.IsKnown():
		return host.Know(max(all.Value, own.Value))
	case all.IsUnreadable():
		return all
	case own.IsUnreadable():
		return own
	}
	return host.Fact[int]{}
}

// pair names a rail and an interface in its subnet; two rails in their order, so that both find the same words.
func (t *subject) pair(k int, link string) string {
	i := slices.IndexFunc(t.rails, func(r rail.Rail) bool { return r.Netdev == link })
	if i < 0 {
		return t.rails[k].Name() + " and " + link
	}
	return t.rails[min(i, k)].Name() + " and " + t.rails[max(i, k)].Name()
}

// sameSubnet reports whether another interface that is up has an address in the IPv4 subnet of a rail.
func (t *subject) sameSubnet(a rail.Rail, l *host.Link) bool {
	if a.Netdev == l.Name || !l.Up.Or(true) || a.GID == nil || !a.GID.IP().Is4() {
		return false
	}
	own, _ := t.Link(a.Netdev)
	for _, p := range own.Addresses.Value {
		for _, q := range l.Addresses.Value {
			if p.Addr() == a.GID.IP() && p.Contains(q.Addr()) {
				return true
			}
		}
	}
	return false
}

// sharedMACs reports whether neighbours on the rails answer for two addresses with one MAC, and adds the evidence.
func (t *subject) sharedMACs(g *group) (found bool) {
	byMAC := map[string]host.Neighbour{}
	for _, n := range t.Neighbours {
		first, seen := byMAC[n.MAC]
		switch {
		case !n.Resolved || !t.onRail(n.Link):
		case seen && first.Addr != n.Addr:
			found = true
			g.see("/proc/net/arp", fmt.Sprintf("%s and %s are at %s", first.Addr, n.Addr, n.MAC),
				"one MAC for each address")
		case !seen:
			byMAC[n.MAC] = n
		}
	}
	return found
}

func (t *subject) onRail(link string) bool {
	return slices.ContainsFunc(t.rails, func(r rail.Rail) bool { return r.Netdev == link })
}

// railsRoutable judges whether a rail reaches the networks of the others. Many fabrics keep rails apart on purpose, and
// NCCL must then stay on one rail. It is a fault if only some rails reach each other, or if NCCL is told to cross.
func railsRoutable(t *subject) []check.Finding {
	if len(t.Lookups) == 0 && len(t.rails) > 1 {
		return noData()
	}
	unrouted, onLink := t.unrouted()
	f := check.Finding{
		Summary: "rails do not reach each other's networks, as on many fabrics: " +
			"NCCL must stay on one rail (NCCL_CROSS_NIC=0)",
		Evidence: unrouted,
		Fix: check.ByUser("Keep NCCL on one rail; it then passes data between GPUs instead (PXN).",
			"export NCCL_CROSS_NIC=0"),
	}
	cross, origin, _ := t.UserSetting("NCCL_CROSS_NIC")
	switch {
	case len(unrouted) == 0:
		return nil
	case strings.TrimSpace(cross) == "1":
		f.Status = check.Fail
		f.Summary = "NCCL_CROSS_NIC=1 makes NCCL connect rails that do not reach each other: the connection times out"
		f.Evidence = append(f.Evidence, check.Evidence{Source: origin, Got: "NCCL_CROSS_NIC=1", Want: "0"})
	case len(onLink) > 0: // correct if a switch joins the rails, which this machine cannot see
		f.Status = check.Warn
		f.Summary = "a route has no gateway to the network of another rail: " +
			"unless a switch joins the rails, connections across them hang"
		f.Evidence = onLink
		f.Fix = check.ByAdmin("Remove the route, or give it a gateway.",
			"ip route show", "ip route del NETWORK dev INTERFACE")
	case len(unrouted) < len(t.Lookups):
		f.Status = check.Warn
		f.Summary = fmt.Sprintf("%d of %d paths from a rail to another rail's network have no route: "+
			"connections across rails fail there and work elsewhere", len(unrouted), len(t.Lookups))
		f.Fix = check.ByAdmin("Route all rails alike: source-based routing (CNI plugin sbr) with a gateway in every "+
			"rail's IPAM, or none.", "SriovNetwork spec:\n  metaPlugins: '{\"type\": \"sbr\"}'")
	}
	return []check.Finding{f}
}

// unrouted returns all lookups without a gateway. onLink has only the lookups between two rails in which a route makes
// the destination a neighbour.
func (t *subject) unrouted() (all, onLink []check.Evidence) {
	for _, l := range t.Lookups {
		if l.Gateway.IsValid() {
			continue
		}
		e := check.Evidence{
			Source: fmt.Sprintf("ip route get %s oif %s", l.Dest, l.From),
			Got:    cmp.Or(l.Err, "no gateway: treated as a neighbour"), Want: "via a gateway",
		}
		all = append(all, e)
		if l.OnLink && t.onRail(l.From) && t.onRail(l.Toward) {
			onLink = append(onLink, e)
		}
	}
	return all, onLink
}
