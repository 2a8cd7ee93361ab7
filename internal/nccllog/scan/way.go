package scan

import (
	"bytes"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// Way is the end of a channel's line, after the ranks: "[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared".
type Way struct {
	Text    []byte
	Network []byte // may contain blanks; empty if the channel uses no network
	Device  int
	Sends   bool // else receives
	Direct  bool // GDRDMA
	Fabric  bool // NVLink between nodes (MNNVL)
}

// WayOf reads the end of a channel's line.
func WayOf(text []byte) Way {
	w := Way{Text: text}
	receives := false
	for !find.Begins(text, "via ") {
		blank := bytes.IndexByte(text, ' ')
		if blank < 0 {
			return w
		}
		w.Sends, receives = w.Sends || find.Begins(text, "[s"), receives || find.Begins(text, "[r")
		text = text[blank+1:]
	}
	text = text[len("via "):]
	w.Fabric = find.Begins(text, "P2P/MNNVL")
	if find.Begins(text, "NET/") && (w.Sends || receives) {
		w.net(text[len("NET/"):])
	}
	return w
}

// net reads name/device[(rank)][/GDRDMA[(PCI)]][/Shared]. The rank belongs to another GPU (PXN).
func (w *Way) net(text []byte) {
	name, rest, _ := bytes.Cut(text, []byte("/"))
	if len(name) > 40 || !prefix.IsName(name) || len(rest) == 0 || !prefix.IsDigit(rest[0]) {
		return
	}
	w.Network = name
	i := 0
	for ; i < min(len(rest), 5) && prefix.IsDigit(rest[i]); i++ {
		w.Device = w.Device*10 + int(rest[i]-'0')
	}
	rest = rest[i:]
	if find.Begins(rest, "(") {
		if _, after, ok := bytes.Cut(rest, []byte(")")); ok {
			rest = after
		}
	}
	w.Direct = find.Begins(rest, "/GDRDMA")
}
