package codes

import "strings"

// signals are names of the signals that end a process.
var signals = []struct {
	name string
	code int
}{
	{"Killed", -9},
	{"Terminated", -15},
	{"Aborted", -6},
	{"Segmentation fault", -11},
	{"Bus error", -7},
	{"Out Of Memory", -9}, // of srun
	{"SIGKILL", -9},       // of Python
	{"SIGTERM", -15},
	{"SIGABRT", -6},
	{"SIGSEGV", -11},
	{"SIGBUS", -7},
	{"Floating point exception", -8},
	{"SIGFPE", -8},
	{"Illegal instruction", -4},
	{"SIGILL", -4},
}

// Signal returns the number of a signal that a text names in one of the forms, negative, or 0. * stands for the name.
func Signal(text string, forms ...string) int {
	for _, s := range signals {
		for _, form := range forms {
			if strings.Contains(text, strings.Replace(form, "*", s.name, 1)) {
				return s.code
			}
		}
	}
	return 0
}

// ExitSignal returns the signal of a process in a shell or a container, which exits with 128 more; other codes stay.
func ExitSignal(code int) int {
	const bySignal, last = 128, 128 + 64
	if code > bySignal && code <= last {
		return bySignal - code
	}
	return code
}
