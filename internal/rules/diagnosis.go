package rules

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
)

// DiagnosisSchema is the version of Diagnosis' JSON. Fields are added within a version; none changes its meaning.
const DiagnosisSchema = 2

// Case has everything that doctor examined.
type Case struct {
	State    cluster.State
	Machines []Machine
	Cluster  clusterrules.Options
	Autopsy  bool          // of IBV_WC_LOC_PROT_ERR, too
	Bench    *bench.Result // a measurement between the pods; nil: none was requested
}

// Diagnosis lists the problems, the most severe and its root cause first.
type Diagnosis struct {
	SchemaVersion int       `json:"schemaVersion"`
	Pods          int       `json:"pods"`  // looked at
	Nodes         int       `json:"nodes"` // looked at
	Problems      []Problem `json:"problems"`
	Remarks       []Problem `json:"remarks,omitempty"` // worth knowing, and nothing wrong
	Autopsies     []Autopsy `json:"autopsies,omitempty"`
	Passed        []Tally   `json:"passed,omitempty"`
	Skipped       []Tally   `json:"skipped,omitempty"`  // not looked at, for no finding's sake
	Measured      *Measured `json:"measured,omitempty"` // nil: nothing was to be
}

// Problem is one finding, and everything that has it alike.
type Problem struct {
	check.Finding
	Machines     []check.Ref   `json:"machines,omitempty"` // pods or nodes that have it; none if the cluster has it
	Of           int           `json:"of,omitempty"`       // machines of that kind that were looked at
	Others       []string      `json:"others,omitempty"`   // other words in which it was found, each once
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Autopsy is the likely cause of an NCCL error, for all pods with the same answer.
type Autopsy struct {
	Machines []check.Ref `json:"machines"`
	machine.Autopsy
}

// Consequence of a problem, or a check that was skipped because of it.
type Consequence struct {
	Check check.ID `json:"check"`
	Text  string   `json:"text,omitempty"`
}

// Tally is a check and on how many machines it went so.
type Tally struct {
	Check check.ID `json:"check"`
	Times int      `json:"times"`
	Why   string   `json:"why,omitempty"`
}

// Diagnose judges the cluster, every machine, and the machines with each other. It reports a fault of several
// machines once, and what follows from a fault under it.
func Diagnose(c Case) Diagnosis {
	g := gather(c)
	var measured *Measured
	if c.Bench != nil {
		measured = g.measure(c.Machines, benched{*c.Bench})
	}
	f := folder{explainedBy: g.explainedBy, nodeOf: g.nodeOf}
	problems := f.differences(f.unrequested(g.problems))
	problems = f.ofNodes(problems)

	result := Diagnosis{
		SchemaVersion: DiagnosisSchema,
		Pods:          g.pods,
		Nodes:         g.nodes,
		Problems:      []Problem{},
		Passed:        tallies(g.passed),
		Skipped:       skipped(g.skipped),
		Measured:      measured,
	}
	for _, p := range problems {
		p.Of = g.lookedAt(p)
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

// autopsies say of every pod, with its node where that was looked at, what IBV_WC_LOC_PROT_ERR would come from there;
// the pods for which it is the same are together.
func autopsies(machines []Machine) []Autopsy {
	nodes := map[string]host.Snapshot{}
	for _, m := range machines {
		if m.IsNode() && m.Unreached == "" {
			nodes[m.Node] = m.Snapshot
		}
	}
	var all []Autopsy
	at := map[string]int{}
	for _, m := range machines {
		if m.IsNode() || m.Unreached != "" {
			continue
		}
		seen := []host.Snapshot{m.Snapshot}
		if node, there := nodes[m.Node]; there {
			seen = append(seen, node)
		}
		a := machine.LocalProtection(seen...)
		i, known := at[a.Verdict]
		if !known {
			i = len(all)
			at[a.Verdict] = i
			all = append(all, Autopsy{Autopsy: a})
		}
		all[i].Machines = append(all[i].Machines, m.Ref)
	}
	return all
}

func tallies(times map[check.ID]int) []Tally {
	var all []Tally
	for id, n := range times {
		all = append(all, Tally{Check: id, Times: n})
	}
	slices.SortFunc(all, func(a, b Tally) int { return cmp.Compare(a.Check, b.Check) })
	return all
}

func skipped(times map[Tally]int) []Tally {
	var all []Tally
	for t, n := range times {
		t.Times = n
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tally) int { return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Why, b.Why)) })
	return all
}

// Worst is the gravest status of the problems.
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
