package nccllog

import (
	"strconv"
	"strings"
)

// readExit reads exit codes and signals of torchrun ("exitcode  : -9 (pid: 41)"), mpirun ("exited on signal 9
// (Killed)"), srun ("task 3: Killed", "Exited with exit code 1"), Ray and the shell.
func readExit(e *Event, text, _ string) bool {
	for _, read := range []func(*Event, string) bool{torchExit, mpiExit, srunExit, plainExit, crash} {
		if read(e, text) {
			return e.Code != 0
		}
	}
	return false
}

func torchExit(e *Event, text string) bool {
	_, rest, ok := strings.Cut(text, "exitcode")
	if !ok || !strings.Contains(text, ":") || !strings.Contains(text, "(pid") {
		return false
	}
	code, _, _ := strings.Cut(wordAfter(rest, ":"), ")") // "(exitcode: -9) local_rank: 3 (pid: 41)"
	e.Code, _ = strconv.Atoi(code)
	return true
}

func mpiExit(e *Event, text string) bool {
	if !strings.Contains(text, "exited on signal ") {
		return false
	}
	e.Number, e.Host = numberAfter(text, "process rank "), strings.TrimRight(wordAfter(text, " on node "), ".")
	e.Code = -numberAfter(text, "exited on signal ")
	return true
}

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
}

func srunExit(e *Event, text string) bool {
	if !strings.Contains(text, "srun: error:") {
		return false
	}
	exited := strings.Contains(text, "Exited with exit code ")
	if !exited && !strings.Contains(text, "task") {
		return false
	}
	e.Code = signalIn(text, ": *")
	if exited {
		e.Code = numberAfter(text, "exit code ")
	}
	e.Number = numberAfter(text, ": task ")
	return true
}

func plainExit(e *Event, text string) bool {
	e.Code = max(numberAfter(text, "exitcode: "), numberAfter(text, "exit code "), 1)
	if n := numberAfter(text, "exitcode: -"); n >= 0 {
		e.Code = -n
	}
	return hasAny(text, "exited with non-zero status", "ChildFailedError", "failed (exitcode:") ||
		strings.Contains(text, "Exit code:") && strings.Contains(text, "rank") ||
		strings.Contains(text, "command terminated with exit code") && !strings.Contains(text, "exit code 0")
}

func crash(e *Event, text string) bool {
	e.Code = signalIn(text, "Signal: *", "* (core dumped)", "Fatal Python error: *")
	return e.Code != 0
}

// signalIn returns the code of a signal that a text names in one of the forms, or 0. * stands for the name.
func signalIn(text string, forms ...string) int {
	for _, s := range signals {
		for _, form := range forms {
			if strings.Contains(text, strings.Replace(form, "*", s.name, 1)) {
				return s.code
			}
		}
	}
	return 0
}

func readLoaderShm(e *Event, _, _ string) bool {
	e.Code = Errno("No space left on device")
	return true
}

// readDiskFull leaves out shared memory, which has rows of its own.
func readDiskFull(_ *Event, text, _ string) bool {
	return !hasAny(text, "/dev/shm", "shared memory", "nccl-")
}

func readFabricManager(e *Event, _, _ string) bool {
	e.Code, e.Name = 802, "Fabric Manager of the driver's version is not running (CUDA error 802)"
	return true
}

// readComplaint reads a line of level ERROR or worse. Counts of errors and words inside other words are none.
func readComplaint(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	if hasAny(text, "0 ERROR", "exit status 0", "ERROR_", "_ERROR", "NCCL_ASYNC_ERROR_HANDLING", "ERROR=", "errors: 0") {
		return false
	}
	return true
}

func readAbort(e *Event, text, _ string) bool {
	e.Number = numberAfter(text, "on rank ")
	return true
}

func readNodeFailure(e *Event, _, _ string) bool {
	e.Name = "node failure"
	return true
}
