package nccllog

import (
	"bytes"

	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// way is the end of a channel's line, after the ranks: "[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared".
type way struct {
	text    []byte
	network []byte // may contain blanks; empty if the channel uses no network
	device  int
	sends   bool // else receives
	direct  bool // GDRDMA
	fabric  bool // NVLink between nodes (MNNVL)
}

func wayOf(text []byte) way {
	w := way{text: text}
	receives := false
	for !begins(text, "via ") {
		blank := bytes.IndexByte(text, ' ')
		if blank < 0 {
			return w
		}
		w.sends, receives = w.sends || begins(text, "[s"), receives || begins(text, "[r")
		text = text[blank+1:]
	}
	text = text[len("via "):]
	w.fabric = begins(text, "P2P/MNNVL")
	if begins(text, "NET/") && (w.sends || receives) {
		w.net(text[len("NET/"):])
	}
	return w
}

// net reads name/device[(rank)][/GDRDMA[(PCI)]][/Shared]. The rank is that of another GPU (PXN).
func (w *way) net(text []byte) {
	name, rest, _ := bytes.Cut(text, []byte("/"))
	if len(name) > 40 || !isName(name) || len(rest) == 0 || !prefix.IsDigit(rest[0]) {
		return
	}
	w.network = name
	i := 0
	for ; i < min(len(rest), 5) && prefix.IsDigit(rest[i]); i++ {
		w.device = w.device*10 + int(rest[i]-'0')
	}
	rest = rest[i:]
	if begins(rest, "(") {
		if _, after, ok := bytes.Cut(rest, []byte(")")); ok {
			rest = after
		}
	}
	w.direct = begins(rest, "/GDRDMA")
}
