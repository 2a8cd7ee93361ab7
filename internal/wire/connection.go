package wire

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// State says what a connection does.
type State string

// The states. Lost, and an end that is gone, are faults of the network or of a peer; the others are up to the program.
const (
	HalfSeen State = "half seen" // one end was read, or the ends were read at different times
	Moving   State = "moving"    // packets were sent or received between the readings
	Idle     State = "idle"      // the packets sent have arrived: the program sends nothing
	NotReady State = "not ready" // packets are outstanding, because a program does not receive them
	Lost     State = "lost"      // packets are outstanding and neither end moves: the network holds or drops them
	PeerGone State = "peer gone" // the other end does not exist any more, or one is in error
	// Unacknowledged: the packets sent have arrived, and a device repeats packets of this connection, of another one in
	// this state, or of a queue pair that the kernel does not list.
	Unacknowledged State = "unacknowledged"
)

// Connection is a pair of ends, or an end whose other end was not found.
type Connection struct {
	State State  `json:"state"`
	A     Place  `json:"a"`
	B     Place  `json:"b"`               // the zero Place: not found
	Drops []Drop `json:"drops,omitempty"` // of a connection that is Lost or Unacknowledged
}

// Place is an end, and the machine that has it.
type Place struct {
	*End
	Machine check.Ref `json:"machine"`
}

// Drop has the packets of one direction that did not arrive.
type Drop struct {
	From    Place  `json:"from"`
	To      Place  `json:"to"`
	Packets uint32 `json:"packets"` // 0: only acknowledgements
	// Duplicates are packets of any connection that the device of From received again, of one that is Unacknowledged:
	// what the other device repeats arrives.
	Duplicates uint64 `json:"duplicates,omitempty"`
}

// Connections pairs the ends of all machines and tells what each connection does. whole says that the machines are all
// machines of a job.
func Connections(members []Member, whole bool) []Connection {
	var ends []Place
	peerless := false // a machine with rails has no connection
	for i := range members {
		m := &members[i]
		for k := range m.ends {
			if e := &m.ends[k]; e.Connected() {
				ends = append(ends, Place{e, m.Ref})
			}
		}
		peerless = peerless || m.Proof == NoConnection && len(m.Rails) > 0
	}
	var all []Connection
	for _, p := range paired(ends, whole) {
		all = append(all, p.judge(whole && peerless))
	}
	attributeRepeats(all)
	return all
}

// attributeRepeats keeps a connection Unacknowledged if a device repeats packets of nothing else that the kernel lists:
// all queue pairs of the device that wait for acknowledgements belong to connections at rest.
func attributeRepeats(all []Connection) {
	atRest := map[*readings]int{}
	for _, c := range all {
		if c.State != Unacknowledged {
			continue
		}
		atRest[c.A.readings]++
		if c.B.End != c.A.End {
			atRest[c.B.readings]++
		}
	}
	for i := range all {
		c := &all[i]
		if c.State != Unacknowledged {
			continue
		}
		for _, d := range []Drop{{From: c.B, To: c.A}, {From: c.A, To: c.B}} {
			if r := d.To.readings; r.repeats && atRest[r] == r.reliable {
				d.Duplicates = d.From.duplicates
				c.Drops = append(c.Drops, d)
			}
		}
		if len(c.Drops) == 0 {
			c.State = HalfSeen
		}
	}
}

// judge tells what a pair does. peerless says that a machine of the job has no connection, and all machines were read:
// an end without another end has lost it, unless it is new or does not send yet: the other may follow.
func (p pair) judge(peerless bool) Connection {
	c := Connection{A: p.a, B: p.b}
	alone := p.b.End == nil
	switch {
	case p.a.Broken() || !alone && p.b.Broken():
		c.State = PeerGone
	case p.moves():
		c.State = Moving
	case alone && peerless && p.a.readings != nil && p.a.Sends():
		c.State = PeerGone
	case alone || !together(p.a, p.b) || p.a.isUnderWay(p.b) || p.b.isUnderWay(p.a):
		c.State = HalfSeen
	default:
		c.State, c.Drops = p.judgeStill()
	}
	return c
}

// moves reports whether packets moved. What an end sent proves it only if the other end was not read at the same time:
// a packet that is lost is sent again and again.
func (p pair) moves() bool {
	if p.b.End == nil || !together(p.a, p.b) {
		return p.a.Moved() || p.b.End != nil && p.b.Moved()
	}
	return p.a.Received > 0 || p.b.Received > 0
}

// isUnderWay reports whether packets that the end sent since the first reading did not arrive: they may be under way,
// or be sent again and again.
func (from Place) isUnderWay(to Place) bool {
	wasOutstanding := isOutstanding(from.Next-from.Sent, to.Expected)
	return from.Sent > 0 && to.Received == 0 && !wasOutstanding && isOutstanding(from.Next, to.Expected)
}

// isOutstanding reports whether a sender is ahead of its receiver.
func isOutstanding(next, expected uint32) bool {
	n := advance(expected, next)
	return n > 0 && n <= window
}

// judgeStill returns the state of a pair if neither end moves, and the packets that did not arrive.
func (p pair) judgeStill() (State, []Drop) {
	all := slices.Concat(drops(p.a, p.b), drops(p.b, p.a))
	switch {
	case len(all) == 0 && p.a.Type == host.TypeRC && (p.a.repeats || p.b.repeats):
		return Unacknowledged, nil // unless the device repeats packets of another connection
	case len(all) == 0:
		return Idle, nil
	case p.a.unready.Value > 0 || p.b.unready.Value > 0:
		return NotReady, nil
	case p.doubtful || !p.a.unready.IsKnown() && !p.b.unready.IsKnown():
		return HalfSeen, nil // of another connection, or a receiver may not be ready
	}
	return Lost, all
}

// together reports whether two ends were read twice each, and in part at the same time: what neither end moved then was
// outstanding all that time, longer than any packet is under way.
func together(a, b Place) bool {
	const least = 200 * time.Millisecond
	if a.readings == nil || b.readings == nil {
		return false
	}
	from, until := a.from, a.until
	if b.from.After(from) {
		from = b.from
	}
	if b.until.Before(until) {
		until = b.until
	}
	return until.Sub(from) >= min(least, a.over()/2)
}

// drops returns the packets that one end sent and the other does not have, or its answers to packets that are sent
// again.
func drops(from, to Place) []Drop {
	switch next := from.Next + from.Again; {
	case !from.Sends():
		return nil
	case isOutstanding(next, to.Expected):
		return []Drop{{From: from, To: to, Packets: advance(to.Expected, next)}}
	case from.Again > 0:
		return []Drop{{From: to, To: from}}
	}
	return nil
}
