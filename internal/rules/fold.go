package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
)

// folder puts problems under the problems that explain them.
type folder struct {
	explainedBy map[check.ID][]check.ID
	nodeOf      map[check.Ref]check.Ref // of pods
}

func (f folder) mayExplain(cause, effect Problem) bool {
	return slices.Contains(f.explainedBy[effect.Check], cause.Check)
}

// explains adds another problem, with its consequences, to the consequences of this one.
func (p *Problem) explains(effect Problem) {
	follows := Consequence{Check: effect.Check, Text: effect.Summary}
	if len(effect.Machines) > 0 {
		follows.Text = places(effect.Machines) + ": " + effect.Summary
	}
	p.Consequences = append(append(p.Consequences, follows), effect.Consequences...)
}

// unrequested puts faults of pods under what those pods do not request, if each of them requests too little.
func (f folder) unrequested(problems []Problem) []Problem {
	var left []int
	for i, p := range problems {
		cause := -1
		for k, pod := range p.Machines {
			at := slices.IndexFunc(problems, func(c Problem) bool {
				return len(c.Machines) == 0 && f.mayExplain(c, p) && c.Concerns(pod)
			})
			if at < 0 {
				cause = -1
				break
			}
			if k == 0 {
				cause = at
			}
		}
		if cause < 0 {
			left = append(left, i)
			continue
		}
		problems[cause].explains(p)
	}
	return chosen(problems, left)
}

// differences puts differences between machines under a fault of one of the machines that differ, which then is as
// grave as the difference.
func (f folder) differences(problems []Problem) []Problem {
	var left []int
	for i, p := range problems {
		cause := f.differs(problems, p)
		if cause < 0 || !slices.Contains(left, cause) {
			left = append(left, i)
			continue
		}
		problems[cause].Status = max(problems[cause].Status, p.Status)
		problems[cause].explains(p)
	}
	return chosen(problems, left)
}

// differs returns the fault that explains a difference, the nearest first; -1 if there is none.
func (f folder) differs(problems []Problem, p Problem) int {
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

// ofNodes puts faults of pods under a fault that all of their nodes have, which then is as grave as theirs.
func (f folder) ofNodes(problems []Problem) []Problem {
	var left []int
	for i, p := range problems {
		cause := -1
		if len(p.Machines) > 0 && !p.ofNodes() {
			cause = slices.IndexFunc(problems, func(c Problem) bool {
				elsewhere := func(pod check.Ref) bool { return !slices.Contains(c.Machines, f.nodeOf[pod]) }
				return c.ofNodes() && c.Status > check.Unknown && f.mayExplain(c, p) && !slices.ContainsFunc(p.Machines, elsewhere)
			})
		}
		if cause < 0 {
			left = append(left, i)
			continue
		}
		problems[cause].Status = max(problems[cause].Status, p.Status)
		problems[cause].explains(p)
	}
	return chosen(problems, left)
}

func chosen(problems []Problem, places []int) []Problem {
	all := make([]Problem, 0, len(places))
	for _, i := range places {
		all = append(all, problems[i])
	}
	return all
}
