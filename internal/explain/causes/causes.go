// Package causes judges how a run ended, and finds the causes.
package causes

import (
	"fmt"
	"slices"
	"sync"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/explain/network"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// input has the facts, the failures and the network of a run, from which the causes follow.
type input struct {
	run *facts.Run
	seq *failures.Sequence
	use network.Use

	outcome   story.Outcome
	machines  []Machine
	hcaLayers map[string]string // of the HCAs, by name, as NCCL writes it
	mostHCAs  int               // of a rank

	// found once: each failure asks for them
	fallback func() []candidate
	oddities func() map[trait]oddity
	retried  func() map[string]bool // HCAs whose peer's NIC did not answer
	badOffer func() string          // which rank offers an address that others cannot reach
}

// Of returns the outcome of a run and its causes, the most probable first. The facts of machines, if there are any,
// decide between causes that look the same in a log.
func Of(s *failures.Sequence, use network.Use, machines []Machine) (story.Outcome, []story.Cause) {
	in := newInput(s, use, machines)
	in.outcome = outcome(in)
	return in.outcome, causes(in)
}

func newInput(s *failures.Sequence, use network.Use, machines []Machine) *input {
	in := &input{run: s.Run, seq: s, use: use, machines: machines, hcaLayers: map[string]string{}}
	ranks := s.Run.Log.Ranks
	for _, r := range ranks {
		in.mostHCAs = max(in.mostHCAs, len(r.HCAs))
		for _, h := range r.HCAs {
			if _, known := in.hcaLayers[h.Name]; !known {
				in.hcaLayers[h.Name] = h.Layer
			}
		}
	}
	in.fallback = sync.OnceValue(func() []candidate { return findFallback(in) })
	in.oddities = sync.OnceValue(func() map[trait]oddity { return odditiesOf(ranks) })
	in.retried = sync.OnceValue(func() map[string]bool { return retriedOf(s.Run.Log.Events) })
	in.badOffer = sync.OnceValue(func() string { return badOfferOf(ranks) })
	return in
}

// candidate is a cause as one event, or the run as a whole, suggests it.
type candidate struct {
	id         story.CauseID
	confidence story.Confidence
	summary    string
	evidence   []story.Evidence
	advice     *advice // instead of the words of the catalogue, if not nil
}

// mostCauses bounds the list: later ones help little.
const mostCauses = 6

// causes returns the causes of the outcome.
func causes(in *input) []story.Cause {
	var found []candidate
	switch in.outcome {
	case story.OutcomeFail:
		found = failureCauses(in)
	case story.OutcomeFallback:
		found = fallbackCauses(in)
	case story.OutcomeDegraded:
		found = degradations(in)
	case story.OutcomeUnknown:
		found = unknownCauses(in)
	case story.OutcomeOK:
	}
	if len(in.machines) > 0 {
		found = weigh(in, found)
	}
	return asCauses(in, found)
}

// unknownCauses says what a log shows of a run whose outcome it does not show.
func unknownCauses(in *input) []candidate {
	if failed := in.run.Events(event.ProviderFailed); len(failed) > 0 {
		return possible(story.VerbsProviderMismatch,
			"libibverbs reports it; the log has no NCCL lines that show whether NCCL needed that driver", failed...)
	}
	lines := leftOpen(in)
	retried := retrying(in)
	switch {
	case len(lines) == 0 && len(retried) > 0:
		return retried
	case len(lines) == 0 && recognised(in.run):
		return []candidate{{id: story.UnknownCause, confidence: story.Possible,
			summary: "no line shows that the set-up of NCCL ended, or that the program went on", evidence: nil}}
	case len(lines) == 0:
		return []candidate{{id: story.UnknownCause, confidence: story.Possible,
			summary: "no line is of NCCL or of a training program", evidence: nil}}
	case slices.Contains([]event.Kind{event.RanksDiffer, event.Stalled, event.OFINoProvider, event.Reason},
		lines[0].Kind):
		return causesOf(in, lines[0])
	}
	found := possible(story.UnknownCause,
		in.run.Who(lines[0])+" logged a warning or an error that railhead does not know", lines...)
	return append(found, contributing(in)...)
}

func failureCauses(in *input) []candidate {
	var found []candidate
	if in.seq.First != nil {
		found = append(found, causesOf(in, *in.seq.First)...)
		for _, e := range in.seq.Failures[1:] {
			if e.Class() == event.Own && sameFailure(e, *in.seq.First) {
				found = append(found, causesOf(in, e)...)
			}
		}
		for _, e := range in.seq.Failures[1:] {
			if e.Class() == event.Own && !sameFailure(e, *in.seq.First) || e.Class() == event.Remote &&
				in.seq.First.Class() == event.Remote {
				found = append(found, lessSure(causesOf(in, e))...)
			}
		}
		if in.seq.First.Class() == event.Remote {
			found = append(found, otherEnds(in)...)
		}
	} else {
		found = withoutFirst(in)
	}
	found = append(found, contributing(in)...)
	if len(found) == 0 {
		found = append(found, unknown(in))
	}
	return found
}

// sameFailure reports whether two events are of one kind, so that the second is more evidence of the first.
func sameFailure(a, b event.Event) bool {
	return a.Kind == b.Kind && (a.Verbs == nil || a.Verbs.Call == b.Verbs.Call && a.Verbs.Errno == b.Verbs.Errno)
}

// lessSure returns the first candidate alone, as possible.
func lessSure(found []candidate) []candidate {
	if len(found) == 0 || found[0].id == story.UnknownCause {
		return nil
	}
	c := found[0]
	c.confidence = story.Possible
	return []candidate{c}
}

func unknown(in *input) candidate {
	c := candidate{id: story.UnknownCause, confidence: story.Possible,
		summary: "the log does not show why the run failed"}
	if len(in.seq.Failures) == 0 {
		return c
	}
	failed := in.seq.Failures[0]
	c.summary = fmt.Sprintf("%s: %s; the log does not show why", in.run.Who(failed), failed)
	c.evidence = facts.Quotes(failed.Quote)
	if said := reasonsFor(in.run, failed); len(said) > 0 {
		return advised(reasonAdvice, possible(story.UnknownCause, said[0].Name, append(said, failed)...))[0]
	}
	for _, e := range in.run.Log.Events {
		if e.Kind == event.Complaint && e.At.File == failed.At.File && e.Seq < failed.Seq && !in.run.Progressed(e) {
			c.summary = fmt.Sprintf("%s: %s, after an error that railhead does not know", in.run.Who(failed), failed)
			c.evidence = facts.Quotes(e.Quote, failed.Quote)
			break
		}
	}
	return c
}

// reasonsFor returns the events that say why another one happened.
func reasonsFor(run *facts.Run, failed event.Event) []event.Event {
	return slices.DeleteFunc(run.Events(event.Reason, event.Aborted), func(e event.Event) bool {
		said := e.Kind == event.Reason || e.Signature == "container-start" && e.Name != ""
		return !said || e.At.File != failed.At.File
	})
}

// asCauses joins candidates of one cause and adds the words of the catalogue. No list in it is nil.
func asCauses(in *input, found []candidate) []story.Cause {
	causes := []story.Cause{}
	for _, c := range found {
		i := slices.IndexFunc(causes, func(k story.Cause) bool { return k.ID == c.id })
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
		if c.id == story.PeerUnreachable && in.seq.First != nil && in.seq.First.Kind == event.OFICompletion {
			e.Fix, e.Experiment = efaFix, efaExperiment
		}
		switch a := c.advice; {
		case a != nil:
			e.Title, e.Fix, e.Experiment = a.title, a.fix, a.experiment
		case c.id == story.UnknownCause && in.outcome == story.OutcomeFail &&
			(len(in.run.Log.Ranks) == 0 || in.run.Nodes() == 1): // no network may be in use
			e.Experiment = programAdvice.experiment
		}
		causes = append(causes, story.Cause{
			ID: c.id, Confidence: c.confidence, Network: e.Network, Summary: e.Title + ": " + c.summary,
			Evidence: joined([]story.Evidence{}, c.evidence),
			Fix:      e.Fix, Experiment: e.Experiment, Stated: c.advice != nil,
		})
	}
	return causes
}

func surer(a, b story.Confidence) bool {
	order := []story.Confidence{story.Possible, story.Likely, story.Certain}
	return slices.Index(order, a) > slices.Index(order, b)
}

func joined(a, b []story.Evidence) []story.Evidence {
	for _, e := range b {
		if len(a) < facts.MostEvidence && !slices.Contains(a, e) {
			a = append(a, e)
		}
	}
	return a
}

// contributing returns faults that did not end the run, but that need a fix, too.
func contributing(in *input) []candidate {
	var found []candidate
	for _, c := range degradations(in) {
		c.confidence = story.Possible
		found = append(found, c)
	}
	if said := in.run.Events(event.NoPassthrough); len(said) > 0 {
		found = append(found, possible(story.ACSIOMMU, "the kernel's command line lacks what RCCL expects", said...)...)
	}
	if in.use.Network.Kind == story.Socket && in.run.Nodes() != 1 {
		found = append(found, lessSure(fallbackCauses(in))...)
	}
	return found
}

// withoutFirst judges a run in which all that was seen follows from something that was not.
func withoutFirst(in *input) []candidate {
	for _, judge := range []func(*input) []candidate{stopped, killed, closed, hung, flushed, returned, raised} {
		if found := judge(in); len(found) > 0 {
			return found
		}
	}
	return nil
}

func certain(id story.CauseID, summary string, events ...event.Event) []candidate {
	return one(id, story.Certain, summary, events...)
}

func likely(id story.CauseID, summary string, events ...event.Event) []candidate {
	return one(id, story.Likely, summary, events...)
}

func possible(id story.CauseID, summary string, events ...event.Event) []candidate {
	return one(id, story.Possible, summary, events...)
}

// one returns a single candidate with the lines of its events.
func one(id story.CauseID, c story.Confidence, summary string, events ...event.Event) []candidate {
	var lines []story.Evidence
	for _, e := range events {
		if e.Text != "" && len(lines) < facts.MostEvidence {
			lines = append(lines, facts.EvidenceOf(e.Quote))
		}
	}
	return []candidate{{id: id, confidence: c, summary: summary, evidence: lines}}
}
