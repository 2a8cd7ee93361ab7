package wire

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/check"
)

// State says whether a connection carries data, and if not, why.
type State int

// The states. Lost, and an end that is gone, are faults of the network or of a peer; Idle is up to the program.
const (
	HalfSeen State = iota // one end was read, or read once, and it did not move
	Moving                // packets were sent or received between the readings
	Idle                  // both ends agree that nothing is outstanding: the program sends nothing
	Lost                  // packets are outstanding and neither end moves: the network holds or drops them
	PeerGone              // the other end does not exist any more or is in error
)

var stateNames = [...]string{"half seen", "moving", "idle", "lost", "peer gone"}

func (s State) String() string { return stateNames[s] }

// Connection is a pair of ends, or an end whose other end was not found.
type Connection struct {
	A     End
	B     *End // nil: not found
	State State
	// ToA and ToB are the packets that the other end has sent and this one does not have; of a connection that is Lost.
	ToA, ToB uint32
}

// Connections pairs the ends of all machines and tells what each connection does. whole says that the machines are all
// of a job, so that an end without its other end lost it.
func Connections(machines []Machine, whole bool) []Connection {
	byNumber := map[uint32][]*End{}
	var ends []*End
	for _, m := range machines {
		for _, e := range m.Ends() {
			if e.Connected() {
				ends = append(ends, &e)
				byNumber[e.Number] = append(byNumber[e.Number], &e)
			}
		}
	}
	paired := map[*End]bool{}
	var all []Connection
	for _, a := range ends {
		if paired[a] {
			continue
		}
		b := otherEnd(a, byNumber[a.Remote.Value], paired)
		paired[a] = true
		if b != nil {
			paired[b] = true
		}
		all = append(all, connection(a, b, whole))
	}
	return all
}

// window bounds the packets that can be outstanding between two ends that stand still.
const window = 1 << 20

// otherEnd returns the end that belongs to a. Numbers of queue pairs repeat from device to device, so of several that
// fit it is the one whose sequence numbers are nearest.
func otherEnd(a *End, candidates []*End, paired map[*End]bool) *End {
	fits := slices.DeleteFunc(slices.Clone(candidates), func(b *End) bool {
		frozen := a.Frozen() && b.Frozen()
		return b == a || paired[b] || b.Remote.Value != a.Number || b.Type != a.Type || frozen && gap(a, b) > window
	})
	if len(fits) == 0 {
		return nil
	}
	return slices.MinFunc(fits, func(b, c *End) int { return cmp.Compare(gap(a, b), gap(a, c)) })
}

// gap returns how far apart the sequence numbers of two ends are, in both directions together.
func gap(a, b *End) uint32 {
	return apart(a.SendPSN, b.RecvPSN.Value) + apart(b.SendPSN, a.RecvPSN.Value)
}

func apart(a, b uint32) uint32 { return min(advance(a, b), advance(b, a)) }

// connection judges two ends, or one whose other end was not found.
func connection(a, b *End, whole bool) Connection {
	c := Connection{A: *a, B: b}
	switch {
	case a.Broken() || b != nil && b.Broken():
		c.State = PeerGone
	case a.Moved() || b != nil && b.Moved():
		c.State = Moving
	case b == nil && whole:
		c.State = PeerGone
	case b == nil || a.New || b.New:
		c.State = HalfSeen
	default:
		c.ToB, c.ToA = outstanding(*a, *b), outstanding(*b, *a)
		if c.State = Idle; c.ToA > 0 || c.ToB > 0 {
			c.State = Lost
		}
	}
	return c
}

// outstanding returns the packets that one end sent and the other does not have. An end that is ahead of its sender was
// read later.
func outstanding(from, to End) uint32 {
	n := advance(to.RecvPSN.Value, from.SendPSN)
	const half = 1 << 23
	if n >= half {
		return 0
	}
	return n
}

// Machines returns the machines of a connection.
func (c Connection) Machines() []check.Ref {
	if c.B == nil {
		return []check.Ref{c.A.Machine}
	}
	return []check.Ref{c.A.Machine, c.B.Machine}
}
