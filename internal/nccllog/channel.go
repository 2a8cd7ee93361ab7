package nccllog

import "bytes"

// channel is a channel from one rank to another (src/transport/{net,p2p,shm}.cc):
//
//	Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared
//
// Up to 2.18 the brackets have the bus id; up to 2.10 there is no number of the connection. A line without "via" is a ring.
func (p *Parser) channel(r *rank, s *saying) {
	s.text = s.text[len("Channel "):]
	p.between(r, s)
}

// between takes what follows the first word.
func (p *Parser) between(r *rank, s *saying) {
	text := s.text
	arrow := bytes.IndexByte(text, '>')
	if arrow < 0 || arrow > 60 {
		r.Rings++
		p.ring(text)
		return
	}
	way, sends, receives := text[arrow+1:], false, false
	for !begins(way, "via ") { // " 8[0] [send] "
		blank := bytes.IndexByte(way, ' ')
		if blank < 0 {
			return
		}
		sends, receives = sends || begins(way, "[s"), receives || begins(way, "[r")
		way = way[blank+1:]
	}
	way = way[len("via "):]
	switch {
	case begins(way, "NET/"):
		p.net(r, s, way[len("NET/"):], sends, receives)
	case begins(way, "P2P/MNNVL"):
		r.Channels.Fabric++
	case begins(way, "P2P/"):
		r.Channels.P2P++
	case begins(way, "SHM"), begins(way, "direct shared memory"):
		r.Channels.SHM++
	case begins(way, "COLLNET"):
		r.Channels.CollNet++
	}
}

// ring is the order of the ranks: "00/08 :    0   1   2". The highest number tells at least how many there are.
func (p *Parser) ring(text []byte) {
	_, list, ok := bytes.Cut(text, []byte(" : "))
	if !ok {
		return
	}
	highest, value, digits := -1, 0, 0
	for _, c := range list {
		switch {
		case isDigit(c) && digits < 7:
			value, digits = value*10+int(c-'0'), digits+1
		case c == ' ' || c == '.':
			if digits > 0 {
				highest = max(highest, value)
			}
			value, digits = 0, 0
		default:
			return
		}
	}
	if digits > 0 {
		highest = max(highest, value)
	}
	p.ringed = max(p.ringed, highest+1)
}

// net takes one end of a channel over a network: name/device[(rank)][/GDRDMA[(PCI)]][/Shared]. The name may have blanks.
func (p *Parser) net(r *rank, s *saying, over []byte, sends, receives bool) {
	slash := bytes.IndexByte(over, '/')
	if slash <= 0 || slash > 40 || slash+1 >= len(over) || !isDigit(over[slash+1]) || !sends && !receives || !isName(over[:slash]) {
		return
	}
	device, i := 0, slash+1
	for ; i < len(over) && isDigit(over[i]) && i < slash+6; i++ {
		device = device*10 + int(over[i]-'0')
	}
	rest := over[i:]
	n := r.network(p, over[:slash])
	if n == nil {
		return
	}
	if n.Sends+n.Receives == 0 {
		n.First = s.quote()
	}
	if len(rest) > 0 && rest[0] == '(' {
		n.Proxied++
		if end := bytes.IndexByte(rest, ')'); end > 0 {
			rest = rest[end+1:]
		}
	}
	direct := begins(rest, "/GDRDMA")
	n.Devices |= 1 << min(device, 63)
	n.count(sends, direct)
	switch with := n.SendsDirect + n.ReceivesDirect; {
	case direct && with == 1:
		n.Direct = s.quote()
	case !direct && n.Sends+n.Receives-with == 1:
		n.Indirect = s.quote()
	}
	if bytes.HasSuffix(rest, []byte("/Shared")) {
		n.Shared++
	}
}

func (n *NetChannels) count(sends, direct bool) {
	all, counted := &n.Receives, &n.ReceivesDirect
	if sends {
		all, counted = &n.Sends, &n.SendsDirect
	}
	*all++
	if direct {
		*counted++
	}
}

// network finds the counters of a network.
func (r *rank) network(p *Parser, name []byte) *NetChannels {
	nets := r.Channels.Nets
	for i := range nets {
		if nets[i].Network == string(name) {
			return &nets[i]
		}
	}
	const most = 4
	if len(nets) >= most {
		return nil
	}
	r.Channels.Nets = append(r.Channels.Nets, NetChannels{Network: p.word(name)})
	return &r.Channels.Nets[len(nets)]
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
