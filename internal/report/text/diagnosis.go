package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
)

// Diagnosis writes the problems, root causes first. Wide adds all evidence, the remarks, and the checks that passed.
func Diagnosis(out io.Writer, v rules.Verdict, wide bool) error {
	w := &writer{out: out, wide: wide}
	w.line("%s: %s examined", v.Title(), v.Size())
	if m := v.Measured; m != nil && m.Links > 0 {
		w.line("measured: %s between %s, in %.0f s",
			words.Count(m.Links, "link"), words.Count(m.Pods, "pod"), m.Seconds)
	}
	if len(v.Subject.Passed) > 0 {
		w.line("not examined, because they request GPUs but no RDMA: %s "+
			"('railhead doctor pod/%s' examines one anyway)",
			words.Few(v.Subject.Passed, 6), v.Subject.Passed[0])
	}
	for _, p := range v.Problems {
		w.problem(p)
	}
	if wide {
		for _, p := range v.Remarks {
			w.problem(p)
		}
		w.tallies("passed", passedEverywhere(v.Diagnosis))
	}
	for _, a := range v.Autopsies {
		w.autopsy(a)
	}
	if v.Log != nil {
		w.line("")
		w.line("From the logs of the pods:")
		w.story(*v.Log)
	}
	w.line("")
	w.tallies("skipped", v.Skipped)
	w.line("%s", summary(v.Diagnosis))
	return w.err
}

// passedEverywhere returns the checks that passed on every machine.
func passedEverywhere(d rules.Diagnosis) []rules.Tally {
	return slices.DeleteFunc(slices.Clone(d.Passed), func(t rules.Tally) bool {
		return slices.ContainsFunc(d.Problems, func(p rules.Problem) bool { return p.Check == t.Check })
	})
}

// summary returns the last line of a diagnosis.
func summary(d rules.Diagnosis) string {
	passed := 0
	for _, t := range d.Passed {
		passed += t.Times
	}
	by := map[check.Status]int{}
	for _, p := range d.Problems {
		by[p.Status]++
	}
	if len(d.Problems) == 0 {
		return fmt.Sprintf("Nothing is wrong: %s passed.", words.Count(passed, "check"))
	}
	var parts []string
	for _, status := range []check.Status{check.Fail, check.Warn, check.Unknown} {
		if by[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[status], status))
		}
	}
	return fmt.Sprintf("%s (%s); %s passed. 'railhead explain-check ID' explains each.",
		words.Count(len(d.Problems), "finding"), strings.Join(parts, ", "), words.Count(passed, "check"))
}

// problem writes one problem.
func (w *writer) problem(p rules.Problem) {
	w.line("")
	w.line("%s: %s%s [%s]", p.Status, where(p), p.Summary, p.Check)
	evidence, others := p.Evidence, p.Others
	if !w.wide {
		evidence, others = evidence[:min(len(evidence), maxEvidence)], others[:min(len(others), 1)]
	}
	for _, e := range evidence {
		w.line("    seen: %s", e)
	}
	for _, o := range others {
		w.line("    also: %s", o)
	}
	if more := len(p.Others) - len(others); more > 0 {
		w.line("    also: %d more; -o wide lists them", more)
	}
	if w.wide && len(p.Machines) > 1 {
		w.line("    on: %s", strings.Join(names(p.Machines, check.Ref.String), " "))
	}
	if p.Fix != nil {
		w.line("    fix (%s): %s", p.Fix.Who, p.Fix.Text)
		for _, command := range p.Fix.Commands {
			for row := range strings.Lines(command) {
				w.line("        %s", strings.TrimRight(row, "\n"))
			}
		}
	}
	w.consequences(p.Consequences)
}

// autopsy writes the possible causes of an error.
func (w *writer) autopsy(a rules.Autopsy) {
	w.line("")
	w.line("%s on %s: %s", a.Error, words.Few(names(a.Machines, check.Ref.String), 3), a.Verdict)
	for _, c := range a.Causes {
		w.line("    %s: %s [%s]", c.Fit, c.Why, c.Check)
		for _, e := range c.Evidence[:min(len(c.Evidence), maxEvidence)] {
			w.line("        seen: %s", e)
		}
	}
	w.line("    experiment: %s", a.Experiment)
	for _, command := range a.Commands {
		w.line("        %s", command)
	}
}

// where names the machines of a problem, and its subject.
func where(p rules.Problem) string {
	subject := p.Subject.String()
	if p.Subject.Obvious() {
		subject = ""
	}
	switch n := len(p.Machines); {
	case n == 1 && p.Machines[0] != p.Subject:
		return strings.TrimSuffix(p.Machines[0].String()+" "+subject, " ") + ": "
	case n > 1 && n == p.Of:
		return fmt.Sprintf("on all %d %ss: ", n, p.Machines[0].Kind)
	case n > 1:
		some := words.Few(names(p.Machines, func(m check.Ref) string { return m.Name }), 3)
		return fmt.Sprintf("on %d of %d %ss (%s): ", n, p.Of, p.Machines[0].Kind, some)
	case subject != "":
		return subject + ": "
	}
	return ""
}

func names(machines []check.Ref, name func(check.Ref) string) []string {
	all := make([]string, len(machines))
	for i, m := range machines {
		all[i] = name(m)
	}
	return all
}

// consequences writes the consequences of a problem, and the skipped checks in one line.
func (w *writer) consequences(all []rules.Consequence) {
	var skipped []string
	found := 0
	for _, c := range all {
		if c.Text == "" {
			skipped = append(skipped, string(c.Check))
			continue
		}
		if found++; w.wide || found <= maxEvidence {
			w.line("    follows: %s [%s]", c.Text, c.Check)
		}
	}
	if more := found - maxEvidence; more > 0 && !w.wide {
		w.line("    follows: %d more; -o wide lists them", more)
	}
	if len(skipped) > 0 {
		w.line("    skipped because of this: %s", words.Few(skipped, 6))
	}
}

// tallies writes one line of checks for each reason.
func (w *writer) tallies(what string, all []rules.Tally) {
	checks := map[string][]string{} // by reason
	var reasons []string
	for _, t := range all {
		if checks[t.Why] == nil {
			reasons = append(reasons, t.Why)
		}
		checks[t.Why] = append(checks[t.Why], string(t.Check))
	}
	for _, why := range reasons {
		because := ""
		if why != "" && why != what {
			because = " (" + why + ")"
		}
		w.line("%s%s: %s", what, because, words.Few(checks[why], 60))
	}
}
