// Package html renders the result of a bench, a diagnosis, a rollout or readings over time as one page that makes no
// network requests.
package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// Page holds everything that the page shows, completely computed. The scripts draw the parts that have JSON names.
type Page struct {
	Title   string   `json:"-"` // Job h-kim in namespace train
	Sources []Source `json:"-"`
	Verdict Verdict  `json:"-"`
	Cards   []Card   `json:"-"`

	Machines   []Machine       `json:"machines,omitempty"`
	NotDrawn   int             `json:"-"` // machines beyond the limit
	Links      []Links         `json:"links,omitempty"`
	Ladders    []Ladder        `json:"ladders,omitempty"`
	AllReduces []AllReduce     `json:"allReduces,omitempty"`
	Findings   []rules.Problem `json:"-"` // the worst first
	Remarks    []rules.Problem `json:"-"`
	Skipped    []string        `json:"-"` // what was not examined, with the reason
	Failures   []string        `json:"-"` // links without data, with the reason
	Rollouts   []Rollout       `json:"rollouts,omitempty"`
	Motions    []Motion        `json:"motions,omitempty"`
	Stories    []string        `json:"-"` // of the logs, a line for each run
	Facts      []Table         `json:"-"`
}

// Source names the origin of the facts of a page.
type Source struct {
	Kind  string // Bench, Diagnosis
	Name  string // of the file
	Taken time.Time
}

// Verdict is the result in one sentence.
type Verdict struct {
	Status check.Status
	Text   string
	Detail string
}

// Card shows one important number.
type Card struct {
	Label  string
	Value  string
	Note   string       // the value to compare it with
	Status check.Status // Skipped: the number is not judged
}

// Table has a heading and rows of the same length.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// Waiting returns the page of a result that does not exist yet, with the reason.
func Waiting(why string) Page {
	return Page{Title: "Railhead", Verdict: Verdict{Status: check.Unknown, Text: "No result yet.", Detail: why}}
}

// Join combines several pages. The verdict is the worst one.
func Join(pages ...Page) Page {
	if len(pages) == 1 {
		return pages[0]
	}
	slices.SortStableFunc(pages, func(a, b Page) int { return cmp.Compare(b.Verdict.Status, a.Verdict.Status) })
	var all Page
	var titles, details []string
	for _, p := range pages {
		if !slices.Contains(titles, p.Title) {
			titles = append(titles, p.Title)
		}
		details = append(details, p.Verdict.Detail)
		all.Sources = append(all.Sources, p.Sources...)
		all.Cards = append(all.Cards, p.Cards...)
		all.addMachines(p.Machines)
		all.NotDrawn += p.NotDrawn
		all.Links = append(all.Links, p.Links...)
		all.Ladders = append(all.Ladders, p.Ladders...)
		all.AllReduces = append(all.AllReduces, p.AllReduces...)
		all.Findings = append(all.Findings, p.Findings...)
		all.Remarks = append(all.Remarks, p.Remarks...)
		all.Skipped = append(all.Skipped, p.Skipped...)
		all.Failures = append(all.Failures, p.Failures...)
		all.Rollouts = append(all.Rollouts, p.Rollouts...)
		all.Motions = append(all.Motions, p.Motions...)
		all.Stories = append(all.Stories, p.Stories...)
		all.addFacts(p.Facts)
	}
	all.Title = strings.Join(titles, " · ")
	if len(pages) > 0 {
		all.Verdict = pages[0].Verdict
	}
	all.Verdict.Detail = strings.Join(details, " ")
	sortFindings(all.Findings)
	return all
}

// addMachines keeps the worse one of two pictures of a machine: a bench and a diagnosis of a job show the same pods.
func (p *Page) addMachines(more []Machine) {
	for _, m := range more {
		i := slices.IndexFunc(p.Machines, func(known Machine) bool { return known.Name == m.Name })
		switch {
		case i < 0:
			p.Machines = append(p.Machines, m)
		case m.Status > p.Machines[i].Status:
			p.Machines[i] = m
		}
	}
	sortMachines(p.Machines)
}

// addFacts adds new rows to a table that the page already has.
func (p *Page) addFacts(more []Table) {
	for _, t := range more {
		i := slices.IndexFunc(p.Facts, func(known Table) bool {
			return known.Title == t.Title && slices.Equal(known.Columns, t.Columns)
		})
		if i < 0 {
			p.Facts = append(p.Facts, t)
			continue
		}
		for _, row := range t.Rows {
			same := func(known []string) bool { return slices.Equal(known, row) }
			if !slices.ContainsFunc(p.Facts[i].Rows, same) {
				p.Facts[i].Rows = append(p.Facts[i].Rows, row)
			}
		}
	}
}

// sortFindings puts the worst findings first.
func sortFindings(findings []rules.Problem) {
	slices.SortStableFunc(findings, func(a, b rules.Problem) int { return cmp.Compare(b.Status, a.Status) })
}

// statusCounts returns the number of findings of each status: "4 fail, 3 warn".
func statusCounts(problems []rules.Problem) string {
	findings := make([]check.Finding, len(problems))
	for i, p := range problems {
		findings[i] = p.Finding
	}
	return strings.Join(report.Counts(findings), ", ")
}

// number writes a count with its noun: "4,190,208 links".
func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands writes 4190208 as 4,190,208.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ofCeiling compares a rate with its ceiling: "98.5 % of 392.1 Gb/s".
func ofCeiling(measured, ceiling bench.Gbps) string {
	if ceiling <= 0 {
		return "ceiling unknown"
	}
	return fmt.Sprintf("%s of %s", report.Percent(float64(measured/ceiling)), ceiling)
}
