package machine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// roceMTU is the packet size that RoCE makes of an interface's MTU: the largest of InfiniBand's that fits beside the
// headers (include/rdma/ib_addr.h iboe_get_mtu).
func roceMTU(mtu int) int {
	const headers = 96 // GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4
	for _, size := range []int{4096, 2048, 1024, 512} {
		if mtu >= size+headers {
			return size
		}
	}
	return 256
}

// share is the part of the line rate that payload gets: RoCE v2 over IPv4 adds 82 bytes to each packet.
func share(size int) float64 { return 100 * float64(size) / float64(size+82) }

// fastRail is the rate from which the share that headers take is worth a word.
const fastRail = 100

func railMTU(t *subject) []check.Finding {
	var evidence []check.Evidence
	var sizes, small []string
	var rails, smallRails []check.Ref
	least := 4096
	for _, r := range t.rails {
		mtu, ok := r.MTU.Get()
		if !ok || r.LinkLayer != host.Ethernet {
			continue
		}
		sizes, rails = append(sizes, strconv.Itoa(mtu)), append(rails, check.RailRef(r.Name()))
		evidence = append(evidence, check.Evidence{Source: "/sys/class/net/" + r.Netdev + "/mtu", Got: strconv.Itoa(mtu), Want: "9000, and the same on every rail"})
		if size := roceMTU(mtu); size < 4096 && r.Rate.Value.Gbps >= fastRail {
			small, least = append(small, r.Name()), min(least, size)
			smallRails = append(smallRails, check.RailRef(r.Name()))
		}
	}
	fix := forAdmin("Give the physical function, its virtual functions and the switch ports one MTU of 9000.", "SriovNetworkNodePolicy spec:\n  mtu: 9000")
	switch all := distinct(sizes); {
	case len(all) > 1:
		return about(one(RailMTU, check.Warn, check.Ref{Kind: check.Pod},
			fmt.Sprintf("the rails' MTUs differ (%s): a queue pair between two of them may fail or hang, since NCCL 2.20 and later take no common one", strings.Join(all, ", ")),
			fix, evidence...), rails)
	case len(small) > 0:
		return about(one(RailMTU, check.Warn, check.Ref{Kind: check.Pod},
			fmt.Sprintf("MTU %s makes RoCE packets of %d bytes on %s: at most %.0f %% of the rate is payload, with 9000 %.0f %%",
				all[0], least, strings.Join(small, ", "), share(least), share(4096)), fix, evidence...), smallRails)
	}
	return nil
}

// railARP finds interfaces in the subnet of a rail that may answer for its address: the kernel's default. Then TCP
// and ping work, and RDMA sends to the wrong NIC.
func railARP(t *subject) []check.Finding {
	var evidence []check.Evidence
	var pairs []string
	var refs []check.Ref
	looked, unread := true, ""
	for _, a := range t.rails {
		for i := range t.Links {
			l := &t.Links[i]
			if a.Netdev == l.Name || !l.Up.Or(true) || !t.sameSubnet(a, l) {
				continue
			}
			ignore, known := strictest(t.ARP.Ignore, l.ARP.Ignore)
			switch {
			case !known && (t.ARP.Ignore.IsUnreadable() || l.ARP.Ignore.IsUnreadable()):
				unread = l.Name
			case !known:
				looked = looked && !t.onRail(l.Name) // of other interfaces than those of RDMA devices it is not read
			case ignore == 0:
				pairs = append(pairs, t.pair(a, l.Name))
				refs = append(refs, check.RailRef(a.Name()), check.LinkRef(l.Name))
				evidence = append(evidence, check.Evidence{Source: "/proc/sys/net/ipv4/conf/" + l.Name + "/arp_ignore", Got: "0, as in conf/all", Want: "1 or 2"})
			}
		}
	}
	switch {
	case len(pairs) > 0:
	case unread != "":
		return one(RailARP, check.Unknown, check.Ref{Kind: check.Pod}, "another interface is in the subnet of a rail, and arp_ignore of "+unread+" could not be read", nil)
	case !looked:
		return notLooked(RailARP)
	default:
		return nil
	}
	status, seen, of := check.Warn, t.twoOfOneMAC(), strings.Join(distinct(pairs), "; ")
	summary := of + " are in one subnet, and one answers ARP for both addresses: ping works, and RDMA may hang"
	if len(seen) > 0 {
		status, summary = check.Fail, of+" are in one subnet, and a neighbour's two addresses have one MAC: ping works, and RDMA to one of them hangs"
	}
	return about(one(RailARP, status, check.Ref{Kind: check.Pod}, summary,
		forAdmin("Give every rail a subnet of its own; or make interfaces answer for their own addresses only (CNI plugin tuning in the network attachment).",
			`SriovNetwork spec:
  metaPlugins: '{"type": "tuning", "sysctl": {"net.ipv4.conf.IFNAME.arp_ignore": "1", "net.ipv4.conf.IFNAME.arp_announce": "2"}}'`,
			"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"), append(evidence, seen...)...), refs)
}

// strictest is the setting that holds: the larger of the interface's and of all (ip-sysctl.rst).
func strictest(all, own host.Fact[int]) (int, bool) {
	return max(all.Value, own.Value), all.IsKnown() && own.IsKnown()
}

// pair names a rail and another interface; two rails in their order.
func (t *subject) pair(a rail.Rail, link string) string {
	first, second := a.Name(), link
	behind := false // the rail a was met
	for _, b := range t.rails {
		if b.Netdev == link {
			if second = b.Name(); !behind {
				first, second = second, first
			}
			break
		}
		behind = behind || b.Netdev == a.Netdev
	}
	return first + " and " + second
}

// sameSubnet reports whether an interface has an address in the IPv4 subnet of a rail.
func (t *subject) sameSubnet(a rail.Rail, l *host.Link) bool {
	if a.GID == nil || !a.GID.IP().Is4() {
		return false
	}
	own, _ := t.Link(a.Netdev)
	for _, p := range own.Addresses.Value {
		if p.Addr() != a.GID.IP() {
			continue
		}
		for _, q := range l.Addresses.Value {
			if p.Contains(q.Addr()) {
				return true
			}
		}
	}
	return false
}

// twoOfOneMAC are neighbours on the rails that answer for two addresses with one MAC: the other side's flux.
func (t *subject) twoOfOneMAC() []check.Evidence {
	var found []check.Evidence
	byMAC := map[string]host.Neighbour{}
	for _, n := range t.Neighbours {
		first, seen := byMAC[n.MAC]
		switch {
		case !n.Resolved || !t.onRail(n.Link):
		case seen && first.Addr != n.Addr:
			found = append(found, check.Evidence{
				Source: "/proc/net/arp", Got: fmt.Sprintf("%s and %s are at %s", first.Addr, n.Addr, n.MAC), Want: "a MAC for each address",
			})
		case !seen:
			byMAC[n.MAC] = n
		}
	}
	return found
}

func (t *subject) onRail(link string) bool {
	for _, r := range t.rails {
		if r.Netdev == link {
			return true
		}
	}
	return false
}

// railsRoutable tells whether a rail reaches the networks of the others. Many fabrics keep rails apart on purpose,
// and NCCL then has to stay on one rail: that some reach each other and some do not, or that NCCL is told to cross,
// is a fault.
func railsRoutable(t *subject) []check.Finding {
	if len(t.Lookups) == 0 {
		if len(t.rails) < 2 {
			return nil
		}
		return notLooked(RailsRoutable)
	}
	var evidence, onLink []check.Evidence
	for _, l := range t.Lookups {
		if !l.Gateway.IsValid() {
			got := "no gateway: taken for a neighbour"
			if l.Err != "" {
				got = l.Err
			}
			e := check.Evidence{Source: fmt.Sprintf("ip route get %s oif %s", l.Dest, l.From), Got: got, Want: "via a gateway"}
			evidence = append(evidence, e)
			if l.OnLink && t.onRail(l.From) && t.onRail(l.Toward) {
				onLink = append(onLink, e)
			}
		}
	}
	cross, origin, _ := t.UserSetting("NCCL_CROSS_NIC")
	status, summary := check.Pass, "rails do not reach each other's networks: NCCL has to keep to one rail (NCCL_CROSS_NIC=0), as on many fabrics"
	fix := forUser("Keep NCCL on one rail, and let it pass data between GPUs instead (PXN).", "export NCCL_CROSS_NIC=0")
	switch {
	case len(evidence) == 0:
		return nil
	case strings.TrimSpace(cross) == "1":
		status, summary = check.Fail, "NCCL_CROSS_NIC=1 makes NCCL connect rails that do not reach each other: the connection times out"
		evidence = append(evidence, check.Evidence{Source: origin, Got: "NCCL_CROSS_NIC=1", Want: "0"})
	case len(onLink) > 0: // where the rails are one network of the second layer it works, which nothing here shows
		evidence, status = onLink, check.Warn
		summary = "a route takes the network of another rail for neighbours of this one: unless a switch joins the rails, connections across them hang"
		fix = forAdmin("Take the route away, or give it a gateway.", "ip route show", "ip route del NETWORK dev INTERFACE")
	case len(evidence) < len(t.Lookups):
		status = check.Warn
		summary = fmt.Sprintf("%d of %d ways from a rail to another one's network have no route: connections across rails fail there, and work elsewhere", len(evidence), len(t.Lookups))
		fix = forAdmin("Route all rails alike: source-based routing (CNI plugin sbr) with a gateway in every rail's IPAM, or none.", "SriovNetwork spec:\n  metaPlugins: '{\"type\": \"sbr\"}'")
	}
	return one(RailsRoutable, status, check.Ref{Kind: check.Pod}, summary, fix, evidence...)
}
