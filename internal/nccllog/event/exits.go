package event

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// exitWords are in the lines with which launchers and shells report the end of a process.
var exitWords = append([]string{
	"exitcode", "exited on signal ", "srun: error:", "exited with non-zero status", "Exit code:", "ChildFailedError",
	"Exit Code:", "Exited with exit code ", lsfSignal, "exited with code ", "crashed with exit code ",
	"exit with status code ", "command terminated with exit code", "Segmentation fault", "Bus error", "(core dumped)",
	"exits with return code", "terminated with code", "process returned", "Job step aborted", ") received by PID",
	"got signal: ", "Killed", "Caught signal ", "] Signal: ", " WTERMSIG ", "died with <Signals.", "KILLED BY SIGNAL: ",
	"EXIT CODE: ", "EXIT STRING: ", "Assertion `", "symbol lookup error: ", "error while loading shared libraries: ",
	"Fatal Python error: ", "*** SIG", "Program received signal SIG", failedCommand, lsfSubject,
}, abortWords...)

// failedCommand precedes a command in launcher/launch.py of DeepSpeed, which ended with a code that the line has behind
// its arguments.
const failedCommand = "sigkill_handler] ['"

// lsfSignal precedes the name of a signal in the report of LSF.
const lsfSignal = "Exited with signal termination: "

// lsfSubject begins the subject of the report of LSF, which ends with Done or Exited.
const lsfSubject = "Subject: Job "

// abortWords are in the last words of a program in C or C++ that aborts itself.
var abortWords = []string{
	"terminate called", "double free or corruption", "corrupted size vs", "free(): ", "malloc(): ", "realloc(): ",
	"munmap_chunk(): ", "corrupted double-linked list", "] Check failed: ", "  what():  ", "Assertion failure at ",
}

// readExit reads the exit code of a process, or its signal as a negative number.
func readExit(e *Event, text, _ string) bool {
	for _, read := range []func(*Event, string) bool{torchExit, mpiExit, srunExit, launcherExit, plainExit, crash} {
		if read(e, text) {
			e.Code = codes.ExitSignal(e.Code)
			e.detail(Told, slices.Contains(toldSignals, e.Code))
			return e.Code != 0
		}
	}
	return false
}

// toldSignals are SIGHUP, SIGINT and SIGTERM.
var toldSignals = []int{-1, -2, -15}

// launcherExit reads the words that only one launcher uses.
func launcherExit(e *Event, text string) bool {
	for _, words := range []string{
		"exits with return code = ",          // DeepSpeed, launcher/launch.py
		"terminated with code ",              // Lightning: "[rank: 1] Child process ... terminated with code 1"
		"command terminated with exit code ", // kubectl exec
		"EXIT CODE: ",                        // MPICH: "=   EXIT CODE: 9"
		"Exited with exit code ",             // LSF
		"exited with code ",                  // Composer: "Global rank 3 (PID 41) exited with code -9"; Docker
		"crashed with exit code ",            // older Composer: "Rank 3 crashed with exit code -9."
		"exit with status code ",             // horovodrun: "Process 3 exit with status code 1."
	} {
		if code, ok := signedAfter(text, words); ok {
			e.Code = code
			e.Number = max(find.NumberAfter(text, "[rank: "), find.NumberAfter(text, "lobal rank "),
				find.NumberAfter(text, "Rank "))
			return true
		}
	}
	for _, words := range []string{
		"got signal: ",       // torchrun: "Process 123 got signal: 15"
		"Signal ",            // torchrun: "traceback : Signal 9 (SIGKILL) received by PID 123"
		"Caught signal ",     // UCX: "Caught signal 11 (Segmentation fault: address not mapped to object)"
		" WTERMSIG ",         // slurmctld: "_job_complete: JobId=127 WTERMSIG 9"
		"KILLED BY SIGNAL: ", // Intel MPI: "KILLED BY SIGNAL: 9 (Killed)"
		" (signal ",          // MPICH: "TERMINATED WITH THE EXIT STRING: Killed (signal 9)"
	} {
		if signal, ok := signedAfter(text, words); ok {
			e.Code = -signal
			return true
		}
	}
	switch {
	case strings.Contains(text, "Job step aborted"): // srun ends the tasks that are left
		e.Code = codes.Signal("SIGTERM", "*")
	case strings.Contains(text, lsfSubject) && strings.HasSuffix(strings.TrimSpace(text), "> Exited"):
		e.Code = 1
	case find.Any(text, "Primary job", failedCommand): // mpirun wraps its sentence after these words
		e.Code = 1
	}
	return e.Code != 0
}

// torchExit reads "exitcode  : -9 (pid: 41)" and "failed (exitcode: -9) local_rank: 3 (pid: 41)".
func torchExit(e *Event, text string) bool {
	_, rest, ok := strings.Cut(text, "exitcode")
	if !ok || !strings.Contains(text, "(pid") {
		return false
	}
	e.Code, ok = signedAfter(rest, ": ")
	return ok
}

// signedAfter returns the number after the words, which may be negative.
func signedAfter(text, words string) (value int, ok bool) {
	_, rest, _ := strings.Cut(text, words)
	rest, negative := strings.CutPrefix(rest, "-")
	value, digits := find.Leading([]byte(rest[:min(len(rest), 9)]))
	if negative {
		value = -value
	}
	return value, digits > 0
}

func mpiExit(e *Event, text string) bool {
	if !strings.Contains(text, "exited on signal ") {
		return false
	}
	e.Number = find.NumberAfter(text, "process rank ")
	e.Host = strings.TrimRight(find.WordAfter(text, " on node "), ".")
	e.Code = -find.NumberAfter(text, "exited on signal ")
	return true
}

func srunExit(e *Event, text string) bool {
	if !strings.Contains(text, "srun: error:") {
		return false
	}
	exited := strings.Contains(text, "Exited with exit code ")
	if !exited && !strings.Contains(text, "task") {
		return false
	}
	e.Code = codes.Signal(text, ": *")
	if exited {
		e.Code = find.NumberAfter(text, "exit code ")
	}
	e.Number = find.NumberAfter(text, ": task ")
	return true
}

func plainExit(e *Event, text string) bool {
	e.Code = max(find.NumberAfter(text, "exitcode: "), find.NumberAfter(text, "exit code "), 1)
	if code, ok := signedAfter(text, "exitcode: "); ok {
		e.Code = code
	}
	if code, ok := codeOfField(text); ok {
		e.Code = code
		return true
	}
	return find.Any(text, "exited with non-zero status", "ChildFailedError", "failed (exitcode:") ||
		strings.Contains(text, "Exit code:") && strings.Contains(text, "rank")
}

// codeOfField reads the code where it has a line of its own: "Exit code:    1" of mpirun and horovodrun, and "Exit
// Code:    137" of kubectl describe.
func codeOfField(text string) (code int, ok bool) {
	name, value, _ := strings.Cut(strings.TrimSpace(text), ":")
	if !strings.EqualFold(name, "exit code") {
		return 0, false
	}
	code, err := strconv.Atoi(strings.TrimSpace(value))
	return code, err == nil
}

// crash reads the last words of a process that a signal ended, whose negative number is the code, or that ld.so could
// not start (127). For a signal that LSF names and codes.Signal does not know, the code is 1.
func crash(e *Event, text string) bool {
	e.Code = codes.Signal(text, "Signal: *", "* (core dumped)", "Fatal Python error: *", "died with <Signals.*",
		"Program received signal *", // of libgfortran
		lsfSignal+"*")
	words := strings.Fields(text[len(prefix.Labels(text)):])
	switch {
	case e.Code != 0:
	case strings.Contains(text, lsfSignal):
		e.Code = 1
	case strings.Contains(text, "*** SIG"), // glog: "*** SIGSEGV (@0x0) received by PID 4242 (TID 0x7f) from PID 0 ***"
		strings.Contains(text, "(core dumped)"): // bash: "line 12: 4711 Segmentation fault      (core dumped) python"
		e.Code = codes.Signal(text, "*")
	case find.Any(text, abortWords...), strings.Contains(text, "Assertion `") && strings.Contains(text, "' failed"):
		e.Code = -6
	case find.Any(text, "symbol lookup error: ", "error while loading shared libraries: "): // ld.so exits with 127
		e.Code = 127
	case len(words) == 1 && words[0] == "Killed", strings.Contains(text, ": line ") && slices.Contains(words, "Killed"):
		e.Code = -9
	}
	return e.Code != 0
}

// fatalLog matches a line of level FATAL: "F1120 10:00:00.12 4242 x.cc:12] ..." of glog, "2026-03-02 10:00:00.1: F
// core/x.cc:12] ..." of TensorFlow.
var fatalLog = regexp.MustCompile(`(?:^|[ :\]>\[])F\d{4} \d\d:\d\d:\d\d\S* .*\.(?:cc|cpp|cu):\d+\]|` +
	`\d: F \S+\.cc:\d+\]`)

func readFatalLog(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	return find.Any(text, "F0", "F1", ": F ") && fatalLog.MatchString(text)
}

// reasonWords are in lines that say why a process failed, in front of the reason or as a part of it.
var reasonWords = []string{
	pyxisQuotes, "'s node was preempted", "OFI addrinfo() failed", "PSM3 can't open nic", "hfi_userinit: ",
	"Unable to create ah",
}

const pyxisQuotes = "error: pyxis:     "

func readReason(e *Event, text, _ string) bool {
	said := text[len(prefix.Labels(text)):]
	if _, quoted, ok := strings.Cut(text, pyxisQuotes); ok {
		said = quoted
	}
	e.Name = find.Cut(strings.TrimSpace(said), 160)
	return e.Name != ""
}

// readContainerStart reads the reason, if the line has it. It leaves out what the kubelet tries again.
func readContainerStart(e *Event, text, _ string) bool {
	_, said, _ := strings.Cut(text, "OCI runtime create failed: ")
	e.Name = find.Cut(strings.TrimSpace(said), 160)
	return !strings.Contains(text, "FailedCreatePodSandBox")
}

func readChildException(_ *Event, text, _ string) bool {
	return find.Any(text, "errors.error_handler", "error_handler.py:") &&
		strings.HasSuffix(strings.TrimSpace(text), "{")
}

func readLoaderShm(e *Event, _, _ string) bool {
	e.Code = codes.Errno("No space left on device")
	return true
}

// tooManyFiles matches the names of the errors as whole words.
var tooManyFiles = regexp.MustCompile(`Too many open files|\b(?:EMFILE|ENFILE)\b`)

func readTooManyFiles(_ *Event, text, _ string) bool { return tooManyFiles.MatchString(text) }

// readDiskFull leaves out shared memory, which has rows of its own.
func readDiskFull(_ *Event, text, _ string) bool {
	return !find.Any(text, "/dev/shm", "shared memory", "nccl-")
}

func readFabricManager(e *Event, _, _ string) bool {
	e.Code = 802
	return true
}

// readFailureWords reads a line without a level. Programs go on without what they look for or import.
func readFailureWords(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	return !isNotice(text) && !find.Any(text, "INFO", "DEBUG", "WARN", " 0 failed", "Failed to import",
		"Failed to find", "failed to find", "falling back",
		" have sent help message ") && // of Open MPI, which repeats what it said before
		(!strings.Contains(text, "Warning") || strings.Contains(text, "leaked semaphore")) &&
		(!strings.Contains(text, "0 ") || !noneFailed.MatchString(text))
}

// noneFailed matches a count of nothing: "0 tests completed and failed residual checks".
var noneFailed = regexp.MustCompile(`(?:^|[^\d.])0 (?:\w+ ){1,4}failed\b`)

func readResiduals(_ *Event, text, _ string) bool { return !noneFailed.MatchString(text) }

// readKubeletRetries reads how often the kubelet failed: a few times are common while a node or a volume gets ready.
func readKubeletRetries(_ *Event, text, _ string) bool {
	const many = 10
	return find.NumberAfter(text, " (x") >= many
}

func readAbort(e *Event, text, _ string) bool {
	e.Number = find.NumberAfter(text, "on rank ")
	return true
}

func readNodeFailure(e *Event, _, _ string) bool {
	e.Name = "node failure"
	return true
}
