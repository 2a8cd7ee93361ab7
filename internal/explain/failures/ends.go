package failures

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// DeviceEvents returns the device events of some types on the two hosts of a failed connection.
func DeviceEvents(run *facts.Run, e event.Event, types ...codes.Event) []event.Event {
	ends := []string{"", run.HostOf(e), run.PeerHost(e.Completion.Peer)}
	return slices.DeleteFunc(run.Events(event.AsyncEvent), func(o event.Event) bool {
		elsewhere := ends[1] != "" && ends[2] != "" && !slices.Contains(ends, run.HostOf(o))
		return elsewhere || !slices.Contains(types, o.Async.Type)
	})
}

// reportsLoss reports whether a process may log an event because another process has ended.
func reportsLoss(e event.Event) bool {
	switch e.Kind {
	case event.BadCompletion:
		switch e.Completion.Status {
		case codes.StatusFlushed, codes.StatusRemInv, codes.StatusRemAcc, codes.StatusRemOp, codes.StatusRetry,
			codes.StatusRNR, codes.StatusTimeout:
			return true
		}
		return false
	case event.ConnectFailed:
		return e.Socket == nil || facts.LocalAddress(e.Socket.Peer) == "" && !noWay(e.Socket.Error)
	case event.SocketFailed:
		return e.Socket != nil && !noWay(e.Socket.Error)
	case event.Result:
		return e.Code == remoteError
	case event.SocketClosed, event.Rendezvous, event.OFICompletion, event.Watchdog, event.TimeLimit:
		return true
	case event.Listed:
		return e.Class() == event.Remote
	default:
	}
	return false
}

// remoteError is ncclRemoteError of ncclResult_t.
const remoteError = 6

// noWay reports an error of the host's own or of the way to the peer, whatever the peer does.
func noWay(problem string) bool {
	switch codes.Errno(problem) {
	case 24, 98, 99, 100, 101, 103, 113:
		return true
	}
	return false
}

// closedByPeer reports whether the peer's end closed or refused a connection: its process had ended, or had closed it.
func closedByPeer(loss event.Event) bool {
	switch loss.Kind {
	case event.SocketClosed:
		return true
	case event.ConnectFailed, event.SocketFailed:
		return loss.Socket != nil && slices.Contains([]int{32, 104, 111}, codes.Errno(loss.Socket.Error))
	default:
	}
	return false
}

// findOrigins finds the ends that a loss follows from.
func findOrigins(s *Sequence) {
	const most = 256
	s.Origins, s.Waiting = map[int]bool{}, waitingRanks(s)
	ends := slices.DeleteFunc(slices.Clone(s.Failures), func(e event.Event) bool { return !e.IsEnd() })
	losses := slices.DeleteFunc(slices.Clone(s.Failures), func(e event.Event) bool { return !reportsLoss(e) })
	for _, end := range ends[:min(len(ends), most)] {
		if isUncaught(s.Run, end, losses) && !s.Run.WentOn(end) && !IsEcho(s, end) && !stoppedBefore(s, end) {
			s.Origins[end.Seq] = slices.ContainsFunc(losses, func(loss event.Event) bool {
				return EndExplains(s, end, loss)
			})
		}
	}
}

// isUncaught reports whether an exception ended its program, so that little follows it. Other programs log an exception
// and go on.
func isUncaught(run *facts.Run, end event.Event, losses []event.Event) bool {
	const near = 60
	return end.Kind != event.Exception || end.Detail == event.Uncaught || run.NearEnd(end) ||
		slices.ContainsFunc(losses, func(loss event.Event) bool {
			return loss.At.File == end.At.File && loss.Seq > end.Seq && loss.At.Line-end.At.Line <= near
		})
}

// IsEcho reports whether the process, or another one of its host, had failed or had lost a peer elsewhere before.
func IsEcho(s *Sequence, end event.Event) bool {
	host := s.Run.HostOf(end)
	unknown := end.Rank < 0 && end.Number < 0 && host == "" && end.Label == ""
	return slices.ContainsFunc(s.Failures, func(e event.Event) bool {
		switch {
		case e.IsEnd() || !Earlier(e, end):
			return false
		case sameProcess(e, end):
			return true
		case unknown:
			return reportsLoss(e)
		case host == "" || s.Run.HostOf(e) != host || e.Class() != event.Remote && e.Kind != event.SocketClosed:
			return false
		}
		return s.Run.PeerHost(e.Peer()) != host
	})
}

// sameProcess compares ranks; of lines without a rank the prefix of the launcher.
func sameProcess(a, b event.Event) bool {
	if a.Rank >= 0 && a.Rank == b.Rank || a.Number >= 0 && a.Number == b.Number {
		return true
	}
	return a.Rank < 0 && a.Number < 0 && a.Label != "" && a.Label == b.Label
}

// EndExplains reports whether a loss follows from the end of a process.
func EndExplains(s *Sequence, end, loss event.Event) bool {
	match, reaction := matchPeer(s.Run, end, loss), end.Reaction()
	if !mayExplain(s, end, loss) || match == otherProcess || reaction == event.Reacts {
		return false
	}
	switch orderOf(end, loss) {
	case earlier:
		isKnown := match == namedProcess || end.Rank >= 0 || end.Number >= 0
		return isKnown || reaction == event.NoReaction || end.IsAnnounced()
	case later:
		return explainsBefore(s, end, loss, match)
	case unknownOrder:
	}
	return reaction < event.OftenReacts || match == namedProcess && closedByPeer(loss)
}

// mayExplain reports whether the end of a process can explain a loss at all. It cannot if the process itself reports
// the loss, if the loss is a wait and the process waits for others, too, or if the device says why the connection was
// lost.
func mayExplain(s *Sequence, end, loss event.Event) bool {
	switch {
	case !reportsLoss(loss), sameProcess(end, loss), loss.IsWait() && waitsToo(s, end):
		return false
	case loss.Kind == event.BadCompletion:
		return len(DeviceEvents(s.Run, loss, codes.PortError)) == 0
	}
	return true
}

// explainsBefore reports whether a loss follows from an end that was logged after it.
func explainsBefore(s *Sequence, end, loss event.Event, match peerMatch) bool {
	switch {
	case loss.IsWait():
		return false
	case match == namedProcess:
		return end.Reaction() == event.NoReaction || closedByPeer(loss) || end.Code == -9 && endedFirst(s, end)
	}
	return closedByPeer(loss) && end.Number >= 0 && (end.IsOwnException() || end.Code == -9 && endedFirst(s, end))
}

// waitsToo reports whether a process waits for others, or all processes do.
func waitsToo(s *Sequence, end event.Event) bool {
	return s.Waiting[end.Number] || s.Run.Size > 0 && len(s.Waiting) >= s.Run.Size
}

// waitingRanks returns the numbers of the ranks that wait for others.
func waitingRanks(s *Sequence) map[int]bool {
	waiting := map[int]bool{}
	for _, e := range s.Failures {
		if e.Kind == event.Watchdog && e.Number >= 0 {
			waiting[e.Number] = true
		}
	}
	return waiting
}

// endedFirst reports whether a launcher reports no other process before. If one process fails, its launcher ends the
// others.
func endedFirst(s *Sequence, end event.Event) bool {
	return !slices.ContainsFunc(s.Failures, func(e event.Event) bool {
		return e.Kind == event.Exit && e.Seq < end.Seq && !sameProcess(e, end)
	})
}

// peerMatch tells whether a loss names the process that ended as its peer.
type peerMatch int

const (
	unknownProcess peerMatch = iota // it names none, or the log does not tell whose address that is
	namedProcess
	otherProcess
)

func matchPeer(run *facts.Run, end, loss event.Event) peerMatch {
	peer := loss.Peer()
	if peer == "" {
		return unknownProcess
	}
	host, own := run.PeerHost(peer), run.HostOf(end)
	switch {
	case loss.Kind == event.Rendezvous && (end.Number == 0 || isOf(end, peer)): // rank 0 serves PyTorch's store
		return namedProcess
	case host == "" || own == "":
		return unknownProcess
	case host == own:
		return namedProcess
	}
	return otherProcess
}

// isOf reports whether the file of an event, or the prefix of a launcher, names a pod or host.
func isOf(e event.Event, name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(e.At.File+"/"+e.Label, func(r rune) bool {
		return strings.ContainsRune("/[]():", r)
	}), func(part string) bool { return part == name || strings.HasPrefix(part, name+".") })
}

// IsStop reports whether a user or the scheduler ended the run: a process that crashes then is nobody's fault.
func IsStop(e event.Event) bool {
	switch e.Signature {
	case "cancelled", "requeued", "signalled":
		return true
	}
	return e.Kind == event.Exception && strings.HasSuffix(e.Name, "KeyboardInterrupt")
}

// stoppedBefore reports whether the run was stopped before a process ended.
func stoppedBefore(s *Sequence, end event.Event) bool {
	return end.Kind == event.Exit && slices.ContainsFunc(s.Failures, func(e event.Event) bool {
		return IsStop(e) && Earlier(e, end)
	})
}
