// Package exit has the exit codes of railhead and railhead-pod.
package exit

import "fmt"

// Code is the exit code of a command. docs/exit-codes.md tells users what each one means.
type Code int

// The codes of both programs. From Timeout on, they are the codes that timeout(1), env(1) and shells use.
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
