package plan

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
)

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
