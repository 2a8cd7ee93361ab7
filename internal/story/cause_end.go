package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/words"
)

// These judge runs of which only consequences were seen.

func (run *sequence) seen(kinds ...nccllog.Kind) []nccllog.Event {
	var found []nccllog.Event
	for _, e := range run.failures {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// killed: a process that ended by a signal that no launcher of the job sent.
func (run *teller) killed() []candidate {
	for _, e := range run.seen(nccllog.Exit) {
		switch e.Code {
		case -9:
			if slices.ContainsFunc(run.failures, func(o nccllog.Event) bool {
				return isWait(o) && orderOf(o, e) == earlier
			}) {
				continue
			}
			return run.endCauses(e)
		case -11, -8, -7, -4:
			return run.endCauses(e)
		}
	}
	for _, e := range run.seen(nccllog.Aborted) {
		if e.Name == "node failure" {
			return one(PeerDied, Likely, "a node failed; the others lost their connection to it", e)
		}
	}
	return nil
}

// closed: peers that closed, and the exception of the one that did, or nothing of it.
func (run *teller) closed() []candidate {
	events := run.seen(nccllog.SocketClosed)
	if len(events) == 0 {
		return nil
	}
	host, who := "", "a peer"
	if s := events[0].Socket; s != nil && s.Peer != "" {
		host = run.peerHost(s.Peer)
		who = cmp.Or(host, s.Peer)
	}
	for _, e := range run.seen(nccllog.Exception) {
		itself := e.Number >= 0 && (host == "" || run.hostOf(e) == host) && !strings.Contains(e.Text, "onnection") &&
			!slices.ContainsFunc(events, func(o nccllog.Event) bool { return run.who(o) == run.who(e) })
		if itself {
			return one(PeerDied, Likely, fmt.Sprintf("%s ended with %s, an exception of the program; the others lost "+
				"their connection to it", run.who(e), e.Name), append([]nccllog.Event{e}, events...)...)
		}
	}
	return one(PeerDied, Likely, fmt.Sprintf("%s ended first, and its reason is not in this log", who), events...)
}

// hung: collectives that did not end, or a job that its scheduler ended.
func (run *teller) hung() []candidate {
	var found []candidate
	if events := run.seen(nccllog.Watchdog); len(events) > 0 {
		if found = run.missing(events); len(found) > 0 {
			return found
		}
		text := words.Count(len(events), "line") + " of the watchdog, with no failure before them"
		if i := slices.IndexFunc(events, isWaiting); i >= 0 {
			text = run.waits(events[i]) + run.elsewhere(events, events[i])
		}
		found = one(HangTimeout, Likely, text, events...)
	} else if events := run.seen(nccllog.TimeLimit); len(events) > 0 {
		found = one(HangTimeout, Likely, "the scheduler ended the job at its time limit; no failure was "+
			"logged before", events...)
	} else {
		return nil
	}
	return append(found, run.retrying()...)
}

// isWaiting reports that a line of the watchdog names a collective that the rank started.
func isWaiting(e nccllog.Event) bool { return e.Name != "" && e.Code > 0 }

func (run *teller) waits(e nccllog.Event) string {
	text := fmt.Sprintf("%s waited for %s number %d", run.who(e), e.Name, e.Code)
	if e.Group != "" {
		text += " of group " + e.Group
	}
	return text
}

// elsewhere says which rank of the same group waits for another collective, or has another one with the same number.
func (run *teller) elsewhere(events []nccllog.Event, e nccllog.Event) string {
	for _, o := range events {
		if isWaiting(o) && o.Group == e.Group && o.Number != e.Number && (o.Code != e.Code || o.Name != e.Name) {
			return fmt.Sprintf(", %s for %s number %d: the ranks are not at the same collective", run.who(o), o.Name,
				o.Code)
		}
	}
	return ""
}

// missing finds the ranks that did not start a collective that others of their group wait for. A rank that waits in
// another group is not at fault, unless all do.
func (run *teller) missing(events []nccllog.Event) []candidate {
	last := map[string]int{} // by group
	for _, e := range events {
		last[e.Group] = max(last[e.Group], e.Enqueued)
	}
	isLate := func(e nccllog.Event) bool {
		return e.Enqueued > 0 && e.Number >= 0 && e.Enqueued < last[e.Group]
	}
	late := slices.DeleteFunc(slices.Clone(events), func(e nccllog.Event) bool { return !isLate(e) })
	atFault := slices.DeleteFunc(slices.Clone(late), func(e nccllog.Event) bool {
		return slices.ContainsFunc(events, func(o nccllog.Event) bool {
			return o.Number == e.Number && o.Group != e.Group && isWaiting(o)
		})
	})
	if len(atFault) > 0 {
		late = atFault
	}
	if len(late) == 0 {
		return nil
	}
	first := late[0]
	late = slices.DeleteFunc(late, func(e nccllog.Event) bool { return e.Group != first.Group })
	var names []string
	for _, e := range late {
		if !slices.Contains(names, run.who(e)) {
			names = append(names, run.who(e))
		}
	}
	of := ""
	if first.Group != "" {
		of = " of group " + first.Group
	}
	return one(HangTimeout, Likely, fmt.Sprintf("%s did not start collective %d%s, which others wait for",
		words.Few(names, mostNames), last[first.Group], of), late...)
}

// retrying are connections that were tried again and again before.
func (run *teller) retrying() []candidate {
	for _, e := range run.log.Events {
		if e.Info && (e.Kind == nccllog.ConnectFailed || e.Kind == nccllog.VerbsFailed) {
			e.Info = false
			return lessSure(run.causesOf(e))
		}
	}
	return nil
}

// flushed: work requests that were flushed, without the error that flushed them.
func (run *teller) flushed() []candidate {
	if events := run.seen(nccllog.BadCompletion); len(events) > 0 {
		return slices.Concat(
			one(UnknownCause, Possible, "work requests were flushed, which follows from an earlier "+
				"failure that this log does not show: look at the other ranks", events...),
			one(PeerDied, Possible, "a peer may have ended", events[0]),
		)
	}
	return nil
}

// returned: the result of NCCL alone, as a program prints it.
func (run *teller) returned() []candidate {
	if len(run.log.Ranks) == 0 && len(run.seen(nccllog.Result)) == 0 {
		return nil
	}
	for _, e := range run.seen(nccllog.Result, nccllog.Consequence) {
		switch e.Code {
		case 1:
			return one(CUDAError, Likely, "NCCL returned ncclUnhandledCudaError; the log "+
				"does not say which call failed", e)
		case 5:
			return slices.Concat(
				one(UnknownCause, Possible,
					"NCCL returned ncclInvalidUsage and no warning gives the reason; set NCCL_DEBUG=WARN", e),
				one(DuplicateGPU, Possible, "two ranks on one GPU are the most common reason", e),
			)
		case 6:
			return one(PeerDied, Likely, "NCCL returned ncclRemoteError: another rank failed first, and this log "+
				"does not show it", e)
		}
	}
	for _, e := range run.seen(nccllog.Warning) {
		return []candidate{{UnknownCause, Possible, "NCCL returned an error after a " +
			"warning that railhead does not know",
			quotes(e.Quote)}}
	}
	for _, e := range run.seen(nccllog.Result, nccllog.Trail, nccllog.Consequence) {
		return []candidate{{UnknownCause, Possible,
			"NCCL returned an error and no warning gives the reason; set NCCL_DEBUG=WARN", quotes(e.Quote)}}
	}
	return nil
}

// raised: an exception of the program.
func (run *teller) raised() []candidate {
	for _, e := range run.seen(nccllog.Exception) {
		return []candidate{{UnknownCause, Possible,
			fmt.Sprintf("%s ended with %s, an exception of the program, not of NCCL", run.who(e), e.Name),
			quotes(e.Quote)}}
	}
	return nil
}
