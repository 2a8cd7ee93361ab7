package nccllog

import (
	"bytes"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// farthestArrow bounds the bytes from the first word to the arrow.
const farthestArrow = 60

// readChannel reads a channel from one rank to another (src/transport/{net,p2p,shm}.cc), after the word "Channel":
//
//	00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared
//
// Up to 2.18 the brackets hold the bus ID; up to 2.10 the connection has no number. A line without an arrow is a ring.
func readChannel(p *Parser, r *rank, l *logLine, text []byte) {
	arrow := bytes.IndexByte(text, '>')
	if arrow < 0 || arrow > farthestArrow {
		r.ring(text)
		return
	}
	w := scan.WayOf(text[arrow+1:])
	carry(p, r, l, &w, 1)
}

// knownChannel is Line for a channel whose way is known. It returns false if Line must read the line.
func knownChannel(p *Parser, at event.Place, l scan.Line) bool {
	if p.open.lines > 0 {
		return false
	}
	if head := l.Text[:l.Said]; bytes.Equal(head, p.turn.head) {
		p.ranks.seq++
	} else {
		first := l.Said - len(prefix.Info)
		s := prefix.SourceOf(l.Text[:first])
		if len(s.Host) == 0 || prefix.Segment(head, 0) != first || // torn
			head[0] == '{' || bytes.IndexByte(head, '\\') >= 0 { // in JSON, or with escaped line ends
			return false
		}
		p.ranks.seq++
		r := p.ranks.rankOf(s, at, l.Text, false)
		if r == nil {
			return true
		}
		p.turn = turn{append(p.turn.head[:0], head...), r}
	}
	p.ranks.seq += l.More
	p.turn.rank.Last = p.ranks.seq
	carry(p, p.turn.rank, &logLine{at: at, line: l.Text}, l.Way, 1+l.More)
	return true
}

// ring reads the order of the ranks: "00/08 :    0   1   2". The highest one is a lower bound of their number.
func (r *rank) ring(text []byte) {
	_, list, _ := bytes.Cut(text, []byte(" : "))
	ranks := 0
	for word := range bytes.FieldsFuncSeq(list, func(c rune) bool { return c == ' ' || c == '.' }) {
		value, digits := find.Leading(word)
		if digits < len(word) || digits > 7 {
			return
		}
		ranks = max(ranks, value+1)
	}
	r.ringed = max(r.ringed, ranks)
}

// carry counts ends of channels that have the same way.
func carry(p *Parser, r *rank, l *logLine, w *scan.Way, ways int) {
	if w.Fabric {
		r.Channels.Fabric += ways
	}
	n := netOf(p, r, w.Network)
	if n == nil {
		return
	}
	all, directs := n.Sends+n.Receives, n.SendsDirect+n.ReceivesDirect
	if all == 0 {
		n.First = l.quote()
	}
	switch {
	case w.Direct && directs == 0:
		n.Direct = l.quote()
	case !w.Direct && directs == all:
		n.Indirect = l.quote()
	}
	ends, direct := &n.Receives, &n.ReceivesDirect
	if w.Sends {
		ends, direct = &n.Sends, &n.SendsDirect
	}
	*ends += ways
	device := uint64(1) << min(w.Device, 63)
	n.Devices |= device
	if w.Direct {
		*direct += ways
		n.DevicesDirect |= device
	}
}

// netOf returns the counters of a network, or nil.
func netOf(p *Parser, r *rank, name []byte) *NetChannels {
	const most = 4
	if len(name) == 0 { // of one node
		return nil
	}
	nets := r.Channels.Nets
	for i := range nets {
		if nets[i].Network == string(name) {
			return &nets[i]
		}
	}
	if len(nets) >= most {
		return nil
	}
	r.Channels.Nets = append(r.Channels.Nets, NetChannels{Network: p.ranks.texts.word(name)})
	return &r.Channels.Nets[len(nets)]
}
