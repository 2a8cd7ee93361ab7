package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/story"
)

// Diagnosed is a result of doctor with the facts that it judged.
type Diagnosed struct {
	rules.Verdict
	File     string
	Taken    time.Time
	Machines []rules.Machine // empty if only the verdict was saved
	State    cluster.State
}

// title names the subject, or the only machine.
func (d Diagnosed) title() string {
	if !d.Subject.Named() && len(d.Machines) == 1 {
		return d.Machines[0].Ref.String()
	}
	return d.Title()
}

// FromDiagnosis returns the page of a diagnosis: findings, the examined machines, and the rollouts of the pools.
func FromDiagnosis(in Diagnosed) Page {
	d := in.Diagnosis
	p := Page{
		Title:    in.title(),
		Sources:  []Source{{"Diagnosis", in.File, in.Taken}},
		Findings: slices.Clone(d.Problems),
		Remarks:  d.Remarks,
		Rollouts: rolloutsOf(in.State),
	}
	sortFindings(p.Findings)
	p.Machines, p.NotDrawn = machinesOf(in.Machines, d.Problems)
	for _, t := range d.Skipped {
		line := string(t.Check)
		if t.Why != "" {
			line += ": " + t.Why
		}
		p.Skipped = append(p.Skipped, line)
	}
	passed := 0
	checks := Table{Title: "Checks passed", Columns: []string{"Check", "Times"}}
	for _, t := range d.Passed {
		passed += t.Times
		checks.Rows = append(checks.Rows, []string{string(t.Check), fmt.Sprint(t.Times)})
	}
	p.Verdict = diagnosisVerdict(d, passed)
	p.Cards = diagnosisCards(d, passed)
	if in.Log != nil {
		p.addStory(*in.Log)
	}
	for _, t := range []Table{limited(machineFacts(in.Machines)), checks} {
		if len(t.Rows) > 0 {
			p.Facts = append(p.Facts, t)
		}
	}
	return p
}

// examined counts the machines of a diagnosis. It returns "" if only objects of the cluster were examined.
func examined(d rules.Diagnosis) string {
	var parts []string
	if d.Pods > 0 {
		parts = append(parts, number(d.Pods, "pod"))
	}
	if d.Nodes > 0 {
		parts = append(parts, number(d.Nodes, "node"))
	}
	return strings.Join(parts, ", ")
}

func diagnosisVerdict(d rules.Diagnosis, passed int) Verdict {
	v := Verdict{Status: d.Worst(), Text: "Nothing is wrong."}
	switch {
	case len(d.Problems) > 0:
		v.Text = headline(d.Problems[0])
	case passed == 0:
		v.Status, v.Text = check.Unknown, "Nothing was examined."
	}
	machines := examined(d)
	if machines == "" {
		machines = "Objects of the cluster"
	}
	v.Detail = fmt.Sprintf("%s examined. %s passed.", machines, number(passed, "check"))
	if n := len(d.Problems); n > 0 {
		v.Detail += fmt.Sprintf(" %s: %s.", number(n, "finding"), statusCounts(d.Problems))
	}
	return v
}

// headline returns the summary of a finding with its subject.
func headline(p rules.Problem) string {
	if at := where(p); at != "" {
		return at + ": " + p.Summary
	}
	return p.Summary
}

func diagnosisCards(d rules.Diagnosis, passed int) []Card {
	findings := Card{"Findings", fmt.Sprint(len(d.Problems)), statusCounts(d.Problems), d.Worst()}
	if len(d.Problems) == 0 {
		findings.Note = "nothing is wrong"
	}
	cards := []Card{findings, {"Checks passed", thousands(passed), "", check.Skipped}}
	if machines := examined(d); machines != "" {
		cards = append(cards, Card{"Examined", machines, "", check.Skipped})
	}
	return cards
}

// addStory adds the story of the logs. A run that fell back to TCP is as bad as a failed one.
func (p *Page) addStory(s story.Story) {
	for _, run := range s.Runs {
		p.Stories = append(p.Stories, fmt.Sprintf("%s: %s", run.Outcome, run.Summary))
		status := check.Pass
		switch run.Outcome {
		case story.OutcomeFail, story.OutcomeFallback:
			status = check.Fail
		case story.OutcomeDegraded:
			status = check.Warn
		case story.OutcomeOK, story.OutcomeUnknown:
		}
		if status > p.Verdict.Status {
			p.Verdict.Status, p.Verdict.Text = status, run.Summary
		}
	}
}
