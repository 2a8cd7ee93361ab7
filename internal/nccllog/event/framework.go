package event

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

func readVerbsQuoted(e *Event, text, _ string) bool {
	if strings.Contains(text, " failed") {
		e.Verbs = verbsOf(text)
	}
	if e.Verbs == nil {
		return false
	}
	e.Verbs.Other = find.Any(text, "UCX", nvshmemStatus)
	if e.Verbs.Errno == 0 {
		e.Verbs.Errno = max(find.NumberAfter(text, nvshmemStatus), 0)
	}
	return true
}

// nvshmemStatus precedes what a call returned in NVSHMEM, the errno of a call of libibverbs: "ibrc.cpp:417: non-zero
// status: 110 ibv_modify_qp failed" (macros of src/include).
const nvshmemStatus = ": non-zero status: "

// readQPQuoted reads the state that a queue pair did not reach, or that there is none, and the error before its number.
func readQPQuoted(e *Event, text, _ string) bool {
	e.Verbs = &Verbs{Call: "ibv_create_qp", To: find.WordAfter(text, "modify QP to "), GIDIndex: -1, Other: true}
	if e.Verbs.To != "" {
		e.Verbs.Call = "ibv_modify_qp"
	}
	said := find.LastPart(text)
	i := max(strings.LastIndex(said, " ["), 0)
	e.Verbs.Error, _, _ = strings.Cut(cmp.Or(said[:i], said), " (os error")
	e.Verbs.Errno = cmp.Or(codes.Errno(e.Verbs.Error), max(find.NumberAfter(said[i:], " ["), 0))
	return true
}

func readGIDsQuoted(e *Event, text, _ string) bool {
	e.Verbs = verbsOf("ibv_modify_qp failed, " + text)
	return e.Verbs.RemoteGID != "" || e.Verbs.LocalGID != ""
}

func readProvider(_ *Event, text, _ string) bool {
	return find.Any(text, "no userspace device-specific driver", "couldn't load driver", "couldn't open config",
		"does not support the kernel ABI", "Fatal")
}

// readWatchdog reads a collective that timed out (PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
func readWatchdog(e *Event, text, _ string) bool {
	e.Number, e.Code, e.Group = rankIn(text), find.NumberAfter(text, "SeqNum="), groupIn(text)
	e.Name, e.Collective = strings.Trim(find.WordAfter(text, "OpType="), ")]"), collectiveIn(text)
	return !strings.Contains(text, "soft=True") // of SGLang, which goes on then
}

// collectiveIn returns the collective that a text names, or nil.
func collectiveIn(text string) *Collective {
	c := Collective{
		Operation: strings.Trim(find.WordAfter(text, "OpType="), ",)]"),
		Number:    find.NumberAfter(text, "SeqNum="), Elements: find.NumberAfter(text, "NumelIn="),
	}
	if c.Operation == "" || c.Number < 0 || c.Elements < 0 {
		return nil
	}
	return &c
}

// readWorkStatus reads the number of the collective that failed, which is the one after the last that ended if the line
// does not name it, and the last one that the rank started.
func readWorkStatus(e *Event, text, _ string) bool {
	e.Number, e.Group = rankIn(text), groupIn(text)
	e.Enqueued = max(find.NumberAfter(text, "last enqueued work: "),
		find.NumberAfter(text, "last enqueued NCCL work: "), 0)
	completed, known := signedAfter(text, "last completed work: ")
	if !known {
		completed, known = signedAfter(text, "last completed NCCL work: ")
	}
	for _, words := range []string{"work sequence id: ", "at work: ", "at NCCL work: "} {
		if n := find.NumberAfter(text, words); n > 0 {
			e.Code = n
			return true
		}
	}
	if known {
		e.Code = max(completed+1, 0)
	}
	return true
}

func readXid(e *Event, text, _ string) bool {
	_, rest, _ := strings.Cut(text, "): ")
	e.Code = find.NumberAfter(" "+rest, " ")
	return true
}

// groupIn returns the process group: "0(default_pg)" of "[PG ID 0 PG GUID 0(default_pg) Rank 3]". Its ID is local.
func groupIn(text string) string {
	group := find.Between(text, "[PG ", " Rank ")
	if _, name, ok := strings.Cut(group, " GUID "); ok {
		group = name
	}
	return find.Cut(group, 60)
}

// rankIn returns the number of the rank as PyTorch writes it, or -1. Ranks of other groups than the default one are
// counted in the group.
func rankIn(text string) int {
	for _, key := range []string{"[Rank ", "[rank", "default_pg) Rank "} {
		if n := find.NumberAfter(text, key); n >= 0 {
			return n
		}
	}
	return -1
}

// BenchmarkEnds are in the last lines of nccl-tests. Those of 2018 have no #.
var BenchmarkEnds = []string{
	"# Out of bounds values", "# Avg bus bandwidth", "Out of bounds values : ", "Avg bus bandwidth    : ",
}

// resultWords are ncclResult_t as programs print it; 0: the code is elsewhere in the text.
var resultWords = []struct {
	words string
	code  int
}{
	{"unhandled cuda error", 1},
	{"ncclUnhandledCudaError", 1},
	{"unhandled system error", 2},
	{"ncclSystemError", 2},
	{"ncclInternalError", 3},
	{"NCCL error: internal error", 3},
	{"ncclInvalidArgument", 4},
	{"ncclInvalidUsage", 5},
	{"ncclRemoteError", 6},
	{"remote process exited or there was a network error", 6},
	{"DistBackendError", 0},
	{"NCCL error", 0},
	{"NCCL failure", 0},
	{"NCCL communicator was aborted", 0}, // by the watchdog of the same process
	{"ncclCommInitRank failed", 0},
}

func readResult(e *Event, text, _ string) bool {
	if strings.Contains(text, "NCCL_ASYNC_ERROR_HANDLING") {
		return false
	}
	for _, r := range resultWords {
		if strings.Contains(text, r.words) {
			e.Number, e.Code, e.Collective = rankIn(text), cmp.Or(r.code, codeIn(text)), collectiveIn(text)
			return true
		}
	}
	return false
}

// codeIn returns the ncclResult_t that a text names, or 0.
func codeIn(text string) int {
	for i, words := range []string{
		"unhandled cuda error", "unhandled system error", "internal error", "invalid argument", "invalid usage",
		"remote process exited",
	} {
		if strings.Contains(text, words) {
			return i + 1
		}
	}
	return 0
}

// rendezvousWords appear in errors of the launcher's store and rendezvous, and of gloo.
var rendezvousWords = []string{
	"RendezvousConnectionError", "RendezvousTimeoutError", "The client socket has timed out",
	"The client socket has failed to connect", "The connection to the C10d store has failed", "Timed out after",
	"client socket has timed out", "failed to connect to any address", "Socket Timeout",
	"Gloo connectFullMesh failed", "DistStoreError", "DistNetworkError",
	"cluster registration failed", "DEADLINE_EXCEEDED: Barrier timed out", "agent in error status", // JAX
	"CoordinationService/RegisterTask",
	"connect() timed out. Original timeout was", // TCPStore, up to PyTorch 1.10
}

func readRendezvous(e *Event, text, _ string) bool {
	e.Number, e.Info = rankIn(text), isNotice(text)
	if _, to, ok := strings.Cut(text, "connect to "); ok && strings.IndexAny(to, "([") == 0 {
		end := strings.IndexAny(to, ",]) ")
		e.Socket = &Socket{Peer: find.Cut(to[1:max(end, 1)], 80)}
	}
	return slices.ContainsFunc(rendezvousWords, func(w string) bool {
		return strings.Contains(text, w) && (w != "Timed out after" || find.Any(text, "store", "clients joined"))
	})
}

// storeClosed are words about the connection to the store of c10d.
var storeClosed = []string{
	"ailed to recv, got 0 bytes", " got error: Connection reset by peer", " got error: Broken pipe",
	"sendBytes failed on SocketImpl(", "TCPStore server has shut down too early",
}

func readStoreWarning(e *Event, text, _ string) bool {
	const most = 60 // from the level to the end of the file's name
	e.Number = rankIn(text)
	place, _, _ := strings.Cut(text, ".cpp:")
	return isNotice(place[max(len(place)-most, 0):])
}

// readBarrier leaves out the barriers at which a job waits for all its tasks.
func readBarrier(_ *Event, text, _ string) bool {
	id := find.WordAfter(text, "Barrier_id: ")
	return id != "" && !strings.HasPrefix(id, "PjRT_Client_Connect") && !strings.HasPrefix(id, "[Init]")
}

func readGlooInterface(e *Event, text, _ string) bool {
	e.Number, e.Name = rankIn(text), "gloo"
	return strings.Contains(text, "Unable")
}

// isNotice reports whether a line has glog's level W or I: "[W218 10:00:00.1 socket.cpp:464]". Launchers put their
// prefix in front.
func isNotice(text string) bool {
	head := text[:min(len(text), 60)]
	for i := range max(len(head)-3, 0) {
		if head[i] != 'W' && head[i] != 'I' || i > 0 && strings.IndexByte("[ :", head[i-1]) < 0 {
			continue
		}
		if _, dated := prefix.Whole([]byte(head[i+1 : i+4])); dated {
			return true
		}
	}
	return find.Any(head, "[W ", "[I ")
}

// readException reads the last line of a traceback of Python: "[rank0]: ValueError: ...", and the first one of IPython:
// "ValueError          Traceback (most recent call last)".
func readException(e *Event, text, _ string) bool {
	labels := prefix.Labels(text)
	e.Number, text = rankIn(labels), strings.TrimLeft(text[len(labels):], " |+-") // of a group
	if head, rest, _ := strings.Cut(text, "] "); find.Any(head, workersOfVLLM...) {
		text = rest
	}
	text, first := strings.CutSuffix(strings.TrimSpace(text), "  Traceback (most recent call last)")
	name, _, explained := strings.Cut(strings.TrimRight(text, " "), ":")
	e.Name, explained = name, explained || first
	explained = explained || strings.Contains(name, ".") || slices.Contains(unexplained, name)
	if !explained || len(name) > 80 || strings.ContainsAny(name, " /=\"'()[]") {
		return false
	}
	known := exceptionNames
	if strings.Contains(name, ".") {
		known = slices.Concat(known, namesInPackages)
	}
	return slices.ContainsFunc(known, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// innerEnding matches the last line of a traceback, and bash's message about a killed process, if other text precedes
// it, such as an unknown prefix.
var innerEnding = regexp.MustCompile(`[^\w.(](?:(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)` +
	`(?:: \S|["'}\])\s]*$)|Killed["'}\])\s]*$)`)

// readInnerEnding leaves out warnings, and the lines of sources that tracebacks quote.
func readInnerEnding(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	return !isNotice(text) && !find.Any(text, "except ", "raise ", "WARN", "Warning", "DEBUG", "etry", "gnor") &&
		innerEnding.MatchString(text)
}

// exceptionNames are ends of the names of exceptions.
var exceptionNames = []string{"Error", "Exception", "ExceptionGroup", "Interrupt", "CompilerFailed", "OutOfResources"}

// namesInPackages are ends of the names of exceptions that have their package in front: "etcd.EtcdKeyNotFound: ...".
var namesInPackages = []string{"NotFound", "Timeout", "Expired", "Unavailable"}

// workersOfVLLM are the sources of vLLM that log the exception of a worker or of the engine, which end then: "ERROR
// 09-03 03:02:37 [multiproc_executor.py:522] RuntimeError: ...". Its server goes on after others.
var workersOfVLLM = []string{
	" [multiproc_executor.py:", " [worker_base.py:", " [core.py:", " worker_base.py:", " engine.py:",
}

// unexplained are exceptions of Python that often have no text. Those of a package have its name and a dot in front.
var unexplained = []string{
	"AssertionError", "KeyboardInterrupt", "MemoryError", "NotImplementedError", "RuntimeError", "TimeoutError",
}
