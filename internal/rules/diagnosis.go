// Package rules joins all judges into one diagnosis, root cause first.
package rules

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/fleet"
)

// DiagnosisSchema is the version of Diagnosis' JSON. Fields are added within a version; none changes its meaning.
const DiagnosisSchema = 2

// Machine is a pod or node that was examined, or could not be.
type Machine = fleet.Machine

// Case has everything that doctor examined.
type Case struct {
	State    cluster.State
	Machines []Judged
	Cluster  clusterrules.Options
	Autopsy  bool          // also explain IBV_WC_LOC_PROT_ERR
	Bench    *bench.Result // measurements between the pods; nil: none were requested
}

// Diagnosis lists the problems, the most severe and its root cause first.
type Diagnosis struct {
	SchemaVersion int       `json:"schemaVersion"`
	Pods          int       `json:"pods"`  // examined
	Nodes         int       `json:"nodes"` // examined
	Problems      []Problem `json:"problems"`
	Remarks       []Problem `json:"remarks,omitempty"` // findings that are no faults
	Autopsies     []Autopsy `json:"autopsies,omitempty"`
	Passed        []Tally   `json:"passed,omitempty"`
	Skipped       []Tally   `json:"skipped,omitempty"`  // checks that were skipped, but not because of a problem
	Measured      *Measured `json:"measured,omitempty"` // nil: no measurement was requested
}

// Problem is one finding, and all machines that have it.
type Problem struct {
	check.Finding
	Machines     []check.Ref   `json:"machines,omitempty"` // pods or nodes; none if the cluster has it
	Of           int           `json:"of,omitempty"`       // machines of that kind that were examined
	Others       []string      `json:"others,omitempty"`   // other summaries of the same problem
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Consequence of a problem, or a check that was skipped because of it.
type Consequence struct {
	Check check.ID `json:"check"`
	Text  string   `json:"text,omitempty"`
}

// Tally counts the machines on which a check passed or was skipped.
type Tally struct {
	Check check.ID `json:"check"`
	Times int      `json:"times"`
	Why   string   `json:"why,omitempty"`
}

// Diagnose judges the cluster, every machine, and the machines with each other. It reports a fault of several
// machines once, and its consequences under it.
func Diagnose(c Case) Diagnosis {
	g := gather(c)
	var measured *Measured
	if c.Bench != nil {
		measured = g.measure(c.Machines, *c.Bench)
	}
	f := folder{explainedBy: g.explainedBy, nodeOf: g.nodeOf}
	problems := fold(fold(fold(g.problems, f.unrequested), f.difference), f.ofNode)

	result := Diagnosis{
		SchemaVersion: DiagnosisSchema,
		Pods:          g.pods,
		Nodes:         g.nodes,
		Problems:      []Problem{},
		Passed:        tallies(g.passed),
		Skipped:       tallies(g.skipped),
		Measured:      measured,
	}
	for _, p := range problems {
		switch {
		case p.ofNodes():
			p.Of = g.nodes
		case len(p.Machines) > 0:
			p.Of = g.pods
		}
		if p.Status <= check.Skipped {
			result.Remarks = append(result.Remarks, p)
		} else {
			result.Problems = append(result.Problems, p)
		}
	}
	slices.SortStableFunc(result.Problems, func(a, b Problem) int { return cmp.Compare(b.Status, a.Status) })
	if c.Autopsy {
		result.Autopsies = autopsies(c.Machines)
	}
	return result
}

func tallies(times map[Tally]int) []Tally {
	var all []Tally
	for t, n := range times {
		t.Times = n
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Why, b.Why))
	})
	return all
}

// Worst returns the most severe status of the problems.
func (d Diagnosis) Worst() check.Status {
	worst := check.Pass
	for _, p := range d.Problems {
		worst = max(worst, p.Status)
	}
	return worst
}

// Unknown reports whether something that matters could not be read.
func (d Diagnosis) Unknown() bool {
	return slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Status == check.Unknown })
}
