package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// networks maps the addresses of a file: those of one network of 256 stay in one network, private ones stay private.
type networks map[string]string

var (
	// dotted is a run of numbers with dots, which is an address if it has four.
	dotted = regexp.MustCompile(`\d+(?:\.(?:\d+|X))+`)
	ipv4   = regexp.MustCompile(`^(?:\d{1,3}\.){3}(?:\d{1,3}|X)$`)
	// identity is the number of a device: a GID in its short form, the address of an InfiniBand interface, a MAC
	// address, a GID, a GUID.
	identity = regexp.MustCompile(`\b(?:fe80::(?:[0-9a-f]{1,4}:){3}[0-9a-f]{1,4}|` +
		`(?:[0-9a-f]{2}:){19}[0-9a-f]{2}|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|` +
		`(?:[0-9a-f]{4}:){7}[0-9a-f]{4}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})\b`)
	// mapped is a GID with an IPv4 address.
	mapped = regexp.MustCompile(`^(?:0000:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$`)
)

// replace replaces the addresses of a line.
func (n networks) replace(line string) string {
	line = dotted.ReplaceAllStringFunc(line, func(text string) string {
		if ipv4.MatchString(text) {
			return n.address(text)
		}
		return text
	})
	return identity.ReplaceAllStringFunc(line, n.identity)
}

func (n networks) identity(id string) string {
	if strings.HasPrefix(id, "fe80::") {
		id = netip.MustParseAddr(id).StringExpanded() // the pattern allows nothing else
		return netip.MustParseAddr(n.identity(id)).String()
	}
	device := id[len(id)-8:]
	if strings.Trim(device, "0:") == "" || strings.Trim(device, "f:") == "" {
		return id
	}
	m := mapped.FindStringSubmatch(id)
	if m == nil {
		return id[:len(id)-8] + otherDevice(device)
	}
	var bytes [4]any
	for i, digits := range m[1:] {
		b, _ := strconv.ParseUint(digits, 16, 8) // the pattern matches two digits
		bytes[i] = b
	}
	address := netip.MustParseAddr(n.address(fmt.Sprintf("%d.%d.%d.%d", bytes[:]...))).As4()
	return fmt.Sprintf("%s%02x%02x:%02x%02x", id[:30], address[0], address[1], address[2], address[3])
}

// otherDevice changes two of the last three bytes of an identity, always in the same way: the maker stays, and also the
// last byte, since the ports of a card have numbers in a row.
func otherDevice(end string) string {
	digits := strings.ReplaceAll(end, ":", "")
	from := len(digits) - 6
	changed := digits[:from] + sameForm(digits[from:from+4]) + digits[from+4:]
	var b strings.Builder
	for _, c := range end {
		if c != ':' {
			c, changed = rune(changed[0]), changed[1:]
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ranges are the networks to choose from, by the first bytes of the original.
var ranges = []struct{ from, to string }{
	{"10.0.0.0/8", "10.20."}, {"172.16.0.0/12", "172.30."}, {"192.168.0.0/16", "192.168."},
	{"100.64.0.0/10", "100.64."},
}

// kept are the addresses that mean the same on every host: the bridge of docker among them.
var kept = []string{"127.0.0.0/8", "0.0.0.0/8", "169.254.0.0/16", "172.17.0.0/24", "224.0.0.0/3"}

// public are networks that documentation may use, by RFC 5737.
var public = []string{"203.0.113", "198.51.100", "192.0.2"}

func (n networks) address(text string) string {
	address, err := netip.ParseAddr(strings.Replace(text, "X", "1", 1))
	if err != nil || within(address, kept) {
		return text
	}
	end := strings.LastIndexByte(text, '.')
	network, host := text[:end], text[end+1:]
	if n[network] == "" {
		n[network] = n.another(address, network)
	}
	if host == "X" {
		return n[network] + ".X"
	}
	if n[text] == "" {
		n[text] = n.free(n[network]+".", host)
	}
	return n[text]
}

func within(a netip.Addr, prefixes []string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// another returns a network that no address of the file has yet.
func (n networks) another(a netip.Addr, network string) string {
	for _, r := range ranges {
		if netip.MustParsePrefix(r.from).Contains(a) {
			return n.free(r.to, network[strings.LastIndexByte(network, '.')+1:])
		}
	}
	for _, p := range public {
		if !n.has(p) {
			return p
		}
	}
	return public[0]
}

// free returns the prefix with the first number, of as many digits as the original, that is not in use.
func (n networks) free(prefix, original string) string {
	first := map[int]int{1: 1, 2: 11, 3: 101}[len(original)]
	for i := first; i < 255; i++ {
		if next := prefix + strconv.Itoa(i); !n.has(next) {
			return next
		}
	}
	return prefix + "1"
}

func (n networks) has(value string) bool {
	for _, v := range n {
		if v == value {
			return true
		}
	}
	return false
}
