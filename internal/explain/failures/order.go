package failures

import (
	"math"
	"time"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// order of an event and another one.
type order int

const (
	unknownOrder order = iota
	Earlier
	later
)

func OrderOf(a, b event.Event) order {
	isBefore := a.Seq < b.Seq
	if d, ok := apart(a, b); ok && d.Abs() > skew {
		isBefore = d > 0
	} else if a.At.File != b.At.File {
		return unknownOrder
	}
	if isBefore {
		return Earlier
	}
	return later
}

// skew is the clock difference between two hosts up to which their times are compared.
const skew = 2 * time.Second

// before reports that one failure came before another, or is more likely the cause of it. Inside a rank the order of
// the lines is certain. Across ranks it is the causality that counts, then the times where clocks allow, then the
// order of the lines of one file.
func before(s *Sequence, a, b event.Event) bool {
	switch {
	case superseded(s.Run, b, a):
		return true
	case superseded(s.Run, a, b):
		return false
	case explains(s, a, b):
		return true
	case explains(s, b, a):
		return false
	}
	sameRank := a.Rank >= 0 && a.Rank == b.Rank
	if !sameRank {
		if d, ok := apart(a, b); ok && math.Abs(d.Seconds()) > skew.Seconds() {
			return d > 0
		}
		if a.At.File != b.At.File && a.IsEnd() != b.IsEnd() {
			return b.IsEnd() // it explains another failure
		}
		if a.Class() != b.Class() && a.At.File != b.At.File {
			return a.Class() < b.Class()
		}
		if a.At.File != b.At.File {
			return false // nothing tells: what was read first stays
		}
	}
	return a.Seq < b.Seq
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

// superseded reports that a failure to find an interface was of an attempt before the one that got further.
func superseded(run *facts.Run, a, b event.Event) bool {
	return a.Kind == event.NoInterface && (b.Kind == event.ConnectFailed || b.Kind == event.SocketClosed) &&
		a.Rank == b.Rank && a.Seq < b.Seq
}
