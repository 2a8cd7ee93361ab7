package host

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const classNet = "sys/class/net"

// links reads the interfaces of this network namespace. For a launch those with an address suffice:
// NCCL sees no others, and a RoCE port without one has no GID.
func (r *reader) links() []Link {
	if r.brief && r.probes.Addressed != nil {
		links, err := r.probes.Addressed()
		if err == nil {
			return links
		}
		r.problem("proc/net", "ioctl", err)
	}
	var asked []Link
	if r.probes.Interfaces != nil {
		var err error
		if asked, err = r.probes.Interfaces(); err != nil {
			r.problem("proc/net", "netlink", err)
		}
	}
	names := r.list(classNet)
	links := make([]Link, 0, len(names))
	for _, name := range names {
		if dir := path.Join(classNet, name); r.exists(path.Join(dir, "ifindex")) { // bonding_masters is a file
			links = append(links, r.link(name, dir))
		}
	}
	sort.Slice(links, func(i, j int) bool { return links[i].Index.Value < links[j].Index.Value })
	r.addAddresses(links, asked)
	return links
}

// addInet6 adds what /proc/net/if_inet6 tells to the interfaces with IPv4 addresses.
func (r *reader) addInet6(links []Link) []Link {
	if r.probes.Addressed == nil { // they are known already
		return links
	}
	for line := range strings.Lines(r.file("proc/net/if_inet6").Value) {
		name, prefix, ok := parseIfInet6(line)
		if !ok {
			continue
		}
		i := slices.IndexFunc(links, func(l Link) bool { return l.Name == name })
		if i < 0 {
			i = len(links)
			links = append(links, Link{Name: name, Addresses: Know[[]netip.Prefix](nil)})
		}
		links[i].Addresses.Value = append(links[i].Addresses.Value, prefix)
	}
	return links
}

func (r *reader) link(name, dir string) Link {
	l := Link{
		Name:      name,
		Index:     parsed(r, path.Join(dir, "ifindex"), parseInt),
		MTU:       parsed(r, path.Join(dir, "mtu"), parseInt),
		OperState: r.text(path.Join(dir, "operstate")),
		PCI:       convert(r.target(path.Join(dir, "device")), ParsePCIAddress),
	}
	if l.PCI.IsUnreadable() { // virtio0, an auxiliary device: a parent that is not a PCI function
		l.PCI = Fact[PCIAddress]{}
	}
	flags := parsed(r, path.Join(dir, "flags"), parseInt)
	if flags.IsKnown() {
		l.Up = Know(flags.Value&syscall.IFF_UP != 0)
	}
	l.Carrier = r.carrier(dir)
	l.LowerLink = parsed(r, path.Join(dir, "iflink"), parseInt)
	l.MAC = r.text(path.Join(dir, "address"))
	return l
}

// carrier answers EINVAL while the link is administratively down (net/core/net-sysfs.c carrier_show).
func (r *reader) carrier(dir string) Fact[bool] {
	name := path.Join(dir, "carrier")
	data, err := readBounded(r.root, name)
	switch text := strings.TrimSpace(data); {
	case err == nil && (text == "0" || text == "1"):
		return Know(text == "1")
	case err == nil && text == "", isAbsent(err), errors.Is(err, syscall.EINVAL):
		return Fact[bool]{}
	case err == nil:
		return Unread[bool](r.problem(name, "parse", fmt.Errorf("%q is neither 0 nor 1", clip(text))))
	default:
		return Unread[bool](r.problem(name, "read", err))
	}
}

// addAddresses fills in the addresses: from rtnetlink, else from what /proc tells.
func (r *reader) addAddresses(links, asked []Link) {
	byIndex := map[int]Fact[[]netip.Prefix]{}
	for _, l := range asked {
		byIndex[l.Index.Value] = l.Addresses
	}
	var byName map[string][]netip.Prefix
	if asked == nil {
		byName = r.procAddresses()
	}
	for i := range links {
		switch l := &links[i]; {
		case asked != nil:
			l.Addresses = byIndex[l.Index.Value]
			l.Addresses.State = Known
		case byName != nil:
			l.Addresses = Know(byName[l.Name])
		default:
			l.Addresses = Unread[[]netip.Prefix]("no address table was read")
		}
	}
}

// procAddresses reads a captured machine's addresses; nil when there are no tables.
func (r *reader) procAddresses() map[string][]netip.Prefix {
	v6, trie := r.file("proc/net/if_inet6"), r.file("proc/net/fib_trie")
	if !v6.IsKnown() && !trie.IsKnown() {
		return nil
	}
	byName := map[string][]netip.Prefix{}
	for line := range strings.Lines(v6.Value) {
		if name, prefix, ok := parseIfInet6(line); ok {
			byName[name] = append(byName[name], prefix)
		}
	}
	routes := parseRoutes(r.file("proc/net/route").Value)
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

// parseRoutes reads /proc/net/route, whose addresses are hexadecimal in host byte order.
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
		if errors.Join(err1, err2, err3, err4) != nil { // the heading
			continue
		}
		routes = append(routes, ipv4Route{
			link: f[0], gateway: flags&2 != 0, metric: uint32(metric), // RTF_GATEWAY
			to: netip.PrefixFrom(littleEndian(to), onesIn(mask)),
		})
	}
	return routes
}

func littleEndian(v uint64) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
}

func onesIn(mask uint64) int {
	n := 0
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

// connectedRoute finds the longest prefix that is reached without a gateway.
func connectedRoute(routes []ipv4Route, addr netip.Addr) (best ipv4Route, ok bool) {
	for _, route := range routes {
		if !route.gateway && route.to.Bits() > 0 && route.to.Contains(addr) && (!ok || route.to.Bits() > best.to.Bits()) {
			best, ok = route, true
		}
	}
	return best, ok
}

// defaultRoutes reads the default routes, the preferred one of a family first.
func (r *reader) defaultRoutes() []Route {
	var routes []Route
	for _, route := range parseRoutes(r.file("proc/net/route").Value) {
		if route.to.Bits() == 0 {
			routes = append(routes, Route{Link: route.link, Family: "inet", Metric: route.metric})
		}
	}
	if r.brief && len(routes) > 0 { // IPv4 comes first
		return sortedRoutes(routes)
	}
	for line := range strings.Lines(r.file("proc/net/ipv6_route").Value) {
		if route, ok := parseIPv6Default(line); ok {
			routes = append(routes, route)
		}
	}
	return sortedRoutes(routes)
}

func sortedRoutes(routes []Route) []Route {
	sort.SliceStable(routes, func(i, j int) bool {
		a, b := routes[i], routes[j]
		return a.Family < b.Family || a.Family == b.Family && a.Metric < b.Metric
	})
	return routes
}

// parseIPv6Default reads a line of /proc/net/ipv6_route: destination, its length, source, its length, next hop,
// metric, reference count, use count, flags, interface. The kernel adds a reject route on lo.
func parseIPv6Default(line string) (Route, bool) {
	f := strings.Fields(line)
	if len(f) != 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" || f[9] == "lo" {
		return Route{}, false
	}
	metric, err := strconv.ParseUint(f[5], 16, 32)
	if err != nil {
		return Route{}, false
	}
	return Route{Link: f[9], Family: "inet6", Metric: uint32(metric)}, true
}

// ownAddresses is the set of the addresses of this namespace; nil when they are not known.
func ownAddresses(links []Link) map[netip.Addr]bool {
	var own map[netip.Addr]bool
	for _, l := range links {
		prefixes, ok := l.Addresses.Get()
		if !ok {
			continue
		}
		if own == nil {
			own = map[netip.Addr]bool{}
		}
		for _, p := range prefixes {
			own[p.Addr()] = true
		}
	}
	return own
}
