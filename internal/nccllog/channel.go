package nccllog

import "bytes"

// channel is a channel from one rank to another (src/transport/{net,p2p,shm}.cc):
//
//	Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared
//
// Up to 2.18 the brackets have the bus id; up to 2.10 there is no number of the connection. A line without "via" is a
// ring.
func (p *notices) channel(r *rank, s *logLine) {
	s.text = s.text[len("Channel "):]
	p.between(r, s)
}

func (p *notices) between(r *rank, s *logLine) {
	text := s.text
	arrow := bytes.IndexByte(text, '>')
	if arrow < 0 || arrow > farthestArrow {
		r.Rings++
		p.ring(text)
		return
	}
	w := wayOf(text[arrow+1:]) // " 8[0] [send] via "
	p.carry(r, s, &w)
}

// goesOver is Line for a channel whose way is known; said is where its words begin in the line. It returns false, and
// has done nothing, where Line must look closer.
func (p *Parser) goesOver(at Place, line []byte, said int, w *way) bool {
	if p.open.lines > 0 {
		return false
	}
	if head := line[:said]; bytes.Equal(head, p.turn.head) {
		p.seq++
	} else {
		first := said - len(infoWords)
		s := sourceOf(line[:first])
		if !s.known || segment(head, 0) != first { // another process wrote into the line
			return false
		}
		p.seq++
		r := p.speaker(s, at, line, false)
		if r == nil {
			return true
		}
		p.turn = turn{append(p.turn.head[:0], head...), r}
	}
	p.turn.rank.spoke(p.seq)
	p.carry(p.turn.rank, &logLine{at: at, line: line}, w)
	return true
}

// farthestArrow bounds the bytes from the first word to the arrow.
const farthestArrow = 60

// ring is the order of the ranks: "00/08 :    0   1   2". The highest number tells at least how many there are.
func (p *notices) ring(text []byte) {
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

// carry counts a channel of a rank.
func (p *notices) carry(r *rank, s *logLine, w *way) {
	switch w.by {
	case byNet:
		p.net(r, s, w)
	case byFabric:
		r.Channels.Fabric++
	case byP2P:
		r.Channels.P2P++
	case bySHM:
		r.Channels.SHM++
	case byCollNet:
		r.Channels.CollNet++
	case byUnknown:
	}
}

// net counts one end of a channel over a network.
func (p *notices) net(r *rank, s *logLine, w *way) {
	n := r.network(p, w.network)
	if n == nil {
		return
	}
	if n.Sends+n.Receives == 0 {
		n.First = s.quote()
	}
	if w.proxied {
		n.Proxied++
	}
	n.Devices |= 1 << min(w.device, 63)
	n.count(w.sends, w.direct)
	switch with := n.SendsDirect + n.ReceivesDirect; {
	case w.direct && with == 1:
		n.Direct = s.quote()
	case !w.direct && n.Sends+n.Receives-with == 1:
		n.Indirect = s.quote()
	}
	if w.shared {
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
func (r *rank) network(p *notices, name []byte) *NetChannels {
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
