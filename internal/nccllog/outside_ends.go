package nccllog

import (
	"strconv"
	"strings"
)

// noFields returns the reader of a line that has no more fields than the name of its program.
func noFields(k Kind, name string) func(text, where string) (Event, bool) {
	return func(string, string) (Event, bool) { return Event{Kind: k, Number: -1, Name: name}, true }
}

// readExit reads exit codes and signals: of torchrun ("exitcode  : -9 (pid: 41)"), of mpirun ("exited on signal 9
// (Killed)"), of srun ("task 3: Killed", "Exited with exit code 1"), of Ray and of the shell.
func readExit(text, _ string) (Event, bool) {
	for _, read := range []func(string) (Event, bool){torchExit, mpiExit, srunExit, plainExit, crashed} {
		if e, ok := read(text); ok {
			e.Kind = Exit
			return e, e.Code != 0
		}
	}
	return Event{}, false
}

func torchExit(text string) (Event, bool) {
	if !strings.Contains(text, "exitcode") || !strings.Contains(text, ":") || !strings.Contains(text, "(pid") {
		return Event{}, false
	}
	_, rest, _ := strings.Cut(text, "exitcode")
	_, rest, _ = strings.Cut(rest, ":")
	n, err := strconv.Atoi(wordAfter(rest, ""))
	if err != nil {
		n = 0 // nothing that ended
	}
	return Event{Number: -1, Code: n, Name: "torchrun"}, true
}

func mpiExit(text string) (Event, bool) {
	return Event{
		Number: numberAfter([]byte(text), "process rank "), Host: strings.TrimRight(wordAfter(text, " on node "), "."),
		Code: -numberAfter([]byte(text), "exited on signal "), Name: "mpirun",
	}, strings.Contains(text, "exited on signal ")
}

// signalNames are srun's names of the signals that ended a task.
var signalNames = []struct {
	name string
	code int
}{
	{": Killed", -9}, {": Terminated", -15}, {": Aborted", -6}, {": Segmentation fault", -11}, {": Bus error", -7},
	{": Out Of Memory", -9},
}

func srunExit(text string) (Event, bool) {
	e := Event{Number: numberAfter([]byte(text), ": task "), Name: "srun"}
	if !strings.Contains(text, "srun: error:") {
		return e, false
	}
	if strings.Contains(text, "Exited with exit code ") {
		e.Code = numberAfter([]byte(text), "exit code ")
		return e, true
	}
	for _, s := range signalNames {
		if strings.Contains(text, "task") && strings.Contains(text, s.name) {
			e.Code = s.code
			return e, true
		}
	}
	return e, strings.Contains(text, "task")
}

func plainExit(text string) (Event, bool) {
	said := strings.Contains(text, "exited with non-zero status") || strings.Contains(text, "ChildFailedError") ||
		strings.Contains(text, "Exit code:") && strings.Contains(text, "rank") ||
		strings.Contains(text, "failed (exitcode:") ||
		strings.Contains(text, "command terminated with exit code") && !strings.Contains(text, "exit code 0")
	code := max(numberAfter([]byte(text), "exitcode: "), numberAfter([]byte(text), "exit code "), 1)
	if strings.Contains(text, "exitcode: -") {
		code = -numberAfter([]byte(text), "exitcode: -")
	}
	return Event{Number: -1, Code: code}, said
}

func crashed(text string) (Event, bool) {
	for _, s := range []struct {
		name string
		code int
	}{{"Segmentation fault", -11}, {"Bus error", -7}} {
		for _, form := range []string{"Signal: " + s.name, s.name + " (core dumped)", "Fatal Python error: " + s.name} {
			if strings.Contains(text, form) {
				return Event{Number: -1, Code: s.code}, true
			}
		}
	}
	return Event{}, false
}

func readLoaderShm(string, string) (Event, bool) {
	const noSpace = 28 // ENOSPC
	return Event{Kind: ShmFailed, Number: -1, Code: noSpace}, true
}

func readAbort(text, _ string) (Event, bool) {
	return Event{Kind: Aborted, Number: numberAfter([]byte(text), "on rank "), Name: "MPI"}, true
}

// rendezvousWords are of the launcher's store and rendezvous, and of gloo.
var rendezvousWords = []string{
	"RendezvousConnectionError", "RendezvousTimeoutError", "The client socket has timed out",
	"The client socket has failed to connect",
	"The connection to the C10d store has failed", "Timed out after", "client socket has timed out",
	"failed to connect to any address",
	"Socket Timeout", "Gloo connectFullMesh failed", "DistStoreError", "DistNetworkError",
}

func readRendezvous(text, _ string) (Event, bool) {
	for _, w := range rendezvousWords {
		general := w == "Timed out after" && !strings.Contains(text, "store") &&
			!strings.Contains(text, "clients joined")
		if strings.Contains(text, w) && !general {
			return Event{Kind: Rendezvous, Number: rankIn(text), Name: w, Info: isNotice(text)}, true
		}
	}
	return Event{}, false
}

func readGlooInterface(text, _ string) (Event, bool) {
	return Event{Kind: NoInterface, Number: rankIn(text), Name: "gloo"}, strings.Contains(text, "Unable")
}

// isNotice reports a line of glog's level W or I, in front of which launchers put their prefix: "[W218 10:00:00.1
// socket.cpp:464]".
func isNotice(text string) bool {
	head := text[:min(len(text), 60)]
	for i := 0; i+3 < len(head); i++ {
		if (head[i] == 'W' || head[i] == 'I') && isDigit(head[i+1]) && isDigit(head[i+2]) && isDigit(head[i+3]) &&
			(i == 0 || head[i-1] == '[' || head[i-1] == ' ' || head[i-1] == ':') {
			return true
		}
	}
	return strings.Contains(head, "[W ") || strings.Contains(head, "[I ")
}

// exception takes the last line of a traceback of Python: "[rank0]: ValueError: ...".
func exception(text, _ string) (Event, bool) {
	rest := text
	if label, _ := labelOf([]byte(text)); label != nil {
		rest = strings.TrimLeft(text[strings.Index(text, string(label))+len(label):], ": ")
	}
	name, _, ok := strings.Cut(rest, ":")
	if !ok || len(name) > 80 || strings.ContainsAny(name, " /=\"'()[]") {
		return Event{}, false
	}
	if !strings.HasSuffix(name, "Error") && !strings.HasSuffix(name, "Exception") &&
		!strings.HasSuffix(name, "Interrupt") {
		return Event{}, false
	}
	return Event{Kind: Exception, Number: -1, Name: name}, true
}
