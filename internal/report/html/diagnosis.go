package html

import (
	"fmt"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/story"
)

// Diagnosed is doctor's result with the facts that it judged.
type Diagnosed struct {
	Title     string // Job h-kim in namespace train
	File      string
	Taken     time.Time
	Diagnosis rules.Diagnosis
	Machines  []rules.Machine // absent where only the verdict was kept
	State     cluster.State
	Story     *story.Story
}

// FromDiagnosis is the page of a diagnosis: findings, the machines that were looked at, and how far the pools are.
func FromDiagnosis(in Diagnosed) Page {
	d := in.Diagnosis
	p := Page{Title: in.Title, Sources: []Source{{"Diagnosis", in.File, in.Taken}}, Findings: slices.Clone(d.Problems), Remarks: d.Remarks}
	gravestFirst(p.Findings)
	p.Machines, p.Left = machinesOf(in.Machines, d.Problems)
	p.Rollouts = rolloutsOf(in.State)
	for _, t := range d.Skipped {
		line := string(t.Check)
		if t.Why != "" {
			line += ": " + t.Why
		}
		p.Skipped = append(p.Skipped, line)
	}
	passed := 0
	checks := Table{Title: "Checks in order", Columns: []string{"Check", "Times"}}
	for _, t := range d.Passed {
		passed += t.Times
		checks.Rows = append(checks.Rows, []string{string(t.Check), fmt.Sprint(t.Times)})
	}
	p.Verdict = diagnosisVerdict(d, passed)
	p.Cards = diagnosisCards(d, passed)
	if in.Story != nil {
		p.addStory(*in.Story)
	}
	for _, t := range []Table{machineFacts(in.Machines), checks} {
		if len(t.Rows) > 0 {
			p.Facts = append(p.Facts, t)
		}
	}
	return p
}

// lookedAt counts the machines that were looked at; without one it was the cluster alone.
func lookedAt(d rules.Diagnosis) (text string, machines bool) {
	switch {
	case d.Pods > 0 && d.Nodes > 0:
		return number(d.Pods, "pod") + ", " + number(d.Nodes, "node"), true
	case d.Nodes > 0:
		return number(d.Nodes, "node"), true
	case d.Pods > 0:
		return number(d.Pods, "pod"), true
	}
	return "the objects of the cluster", false
}

func diagnosisVerdict(d rules.Diagnosis, passed int) Verdict {
	v := Verdict{Status: d.Worst()}
	looked, _ := lookedAt(d)
	switch {
	case len(d.Problems) > 0:
		v.Text = headline(d.Problems[0])
	case passed == 0:
		v.Status, v.Text = check.Unknown, "Nothing was looked at."
	default:
		v.Text = "Nothing is wrong."
	}
	v.Detail = fmt.Sprintf("Looked at: %s. %s in order.", looked, number(passed, "check"))
	if len(d.Problems) > 0 {
		v.Detail += " " + number(len(d.Problems), "finding") + ": " + counted(d.Problems) + "."
	}
	return v
}

// headline returns a finding with its subject.
func headline(p rules.Problem) string {
	if at := where(p); at != "" {
		return at + ": " + p.Summary
	}
	return p.Summary
}

func diagnosisCards(d rules.Diagnosis, passed int) []Card {
	findings := Card{"Findings", fmt.Sprint(len(d.Problems)), counted(d.Problems), d.Worst()}
	if len(d.Problems) == 0 {
		findings.Note = "nothing is wrong"
	}
	cards := []Card{findings, {"Checks in order", thousands(passed), "", check.Skipped}}
	if looked, machines := lookedAt(d); machines {
		cards = append(cards, Card{"Looked at", looked, "", check.Skipped})
	}
	return cards
}

// addStory adds the story of the logs. A run that fell back to TCP is as grave as a finding.
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
