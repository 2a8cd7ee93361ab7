//go:build linux

package main

import (
	"encoding/hex"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
)

// networkLink is an interface to create.
type networkLink struct {
	name      string
	index     int
	addresses []netip.Prefix
}

// defaultRoute is a route to everywhere; a gateway of all zeros means that there is none.
type defaultRoute struct {
	link    string
	gateway netip.Addr
	metric  uint32
}

// network makes the recorded interfaces in the new network namespace.
func (s *stage) network() error {
	n, err := openNetlink()
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.setUp(loopbackIndex); err != nil {
		return err
	}
	index := map[string]int{}
	for _, l := range s.links() {
		if err := n.addLink(l.name, l.index); err != nil {
			s.skip("sys/class/net/"+l.name, err)
			continue
		}
		index[l.name] = l.index
		for _, a := range l.addresses {
			if err := n.addAddress(l.index, a); err != nil {
				s.skip("sys/class/net/"+l.name, err)
			}
		}
	}
	for _, r := range s.routes() {
		link, ok := index[r.link]
		if !ok {
			s.skip("proc/net/route", "the default route is on "+r.link+", which has no address")
			continue
		}
		if err := n.addDefault(link, r); err != nil {
			s.skip("proc/net/route", err)
		}
	}
	return nil
}

const loopbackIndex = 1 // in every network namespace (net/core/dev.c: LOOPBACK_IFINDEX)

// links are the recorded interfaces that have addresses. The kernel makes link-local IPv6 addresses by itself.
func (s *stage) links() []networkLink {
	var links []networkLink
	for _, recorded := range s.machine.Snapshot().Links {
		l := networkLink{name: recorded.Name, index: recorded.Index.Value}
		for _, a := range recorded.Addresses.Value {
			if !(a.Addr().Is6() && a.Addr().IsLinkLocalUnicast()) {
				l.addresses = append(l.addresses, a)
			}
		}
		if l.index != loopbackIndex && len(recorded.Addresses.Value) > 0 {
			links = append(links, l)
		}
	}
	return links
}

// routes are the recorded default routes.
func (s *stage) routes() []defaultRoute {
	var routes []defaultRoute
	for line := range s.lines("proc/net/route") {
		if r, ok := parseDefault4(line); ok {
			routes = append(routes, r)
		}
	}
	for line := range s.lines("proc/net/ipv6_route") {
		if r, ok := parseDefault6(line); ok {
			routes = append(routes, r)
		}
	}
	return routes
}

func (s *stage) lines(name string) func(yield func(string) bool) {
	text, err := fs.ReadFile(s.machine.Root, name)
	if err != nil {
		text = nil // no such table: no routes
	}
	return strings.Lines(string(text))
}

// parseDefault4 reads a line of /proc/net/route: interface, destination, gateway, flags, references, use, metric,
// mask; the addresses are hexadecimal numbers in host byte order.
func parseDefault4(line string) (defaultRoute, bool) {
	f := strings.Fields(line)
	if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
		return defaultRoute{}, false
	}
	gateway, err1 := strconv.ParseUint(f[2], 16, 32)
	metric, err2 := strconv.ParseUint(f[6], 10, 32)
	if err1 != nil || err2 != nil {
		return defaultRoute{}, false
	}
	addr := netip.AddrFrom4([4]byte{byte(gateway), byte(gateway >> 8), byte(gateway >> 16), byte(gateway >> 24)})
	return defaultRoute{link: f[0], gateway: addr, metric: uint32(metric)}, true
}

// parseDefault6 reads a line of /proc/net/ipv6_route: destination, its length, source, its length, next hop, metric,
// references, use, flags, interface. The kernel adds a reject route on lo by itself.
func parseDefault6(line string) (defaultRoute, bool) {
	f := strings.Fields(line)
	if len(f) != 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" || f[9] == "lo" {
		return defaultRoute{}, false
	}
	raw, err1 := hex.DecodeString(f[4])
	metric, err2 := strconv.ParseUint(f[5], 16, 32)
	addr, ok := netip.AddrFromSlice(raw)
	return defaultRoute{link: f[9], gateway: addr, metric: uint32(metric)}, ok && err1 == nil && err2 == nil
}
