package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// These judge runs of which only consequences were seen.

func (run *sequence) seen(kinds ...event.Kind) []event.Event {
	var found []event.Event
	for _, e := range run.failures {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// killed: a process that ended by a signal that no part of the job sent.
func (run *teller) killed() []candidate {
	for _, e := range run.seen(event.Exit) {
		switch e.Code {
		case -9:
			if slices.ContainsFunc(run.failures, func(o event.Event) bool {
				return (isWait(o) || isAnnounced(o) || o.Signature == "signalled") && orderOf(o, e) == earlier
			}) {
				continue
			}
			return run.endCauses(e)
		case -11, -8, -7, -4:
			return run.endCauses(e)
		}
	}
	for _, e := range run.seen(event.Aborted) {
		if e.Name == "node failure" {
			return one(PeerDied, Likely, "a node failed; the others lost their connection to it", e)
		}
	}
	return nil
}

// closed: peers that closed, of which the log does not show why.
func (run *teller) closed() []candidate {
	events := run.seen(event.SocketClosed)
	if len(events) == 0 {
		return nil
	}
	who := "a peer"
	if peer := peerOf(events[0]); peer != "" {
		who = cmp.Or(run.peerHost(peer), peer)
	}
	return one(PeerDied, Likely, fmt.Sprintf("%s ended first, and its reason is not in this log", who), events...)
}

// retrying are connections that were tried again and again before.
func (run *teller) retrying() []candidate {
	for _, e := range run.log.Events {
		if e.Info && (e.Kind == event.ConnectFailed || e.Kind == event.VerbsFailed) {
			e.Info = false
			return lessSure(run.causesOf(e))
		}
	}
	return nil
}

// flushed: work requests that were flushed, without the error that flushed them.
func (run *teller) flushed() []candidate {
	if events := run.seen(event.BadCompletion); len(events) > 0 {
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
	if len(run.log.Ranks) == 0 && len(run.seen(event.Result)) == 0 {
		return nil
	}
	for _, e := range run.seen(event.Result, event.Consequence) {
		switch e.Code {
		case 1:
			return one(CUDAError, Likely, "NCCL returned ncclUnhandledCudaError; the log "+
				"does not say which call failed", e)
		case 5:
			return slices.Concat(
				one(UnknownCause, Possible,
					"NCCL returned ncclInvalidUsage and no warning gives the reason"+run.moreWords(), e),
				one(DuplicateGPU, Possible, "two ranks on one GPU are the most common reason", e),
			)
		case 6:
			return one(PeerDied, Likely, "NCCL returned ncclRemoteError: another rank failed first, and this log "+
				"does not show it", e)
		}
	}
	for _, e := range run.seen(event.Warning) {
		return []candidate{{UnknownCause, Possible, "NCCL returned an error after a " +
			"warning that railhead does not know",
			quotes(e.Quote)}}
	}
	for _, e := range run.seen(event.Result, event.Trail, event.Consequence) {
		return []candidate{{UnknownCause, Possible,
			"NCCL returned an error and no warning gives the reason" + run.moreWords(), quotes(e.Quote)}}
	}
	return nil
}

// moreWords says where an error without a warning arose, if the steps of its return show it, or how to get warnings.
func (run *teller) moreWords() string {
	trail := run.events(event.Trail)
	switch {
	case slices.ContainsFunc(trail, func(e event.Event) bool { return strings.Contains(e.Text, "misc/socket.cc:") }):
		return "; the steps lead through misc/socket.cc, which is TCP between the ranks, not RDMA"
	case len(trail) > 0: // its level is INFO, which includes WARN
		return ""
	}
	return "; set NCCL_DEBUG=WARN"
}

// raised: an exception of the program.
func (run *teller) raised() []candidate {
	for _, e := range run.seen(event.Exception) {
		return []candidate{{UnknownCause, Possible,
			fmt.Sprintf("%s ended with %s, an exception of the program, not of NCCL", run.who(e), e.Name),
			quotes(e.Quote)}}
	}
	return nil
}
