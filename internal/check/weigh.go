package check

import "slices"

// Weight says whether the checks of machines show or exclude a suspected cause.
type Weight int

// Weights. Silent: no check decides.
const (
	Silent   Weight = iota
	Shown           // a check failed
	Excluded        // the checks passed wherever they ran
)

// Proof names the checks that decide about a suspected cause.
type Proof struct {
	ShownBy    []ID // one of them failed on a machine that did not pass all of ExcludedBy
	ExcludedBy []ID // all of them passed on every machine whose catalogue has them
}

// Weigh returns what reports say of a suspected cause; if it is shown, also the finding and the index of its report.
func (p Proof) Weigh(reports []Report) (weight Weight, shownBy Finding, report int) {
	for i, r := range reports {
		if len(p.ExcludedBy) > 0 && !slices.ContainsFunc(p.ExcludedBy, func(id ID) bool { return !r.passed(id) }) {
			continue
		}
		for _, f := range r.Findings {
			if f.Status > Unknown && slices.Contains(p.ShownBy, f.Check) {
				return Shown, f, i
			}
		}
	}
	failed := func(id ID) bool { return !passedAll(reports, id) }
	if len(p.ExcludedBy) > 0 && !slices.ContainsFunc(p.ExcludedBy, failed) {
		return Excluded, Finding{}, 0
	}
	return Silent, Finding{}, 0
}

// passedAll reports whether a check passed in every report of a catalogue that has it, and in one at least.
func passedAll(reports []Report, id ID) bool {
	passed := false
	for _, r := range reports {
		switch {
		case r.passed(id):
			passed = true
		case r.has(id):
			return false
		}
	}
	return passed
}

func (r Report) passed(id ID) bool { return slices.Contains(r.Passed, id) }

// has reports whether the check failed, or was skipped.
func (r Report) has(id ID) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Check == id }) ||
		slices.ContainsFunc(r.Skipped, func(s Skip) bool { return s.Check == id || s.Needs == id })
}
