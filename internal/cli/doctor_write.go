package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// doctorVerdict is the output of doctor, in every format.
type doctorVerdict struct {
	Subject bundle.Subject `json:"subject"`
	rules.Diagnosis
	Log *story.Story `json:"log,omitempty"` // of the pods' logs
}

// logged returns the worst status of the logs.
func (v doctorVerdict) logged() check.Status {
	worst := check.Pass
	if v.Log == nil {
		return worst
	}
	for _, r := range v.Log.Runs {
		switch r.Outcome {
		case story.OutcomeFail, story.OutcomeFallback:
			return check.Fail
		case story.OutcomeDegraded:
			worst = check.Warn
		case story.OutcomeOK, story.OutcomeUnknown:
		}
	}
	return worst
}

// write writes the problems, root causes first. With wide it writes all evidence, the remarks, and the checks that
// passed.
func (v doctorVerdict) write(w io.Writer, wide bool) error {
	out := &lineWriter{w: w}
	out.line("%s: %s examined", v.about(), v.counted())
	if m := v.Measured; m != nil && m.Links > 0 {
		out.line("measured: %s between %s, in %.0f s", words.Count(m.Links, "link"), words.Count(m.Pods, "pod"), m.Seconds)
	}
	if passed := v.Subject.Passed; len(passed) > 0 {
		out.line("not examined, because they request GPUs but no RDMA: %s ('railhead doctor pod/%s' examines them anyway)",
			words.Few(passed, 6), passed[0])
	}
	for _, p := range v.Problems {
		out.line("")
		out.problem(p, wide)
	}
	if wide {
		for _, p := range v.Remarks {
			out.line("")
			out.problem(p, wide)
		}
		out.tallies("passed", v.passedEverywhere())
	}
	for _, a := range v.Autopsies {
		out.line("")
		out.autopsy(a)
	}
	if v.Log != nil {
		out.line("")
		out.line("From the logs of the pods:")
		storyWriter{out: w, wide: wide}.write(*v.Log)
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

// lineWriter writes lines, without terminal escapes, until an error.
type lineWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.w.Write(p)
	l.err = err
	return n, err
}

func (l *lineWriter) line(format string, args ...any) { report.Line(l, format, args...) }

// problem writes one problem.
func (l *lineWriter) problem(p rules.Problem, wide bool) {
	l.line("%s: %s%s [%s]", p.Status, where(p), p.Summary, p.Check)
	evidence, others := p.Evidence, p.Others
	if !wide {
		evidence, others = evidence[:min(len(evidence), 3)], others[:min(len(others), 1)]
	}
	for _, e := range evidence {
		l.line("    seen: %s", e)
	}
	for _, o := range others {
		l.line("    also: %s", o)
	}
	if more := len(p.Others) - len(others); more > 0 {
		l.line("    also: %d more; -o wide lists them", more)
	}
	if wide && len(p.Machines) > 1 {
		l.line("    on: %s", strings.Join(refNames(p.Machines), " "))
	}
	if p.Fix != nil {
		l.line("    fix (%s): %s", p.Fix.Who, p.Fix.Text)
		for _, command := range p.Fix.Commands {
			for row := range strings.Lines(command) {
				l.line("        %s", strings.TrimRight(row, "\n"))
			}
		}
	}
	l.consequences(p.Consequences, wide)
}

// autopsy writes the possible causes of an error.
func (l *lineWriter) autopsy(a rules.Autopsy) {
	l.line("%s on %s: %s", a.Error, words.Few(refNames(a.Machines), 3), a.Verdict)
	for _, c := range a.Causes {
		l.line("    %s: %s [%s]", c.Fit, c.Why, c.Check)
		for _, e := range c.Evidence[:min(len(c.Evidence), 3)] {
			l.line("        seen: %s", e)
		}
	}
	l.line("    experiment: %s", a.Experiment)
	for _, command := range a.Commands {
		l.line("        %s", command)
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
		return fmt.Sprintf("on all %d %s: ", n, kindOf(p.Machines[0]))
	case n > 1:
		return fmt.Sprintf("on %d of %d %s (%s): ", n, p.Of, kindOf(p.Machines[0]), words.Few(bareNames(p.Machines), 3))
	case subject != "":
		return subject + ": "
	}
	return ""
}

func kindOf(machine check.Ref) string { return string(machine.Kind) + "s" }

func refNames(machines []check.Ref) []string {
	names := make([]string, len(machines))
	for i, m := range machines {
		names[i] = m.String()
	}
	return names
}

func bareNames(machines []check.Ref) []string {
	names := make([]string, len(machines))
	for i, m := range machines {
		names[i] = m.Name
	}
	return names
}

// consequences writes the consequences of a problem, and the skipped checks in one line.
func (l *lineWriter) consequences(all []rules.Consequence, wide bool) {
	var quiet []string
	shown := 0
	for _, c := range all {
		switch {
		case c.Text == "":
			quiet = append(quiet, string(c.Check))
		case wide || shown < 3:
			shown++
			l.line("    follows: %s [%s]", c.Text, c.Check)
		default:
			shown++
		}
	}
	if shown > 3 && !wide {
		l.line("    follows: %d more; -o wide lists them", shown-3)
	}
	if len(quiet) > 0 {
		l.line("    skipped because of this: %s", words.Few(quiet, 6))
	}
}

// tallies writes one line of checks for each reason.
func (l *lineWriter) tallies(what string, all []rules.Tally) {
	reasons := map[string][]string{}
	var order []string
	for _, t := range all {
		if reasons[t.Why] == nil {
			order = append(order, t.Why)
		}
		reasons[t.Why] = append(reasons[t.Why], string(t.Check))
	}
	for _, why := range order {
		because := ""
		if why != "" && why != what {
			because = " (" + why + ")"
		}
		l.line("%s%s: %s", what, because, words.Few(reasons[why], 60))
	}
}
