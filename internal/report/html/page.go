// Package html is the page on which an engineer sees at a glance the result of a bench, a diagnosis or a rollout: one
// file that asks nothing of the network.
package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
)

// Page has everything that is shown, completely computed: a file and a server write it alike.
type Page struct {
	Title   string // Job h-kim in namespace train
	Sources []Source
	Verdict Verdict
	Cards   []Card

	Machines   []Machine
	Left       int // machines that are not drawn, because there are too many
	Links      []Links
	Ladders    []Ladder
	AllReduces []AllReduce
	Findings   []rules.Problem // the gravest and its root cause first
	Remarks    []rules.Problem
	Skipped    []string // parts that were not examined, with the reason
	Failures   []string // links through which nothing came, and why
	Rollouts   []Rollout
	Stories    []string // of the logs, a line each
	Facts      []Table
}

// Source of the facts on a page.
type Source struct {
	What  string // bench, diagnosis
	Name  string // of the file
	Taken time.Time
}

// Verdict is the page in one sentence.
type Verdict struct {
	Status check.Status
	Text   string
	Detail string
}

// Card is one important number with its reference value.
type Card struct {
	Label  string
	Value  string
	Note   string
	Status check.Status // Skipped: it is no judgement
}

// Table is a heading and rows of the same length.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// Waiting returns the page of a result that does not exist yet, with the reason.
func Waiting(why string) Page {
	return Page{Title: "Railhead", Verdict: Verdict{Status: check.Unknown, Text: "Nothing is known yet.", Detail: why}}
}

// Join puts several pages onto one, with the gravest verdict first.
func Join(pages ...Page) Page {
	if len(pages) == 1 {
		return pages[0]
	}
	var all Page
	slices.SortStableFunc(pages, func(a, b Page) int { return cmp.Compare(b.Verdict.Status, a.Verdict.Status) })
	var titles, details []string
	for i, p := range pages {
		if i == 0 {
			all.Verdict = p.Verdict
		}
		if !slices.Contains(titles, p.Title) {
			titles = append(titles, p.Title)
		}
		details = append(details, p.Verdict.Detail)
		all.Sources = append(all.Sources, p.Sources...)
		all.Cards = append(all.Cards, p.Cards...)
		all.addMachines(p.Machines)
		all.Left += p.Left
		all.Links = append(all.Links, p.Links...)
		all.Ladders = append(all.Ladders, p.Ladders...)
		all.AllReduces = append(all.AllReduces, p.AllReduces...)
		all.Findings = append(all.Findings, p.Findings...)
		all.Remarks = append(all.Remarks, p.Remarks...)
		all.Skipped = append(all.Skipped, p.Skipped...)
		all.Failures = append(all.Failures, p.Failures...)
		all.Rollouts = append(all.Rollouts, p.Rollouts...)
		all.Stories = append(all.Stories, p.Stories...)
		all.addFacts(p.Facts)
	}
	all.Title, all.Verdict.Detail = strings.Join(titles, " · "), strings.Join(details, " ")
	gravestFirst(all.Findings)
	return all
}

// addMachines adds those that are not drawn yet: a bench and a diagnosis of one job have the same.
func (p *Page) addMachines(more []Machine) {
	for _, m := range more {
		i := slices.IndexFunc(p.Machines, func(known Machine) bool { return known.Name == m.Name })
		if i < 0 {
			p.Machines = append(p.Machines, m)
			continue
		}
		if m.Status > p.Machines[i].Status {
			p.Machines[i] = m
		}
	}
	worstFirst(p.Machines)
}

func (p *Page) addFacts(more []Table) {
	for _, t := range more {
		same := func(known Table) bool { return known.Title == t.Title && slices.Equal(known.Columns, t.Columns) }
		if i := slices.IndexFunc(p.Facts, same); i >= 0 {
			for _, row := range t.Rows {
				if !slices.ContainsFunc(p.Facts[i].Rows, func(r []string) bool { return slices.Equal(r, row) }) {
					p.Facts[i].Rows = append(p.Facts[i].Rows, row)
				}
			}
			continue
		}
		p.Facts = append(p.Facts, t)
	}
}

func gravestFirst(findings []rules.Problem) {
	slices.SortStableFunc(findings, func(a, b rules.Problem) int { return cmp.Compare(b.Status, a.Status) })
}

// counted says how many findings there are of each gravity.
func counted(findings []rules.Problem) string {
	by := map[check.Status]int{}
	for _, f := range findings {
		by[f.Status]++
	}
	var parts []string
	for _, status := range []check.Status{check.Fail, check.Warn, check.Unknown} {
		if by[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[status], status))
		}
	}
	return strings.Join(parts, ", ")
}

// number writes a count with its noun.
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

// percent never rounds up to the whole: 99.96 % of a ceiling is below it.
func percent(part float64) string {
	if part > 0.9995 && part < 1 {
		part = 0.999
	}
	return fmt.Sprintf("%.1f %%", 100*part)
}

// ofCeiling is a rate beside its ceiling.
func ofCeiling(measured, ceiling bench.Gbps) string {
	if ceiling <= 0 {
		return "no ceiling is known"
	}
	return fmt.Sprintf("%s of %s", percent(float64(measured/ceiling)), ceiling)
}
