package rules

import (
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/words"
)

// gathered holds the findings of all reports of a case. Equal findings of several machines are one problem.
type gathered struct {
	pods, nodes int
	problems    []Problem
	at          map[problemKey]int // index of a problem
	occurrences []occurrence
	passed      map[Tally]int
	skipped     map[Tally]int
	nodeOf      map[check.Ref]check.Ref // of pods
	explainedBy map[check.ID][]check.ID
}

// problemKey is equal for findings that are one problem. Each environment variable is a separate problem.
type problemKey struct {
	machines check.Kind
	check    check.ID
	status   check.Status
	variable check.Ref
}

// occurrence is a finding on one machine, with the index of its problem.
type occurrence struct {
	check.Finding
	machine check.Ref // zero for the cluster and for differences between machines
	problem int
}

func gather(c Case) *gathered {
	g := &gathered{
		at:          map[problemKey]int{},
		passed:      map[Tally]int{},
		skipped:     map[Tally]int{},
		nodeOf:      map[check.Ref]check.Ref{},
		explainedBy: map[check.ID][]check.ID{},
	}
	g.add(clusterrules.Judge(c.State, c.Cluster), check.Ref{})
	var members []fleet.Member
	whole := wholeJobs(c)
	for i := range c.Machines {
		m := &c.Machines[i]
		g.nodeOf[m.Ref] = check.NodeRef(m.Node)
		m.Whole = whole[m.Group]
		members = append(members, m.Member)
		switch {
		case m.Unreached != "":
		case m.IsNode():
			g.nodes++
		default:
			g.pods++
		}
		for _, r := range m.reports {
			g.add(r, m.Ref)
		}
	}
	g.add(fleet.Judge(members), check.Ref{})
	return g
}

// wholeJobs returns the jobs whose running pods were all examined.
func wholeJobs(c Case) map[string]bool {
	examined, running := map[check.Ref]bool{}, map[string]bool{}
	for _, m := range c.Machines {
		if examined[m.Ref] = m.Unreached == ""; m.Group != "" {
			running[m.Group] = true
		}
	}
	for _, p := range c.State.Pods {
		if !p.Deleted && !p.Finished() && !examined[check.PodRef(p.Namespace, p.Name)] {
			delete(running, clusterrules.JobOf(p))
		}
	}
	return running
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
		g.passed[Tally{Check: id}]++
	}
	maps.Copy(g.explainedBy, r.ExplainedBy)
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
	key := problemKey{machines: machine.Kind, check: f.Check, status: f.Status}
	if f.Subject.Kind == check.Env {
		key.variable = f.Subject
	}
	i, known := g.at[key]
	if !known {
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

// line returns a finding in one line, with its subject unless that is a machine as a whole.
func line(f check.Finding) string {
	switch f.Subject.Kind {
	case "", check.Pod, check.Node:
		if !f.Subject.Specific() {
			return f.Summary
		}
	default:
	}
	return f.Subject.String() + ": " + f.Summary
}

func (p Problem) ofNodes() bool { return len(p.Machines) > 0 && p.Machines[0].Kind == check.Node }

// places lists machines in a sentence.
func places(machines []check.Ref) string {
	var names []string
	for _, m := range machines {
		names = append(names, m.String())
	}
	return words.Few(names, 6)
}
