// Package exit has the exit codes of railhead and railhead-pod.
package exit

import "fmt"

// Code is the exit code of a command.
type Code int

// The codes of both programs. From Timeout on they are those of timeout(1), env(1) and shells.
const (
	OK           Code = 0
	Fault        Code = 1
	Usage        Code = 2
	Unknown      Code = 3
	Timeout      Code = 124
	Refused      Code = 125
	CannotInvoke Code = 126
	NotFound     Code = 127
	Interrupted  Code = 130
)

// Signalled returns the code of a command that a signal ended, as shells report it.
func Signalled(signal int) Code { return 128 + Code(signal) }

// Row describes one code. Commands is empty for codes that every command uses.
type Row struct {
	Code                    Code
	Name, Commands, Meaning string
}

// Table returns every code, in ascending order.
func Table() []Row {
	return []Row{
		{OK, "ok", "", "The command succeeded and nothing is wrong."},
		{Fault, "fault", "", "A fault was found, or the operation failed."},
		{Usage, "usage", "", "The command line is wrong. Nothing was done."},
		{Unknown, "unknown", "", "Something that matters could not be read or measured. It may be healthy or not."},
		{Timeout, "timeout", "`railhead launch`", "The command ran longer than `--timeout` and was stopped."},
		{
			Refused, "refused", "`railhead-pod run`, `railhead launch`",
			"`railhead-pod run` did not start the command, or its own command line is wrong.",
		},
		{CannotInvoke, "cannot invoke", "`railhead-pod run`, `railhead launch`", "The command exists but cannot be executed."},
		{NotFound, "not found", "`railhead-pod run`, `railhead launch`", "The command was not found."},
		{Interrupted, "interrupted", "`railhead`", "Interrupted, by Ctrl-C for example."},
	}
}

// Error ends a program with a code. Err is printed unless it is nil.
type Error struct {
	Code Code
	Err  error
}

func (e Error) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns Err.
func (e Error) Unwrap() error { return e.Err }

// Failed returns err as an Error with the code Fault.
func Failed(err error) error { return Error{Fault, err} }
