package nccllog

import "bytes"

// way is the end of a channel's line, after the ranks: "[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared".
type way struct {
	text []byte
	by   carrier

	// Of one end of a channel over a network.
	network []byte // its name may have blanks
	device  int
	sends   bool // else it receives
	proxied bool // through another GPU's rank (PXN)
	direct  bool
	shared  bool
}

// carrier is the transport of a channel.
type carrier uint8

const (
	byUnknown carrier = iota
	byNet
	byP2P
	bySHM
	byFabric // MNNVL
	byCollNet
)

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
	switch {
	case begins(text, "NET/"):
		if w.sends || receives {
			w.net(text[len("NET/"):])
		}
	case begins(text, "P2P/MNNVL"):
		w.by = byFabric
	case begins(text, "P2P/"):
		w.by = byP2P
	case begins(text, "SHM"), begins(text, "direct shared memory"):
		w.by = bySHM
	case begins(text, "COLLNET"):
		w.by = byCollNet
	}
	return w
}

// net reads name/device[(rank)][/GDRDMA[(PCI)]][/Shared].
func (w *way) net(text []byte) {
	slash := bytes.IndexByte(text, '/')
	if slash <= 0 || slash > 40 || slash+1 >= len(text) || !isDigit(text[slash+1]) || !isName(text[:slash]) {
		return
	}
	w.by, w.network = byNet, text[:slash]
	i := slash + 1
	for ; i < len(text) && isDigit(text[i]) && i < slash+6; i++ {
		w.device = w.device*10 + int(text[i]-'0')
	}
	rest := text[i:]
	if begins(rest, "(") {
		w.proxied = true
		if end := bytes.IndexByte(rest, ')'); end > 0 {
			rest = rest[end+1:]
		}
	}
	w.direct = begins(rest, "/GDRDMA")
	w.shared = bytes.HasSuffix(rest, []byte("/Shared"))
}

// begins reports whether the text begins with the words; that of bytes compares by a call.
func begins(text []byte, words string) bool {
	return len(text) >= len(words) && string(text[:len(words)]) == words
}

// isName reports whether the text can be the name of a network, which is shown to people.
func isName(text []byte) bool {
	for _, c := range text {
		if !isHost(c) && c != ' ' && c != '+' {
			return false
		}
	}
	return len(text) > 0
}
