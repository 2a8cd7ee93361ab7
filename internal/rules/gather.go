package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/words"
)

// gathered holds the findings of all reports of a case, with the same findings of several machines in one problem.
type gathered struct {
	pods, nodes int
	problems    []Problem
	at          map[sameness]int // index of a problem
	occurrences []occurrence
	passed      map[check.ID]int
	skipped     map[Tally]int
	nodeOf      map[check.Ref]check.Ref // of pods
	explainedBy map[check.ID][]check.ID
}

// sameness is equal for findings that are one problem. Each environment variable is a problem of its own.
type sameness struct {
	machines check.Kind
	check    check.ID
	status   check.Status
	variable check.Ref
}

// occurrence is a finding on one machine, and the index of its problem.
type occurrence struct {
	check.Finding
	machine check.Ref // the zero Ref for the cluster and for differences between machines
	problem int
}

func gather(c Case) *gathered {
	g := &gathered{
		at:          map[sameness]int{},
		passed:      map[check.ID]int{},
		skipped:     map[Tally]int{},
		nodeOf:      map[check.Ref]check.Ref{},
		explainedBy: map[check.ID][]check.ID{},
	}
	g.add(clusterrules.Judge(c.State, c.Cluster), check.Ref{})
	for _, m := range c.Machines {
		g.nodeOf[m.Ref] = check.NodeRef(m.Node)
		switch {
		case m.Unreached != "": // a finding of Fleet
			continue
		case m.IsNode():
			g.nodes++
			g.add(machine.Node(m.Snapshot), m.Ref)
		default:
			g.pods++
			g.add(machine.Pod(m.Snapshot, machine.Options{}), m.Ref)
		}
		if earlier := m.Snapshot.Earlier; earlier != nil {
			g.add(machine.Watch(*earlier, m.Snapshot), m.Ref)
		}
	}
	g.add(Fleet(c.Machines), check.Ref{})
	return g
}

// add adds the report about one machine, or, with the zero Ref, about the cluster or the fleet.
func (g *gathered) add(r check.Report, machine check.Ref) {
	first := map[check.ID]int{}
	for _, f := range r.Findings {
		i := g.problemOf(f, machine)
		g.occurrences = append(g.occurrences, occurrence{f.On(machine), machine, i})
		if _, known := first[f.Check]; !known {
			first[f.Check] = i
		}
	}
	for _, id := range r.Passed {
		g.passed[id]++
	}
	for id, causes := range r.ExplainedBy {
		g.explainedBy[id] = causes
	}
	for _, s := range r.Skipped {
		i, known := first[s.Needs]
		if s.Needs == "" || !known {
			g.skipped[Tally{Check: s.Check, Why: s.Why}]++
			continue
		}
		follow := Consequence{Check: s.Check, Text: s.Why}
		if !slices.Contains(g.problems[i].Consequences, follow) {
			g.problems[i].Consequences = append(g.problems[i].Consequences, follow)
		}
	}
}

// problemOf returns the index of the problem that a finding belongs to, and adds the finding to it.
func (g *gathered) problemOf(f check.Finding, machine check.Ref) int {
	if machine == (check.Ref{}) {
		g.problems = append(g.problems, Problem{Finding: f})
		return len(g.problems) - 1
	}
	key := sameness{machines: machine.Kind, check: f.Check, status: f.Status}
	if f.Subject.Kind == check.Env {
		key.variable = f.Subject
	}
	i, there := g.at[key]
	if !there {
		i = len(g.problems)
		g.at[key] = i
		g.problems = append(g.problems, Problem{Finding: f})
	}
	p := &g.problems[i]
	if n := len(p.Machines); n == 0 || p.Machines[n-1] != machine {
		p.Machines = append(p.Machines, machine)
	}
	const most = 8
	if text := line(f); text != line(p.Finding) && !slices.Contains(p.Others, text) && len(p.Others) < most {
		p.Others = append(p.Others, text)
	}
	return i
}

// line returns a finding in one line.
func line(f check.Finding) string {
	if whole := f.Subject.Kind == check.Pod || f.Subject.Kind == check.Node || f.Subject.Kind == ""; whole && !f.Subject.Specific() {
		return f.Summary
	}
	return f.Subject.String() + ": " + f.Summary
}

// lookedAt returns how many machines of the kind that has a problem were looked at; 0 for a problem of the cluster.
func (g *gathered) lookedAt(p Problem) int {
	switch {
	case len(p.Machines) == 0:
		return 0
	case p.ofNodes():
		return g.nodes
	}
	return g.pods
}

func (p Problem) ofNodes() bool { return len(p.Machines) > 0 && p.Machines[0].Kind == check.Node }

// places lists the machines of a problem for a sentence.
func places(machines []check.Ref) string {
	var names []string
	for _, m := range machines {
		names = append(names, m.String())
	}
	return words.Few(names, 6)
}
