package failures

import (
	"cmp"
	"time"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// order of an event and another one.
type order int

const (
	unknownOrder order = iota
	earlier
	later
)

// orderOf returns the order of two events by the clocks, or by the lines of one file.
func orderOf(a, b event.Event) order {
	isBefore := a.Seq < b.Seq
	if d, ok := apart(a, b); ok && d.Abs() > skew {
		isBefore = d > 0
	} else if a.At.File != b.At.File {
		return unknownOrder
	}
	if isBefore {
		return earlier
	}
	return later
}

// Earlier reports whether an event is known to have come before another one.
func Earlier(a, b event.Event) bool { return orderOf(a, b) == earlier }

// skew is the clock difference between two hosts up to which their times are compared.
const skew = 2 * time.Second

// firstOf returns the index of the failure from which the others follow, or -1. It is the first one by the clocks, as
// far as they can be compared, then by the lines of a file, and of several files by the kind of the failure; or, if
// that follows from another one, the other one.
func firstOf(s *Sequence) int {
	keys := keysOf(s)
	least := func(is func(event.Event) bool) int {
		best := -1
		for i, k := range keys {
			if k.isCandidate && is(s.Failures[i]) && (best < 0 || k.compare(keys[best]) < 0) {
				best = i
			}
		}
		return best
	}
	first := least(func(event.Event) bool { return true })
	for first >= 0 {
		effect := s.Failures[first]
		keys[first].isCandidate = false
		cause := least(func(e event.Event) bool { return superseded(effect, e) || explains(s, e, effect) })
		if cause < 0 {
			break
		}
		first = cause
	}
	return first
}

// key orders the failures of a run.
type key struct {
	isCandidate bool // it does not only follow from another failure
	isLate      bool // another failure was logged earlier, as far as clocks can be compared
	isLater     bool // another one is in the lines before, of the same file
	isEnd       bool // of a process: that explains another failure
	class       event.Class
	seq         int
}

func (k key) compare(o key) int {
	return cmp.Or(
		compareBool(k.isLate, o.isLate), compareBool(k.isLater, o.isLater), compareBool(k.isEnd, o.isEnd),
		cmp.Compare(k.class, o.class), cmp.Compare(k.seq, o.seq),
	)
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func keysOf(s *Sequence) []key {
	keys := make([]key, len(s.Failures))
	earliest := map[bool]time.Time{} // by whether the times have a year
	for i, e := range s.Failures {
		class := e.Class()
		keys[i] = key{
			isCandidate: class != event.Followed || s.Origins[e.Seq], isEnd: e.IsEnd(), class: class, seq: e.Seq,
		}
		known, seen := earliest[e.Time.Year() > 0]
		if keys[i].isCandidate && !e.Time.IsZero() && (!seen || e.Time.Before(known)) {
			earliest[e.Time.Year() > 0] = e.Time
		}
	}
	began := map[string]bool{}     // files
	for i, e := range s.Failures { // in the order of the lines
		k := &keys[i]
		if !k.isCandidate {
			continue
		}
		k.isLate = !e.Time.IsZero() && e.Time.Sub(earliest[e.Time.Year() > 0]) > skew
		if !k.isLate {
			k.isLater, began[e.At.File] = began[e.At.File], true
		}
	}
	return keys
}

// apart returns the time between two events.
func apart(a, b event.Event) (time.Duration, bool) {
	if a.Time.IsZero() || b.Time.IsZero() || (a.Time.Year() == 0) != (b.Time.Year() == 0) {
		return 0, false
	}
	return b.Time.Sub(a.Time), true
}

// explains reports whether one rank's own failure is the reason that another rank lost it.
func explains(s *Sequence, a, b event.Event) bool {
	if a.IsEnd() {
		return s.Origins[a.Seq] && EndExplains(s, a, b)
	}
	if a.Class() != event.Own || b.Class() != event.Remote || s.Run.HostOf(a) == "" ||
		s.Run.HostOf(a) == s.Run.HostOf(b) && a.Rank == b.Rank {
		return false
	}
	peer := b.Peer()
	if peer == "" || s.Run.PeerHost(peer) != s.Run.HostOf(a) {
		return false
	}
	d, ok := apart(a, b)
	return !ok || d > -skew
}

// superseded reports whether a failure to find an interface was of an attempt before the one that got further.
func superseded(a, b event.Event) bool {
	return a.Kind == event.NoInterface && (b.Kind == event.ConnectFailed || b.Kind == event.SocketClosed) &&
		a.Rank == b.Rank && a.Seq < b.Seq
}
