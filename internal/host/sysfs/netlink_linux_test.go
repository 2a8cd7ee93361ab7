package sysfs

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/railhead/railhead/internal/host/netlink"
)

// rtattr is struct rtattr with its value, padded.
func rtattr(kind uint16, value ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

func TestParseAddress(t *testing.T) {
	header := append([]byte{2, 24, 0, 0}, binary.NativeEndian.AppendUint32(nil, 7)...)
	const ifaAddress, ifaLocal, ifaLabel = 1, 2, 3
	for name, tc := range map[string]struct {
		attributes []byte
		want       string
	}{
		"address and local":      {append(rtattr(ifaAddress, 10, 0, 0, 2), rtattr(ifaLocal, 10, 0, 0, 1)...), "10.0.0.1/24"},
		"local and address":      {append(rtattr(ifaLocal, 10, 0, 0, 1), rtattr(ifaAddress, 10, 0, 0, 2)...), "10.0.0.1/24"},
		"address alone":          {append(rtattr(ifaLabel, 'n', 'e', 't', '1', 0), rtattr(ifaAddress, 10, 0, 0, 2)...), "10.0.0.2/24"},
		"no address":             {rtattr(ifaLabel, 'n', 0), ""},
		"address of three bytes": {rtattr(ifaAddress, 10, 0, 0), ""},
		"length beyond the end":  {[]byte{200, 0, 1, 0}, ""},
		"length of nothing":      {make([]byte, 4), ""},
	} {
		index, prefix, ok := parseAddress(append(header[:8:8], tc.attributes...))
		if got := prefix.String(); ok != (tc.want != "") || ok && (got != tc.want || index != 7) {
			t.Errorf("%s: %s of %d, %v, want %s", name, got, index, ok, tc.want)
		}
	}
}

func FuzzNetlink(f *testing.F) {
	f.Add(append(binary.NativeEndian.AppendUint32(nil, 28), append([]byte{20, 0, 0, 0}, make([]byte, 20)...)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, body, rest := netlink.Cut(data); kind != 0; kind, body, rest = netlink.Cut(rest) {
			if len(rest) >= len(data) {
				t.Fatalf("%d bytes of %d are left", len(rest), len(data))
			}
			if _, prefix, ok := parseAddress(body); ok && prefix.Addr() == (netip.Addr{}) {
				t.Errorf("an address that is none: %v", prefix)
			}
			data = rest
		}
	})
}
