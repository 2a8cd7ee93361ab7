// Package check is the vocabulary in which Railhead says what is wrong: findings, their evidence and their fix.
package check

import "fmt"

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

// Subject is what a finding is about: "pod", "mlx5_3/1", "node/x", "env/NCCL_IB_HCA".
type Subject string

// Evidence is one observation: where it was read, what was there and what was wanted.
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

// Who is the person whose rights a fix needs.
type Who string

// The two roles of Railhead's users.
const (
	User  Who = "user"
	Admin Who = "admin"
)

// Fix is what makes a finding go away.
type Fix struct {
	Text     string   `json:"text"`
	Commands []string `json:"commands,omitempty"` // shell commands or YAML, ready to paste
	Who      Who      `json:"who"`
}

// Finding is one fact that is not as it should be, with its proof and its cure.
type Finding struct {
	Check    ID         `json:"check"`
	Status   Status     `json:"status"`
	Subject  Subject    `json:"subject"`
	Summary  string     `json:"summary"` // one line, with numbers
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      *Fix       `json:"fix,omitempty"`
}

// Worst returns the gravest status among the findings, Pass when there are none.
func Worst(findings []Finding) Status {
	worst := Pass
	for _, f := range findings {
		worst = max(worst, f.Status)
	}
	return worst
}
