package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
)

// fold moves every problem that has a cause to the consequences of its cause. cause returns the index of it, or -1.
func fold(problems []Problem, cause func(all []Problem, effect Problem) int) []Problem {
	folded := make([]bool, len(problems))
	for i, p := range problems {
		if c := cause(problems, p); c >= 0 {
			folded[i] = true
			problems[c].explains(p)
		}
	}
	var left []Problem
	for i, p := range problems {
		if !folded[i] {
			left = append(left, p)
		}
	}
	return left
}

// explains adds another problem to the consequences. A cause is as severe as its consequences.
func (p *Problem) explains(effect Problem) {
	follows := Consequence{Check: effect.Check, Text: effect.Summary}
	if len(effect.Machines) > 0 {
		follows.Text = places(effect.Machines) + ": " + effect.Summary
	}
	p.Status = max(p.Status, effect.Status)
	p.Consequences = append(append(p.Consequences, follows), effect.Consequences...)
}

// folder finds the causes of problems. No cause of one of its methods is an effect of the same method.
type folder struct {
	explainedBy map[check.ID][]check.ID
	nodeOf      map[check.Ref]check.Ref // of pods
}

func (f folder) mayExplain(cause, effect Problem) bool {
	return slices.Contains(f.explainedBy[effect.Check], cause.Check)
}

// unrequested returns the problem that the pods with a fault did not request enough.
func (f folder) unrequested(problems []Problem, p Problem) int {
	cause := -1
	for _, pod := range p.Machines {
		i := slices.IndexFunc(problems, func(c Problem) bool {
			return len(c.Machines) == 0 && f.mayExplain(c, p) && c.Concerns(pod)
		})
		if i < 0 {
			return -1
		}
		if cause < 0 {
			cause = i
		}
	}
	return cause
}

// difference returns the fault of one machine that explains a difference between machines, the nearest cause first.
func (f folder) difference(problems []Problem, p Problem) int {
	if len(p.Machines) > 0 {
		return -1
	}
	for _, id := range f.explainedBy[p.Check] {
		i := slices.IndexFunc(problems, func(c Problem) bool {
			return c.Check == id && c.Status > check.Unknown && slices.ContainsFunc(c.Machines, p.Concerns)
		})
		if i >= 0 {
			return i
		}
	}
	return -1
}

// ofNode returns the fault that all nodes of the pods with a fault have.
func (f folder) ofNode(problems []Problem, p Problem) int {
	if len(p.Machines) == 0 || p.ofNodes() {
		return -1
	}
	return slices.IndexFunc(problems, func(c Problem) bool {
		elsewhere := func(pod check.Ref) bool { return !slices.Contains(c.Machines, f.nodeOf[pod]) }
		return c.ofNodes() && c.Status > check.Unknown && f.mayExplain(c, p) &&
			!slices.ContainsFunc(p.Machines, elsewhere)
	})
}
