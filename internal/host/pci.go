package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PCIAddress is the address of a PCI function, written as sysfs writes it: 0000:18:00.5.
type PCIAddress struct {
	Domain              uint32
	Bus, Slot, Function uint8
}

// ParsePCIAddress reads "DDDD:BB:SS.F"; domains wider than four digits (Intel VMD) are accepted.
func ParsePCIAddress(s string) (PCIAddress, error) {
	a, ok := parsePCIAddress(s)
	if !ok {
		return a, fmt.Errorf("%.60q is not a PCI address", s)
	}
	return a, nil
}

func parsePCIAddress(s string) (a PCIAddress, ok bool) {
	if len(s) < len("0000:00:00.0") || len(s) > len("00000000:00:00.0") {
		return a, false
	}
	domain, rest := s[:len(s)-8], s[len(s)-8:]
	if rest[0] != ':' || rest[3] != ':' || rest[6] != '.' {
		return a, false
	}
	d, ok1 := parseHex(domain)
	b, ok2 := parseHex(rest[1:3])
	sl, ok3 := parseHex(rest[4:6])
	f, ok4 := parseHex(rest[7:])
	if !ok1 || !ok2 || !ok3 || !ok4 || sl > 0x1f || f > 7 {
		return a, false
	}
	return PCIAddress{uint32(d), uint8(b), uint8(sl), uint8(f)}, true
}

func parseHex(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}

func (a PCIAddress) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Slot, a.Function)
}

// Compare orders addresses by domain, bus, slot, function.
func (a PCIAddress) Compare(b PCIAddress) int {
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Bus, b.Bus),
		cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Function, b.Function))
}

// MarshalText writes the address as sysfs does.
func (a PCIAddress) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the form of MarshalText.
func (a *PCIAddress) UnmarshalText(text []byte) (err error) {
	*a, err = ParsePCIAddress(string(text))
	return err
}

// PCIPath is the place of a PCI function: the host bridge and every function from the root port down to itself.
type PCIPath struct {
	HostBridge string       `json:"hostBridge"` // "pci0000:16"
	Hops       []PCIAddress `json:"hops"`       // the function itself is the last one
}

// ParsePCIPath reads the path out of a resolved /sys/devices path;
// ok is false when the path holds no PCI host bridge (virtual devices).
func ParsePCIPath(path string) (p PCIPath, ok bool) {
	for part := range strings.SplitSeq(path, "/") {
		if p.HostBridge == "" {
			if isHostBridge(part) {
				p.HostBridge = part
			}
			continue
		}
		a, ok := parsePCIAddress(part)
		if !ok {
			break // infiniband/, net/, an auxiliary device: below the PCI function
		}
		p.Hops = append(p.Hops, a)
	}
	return p, len(p.Hops) > 0
}

// isHostBridge reports whether the name is one of the kernel's "pciDDDD:BB" root buses.
func isHostBridge(name string) bool {
	domain, bus, ok := strings.Cut(strings.TrimPrefix(name, "pci"), ":")
	if !ok || !strings.HasPrefix(name, "pci") || len(bus) != 2 {
		return false
	}
	_, ok1 := parseHex(domain)
	_, ok2 := parseHex(bus)
	return ok1 && ok2
}

// PCIConfig has the transfer settings in the configuration space of a PCI Express function.
type PCIConfig struct {
	MaxPayload     Fact[int] `json:"maxPayload,omitzero"`     // bytes
	MaxReadRequest Fact[int] `json:"maxReadRequest,omitzero"` // bytes
	ACS            Fact[int] `json:"acs,omitzero"`            // control register; absent without the capability
}

// The bits of the ACS control register that redirect requests between functions below a switch to the root (PCIe Base
// Specification, Access Control Services).
const (
	ACSRequestRedirect    = 1 << 2
	ACSCompletionRedirect = 1 << 3
)

// Redirects reports whether the port keeps functions below it from reaching each other directly.
func (c PCIConfig) Redirects() bool {
	return c.ACS.Value&(ACSRequestRedirect|ACSCompletionRedirect) != 0
}

// FindPCIAddresses returns every PCI address in a text, torn or not.
func FindPCIAddresses(text string) []PCIAddress {
	var found []PCIAddress
	other := func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", c) }
	for field := range strings.FieldsFuncSeq(text, other) {
		if a, ok := parsePCIAddress(field); ok && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}
