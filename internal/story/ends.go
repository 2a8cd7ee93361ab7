package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// These find the process whose own end the others report: an exception of its program, an exit that its launcher
// reports, or a job that its scheduler ended.

func isEnd(e event.Event) bool {
	return e.Kind == event.Exception || e.Kind == event.Exit || e.Signature == "mpi-abort" || isAnnounced(e)
}

// isAnnounced reports that the scheduler says that it ends a job, or that a node failed. Slurm names one node of the
// job, whichever it ended.
func isAnnounced(e event.Event) bool {
	switch e.Signature {
	case "cancelled", "requeued", "evicted", "node-failure":
		return true
	}
	return e.Kind == event.TimeLimit
}

// reaction tells how likely a process ends in this way because it lost its peers.
type reaction int

const (
	noReaction  reaction = iota // a mistake of the program, a crash
	mayReact                    // it does not say
	oftenReacts                 // also its launcher ends processes so
	reacts                      // it says that it lost a connection
)

func reactionOf(end event.Event) reaction {
	switch end.Kind {
	case event.Exception:
		return reactionOfException(end)
	case event.Exit:
	default:
		return oftenReacts
	}
	switch end.Code {
	case -11, -8, -7, -4:
		return noReaction
	case -9: // the kernel, a user, or a launcher whose other processes failed
		return mayReact
	}
	return oftenReacts
}

// isOwnException reports a mistake of the program, which follows from no failure of another process.
func isOwnException(e event.Event) bool {
	return e.Kind == event.Exception && reactionOf(e) == noReaction
}

// generalExceptions are raised for any reason. Those of packages, with a dot in the name, are as well.
var generalExceptions = []string{"RuntimeError", "OSError", "IOError", "Exception", "BaseException", "SystemError"}

func reactionOfException(end event.Event) reaction {
	_, text, _ := strings.Cut(end.Text, end.Name)
	text = strings.ToLower(text)
	general := slices.Contains(generalExceptions, end.Name) || strings.Contains(end.Name, ".")
	switch {
	case hasWord(end.Name, "Connection", "BrokenPipe", "EOFError"),
		general && hasWord(text, "connection", "broken pipe", "lost contact"):
		return reacts
	case hasWord(end.Name, "Interrupt", "Exit", "Timeout", "Cancel", "Process", "Signal", "Actor", "Worker", "Child"),
		general && hasWord(text, "nccl", "timeout", "timed out", "peer", "socket", "store", "rendezvous", "abort",
			"cancel", "signal", "killed", "died", "worker", "other rank", "shut down"):
		return oftenReacts
	case general:
		return mayReact
	}
	return noReaction
}

func hasWord(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// reportsLoss reports whether a process may log an event because another process has ended.
func reportsLoss(e event.Event) bool {
	switch e.Kind {
	case event.BadCompletion:
		switch e.Completion.Status {
		case statusFlushed, statusRemInv, statusRemAcc, statusRemOp, statusRetry, statusRNR, 20: // 20: no response
			return true
		}
		return false
	case event.ConnectFailed:
		return e.Socket == nil || localAddress(e.Socket.Peer) == "" && !noWay(e.Socket.Error)
	case event.SocketFailed:
		return e.Socket != nil && !noWay(e.Socket.Error)
	case event.Result:
		return e.Code == remoteError
	case event.SocketClosed, event.Rendezvous, event.OFICompletion, event.Watchdog, event.TimeLimit:
		return true
	case event.Listed:
		return classOf(e) == event.Remote
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

// closedByPeer reports that the peer's end closed or refused a connection: its process had ended, or had closed it.
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
func (run *sequence) findOrigins() {
	const most = 256
	run.origins, run.waiting = map[int]bool{}, run.waitingRanks()
	ends := slices.DeleteFunc(slices.Clone(run.failures), func(e event.Event) bool { return !isEnd(e) })
	losses := slices.DeleteFunc(slices.Clone(run.failures), func(e event.Event) bool { return !reportsLoss(e) })
	for _, end := range ends[:min(len(ends), most)] {
		if run.isUncaught(end, losses) && !run.wentOn(end) && !run.isEcho(end) {
			run.origins[end.Seq] = slices.ContainsFunc(losses, func(loss event.Event) bool {
				return run.endExplains(end, loss)
			})
		}
	}
}

// addUncaught adds to the failures of a run that failed the exceptions that ended a program, however much other
// processes logged after them.
func (run *sequence) addUncaught() {
	if len(run.failures) == 0 {
		return
	}
	for _, e := range run.log.Events {
		if !hasHookPrefix(e) || !run.overcome(e) || run.finishedAfter(e) || run.wentOn(e) {
			continue
		}
		i, _ := slices.BinarySearchFunc(run.failures, e, func(o, e event.Event) int { return o.Seq - e.Seq })
		run.failures = slices.Insert(run.failures, i, e)
	}
}

// hasHookPrefix reports that PyTorch printed an exception when it ended the program: it puts the rank in front.
func hasHookPrefix(e event.Event) bool {
	if e.Kind != event.Exception || e.Number < 0 {
		return false
	}
	return strings.Contains(e.Text, fmt.Sprintf("[rank%d]: %s", e.Number, e.Name))
}

// isUncaught reports that an exception ended its program, which others log and go on: little follows it.
func (run *sequence) isUncaught(end event.Event, losses []event.Event) bool {
	const near = 60
	return end.Kind != event.Exception || hasHookPrefix(end) || run.nearEnd(end) ||
		slices.ContainsFunc(losses, func(loss event.Event) bool {
			return loss.At.File == end.At.File && loss.Seq > end.Seq && loss.At.Line-end.At.Line <= near
		})
}

// isEcho reports that the process, or another one of its host, had failed or had lost a peer elsewhere before.
func (run *sequence) isEcho(end event.Event) bool {
	host := run.hostOf(end)
	unknown := end.Rank < 0 && end.Number < 0 && host == "" && labelOf(end) == ""
	return slices.ContainsFunc(run.failures, func(e event.Event) bool {
		switch {
		case isEnd(e) || orderOf(e, end) != earlier:
			return false
		case sameProcess(e, end):
			return true
		case unknown:
			return reportsLoss(e)
		case host == "" || run.hostOf(e) != host || classOf(e) != event.Remote && e.Kind != event.SocketClosed:
			return false
		}
		return run.peerHost(peerOf(e)) != host
	})
}

// sameProcess compares ranks; of lines without a rank the prefix of the launcher.
func sameProcess(a, b event.Event) bool {
	if a.Rank >= 0 && a.Rank == b.Rank || a.Number >= 0 && a.Number == b.Number {
		return true
	}
	return a.Rank < 0 && a.Number < 0 && labelOf(a) != "" && labelOf(a) == labelOf(b)
}

func labelOf(e event.Event) string {
	label, _ := prefix.LabelOf([]byte(e.Text))
	return string(label)
}

// order of an event and another one.
type order int

const (
	unknownOrder order = iota
	earlier
	later
)

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

// endExplains reports whether a loss follows from the end of a process.
func (run *sequence) endExplains(end, loss event.Event) bool {
	tie, reaction := run.tieOf(end, loss), reactionOf(end)
	if !run.mayExplain(end, loss) || tie == otherProcess || reaction == reacts {
		return false
	}
	switch orderOf(end, loss) {
	case earlier:
		isKnown := tie == namedProcess || end.Rank >= 0 || end.Number >= 0
		return isKnown || reaction == noReaction || isAnnounced(end)
	case later:
		return run.explainsBefore(end, loss, tie)
	case unknownOrder:
	}
	return reaction < oftenReacts || tie == namedProcess && closedByPeer(loss)
}

// mayExplain leaves out what the process itself reports, the end of one that waits for others, too, and a loss of which
// the device says why.
func (run *sequence) mayExplain(end, loss event.Event) bool {
	switch {
	case !reportsLoss(loss), sameProcess(end, loss), isWait(loss) && run.waitsToo(end):
		return false
	case loss.Kind == event.BadCompletion:
		return len(run.deviceEvents(loss, codes.PortError)) == 0
	}
	return true
}

// explainsBefore reports whether a loss follows from an end that was logged after it.
func (run *sequence) explainsBefore(end, loss event.Event, tie tie) bool {
	switch {
	case isWait(loss):
		return false
	case tie == namedProcess:
		return reactionOf(end) == noReaction || closedByPeer(loss) || end.Code == -9 && run.endedFirst(end)
	}
	return closedByPeer(loss) && end.Number >= 0 && (isOwnException(end) || end.Code == -9 && run.endedFirst(end))
}

// isWait reports a loss that names no peer, but the ranks that wait.
func isWait(loss event.Event) bool {
	return loss.Kind == event.Watchdog || loss.Kind == event.TimeLimit
}

// waitsToo reports that a process waits for others, or that all do.
func (run *sequence) waitsToo(end event.Event) bool {
	return run.waiting[end.Number] || run.size > 0 && len(run.waiting) >= run.size
}

// waitingRanks returns the numbers of the ranks that wait for others.
func (run *sequence) waitingRanks() map[int]bool {
	waiting := map[int]bool{}
	for _, e := range run.failures {
		if e.Kind == event.Watchdog && e.Number >= 0 {
			waiting[e.Number] = true
		}
	}
	return waiting
}

// endedFirst reports that a launcher reports no other process before: one whose processes failed ends the others.
func (run *sequence) endedFirst(end event.Event) bool {
	return !slices.ContainsFunc(run.failures, func(e event.Event) bool {
		return e.Kind == event.Exit && e.Seq < end.Seq && !sameProcess(e, end)
	})
}

// tie tells whether a loss names the process that ended as its peer.
type tie int

const (
	unknownProcess tie = iota // it names none, or the log does not tell whose address that is
	namedProcess
	otherProcess
)

func (run *sequence) tieOf(end, loss event.Event) tie {
	peer := peerOf(loss)
	if peer == "" {
		return unknownProcess
	}
	host, own := run.peerHost(peer), run.hostOf(end)
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

// isOf reports that the file of an event, or the prefix of a launcher, names a pod or host.
func isOf(e event.Event, name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(e.At.File+"/"+labelOf(e), func(r rune) bool {
		return strings.ContainsRune("/[]():", r)
	}), func(part string) bool { return part == name || strings.HasPrefix(part, name+".") })
}

// peerOf returns the address or the name of the peer that an event names, or "".
func peerOf(e event.Event) string {
	switch {
	case e.Completion != nil:
		return e.Completion.Peer
	case e.Socket != nil:
		return e.Socket.Peer
	}
	return ""
}

// endCauses judges a process that ended by itself.
func (run *explainer) endCauses(end event.Event) []candidate {
	lost, events := "the others lost their connection to it", []event.Event{end}
	for _, e := range run.failures {
		if run.origins[end.Seq] && run.endExplains(end, e) && len(events) < mostEvidence {
			events = append(events, e)
		}
	}
	if len(events) > 1 && !slices.ContainsFunc(events[1:], func(e event.Event) bool { return !isWait(e) }) {
		lost = "the others waited for it"
	}
	switch {
	case end.Kind == event.TimeLimit:
		return run.outOfTime(events)
	case isAnnounced(end):
		return one(PeerDied, Likely, run.ended(end)+", before any process reported a failure", events...)
	case end.Kind == event.Exit && end.Code == -7:
		return slices.Concat(
			one(ShmTooSmall, Likely, run.who(end)+" ended by SIGBUS: shared memory was full", events...),
			one(PeerDied, Possible, lost, end),
		)
	}
	return one(PeerDied, Likely, run.ended(end)+"; "+lost, events...)
}

// ended says how a process ended.
func (run *facts) ended(end event.Event) string {
	who := run.who(end)
	switch {
	case end.Name == "node failure":
		return "a node failed"
	case isAnnounced(end):
		return event.SignatureOf(end).What
	case end.Kind == event.Aborted:
		return who + " called MPI_Abort, or MPI did for it"
	case end.Kind == event.Exception:
		return fmt.Sprintf("%s ended with %s, an exception of the program", who, end.Name)
	case end.Code == -9:
		return who + " was killed (SIGKILL), usually by the kernel because the host ran out of memory"
	case end.Code == -11:
		return who + " crashed (SIGSEGV)"
	case end.Code == -8, end.Code == -4:
		return who + " crashed"
	case end.Code < 0:
		return fmt.Sprintf("%s ended by signal %d", who, -end.Code)
	}
	return fmt.Sprintf("%s ended with exit code %d", who, end.Code)
}

// otherEnds are mistakes and crashes of programs in a run whose first failure does not follow from them, as far as the
// log tells.
func (run *explainer) otherEnds() []candidate {
	for _, e := range run.failures {
		isFirst := run.first != nil && e.Seq == run.first.Seq
		if isEnd(e) && reactionOf(e) == noReaction && !isFirst && !run.waiting[e.Number] && !run.isEcho(e) {
			return one(PeerDied, Possible, run.ended(e)+", which may have come first", e)
		}
	}
	return nil
}
