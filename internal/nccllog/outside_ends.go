package nccllog

import (
	"strconv"
	"strings"
)

// endOfProcess takes exit codes and signals: of torchrun ("exitcode  : -9 (pid: 41)"), of mpirun ("exited on signal 9
// (Killed)"), of srun ("task 3: Killed", "Exited with exit code 1"), of Ray.
func endOfProcess(text string) (Event, bool) {
	switch {
	case strings.Contains(text, "exitcode") && strings.Contains(text, ":") && strings.Contains(text, "(pid"):
		_, rest, _ := strings.Cut(text, "exitcode")
		_, rest, _ = strings.Cut(rest, ":")
		n, err := strconv.Atoi(wordAfter(rest, ""))
		if err != nil || n == 0 {
			return Event{}, false
		}
		return Event{Kind: Exit, Number: -1, Code: n, Name: "torchrun"}, true
	case strings.Contains(text, "exited on signal "):
		return Event{Kind: Exit, Number: numberAfter([]byte(text), "process rank "), Host: strings.TrimRight(wordAfter(text, " on node "), "."), Code: -numberAfter([]byte(text), "exited on signal "), Name: "mpirun"}, true
	case strings.Contains(text, "srun: error:") && strings.Contains(text, "Exited with exit code "):
		return Event{Kind: Exit, Number: numberAfter([]byte(text), ": task "), Code: numberAfter([]byte(text), "exit code "), Name: "srun"}, true
	case strings.Contains(text, "srun: error:") && strings.Contains(text, "task"):
		for words, code := range map[string]int{": Killed": -9, ": Terminated": -15, ": Aborted": -6, ": Segmentation fault": -11, ": Bus error": -7, ": Out Of Memory": -9} {
			if strings.Contains(text, words) {
				return Event{Kind: Exit, Number: numberAfter([]byte(text), ": task "), Code: code, Name: "srun"}, true
			}
		}
	case strings.Contains(text, "exited with non-zero status"), strings.Contains(text, "Exit code:") && strings.Contains(text, "rank"),
		strings.Contains(text, "ChildFailedError"), strings.Contains(text, "command terminated with exit code") && !strings.Contains(text, "exit code 0"),
		strings.Contains(text, "failed (exitcode:"):
		code := max(numberAfter([]byte(text), "exitcode: "), numberAfter([]byte(text), "exit code "), 1)
		if strings.Contains(text, "exitcode: -") {
			code = -numberAfter([]byte(text), "exitcode: -")
		}
		return Event{Kind: Exit, Number: -1, Code: code}, true
	case strings.Contains(text, "Signal: Segmentation fault"), strings.Contains(text, "Segmentation fault (core dumped)"), strings.Contains(text, "Fatal Python error: Segmentation fault"):
		return Event{Kind: Exit, Number: -1, Code: -11}, true
	case strings.Contains(text, "Bus error (core dumped)"), strings.Contains(text, "Signal: Bus error"), strings.Contains(text, "Fatal Python error: Bus error"):
		return Event{Kind: Exit, Number: -1, Code: -7}, true
	case strings.Contains(text, "insufficient shared memory (shm)"):
		return Event{Kind: ShmFailed, Number: -1, Code: 28}, true
	}
	return Event{}, false
}

// scheduler takes what SLURM, the kernel, MPI and Ray say when they end a process.
func scheduler(text string) (Event, bool) {
	switch {
	case strings.Contains(text, "DUE TO TIME LIMIT"), strings.Contains(text, "DeadlineExceeded"):
		return Event{Kind: TimeLimit, Number: -1}, true
	case strings.Contains(text, "oom_kill"), strings.Contains(text, "oom-kill"), strings.Contains(text, "OOMKilled"), strings.Contains(text, "Out of memory: Killed process"),
		strings.Contains(text, "Memory cgroup out of memory"), strings.Contains(text, "killed due to memory pressure"), strings.Contains(text, "were killed due to the node running low on memory"):
		return Event{Kind: OOMKill, Number: -1}, true
	case strings.Contains(text, "MPI_ABORT was invoked"):
		return Event{Kind: Aborted, Number: numberAfter([]byte(text), "on rank "), Name: "MPI"}, true
	case strings.Contains(text, "ActorDiedError"), strings.Contains(text, "RayActorError"), strings.Contains(text, "The actor died"), strings.Contains(text, "actor is dead"), strings.Contains(text, "WorkerCrashedError"):
		return Event{Kind: Aborted, Number: -1, Name: "Ray"}, true
	case strings.Contains(text, "NODE FAILURE"), strings.Contains(text, "DUE TO NODE FAIL"):
		return Event{Kind: Aborted, Number: -1, Name: "node failure"}, true
	}
	return Event{}, false
}

// store takes failures to reach the launcher's store and rendezvous, and those of gloo.
func store(text string) (Event, bool) {
	for _, words := range []string{
		"RendezvousConnectionError", "RendezvousTimeoutError", "The client socket has timed out", "The client socket has failed to connect",
		"The connection to the C10d store has failed", "Timed out after", "client socket has timed out", "failed to connect to any address",
		"Socket Timeout", "Gloo connectFullMesh failed", "DistStoreError", "DistNetworkError",
	} {
		if strings.Contains(text, words) && (words != "Timed out after" || strings.Contains(text, "store") || strings.Contains(text, "clients joined")) {
			return Event{Kind: Rendezvous, Number: rankIn(text), Name: words, Info: isNotice(text)}, true
		}
	}
	if strings.Contains(text, "Unable to find address for") || strings.Contains(text, "Unable to find interface for") || strings.Contains(text, "ifaddr") && strings.Contains(text, "Unable") {
		return Event{Kind: NoInterface, Number: rankIn(text), Name: "gloo"}, true
	}
	return Event{}, false
}

// isNotice reports a line of glog's level W or I, in front of which launchers put their prefix: "[W218 10:00:00.1 socket.cpp:464]".
func isNotice(text string) bool {
	head := text[:min(len(text), 60)]
	for i := 0; i+3 < len(head); i++ {
		if (head[i] == 'W' || head[i] == 'I') && isDigit(head[i+1]) && isDigit(head[i+2]) && isDigit(head[i+3]) && (i == 0 || head[i-1] == '[' || head[i-1] == ' ' || head[i-1] == ':') {
			return true
		}
	}
	return strings.Contains(head, "[W ") || strings.Contains(head, "[I ")
}

// exception takes the last line of a traceback of Python: "[rank0]: ValueError: ...".
func exception(text string) (Event, bool) {
	rest := text
	if label, _ := labelOf([]byte(text)); label != nil {
		rest = strings.TrimLeft(text[strings.Index(text, string(label))+len(label):], ": ")
	}
	name, _, ok := strings.Cut(rest, ":")
	if !ok || len(name) > 80 || strings.ContainsAny(name, " /=\"'()[]") {
		return Event{}, false
	}
	if !strings.HasSuffix(name, "Error") && !strings.HasSuffix(name, "Exception") && !strings.HasSuffix(name, "Interrupt") {
		return Event{}, false
	}
	return Event{Kind: Exception, Number: -1, Name: name}, true
}
