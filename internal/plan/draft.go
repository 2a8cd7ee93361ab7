package plan

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// Draft collects the findings and the notes of a plan.
type Draft struct {
	Findings []check.Finding
	Notes    []string
}

// Report adds findings.
func (d *Draft) Report(findings ...check.Finding) { d.Findings = append(d.Findings, findings...) }

// Add adds the findings and the notes of a part.
func (d *Draft) Add(part Draft) {
	d.Report(part.Findings...)
	for _, note := range part.Notes {
		d.Note("%s", note)
	}
}

// Note adds a choice and its reason, once.
func (d *Draft) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(d.Notes, note) {
		d.Notes = append(d.Notes, note)
	}
}

// Failure returns a finding that prevents a plan.
func Failure(id check.ID, subject check.Ref, summary string, seen []check.Evidence, fix *check.Fix) check.Finding {
	return check.Finding{Check: id, Status: check.Fail, Subject: subject, Summary: summary, Evidence: seen, Fix: fix}
}

// Fail adds a finding that prevents the plan.
func (d *Draft) Fail(id check.ID, subject check.Ref, summary string, seen []check.Evidence, fix *check.Fix) {
	d.Report(Failure(id, subject, summary, seen, fix))
}

// ReportOnce adds findings unless another part of the plan gave the same.
func (d *Draft) ReportOnce(findings ...check.Finding) {
	for _, f := range findings {
		same := func(o check.Finding) bool { return o.Subject == f.Subject && o.Alike(f) }
		if !slices.ContainsFunc(d.Findings, same) {
			d.Report(f)
		}
	}
}

// Unknown adds a finding about a list that could not be read.
func (d *Draft) Unknown(s cluster.State, id check.ID, kind cluster.Kind, summary string) {
	got := "not read"
	if p := s.Problem(kind); p != nil {
		got = p.Err
	}
	d.Report(check.Finding{
		Check: id, Status: check.Unknown, Subject: check.Named(check.List, string(kind)), Summary: summary,
		Evidence: check.Observed(string(kind), got, ""),
	})
}

// RequireVersion fails if the server is older than a minor version of Kubernetes 1.
func (d *Draft) RequireVersion(server cluster.Server, minor int, problem string, fix *check.Fix) {
	switch {
	case minor == 0:
	case server.Minor == 0:
		d.Note("The API server does not tell its version. Kubernetes before 1.%d %s.", minor, problem)
	case server.Minor < minor:
		d.Fail(ServerSupport, check.Ref{Kind: check.Server}, "Kubernetes "+server.Version+" "+problem,
			check.Observed("server version", server.Version, fmt.Sprintf("v1.%d or newer", minor)), fix)
	}
}

// Failed reports whether a finding prevents the plan.
func (d *Draft) Failed() bool { return check.Worst(d.Findings) == check.Fail }

// Target is the job that a plan is for.
type Target struct {
	Name, Namespace string
	Manifest        bool   // the user wrote it; otherwise deploy does
	SCC             string // that the user chose
}

// Ref returns the job.
func (t Target) Ref() check.Ref { return check.Named(check.Job, t.Name) }

// NamespaceRef returns the namespace of the job.
func (t Target) NamespaceRef() check.Ref { return check.Named(check.Namespace, t.Namespace) }

// CommandWith returns the command line of the job, or of its injection, with more flags, to paste.
func (t Target) CommandWith(flags string) string {
	if t.Manifest {
		return fmt.Sprintf("railhead inject -f FILE -n %s %s", t.Namespace, flags)
	}
	return fmt.Sprintf("railhead deploy %s -n %s %s ...", t.Name, t.Namespace, flags)
}

// SetUpCommand returns the command that sets up the namespace of the job. The pods of a manifest have an account of
// their own.
func (t Target) SetUpCommand() string {
	command := "railhead setup namespace " + t.Namespace
	if !t.Manifest {
		command += " --name " + t.Name
	}
	if t.SCC != "" {
		command += " --scc " + t.SCC
	}
	return command
}
