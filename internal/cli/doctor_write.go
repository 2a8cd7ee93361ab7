package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/rules"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// doctorVerdict is the output of doctor, in every format.
type doctorVerdict struct {
	Subject bundle.Subject `json:"subject"`
	rules.Diagnosis
	Log *story.Story `json:"log,omitempty"` // of the pods' logs
}

// judge diagnoses a bundle, from a cluster or from an archive.
func judge(b bundle.Bundle, machines []rules.Judged, autopsy bool) doctorVerdict {
	asked := b.Manifest.Subject
	v := doctorVerdict{Subject: asked, Diagnosis: rules.Diagnose(rules.Case{
		State:    b.State,
		Machines: machines,
		Cluster:  clusterrules.Options{Namespace: asked.Namespace, Job: asked.Job, Whole: asked.Cluster},
		Autopsy:  autopsy,
		Bench:    b.Bench,
	})}
	if len(b.Logs) > 0 {
		var snapshots []host.Snapshot
		for _, m := range machines {
			if m.Snapshot != nil {
				snapshots = append(snapshots, *m.Snapshot)
			}
		}
		logs := logsource.Archived(b.Logs, snapshots)
		v.Log = &logs
	}
	return v
}

// worst returns the worst status of the diagnosis and of the logs.
func (v doctorVerdict) worst() check.Status {
	worst := v.Worst()
	if v.Log == nil {
		return worst
	}
	for _, r := range v.Log.Runs {
		switch r.Outcome {
		case story.OutcomeFail, story.OutcomeFallback:
			return check.Fail
		case story.OutcomeDegraded:
			worst = max(worst, check.Warn)
		case story.OutcomeOK, story.OutcomeUnknown:
		}
	}
	return worst
}

// write writes the problems, root causes first. Wide adds all evidence, the remarks, and the checks that passed.
func (v doctorVerdict) write(w io.Writer, wide bool) error {
	out := &textWriter{out: w, wide: wide}
	out.line("%s: %s examined", v.about(), v.counted())
	if m := v.Measured; m != nil && m.Links > 0 {
		out.line("measured: %s between %s, in %.0f s",
			words.Count(m.Links, "link"), words.Count(m.Pods, "pod"), m.Seconds)
	}
	if passed := v.Subject.Passed; len(passed) > 0 {
		out.line("not examined, because they request GPUs but no RDMA: %s "+
			"('railhead doctor pod/%s' examines one anyway)",
			words.Few(passed, 6), passed[0])
	}
	for _, p := range v.Problems {
		out.problem(p)
	}
	if wide {
		for _, p := range v.Remarks {
			out.problem(p)
		}
		out.tallies("passed", v.passedEverywhere())
	}
	for _, a := range v.Autopsies {
		out.autopsy(a)
	}
	if v.Log != nil {
		out.line("")
		out.line("From the logs of the pods:")
		out.story(*v.Log)
	}
	out.line("")
	out.tallies("skipped", v.Skipped)
	out.line("%s", v.summary())
	return out.err
}

// passedEverywhere returns the checks that passed on every machine.
func (v doctorVerdict) passedEverywhere() []rules.Tally {
	return slices.DeleteFunc(slices.Clone(v.Passed), func(t rules.Tally) bool {
		return slices.ContainsFunc(v.Problems, func(p rules.Problem) bool { return p.Check == t.Check })
	})
}

// about names the subject.
func (v doctorVerdict) about() string {
	s := v.Subject
	in := ""
	if s.Namespace != "" {
		in = " in namespace " + s.Namespace
	}
	var parts []string
	if s.Job != "" {
		parts = append(parts, "Job "+s.Job+in)
	}
	if len(s.Pods) > 0 {
		parts = append(parts, "Pod "+words.Few(s.Pods, 6)+in)
	}
	if len(s.Nodes) > 0 && s.Job == "" {
		parts = append(parts, "Node "+words.Few(s.Nodes, 6))
	}
	switch {
	case s.Cluster:
		return "Cluster"
	case len(parts) == 0:
		return "Namespace " + s.Namespace
	}
	return strings.Join(parts, ", ")
}

func (v doctorVerdict) counted() string {
	text := words.Count(v.Pods, "pod")
	if v.Nodes > 0 {
		text += " and " + words.Count(v.Nodes, "node")
	}
	if v.Subject.Cluster {
		return "its objects"
	}
	return text
}

// summary returns the last line.
func (v doctorVerdict) summary() string {
	passed := 0
	for _, t := range v.Passed {
		passed += t.Times
	}
	by := map[check.Status]int{}
	for _, p := range v.Problems {
		by[p.Status]++
	}
	if len(v.Problems) == 0 {
		return fmt.Sprintf("Nothing is wrong: %s passed.", words.Count(passed, "check"))
	}
	var parts []string
	for _, status := range []check.Status{check.Fail, check.Warn, check.Unknown} {
		if by[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[status], status))
		}
	}
	return fmt.Sprintf("%s (%s); %s passed. 'railhead explain-check ID' explains each.",
		words.Count(len(v.Problems), "finding"), strings.Join(parts, ", "), words.Count(passed, "check"))
}

// problem writes one problem.
func (w *textWriter) problem(p rules.Problem) {
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
func (w *textWriter) autopsy(a rules.Autopsy) {
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
func (w *textWriter) consequences(all []rules.Consequence) {
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
func (w *textWriter) tallies(what string, all []rules.Tally) {
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
