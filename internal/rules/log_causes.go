package rules

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/nccllog"
)

// candidate is a cause as one event, or the run as a whole, suggests it.
type candidate struct {
	id         CauseID
	confidence Confidence
	summary    string
	evidence   []Evidence
}

// mostCauses bounds the list: what is listed later helps nobody.
const mostCauses = 6

// causes are those of the failure, or of the fallback, or of what is worse than it could be; the most probable first.
func (v *view) causes() []Cause {
	var found []candidate
	switch v.result {
	case OutcomeFail:
		found = v.failureCauses()
	case OutcomeFallback:
		found = v.fallbackCauses()
	case OutcomeDegraded:
		found = v.degradations()
	case OutcomeUnknown:
		if failed := v.events(nccllog.ProviderFailed); len(failed) > 0 {
			found = one(VerbsProviderMismatch, Possible, "libibverbs says so; without lines of NCCL nothing tells whether it needed that driver", failed...)
			break
		}
		found = []candidate{{UnknownCause, Possible, "nothing in the log is known to be of NCCL or of a training", nil}}
	case OutcomeOK:
	}
	return v.asCauses(v.decide(found))
}

// failureCauses are the candidates of the first failure, then what else was seen.
func (v *view) failureCauses() []candidate {
	var found []candidate
	if v.first != nil {
		found = append(found, v.causesOf(*v.first)...)
		for _, e := range v.failures[1:] {
			if classOf(e) == own && sameFailure(e, *v.first) {
				found = append(found, v.causesOf(e)...)
			}
		}
		for _, e := range v.failures[1:] {
			if classOf(e) == own && !sameFailure(e, *v.first) || classOf(e) == remote && classOf(*v.first) == remote {
				found = append(found, lessSure(v.causesOf(e))...)
			}
		}
	} else {
		found = v.withoutFirst()
	}
	found = append(found, v.contributing()...)
	if len(found) == 0 {
		found = append(found, v.unknown())
	}
	return found
}

// sameFailure reports that two events are of one kind, so that the second is more evidence of the first.
func sameFailure(a, b nccllog.Event) bool {
	return a.Kind == b.Kind && (a.Verbs == nil || a.Verbs.Call == b.Verbs.Call && a.Verbs.Errno == b.Verbs.Errno)
}

// lessSure keeps the first candidate of what came later, as possible.
func lessSure(found []candidate) []candidate {
	if len(found) == 0 || found[0].id == UnknownCause {
		return nil
	}
	c := found[0]
	c.confidence = Possible
	return []candidate{c}
}

// unknown says what to collect.
func (v *view) unknown() candidate {
	c := candidate{UnknownCause, Possible, "the log does not tell why the run failed", nil}
	if len(v.failures) > 0 {
		c.summary = fmt.Sprintf("%s: %s; the log does not tell why", v.who(v.failures[0]), what(v.failures[0]))
		c.evidence = quotes(v.failures[0].Quote)
	}
	return c
}

// asCauses joins candidates of one cause, gives them what the catalogue knows, and leaves no list that is nil.
func (v *view) asCauses(found []candidate) []Cause {
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
		causes = append(causes, Cause{
			ID: c.id, Confidence: c.confidence, Network: e.network, Summary: e.title + ": " + c.summary, Evidence: joined([]Evidence{}, c.evidence),
			Fix: e.fix, Experiment: e.experiment,
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

// contributing are faults that did not end the run and that whoever mends it should see.
func (v *view) contributing() []candidate {
	var found []candidate
	for _, c := range v.degradations() {
		c.confidence = Possible
		found = append(found, c)
	}
	if v.network.Kind == Socket && v.nodes() != 1 {
		found = append(found, lessSure(v.fallbackCauses())...)
	}
	return found
}

// withoutFirst judges a run in which all that was seen follows from something that was not.
func (v *view) withoutFirst() []candidate {
	for _, judge := range []func() []candidate{v.killed, v.closed, v.hung, v.flushed, v.returned, v.raised} {
		if found := judge(); len(found) > 0 {
			return found
		}
	}
	return nil
}

// one is a list of one candidate with the lines of its events.
func one(id CauseID, c Confidence, summary string, events ...nccllog.Event) []candidate {
	var lines []Evidence
	for _, e := range events {
		if e.Text != "" && len(lines) < mostEvidence {
			lines = append(lines, evidenceOf(e.Quote))
		}
	}
	return []candidate{{id, c, summary, lines}}
}
