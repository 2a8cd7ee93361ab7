package nccllog

import (
	"cmp"
	"slices"
	"strings"
)

// frameworkEvent returns the event of a line that another program wrote.
func (p *Parser) frameworkEvent(at Place, line []byte, text string) (Event, bool) {
	if e, ok := p.repeated(at, line, text); ok {
		return e, true
	}
	if e, ok := quotedWarning(text); ok {
		return e, true
	}
	return recognise(Framework, text, "")
}

// repeated reads NCCL's last warning, which PyTorch prints again after "Last error:".
func (p *Parser) repeated(at Place, line []byte, text string) (Event, bool) {
	label, _ := labelOf(line)
	key := string(label)
	if key == "" {
		key = at.File
	}
	const most = 1 << 12
	if i := strings.Index(text, "Last error:"); i >= 0 {
		if p.lastError == nil || len(p.lastError) > most {
			p.lastError = map[string]int{}
		}
		p.lastError[key] = 2
		text = strings.TrimSpace(text[i+len("Last error:"):])
		if text == "" {
			return Event{}, false
		}
	}
	// ncclSystemError: ...
	if strings.Contains(text, "Error: ") && strings.Contains(text, "nccl") && p.lastError[key] == 0 {
		if p.lastError == nil || len(p.lastError) > most {
			p.lastError = map[string]int{}
		}
		p.lastError[key] = 2
		return Event{}, false
	}
	if p.lastError[key] == 0 {
		return Event{}, false
	}
	p.lastError[key]--
	e := classify(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), key)), "")
	e.Number = -1
	return e, e.Kind != Warning
}

// quotedWarnings are words of NCCL's warnings that programs and people quote without NCCL's prefix.
var quotedWarnings = []string{
	"NVLink SHARP", "Duplicate GPU detected", "no socket interface found", "socketStartConnect", "socketPollConnect",
	"ncclIbRoceGetVersionNum", "Got completion from peer", "shared memory segment", "Got async event",
	"Message truncated : received",
	"Cuda failure", "Call to posix_fallocate",
}

func quotedWarning(text string) (Event, bool) {
	for _, w := range quotedWarnings {
		if i := strings.Index(text, w); i >= 0 {
			e := classify(text[i:], "")
			return e, e.Kind != Warning
		}
	}
	return Event{}, false
}

func readVerbsQuoted(text, _ string) (Event, bool) {
	if !strings.Contains(text, " failed") {
		return Event{}, false
	}
	v := verbsOf(text)
	return Event{Kind: VerbsFailed, Verbs: v, Number: -1}, v != nil
}

func readGIDsQuoted(text, _ string) (Event, bool) {
	v := verbsOf("ibv_modify_qp failed, " + text)
	return Event{Kind: VerbsFailed, Verbs: v, Number: -1}, v != nil && (v.RemoteGID != "" || v.LocalGID != "")
}

func readProvider(text, _ string) (Event, bool) {
	for _, w := range []string{
		"no userspace device-specific driver", "couldn't load driver", "does not support the kernel ABI",
		"couldn't open config", "Fatal",
	} {
		if strings.Contains(text, w) {
			return Event{Kind: ProviderFailed, Number: -1, Name: w}, true
		}
	}
	return Event{}, false
}

// readWatchdog reads a collective that did not end (PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
func readWatchdog(text, _ string) (Event, bool) {
	return Event{Kind: Watchdog, Number: rankIn(text), Name: operation(text),
		Code: numberAfter([]byte(text), "SeqNum=")}, true
}

// operation returns the collective that did not end: OpType=ALLREDUCE.
func operation(text string) string { return strings.Trim(wordAfter(text, "OpType="), ")]") }

// rankIn returns the rank's number as PyTorch writes it, or -1.
func rankIn(text string) int {
	for _, key := range []string{"[Rank ", "[rank", "[PG ID 0 PG GUID 0(default_pg) Rank "} {
		if n := numberAfter([]byte(text), key); n >= 0 {
			return n
		}
	}
	return -1
}

// resultWords are ncclResult_t in the words of programs; 0: the code is somewhere else in the text.
var resultWords = []struct {
	words string
	code  int
}{
	{"unhandled cuda error", 1}, {"ncclUnhandledCudaError", 1}, {"unhandled system error", 2}, {"ncclSystemError", 2},
	{"ncclInternalError", 3}, {"NCCL error: internal error", 3}, {"ncclInvalidArgument", 4}, {"ncclInvalidUsage", 5},
	{"ncclRemoteError", 6}, {"remote process exited or there was a network error", 6}, {"DistBackendError", 0},
	{"NCCL error", 0},
	{"NCCL failure", 0}, {"NCCL communicator was aborted", 6}, {"ncclCommInitRank failed", 0},
}

func readResult(text, _ string) (Event, bool) {
	if strings.Contains(text, "NCCL_ASYNC_ERROR_HANDLING") {
		return Event{}, false
	}
	for _, r := range resultWords {
		if strings.Contains(text, r.words) {
			return Event{Kind: Result, Number: rankIn(text), Code: cmp.Or(r.code, codeIn(text)), Name: r.words}, true
		}
	}
	return Event{}, false
}

// codeIn returns the result that a longer text names, or 0.
func codeIn(text string) int {
	for code, w := range []string{
		1: "unhandled cuda error", 2: "unhandled system error", 3: "internal error", 4: "invalid argument",
		5: "invalid usage",
		6: "remote process exited",
	} {
		if w != "" && strings.Contains(text, w) {
			return code
		}
	}
	return 0
}

func readGPUMemory(text, _ string) (Event, bool) {
	named := strings.Contains(strings.ToLower(text), "cuda") || strings.Contains(text, "HIP out of memory")
	return Event{Kind: OutOfMemory, Number: rankIn(text)}, named
}

func readXid(text, _ string) (Event, bool) {
	_, rest, _ := strings.Cut(text, "): ")
	return Event{Kind: Xid, Number: -1, Code: numberAfter([]byte(" "+rest), " ")}, true
}

var cudaPrefixes = []string{"CUDA error: ", "HIP error: ", "CUDA failure: ", "Test CUDA failure", "CUDA driver error: "}

func readCUDAQuoted(text, _ string) (Event, bool) {
	for _, key := range cudaPrefixes {
		if i := strings.Index(text, key); i >= 0 {
			name := strings.TrimSpace(text[i+len(key):])
			e := Event{Kind: CUDAError, Number: rankIn(text), Name: cut(name, 100)}
			if isInstall(name, 0) {
				e.Kind = CUDAInstall
			}
			return e, true
		}
	}
	return Event{}, false
}

var cudaLibraryWords = []string{
	"error while loading shared libraries: libcu", "libcudart.so", "error while loading shared libraries: libnccl",
	"undefined symbol: nccl", "Found no NVIDIA driver", "The NVIDIA driver on your system is too old",
	"Failed to initialize NVML",
	"driver/library version mismatch", "No CUDA GPUs are available", "CUDA unknown error",
	"libnccl.so.2: cannot open shared object",
}

func readCUDALibrary(text, _ string) (Event, bool) {
	if !strings.Contains(text, "rror") && !strings.Contains(text, "cannot open") && !strings.Contains(text, "ailed") {
		return Event{}, false
	}
	i := slices.IndexFunc(cudaLibraryWords, func(w string) bool { return strings.Contains(text, w) })
	return Event{Kind: CUDAInstall, Number: rankIn(text), Name: cudaLibraryWords[i]}, true
}
