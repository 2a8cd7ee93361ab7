package story

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// candidate is a cause as one event, or the run as a whole, suggests it.
type candidate struct {
	id         CauseID
	confidence Confidence
	summary    string
	evidence   []Evidence
}

// mostCauses bounds the list: later ones help little.
const mostCauses = 6

// causes returns the causes of the outcome, the most probable first.
func (run *teller) causes() []Cause {
	var found []candidate
	switch run.result {
	case OutcomeFail:
		found = run.failureCauses()
	case OutcomeFallback:
		found = run.fallbackCauses()
	case OutcomeDegraded:
		found = run.degradations()
	case OutcomeUnknown:
		found = run.unknownCauses()
	case OutcomeOK:
	}
	return run.asCauses(run.machines.decide(found))
}

// unknownCauses says what a log shows of a run whose outcome it does not show.
func (run *teller) unknownCauses() []candidate {
	if failed := run.events(event.ProviderFailed); len(failed) > 0 {
		return one(VerbsProviderMismatch, Possible,
			"libibverbs reports it; the log has no NCCL lines that show whether NCCL needed that driver", failed...)
	}
	lines := run.leftOpen()
	retried := run.retrying()
	switch {
	case len(lines) == 0 && len(retried) > 0:
		return retried
	case len(lines) == 0 && run.recognised():
		return []candidate{{UnknownCause, Possible,
			"no line shows that the set-up of NCCL ended, or that the program went on", nil}}
	case len(lines) == 0:
		return []candidate{{UnknownCause, Possible, "no line is of NCCL or of a training program", nil}}
	case lines[0].Kind == event.RanksDiffer, lines[0].Kind == event.Stalled,
		lines[0].Kind == event.OFINoProvider:
		return run.causesOf(lines[0])
	}
	found := one(UnknownCause, Possible,
		run.who(lines[0])+" logged a warning or an error that railhead does not know", lines...)
	return append(found, run.contributing()...)
}

func (run *teller) failureCauses() []candidate {
	var found []candidate
	if run.first != nil {
		found = append(found, run.causesOf(*run.first)...)
		for _, e := range run.failures[1:] {
			if classOf(e) == event.Own && sameFailure(e, *run.first) {
				found = append(found, run.causesOf(e)...)
			}
		}
		for _, e := range run.failures[1:] {
			if classOf(e) == event.Own && !sameFailure(e, *run.first) || classOf(e) == event.Remote &&
				classOf(*run.first) == event.Remote {
				found = append(found, lessSure(run.causesOf(e))...)
			}
		}
		if classOf(*run.first) == event.Remote {
			found = append(found, run.otherEnds()...)
		}
	} else {
		found = run.withoutFirst()
	}
	found = append(found, run.contributing()...)
	if len(found) == 0 {
		found = append(found, run.unknown())
	}
	return found
}

// sameFailure reports that two events are of one kind, so that the second is more evidence of the first.
func sameFailure(a, b event.Event) bool {
	return a.Kind == b.Kind && (a.Verbs == nil || a.Verbs.Call == b.Verbs.Call && a.Verbs.Errno == b.Verbs.Errno)
}

// lessSure returns the first candidate alone, as possible.
func lessSure(found []candidate) []candidate {
	if len(found) == 0 || found[0].id == UnknownCause {
		return nil
	}
	c := found[0]
	c.confidence = Possible
	return []candidate{c}
}

func (run *teller) unknown() candidate {
	c := candidate{UnknownCause, Possible, "the log does not show why the run failed", nil}
	if len(run.failures) == 0 {
		return c
	}
	failed := run.failures[0]
	c.summary = fmt.Sprintf("%s: %s; the log does not show why", run.who(failed), what(failed))
	c.evidence = quotes(failed.Quote)
	for _, e := range run.log.Events {
		if e.Kind == event.Complaint && e.At.File == failed.At.File && e.Seq < failed.Seq && !run.progressed(e) {
			c.summary = fmt.Sprintf("%s: %s, after an error that railhead does not know", run.who(failed), what(failed))
			c.evidence = quotes(e.Quote, failed.Quote)
			break
		}
	}
	return c
}

// asCauses joins candidates of one cause and adds the words of the catalogue. No list in it is nil.
func (run *teller) asCauses(found []candidate) []Cause {
	causes := []Cause{}
	for _, c := range found {
		i := slices.IndexFunc(causes, func(k Cause) bool { return k.ID == c.id })
		if i >= 0 {
			causes[i].Evidence = joined(causes[i].Evidence, c.evidence)
			if surer(c.confidence, causes[i].Confidence) {
				causes[i].Confidence = c.confidence
			}
			continue
		}
		if len(causes) >= mostCauses {
			continue
		}
		e := entryOf(c.id)
		if c.id == PeerUnreachable && run.first != nil && run.first.Kind == event.OFICompletion {
			e.fix, e.experiment = efaFix, efaExperiment
		}
		causes = append(causes, Cause{
			ID: c.id, Confidence: c.confidence, Network: e.network, Summary: e.title + ": " + c.summary,
			Evidence: joined([]Evidence{}, c.evidence),
			Fix:      e.fix, Experiment: e.experiment,
		})
	}
	return causes
}

func surer(a, b Confidence) bool {
	order := []Confidence{Possible, Likely, Certain}
	return slices.Index(order, a) > slices.Index(order, b)
}

func joined(a, b []Evidence) []Evidence {
	for _, e := range b {
		if len(a) < mostEvidence && !slices.Contains(a, e) {
			a = append(a, e)
		}
	}
	return a
}

// contributing returns faults that did not end the run, but that need a fix, too.
func (run *teller) contributing() []candidate {
	var found []candidate
	for _, c := range run.degradations() {
		c.confidence = Possible
		found = append(found, c)
	}
	if said := run.events(event.NoPassthrough); len(said) > 0 {
		found = append(found, one(ACSIOMMU, Possible, "the kernel's command line lacks what RCCL expects", said...)...)
	}
	if run.network.Kind == Socket && run.nodes() != 1 {
		found = append(found, lessSure(run.fallbackCauses())...)
	}
	return found
}

// withoutFirst judges a run in which all that was seen follows from something that was not.
func (run *teller) withoutFirst() []candidate {
	for _, judge := range []func() []candidate{run.killed, run.closed, run.hung, run.flushed, run.returned,
		run.raised} {
		if found := judge(); len(found) > 0 {
			return found
		}
	}
	return nil
}

// one returns a single candidate with the lines of its events.
func one(id CauseID, c Confidence, summary string, events ...event.Event) []candidate {
	var lines []Evidence
	for _, e := range events {
		if e.Text != "" && len(lines) < mostEvidence {
			lines = append(lines, evidenceOf(e.Quote))
		}
	}
	return []candidate{{id, c, summary, lines}}
}
