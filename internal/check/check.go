// Package check is the vocabulary of findings, their evidence and their fix.
package check

import (
	"fmt"
	"slices"
)

// ID names a check in words, such as "memlock-limit"; docs/checks/<ID>.md explains it.
type ID string

// Page is the path of the documentation page of the check, relative to the repository.
func (id ID) Page() string { return "docs/checks/" + string(id) + ".md" }

// Status is the verdict of one finding, by its consequence for the training job.
type Status int

// The order is the order of severity: the worst of several statuses is the largest.
const (
	Pass    Status = iota // checked, and as it should be
	Skipped               // not checked: something it builds on failed
	Unknown               // could not be read; never healthy
	Warn                  // training may break or slow down
	Fail                  // training will break or crawl
)

var statusNames = [...]string{"pass", "skipped", "unknown", "warn", "fail"}

func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return fmt.Sprintf("status(%d)", int(s))
	}
	return statusNames[s]
}

// MarshalText writes the status as its lower-case name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the lower-case name of a status.
func (s *Status) UnmarshalText(text []byte) error {
	for i, name := range statusNames {
		if name == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("unknown status %q", text)
}

// Evidence is one observation: its source, the value found and the value wanted.
type Evidence struct {
	Source string `json:"source"`         // path, environment variable or object field
	Got    string `json:"got"`            //
	Want   string `json:"want,omitempty"` // empty: the observation speaks for itself
}

func (e Evidence) String() string {
	if e.Want == "" {
		return fmt.Sprintf("%s: %s", e.Source, e.Got)
	}
	return fmt.Sprintf("%s: %s (want %s)", e.Source, e.Got, e.Want)
}

// Observed returns evidence of one observation.
func Observed(source, got, want string) []Evidence {
	return []Evidence{{Source: source, Got: got, Want: want}}
}

// Who is the person whose rights a fix needs.
type Who string

// The two roles of Railhead's users.
const (
	User  Who = "user"
	Admin Who = "admin"
)

// Fix resolves a finding.
type Fix struct {
	Text     string   `json:"text"`
	Commands []string `json:"commands,omitempty"` // shell commands or YAML, ready to paste
	Who      Who      `json:"who"`
}

// Finding is a failed check with its evidence and fix.
type Finding struct {
	Check    ID         `json:"check"`
	Status   Status     `json:"status"`
	Subject  Ref        `json:"subject,omitzero"`
	About    []Ref      `json:"about,omitempty"` // what else it is evidence for: findings explain each other by these
	Summary  string     `json:"summary"`         // one line, with numbers
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      *Fix       `json:"fix,omitempty"`
}

// Alike reports whether two findings read the same but for their subjects, so that people read them once.
func (f Finding) Alike(g Finding) bool {
	return f.Check == g.Check && f.Status == g.Status && f.Summary == g.Summary
}

// Concerns reports whether the finding is about an object or evidence for it.
func (f Finding) Concerns(r Ref) bool { return f.Subject == r || slices.Contains(f.About, r) }

// On returns the finding of a machine as it is seen from outside: its refs name the machine.
func (f Finding) On(machine Ref) Finding {
	f.Subject = f.Subject.On(machine)
	f.About = slices.Clone(f.About)
	for i := range f.About {
		f.About[i] = f.About[i].On(machine)
	}
	return f
}

// Explains reports whether two findings concern the same object, so that a finding of a check in ExplainedBy is the
// cause. A cause that concerns the cluster as a whole explains every effect.
func Explains(cause, effect Finding) bool {
	if cause.Subject.Kind == Cluster && len(cause.About) == 0 {
		return true
	}
	shared := func(r Ref) bool { return r.Specific() && effect.Concerns(r) }
	return shared(cause.Subject) || slices.ContainsFunc(cause.About, shared)
}

// Overall returns the worst status, or Unknown if a warning comes with an unreadable check, which may have failed.
func Overall(findings []Finding) Status {
	worst := Worst(findings)
	if worst < Fail && slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Unknown }) {
		return Unknown
	}
	return worst
}

// Worst returns the gravest status among the findings, Pass when there are none.
func Worst(findings []Finding) Status {
	worst := Pass
	for _, f := range findings {
		worst = max(worst, f.Status)
	}
	return worst
}
