package causes

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/story"
)

// Machine is a machine or a pod of the run, as its checks judged it.
type Machine struct {
	Name   string
	Kernel string // release
	Report check.Report
}

// proof names the checks of machines that decide about a cause.
type proof struct {
	check.Proof
	unless story.CauseID // excludes this cause if it is shown

	// If these checks passed on every machine, the summary gets the words left.
	narrowedBy []check.ID
	left       string
}

// weigh compares candidates with the machines: one that a failed check shows is certain and comes first, one that the
// checks exclude is left out. Machines that are not known to be all of the run exclude nothing.
func weigh(in *input, found []candidate) []candidate {
	reports := make([]check.Report, 0, len(in.machines))
	for _, m := range in.machines {
		reports = append(reports, m.Report)
	}
	var shown, kept, doubtful []candidate
	for _, c := range found {
		p := entryOf(c.id).proof
		switch weight, f, i := p.Weigh(reports); {
		case weight == check.Shown:
			c.confidence = story.Certain
			c.summary += "; " + in.machines[i].Name + ": " + f.Summary
			shown = append(shown, c)
		case weight == check.Excluded && in.run.Nodes() > 0 && len(in.machines) >= in.run.Nodes():
		case weight == check.Excluded:
			c.confidence = story.Possible
			c.summary += "; on the machines that were examined it is not so"
			doubtful = append(doubtful, c)
		default:
			if excluded, _, _ := (check.Proof{ExcludedBy: p.narrowedBy}).Weigh(reports); excluded == check.Excluded {
				c.summary += "; " + p.left
			}
			kept = append(kept, c)
		}
	}
	all := slices.Concat(shown, kept, doubtful)
	isShown := func(id story.CauseID) bool {
		return slices.ContainsFunc(shown, func(c candidate) bool { return c.id == id })
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return isShown(entryOf(c.id).proof.unless) })
	if len(all) == 0 {
		return found
	}
	return all
}
