package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// These functions judge runs if the log shows only consequences.

// killed: a process that ended by a signal that no part of the job sent.
func killed(in *input) []candidate {
	for _, e := range failures.Seen(in.seq, event.Exit) {
		switch e.Code {
		case -9:
			if slices.ContainsFunc(in.seq.Failures, func(o event.Event) bool {
				ends := o.IsWait() || o.IsAnnounced() || o.Signature == "signalled"
				return ends && failures.Earlier(o, e)
			}) {
				continue
			}
			return endCauses(in, e)
		case -11, -8, -7, -4:
			return endCauses(in, e)
		}
	}
	for _, e := range failures.Seen(in.seq, event.Aborted) {
		if e.Name == "node failure" {
			return likely(story.PeerDied, "a node failed; the others lost their connection to it", e)
		}
	}
	return nil
}

// closed: peers that closed connections, if the log does not show why.
func closed(in *input) []candidate {
	events := failures.Seen(in.seq, event.SocketClosed)
	if len(events) == 0 {
		return nil
	}
	who := "a peer"
	if peer := events[0].Peer(); peer != "" {
		who = cmp.Or(in.run.PeerHost(peer), peer)
	}
	return likely(story.PeerDied, fmt.Sprintf("%s ended first, and its reason is not in this log", who), events...)
}

// retrying explains a failure by connections that NCCL had retried before.
func retrying(in *input) []candidate {
	for _, e := range in.run.Log.Events {
		if e.Info && (e.Kind == event.ConnectFailed || e.Kind == event.VerbsFailed) {
			e.Info = false
			return lessSure(causesOf(in, e))
		}
	}
	return nil
}

// flushed: work requests that were flushed, without the error that flushed them.
func flushed(in *input) []candidate {
	if events := failures.Seen(in.seq, event.BadCompletion); len(events) > 0 {
		return slices.Concat(
			possible(story.UnknownCause, "work requests were flushed, which follows from an earlier "+
				"failure that this log does not show: look at the other ranks", events...),
			possible(story.PeerDied, "a peer may have ended", events[0]),
		)
	}
	return nil
}

// returned: the result of NCCL alone, as a program prints it.
func returned(in *input) []candidate {
	if len(in.run.Log.Ranks) == 0 && len(failures.Seen(in.seq, event.Result)) == 0 {
		return nil
	}
	if found := lastWarning(in); len(found) > 0 {
		return found
	}
	for _, e := range failures.Seen(in.seq, event.Result, event.Consequence) {
		switch e.Code {
		case 1:
			return likely(story.CUDAError, "NCCL returned ncclUnhandledCudaError; the log "+
				"does not say which call failed", e)
		case 5:
			return slices.Concat(
				possible(story.UnknownCause,
					"NCCL returned ncclInvalidUsage and no warning gives the reason"+moreWords(in), e),
				possible(story.DuplicateGPU, "two ranks on one GPU are the most common reason", e),
			)
		case 6:
			return likely(story.PeerDied, "NCCL returned ncclRemoteError: another rank failed first, and this log "+
				"does not show it", e)
		}
	}
	for _, e := range failures.Seen(in.seq, event.Warning) {
		return []candidate{{id: story.UnknownCause, confidence: story.Possible,
			summary: "NCCL returned an error after a " +
				"warning that railhead does not know",
			evidence: facts.Quotes(e.Quote)}}
	}
	for _, e := range failures.Seen(in.seq, event.Result, event.Trail, event.Consequence) {
		return []candidate{{id: story.UnknownCause, confidence: story.Possible,
			summary:  "NCCL returned an error and no warning gives the reason" + moreWords(in),
			evidence: facts.Quotes(e.Quote)}}
	}
	return nil
}

// quotesBefore reports whether a program repeated NCCL's last warning before it ended.
func quotesBefore(in *input, end event.Event) bool {
	return slices.ContainsFunc(failures.Seen(in.seq, event.Warning), func(e event.Event) bool {
		return e.Signature == "last-error" && failures.Earlier(e, end)
	})
}

// lastWarning quotes the warning that a program repeats with NCCL's result, as ncclGetLastError returns it.
func lastWarning(in *input) []candidate {
	results := failures.Seen(in.seq, event.Result)
	for _, e := range failures.Seen(in.seq, event.Warning) {
		if e.Signature == "last-error" && e.Name != "" {
			said := "NCCL gave up after " + strconv.Quote(e.Name)
			return advised(quotedAdvice, possible(story.UnknownCause, said, append(results[:min(len(results), 1)],
				e)...))
		}
	}
	return nil
}

// moreWords says where an error without a warning arose, if the steps of its return show it, or how to get warnings.
func moreWords(in *input) string {
	trail := in.run.Events(event.Trail)
	switch {
	case slices.ContainsFunc(trail, func(e event.Event) bool { return e.Detail == event.AtSocket }):
		return "; the steps lead through misc/socket.cc, which is TCP between the ranks, not RDMA"
	case len(trail) > 0: // its level is INFO, which includes WARN
		return ""
	}
	return "; set NCCL_DEBUG=WARN"
}

// raised: an exception of the program.
func raised(in *input) []candidate {
	for _, e := range failures.Seen(in.seq, event.Exception) {
		return advised(programAdvice, possible(story.UnknownCause,
			fmt.Sprintf("%s ended with %s, an exception of the program, not of NCCL", in.run.Who(e), e.Name), e))
	}
	return nil
}

// stopped: somebody ended the run, and what its processes said then follows from that.
func stopped(in *input) []candidate {
	stop := slices.IndexFunc(in.seq.Failures, failures.IsStop)
	if stop < 0 {
		return nil
	}
	e := in.seq.Failures[stop]
	if slices.ContainsFunc(in.seq.Failures, func(o event.Event) bool {
		return !failures.IsStop(o) && o.Detail != event.Told && !failures.Earlier(e, o)
	}) {
		return nil
	}
	how := event.SignatureOf(e).What
	if e.Kind == event.Exception {
		how = "by Ctrl-C (" + e.Name + ")"
	}
	return advised(stoppedAdvice, possible(story.UnknownCause, how+", before any process reported a failure", e))
}

// endCauses judges a process that ended by itself.
func endCauses(in *input, end event.Event) []candidate {
	lost, events := "the others lost their connection to it", []event.Event{end}
	for _, e := range in.seq.Failures {
		if in.seq.Origins[end.Seq] && failures.EndExplains(in.seq, end, e) && len(events) < facts.MostEvidence {
			events = append(events, e)
		}
	}
	if len(events) > 1 && !slices.ContainsFunc(events[1:], func(e event.Event) bool { return !e.IsWait() }) {
		lost = "the others waited for it"
	}
	switch {
	case end.Kind == event.TimeLimit:
		return outOfTime(in.run, events)
	case end.IsAnnounced():
		return likely(story.PeerDied, ended(in.run, end)+", before any process reported a failure", events...)
	case end.Kind == event.Exit:
		if found := exitCauses(in, end, events, lost); len(found) > 0 {
			return found
		}
	}
	return likely(story.PeerDied, ended(in.run, end)+"; "+lost, events...)
}

// exitCauses returns what the exit code of a process tells by itself, nil if nothing.
func exitCauses(in *input, end event.Event, events []event.Event, lost string) []candidate {
	const aborted, bus, usage = -6, -7, 2
	switch {
	case end.Code == usage:
		if refused := refusals(in); len(refused) > 0 {
			return advised(programAdvice, possible(story.UnknownCause, "the program did not take its arguments",
				refused...))
		}
	case end.Code == aborted && quotesBefore(in, end):
		return lastWarning(in)
	case end.Code == bus:
		return slices.Concat(
			likely(story.ShmTooSmall, in.run.Who(end)+" ended by SIGBUS: shared memory was full", events...),
			possible(story.PeerDied, lost, end),
		)
	}
	return nil
}

// refusals returns the first lines with which Python's argparse refused the arguments of the program, which then exits
// with 2.
func refusals(in *input) []event.Event {
	var all []event.Event
	for _, e := range failures.Seen(in.seq, event.Recoverable) {
		if e.Signature == "arguments" && len(all) < facts.MostEvidence {
			all = append(all, e)
		}
	}
	return all
}

// ended says how a process ended.
func ended(run *facts.Run, end event.Event) string {
	who := run.Who(end)
	switch {
	case end.Name == "node failure":
		return "a node failed"
	case end.IsAnnounced():
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
func otherEnds(in *input) []candidate {
	for _, e := range in.seq.Failures {
		isFirst := in.seq.First != nil && e.Seq == in.seq.First.Seq
		isOwn := e.IsEnd() && e.Reaction() == event.NoReaction && !isFirst
		if isOwn && !in.seq.Waiting[e.Number] && !failures.IsEcho(in.seq, e) {
			return possible(story.PeerDied, ended(in.run, e)+", which may have come first", e)
		}
	}
	return nil
}
