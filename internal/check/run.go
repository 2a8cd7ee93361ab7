package check

import (
	"maps"
	"slices"
	"sort"
)

// Check is one thing that should be so, and the function that finds where it is not.
type Check[T any] struct {
	ID    ID
	Title string // the healthy fact: "the process can lock all the memory it registers"
	Needs []ID   // skipped, with "needs X", unless those passed: the root cause comes first
	// ExplainedBy lists the checks, the nearest cause first, whose findings explain the findings of this check if both
	// are about the same object (see Explains).
	ExplainedBy []ID
	Run         func(T) []Finding // pure; no findings = pass
}

// Report of a catalogue of checks: root causes, and under each the checks that were skipped because of it.
type Report struct {
	Findings []Finding `json:"findings"` // the gravest first; of equals the root cause first
	Passed   []ID      `json:"passed,omitempty"`
	Skipped  []Skip    `json:"skipped,omitempty"`

	ExplainedBy map[ID][]ID `json:"-"` // of the rows, by their checks
}

// Skip is a check that was not run: a check that it needs did not pass, or its facts were not read.
type Skip struct {
	Check ID     `json:"check"`
	Needs ID     `json:"needs,omitempty"` // the check of the finding at the root of it
	Why   string `json:"why,omitempty"`   // where nothing failed
}

// Run makes every check of the catalogue whose needs pass, whatever their order in it. A need that is not in the
// catalogue passes. A finding may name another check than the one that ran: the more exact page to read.
func Run[T any](checks []Check[T], subject T) Report {
	r := runner{state: map[ID]*state{}}
	for i := range checks {
		c := &checks[i]
		r.checks = append(r.checks, bound{c.ID, c.Needs, c.ExplainedBy, func() []Finding { return c.Run(subject) }})
	}
	return r.run()
}

// bound is a check of one subject: all that does not depend on what subjects are is written, and linked, once.
type bound struct {
	id          ID
	needs       []ID
	explainedBy []ID
	run         func() []Finding
}

type runner struct {
	checks []bound
	state  map[ID]*state
}

func (r *runner) run() Report {
	for _, c := range r.checks {
		r.visit(c.id)
	}
	return r.report()
}

// state is the result of a check.
type state struct {
	depth    int // of its needs
	findings []Finding
	skip     *Skip
}

// passed reports whether what builds on the check may run: a finding of status Pass is a remark.
func (s *state) passed() bool { return s.skip == nil && Worst(s.findings) <= Pass }

// visit runs the checks that id needs, then id. It returns nil for an unknown ID.
func (r *runner) visit(id ID) *state {
	if s, done := r.state[id]; done {
		return s
	}
	i := slices.IndexFunc(r.checks, func(c bound) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	c, s := r.checks[i], &state{}
	r.state[id] = s // a circle of needs ends here
	for _, need := range c.needs {
		n := r.visit(need)
		if n == nil {
			continue
		}
		s.depth = max(s.depth, n.depth+1)
		if s.skip == nil && !n.passed() {
			s.skip = &Skip{Check: id, Needs: n.root()}
			if n.skip != nil {
				s.skip.Why = n.skip.Why
			}
		}
	}
	if s.skip == nil {
		s.run(id, c.run())
	}
	return s
}

// run takes a check's findings. A single finding of status Skipped says that the snapshot has no data for the check.
func (s *state) run(id ID, findings []Finding) {
	if len(findings) == 1 && findings[0].Status == Skipped {
		s.skip = &Skip{Check: id, Why: findings[0].Summary}
		return
	}
	s.findings = findings
}

// root returns the check of the finding that keeps a state from passing, "" if there was no data.
func (s *state) root() ID {
	if s.skip != nil {
		return s.skip.Needs
	}
	worst := Worst(s.findings)
	i := slices.IndexFunc(s.findings, func(f Finding) bool { return f.Status == worst })
	return s.findings[i].Check
}

// report sorts the findings by severity, and equally severe ones by how much builds on them. Consequences were skipped.
func (r *runner) report() Report {
	report := Report{Findings: []Finding{}}
	deepest := 0
	for _, c := range r.checks {
		s := r.state[c.id]
		deepest = max(deepest, s.depth)
		if c.explainedBy != nil {
			if report.ExplainedBy == nil {
				report.ExplainedBy = map[ID][]ID{}
			}
			report.ExplainedBy[c.id] = c.explainedBy
		}
		switch {
		case s.skip != nil:
			report.Skipped = append(report.Skipped, *s.skip)
		case s.passed():
			report.Passed = append(report.Passed, c.id)
		}
	}
	for depth := range deepest + 1 {
		for _, c := range r.checks {
			if s := r.state[c.id]; s.depth == depth {
				report.Findings = append(report.Findings, s.findings...)
			}
		}
	}
	report.sort()
	return report
}

// sort puts the most severe findings first and keeps the order of equally severe ones.
func (r *Report) sort() {
	// not slices.SortStableFunc: its code for this type adds 16 kB to railhead-pod
	sort.SliceStable(r.Findings, func(i, k int) bool { return r.Findings[i].Status > r.Findings[k].Status })
}

// Add joins the report of another catalogue, behind the equally severe findings of this one.
func (r *Report) Add(other Report) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Passed = append(r.Passed, other.Passed...)
	r.Skipped = append(r.Skipped, other.Skipped...)
	if r.ExplainedBy == nil && other.ExplainedBy != nil {
		r.ExplainedBy = map[ID][]ID{}
	}
	maps.Copy(r.ExplainedBy, other.ExplainedBy)
	r.sort()
}

// Worst returns the gravest status of the report. A check skipped because of a finding counts as that finding; a check
// skipped for lack of data counts as Skipped, which is not Pass.
func (r Report) Worst() Status {
	worst := Worst(r.Findings)
	for _, s := range r.Skipped {
		if s.Needs == "" {
			worst = max(worst, Skipped)
		}
	}
	return worst
}

// Folded are the checks that were skipped because of the findings of a check.
func (r Report) Folded(id ID) []ID {
	var all []ID
	for _, s := range r.Skipped {
		if s.Needs == id {
			all = append(all, s.Check)
		}
	}
	return all
}

// AtLeast are the findings of a status or graver, in order; Pass gives the remarks, too.
func (r Report) AtLeast(status Status) []Finding {
	var all []Finding
	for _, f := range r.Findings {
		if f.Status >= status {
			all = append(all, f)
		}
	}
	return all
}
