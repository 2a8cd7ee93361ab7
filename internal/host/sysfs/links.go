package sysfs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/host"
)

const classNet = "sys/class/net"

func readLinks(in *input, s *host.Snapshot) {
	s.Links = linksInClass(in.tree, askedLinks(in))
}

// readLinksWithAddress leaves out interfaces without an address if the kernel lists the others:
// NCCL sees no others, and a RoCE port without one has no GID.
func readLinksWithAddress(in *input, s *host.Snapshot) {
	s.Links = askedLinks(in)
	if len(s.Links) == 0 || s.Links[0].Name == "" { // a recording has the addresses only
		s.Links = linksInClass(in.tree, s.Links)
	}
}

// askedLinks returns the answer of the kernel, nil if it was not asked.
func askedLinks(in *input) []host.Link {
	if in.probes.Interfaces == nil {
		return nil
	}
	links, err := in.probes.Interfaces()
	if err != nil {
		in.problem("proc/net", "netlink", err)
	}
	return links
}

// linksInClass reads all interfaces of this network namespace, in the kernel's order.
func linksInClass(t *tree, asked []host.Link) []host.Link {
	names := t.list(classNet)
	links := make([]host.Link, 0, len(names))
	for _, name := range names {
		if dir := classNet + "/" + name; t.exists(dir + "/ifindex") { // bonding_masters is a file
			links = append(links, describeLink(t, name, dir))
		}
	}
	sortByIndex(links)
	addAsked(t, links, asked)
	return links
}

func sortByIndex(links []host.Link) {
	sort.Slice(links, func(i, j int) bool { return links[i].Index.Value < links[j].Index.Value })
}

func describeLink(t *tree, name, dir string) host.Link {
	l := host.Link{
		Name:      name,
		Index:     parsed(t, dir+"/ifindex", parseInt),
		MTU:       parsed(t, dir+"/mtu", parseInt),
		OperState: t.text(dir + "/operstate"),
		PCI:       host.Convert(t.target(dir+"/device"), host.ParsePCIAddress),
	}
	if l.PCI.IsUnreadable() { // virtio0, an auxiliary device: a parent that is not a PCI function
		l.PCI = host.Fact[host.PCIAddress]{}
	}
	flags := parsed(t, dir+"/flags", parseInt)
	if flags.IsKnown() {
		l.Up = host.Know(flags.Value&syscall.IFF_UP != 0)
	}
	if state, ok := l.OperState.Get(); ok { // net/core/dev.c dev_get_flags, netif_oper_up; sysfs' flags leave it out
		l.Running = host.Know(l.Up.Or(true) && (state == "up" || state == "unknown"))
	}
	l.Carrier = carrier(t, dir)
	l.LowerLink = parsed(t, dir+"/iflink", parseInt)
	l.MAC = t.text(dir + "/address")
	l.CarrierChanges = parsed(t, dir+"/carrier_changes", parseInt)
	return l
}

// carrier answers EINVAL while the link is administratively down (net/core/net-sysfs.c carrier_show).
func carrier(t *tree, dir string) host.Fact[bool] {
	name := dir + "/carrier"
	data, err := readBounded(t.root, name)
	switch text := strings.TrimSpace(data); {
	case err == nil && (text == "0" || text == "1"):
		return host.Know(text == "1")
	case err == nil && text == "", isAbsent(err), errors.Is(err, syscall.EINVAL):
		return host.Fact[bool]{}
	case err == nil:
		return host.Unread[bool](t.problem(name, "parse", fmt.Errorf("%.60q is neither 0 nor 1", text)))
	default:
		return host.Unread[bool](t.problem(name, "read", err))
	}
}

// addAsked adds facts that the files of an interface lack: from rtnetlink, otherwise from tables in /proc.
func addAsked(t *tree, links, asked []host.Link) {
	byIndex := map[int]host.Link{}
	for _, l := range asked {
		byIndex[l.Index.Value] = l
	}
	var byName map[string][]netip.Prefix
	if asked == nil {
		byName = procAddresses(t)
	}
	for i := range links {
		switch l := &links[i]; {
		case asked != nil:
			answer := byIndex[l.Index.Value]
			l.Addresses = host.Know(append([]netip.Prefix{},
				answer.Addresses.Value...)) // none is not null, which is absent
			if answer.Running.IsKnown() {
				l.Running = answer.Running
			}
		case byName != nil:
			l.Addresses = host.Know(append([]netip.Prefix{}, byName[l.Name]...))
		default:
			l.Addresses = host.Unread[[]netip.Prefix]("no address table was read")
		}
	}
}

// procAddresses reads a captured machine's addresses; nil when there are no tables.
func procAddresses(t *tree) map[string][]netip.Prefix {
	v6, trie := t.file("proc/net/if_inet6"), t.file("proc/net/fib_trie")
	if !v6.IsKnown() && !trie.IsKnown() {
		return nil
	}
	byName := map[string][]netip.Prefix{}
	for line := range strings.Lines(v6.Value) {
		if name, prefix, ok := parseIfInet6(line); ok {
			byName[name] = append(byName[name], prefix)
		}
	}
	routes := parseRoutes(t.file("proc/net/route").Value)
	for _, addr := range localAddresses(trie.Value) {
		if on, ok := connectedRoute(routes, addr); ok {
			byName[on.link] = append(byName[on.link], netip.PrefixFrom(addr, on.to.Bits()))
		} else if addr.IsLoopback() {
			byName["lo"] = append(byName["lo"], netip.PrefixFrom(addr, 8))
		}
	}
	return byName
}

// parseIfInet6 reads "fe80...1234 02 40 20 80 eth0": address, index, prefix length, scope, flags, name.
func parseIfInet6(line string) (name string, prefix netip.Prefix, ok bool) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return "", prefix, false
	}
	raw, err1 := hex.DecodeString(f[0])
	bits, err2 := strconv.ParseUint(f[2], 16, 8)
	addr, valid := netip.AddrFromSlice(raw)
	if err1 != nil || err2 != nil || !valid || bits > 128 {
		return "", prefix, false
	}
	return f[5], netip.PrefixFrom(addr, int(bits)), true
}

// localAddresses reads the addresses of this host out of /proc/net/fib_trie: the leaf above each "/32 host LOCAL".
func localAddresses(trie string) []netip.Addr {
	var found []netip.Addr
	var leaf netip.Addr
	for line := range strings.Lines(trie) {
		text := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(text, "|-- "); ok {
			leaf, _ = netip.ParseAddr(rest)
		} else if text == "/32 host LOCAL" && leaf.IsValid() && !slices.Contains(found, leaf) {
			found = append(found, leaf)
		}
	}
	return found
}

// ipv4Route is a line of /proc/net/route.
type ipv4Route struct {
	link    string
	to      netip.Prefix
	gateway bool
	metric  uint32
}

// The flags of a route (include/uapi/linux/route.h).
const (
	routeGateway = 0x0002 // RTF_GATEWAY
	routeReject  = 0x0200 // RTF_REJECT
)

// parseRoutes reads /proc/net/route, whose addresses are hexadecimal in host byte order. Routes that lead nowhere,
// unreachable, prohibit and blackhole, are left out (net/ipv4/fib_trie.c fib_route_seq_show writes "*" for those).
func parseRoutes(table string) []ipv4Route {
	var routes []ipv4Route
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		to, err1 := strconv.ParseUint(f[1], 16, 32)
		flags, err2 := strconv.ParseUint(f[3], 16, 32)
		metric, err3 := strconv.ParseUint(f[6], 10, 32)
		mask, err4 := strconv.ParseUint(f[7], 16, 32)
		if errors.Join(err1, err2, err3, err4) != nil || f[0] == "*" || flags&routeReject != 0 { // or the heading
			continue
		}
		routes = append(routes, ipv4Route{
			link:    f[0],
			gateway: flags&routeGateway != 0,
			metric:  uint32(metric),
			to:      netip.PrefixFrom(littleEndian(to), bits.OnesCount64(mask)),
		})
	}
	return routes
}

func littleEndian(v uint64) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
}

// connectedRoute finds the longest prefix that is reached without a gateway.
func connectedRoute(routes []ipv4Route, addr netip.Addr) (best ipv4Route, ok bool) {
	for _, route := range routes {
		connected := !route.gateway && route.to.Bits() > 0 && route.to.Contains(addr)
		if connected && (!ok || route.to.Bits() > best.to.Bits()) {
			best, ok = route, true
		}
	}
	return best, ok
}

// readRoutes reads the default routes, the preferred one of a family first.
func readRoutes(in *input, s *host.Snapshot) {
	s.Routes = sortedRoutes(append(ipv4Defaults(in.tree), ipv6Defaults(in.tree)...))
}

// readPreferredRoutes reads the routes of IPv6 only if there are no routes of IPv4, which have precedence.
func readPreferredRoutes(in *input, s *host.Snapshot) {
	if s.Routes = sortedRoutes(ipv4Defaults(in.tree)); len(s.Routes) == 0 {
		s.Routes = sortedRoutes(ipv6Defaults(in.tree))
	}
}

func ipv4Defaults(t *tree) []host.Route {
	var routes []host.Route
	for _, route := range parseRoutes(t.file("proc/net/route").Value) {
		if route.to.Bits() == 0 {
			routes = append(routes, host.Route{Link: route.link, Family: "inet", Metric: route.metric})
		}
	}
	return routes
}

func ipv6Defaults(t *tree) []host.Route {
	var routes []host.Route
	for line := range strings.Lines(t.file("proc/net/ipv6_route").Value) {
		if route, ok := parseIPv6Default(line); ok {
			routes = append(routes, route)
		}
	}
	return routes
}

func sortedRoutes(routes []host.Route) []host.Route {
	sort.SliceStable(routes, func(i, j int) bool {
		a, b := routes[i], routes[j]
		return a.Family < b.Family || a.Family == b.Family && a.Metric < b.Metric
	})
	return routes
}

// parseIPv6Default reads a line of /proc/net/ipv6_route: destination, its length, source, its length, next hop,
// metric, reference count, use count, flags, interface. The kernel adds a reject route on lo.
func parseIPv6Default(line string) (host.Route, bool) {
	f := strings.Fields(line)
	if len(f) != 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" || f[9] == "lo" {
		return host.Route{}, false
	}
	metric, err := strconv.ParseUint(f[5], 16, 32)
	if err != nil {
		return host.Route{}, false
	}
	return host.Route{Link: f[9], Family: "inet6", Metric: uint32(metric)}, true
}
