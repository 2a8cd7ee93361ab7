package facts

import (
	"net/netip"
	"strings"
)

// linkLocalNetwork has addresses that hosts give themselves (RFC 3927).
const linkLocalNetwork = "169.254.0.0/16"

// LocalAddress says what an address is that cannot be another host's: "the docker bridge, which every host has"; "" if
// it can.
func LocalAddress(peer string) string {
	a := AddressOf(peer)
	for _, known := range []struct {
		prefix string
		why    string
	}{
		{"172.17.0.0/16", "the docker bridge, which every host has"},
		{"127.0.0.0/8", "the loopback interface"},
		{linkLocalNetwork, "a link-local address, which only hosts of the same link reach"},
		{"192.168.122.0/24", "libvirt's bridge, which every host has"},
	} {
		if p := netip.MustParsePrefix(known.prefix); a.IsValid() && p.Contains(a.Unmap()) {
			return known.why
		}
	}
	switch {
	case a.IsLoopback():
		return "the loopback interface"
	case strings.HasPrefix(a.Zone(), "veth"):
		return "the host's end of a link to a container"
	}
	return ""
}

// IsLinkLocal reports whether an IPv4 address is link-local.
func IsLinkLocal(a netip.Addr) bool {
	return netip.MustParsePrefix(linkLocalNetwork).Contains(a.Unmap())
}

// AddressOf reads the address of "10.0.0.5<33092>", "fe80::1%net1<1>" and "10.0.0.5:123".
func AddressOf(peer string) netip.Addr {
	text, _, _ := strings.Cut(peer, "<")
	if a, err := netip.ParseAddr(text); err == nil {
		return a
	}
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr()
	}
	return netip.Addr{}
}
