package nccllog

import (
	"strings"
)

// outsideEvent says what a line of another program tells of how the run went.
func (p *Parser) outsideEvent(at Place, line []byte, text string) (Event, bool) {
	if e, ok := p.repeated(at, line, text); ok {
		return e, true
	}
	for _, read := range []func(string) (Event, bool){verbsOutside, bareWarning, watchdog, result, gpuOutside, endOfProcess, scheduler, store} {
		if e, ok := read(text); ok {
			return e, true
		}
	}
	return exception(text)
}

// repeated takes what PyTorch repeats of NCCL's last warning, behind "Last error:".
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
	if strings.Contains(text, "Error: ") && strings.Contains(text, "nccl") && p.lastError[key] == 0 { // ncclSystemError: ...
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

// bareWarning takes warnings of NCCL that a program or a person quotes without what stands in front of them.
func bareWarning(text string) (Event, bool) {
	for _, words := range []string{
		"NVLink SHARP", "Duplicate GPU detected", "no socket interface found", "socketStartConnect", "socketPollConnect", "ncclIbRoceGetVersionNum",
		"Got completion from peer", "shared memory segment", "Got async event", "Message truncated : received", "Cuda failure", "Call to posix_fallocate",
	} {
		if i := strings.Index(text, words); i >= 0 {
			e := classify(text[i:], "")
			e.Number = -1
			return e, e.Kind != Warning
		}
	}
	return Event{}, false
}

// verbsOutside takes a failed call of libibverbs, and what libibverbs itself warns of.
func verbsOutside(text string) (Event, bool) {
	switch {
	case strings.Contains(text, "ibv_") && strings.Contains(text, " failed"):
		if v := verbsOf(text); v != nil {
			return Event{Kind: VerbsFailed, Verbs: v, Number: -1}, true
		}
	case strings.Contains(text, "libibverbs: Warning") || strings.Contains(text, "libibverbs: GRH is mandatory") || strings.Contains(text, "libibverbs: Fatal"):
		for _, words := range []string{"no userspace device-specific driver", "couldn't load driver", "does not support the kernel ABI", "couldn't open config", "Fatal"} {
			if strings.Contains(text, words) {
				return Event{Kind: ProviderFailed, Number: -1, Name: words}, true
			}
		}
	case strings.Contains(text, "does not support the kernel ABI"):
		return Event{Kind: ProviderFailed, Number: -1, Name: "does not support the kernel ABI"}, true
	case strings.Contains(text, "remote GID ::") || strings.Contains(text, "local GID ::"):
		if v := verbsOf("ibv_modify_qp failed, " + text); v != nil && (v.RemoteGID != "" || v.LocalGID != "") {
			return Event{Kind: VerbsFailed, Verbs: v, Number: -1}, true
		}
	}
	return Event{}, false
}

// watchdog takes what PyTorch's ProcessGroupNCCL says when a collective does not end (torch/csrc/distributed/c10d).
func watchdog(text string) (Event, bool) {
	for _, words := range []string{
		"Watchdog caught collective operation timeout", "Received a dump signal due to a collective timeout", "heartbeat monitor timed out",
		"Heartbeat monitor timed out", "ncclCommWatchdog", "failed to complete within", "Timeout at NCCL work",
		"Observed flight recorder dump signal", "Some NCCL operations have failed or timed out", "collective operation timed out",
		"Watchdog got stuck", "To avoid data inconsistency, we are taking the entire process down",
		"wait timeout after", "Timed out waiting for all ranks",
	} {
		if strings.Contains(text, words) {
			return Event{Kind: Watchdog, Number: rankIn(text), Name: operation(text), Code: numberAfter([]byte(text), "SeqNum=")}, true
		}
	}
	return Event{}, false
}

// operation is the collective that did not end: OpType=ALLREDUCE.
func operation(text string) string { return strings.Trim(wordAfter(text, "OpType="), ")]") }

// rankIn is the rank's number as PyTorch writes it, -1 where it does not.
func rankIn(text string) int {
	for _, key := range []string{"[Rank ", "[rank", "[PG ID 0 PG GUID 0(default_pg) Rank "} {
		if n := numberAfter([]byte(text), key); n >= 0 {
			return n
		}
	}
	return -1
}

// result takes ncclResult_t in the words of the program.
func result(text string) (Event, bool) {
	for _, s := range []struct {
		words string
		code  int
	}{
		{"unhandled cuda error", 1}, {"ncclUnhandledCudaError", 1}, {"unhandled system error", 2}, {"ncclSystemError", 2},
		{"ncclInternalError", 3}, {"NCCL error: internal error", 3}, {"ncclInvalidArgument", 4}, {"ncclInvalidUsage", 5},
		{"ncclRemoteError", 6}, {"remote process exited or there was a network error", 6}, {"DistBackendError", 0}, {"NCCL error", 0},
		{"NCCL failure", 0}, {"Test NCCL failure", 0}, {"NCCL communicator was aborted", 6}, {"ncclCommInitRank failed", 0},
	} {
		if strings.Contains(text, s.words) && !strings.Contains(text, "NCCL_ASYNC_ERROR_HANDLING") {
			return Event{Kind: Result, Number: rankIn(text), Code: codeIn(text, s.code), Name: s.words}, true
		}
	}
	return Event{}, false
}

// codeIn looks for a better result than a general word.
func codeIn(text string, code int) int {
	switch {
	case code != 0:
		return code
	case strings.Contains(text, "unhandled cuda error"):
		return 1
	case strings.Contains(text, "unhandled system error"):
		return 2
	case strings.Contains(text, "internal error"):
		return 3
	case strings.Contains(text, "invalid argument"):
		return 4
	case strings.Contains(text, "invalid usage"):
		return 5
	case strings.Contains(text, "remote process exited"):
		return 6
	}
	return 0
}

// gpuOutside takes what PyTorch, JAX and the driver say of a GPU.
func gpuOutside(text string) (Event, bool) {
	switch {
	case strings.Contains(text, "CUDA out of memory") || strings.Contains(text, "HIP out of memory") || strings.Contains(text, "OutOfMemoryError") && strings.Contains(strings.ToLower(text), "cuda"),
		strings.Contains(text, "CUDA error: out of memory"), strings.Contains(text, "CUDA_ERROR_OUT_OF_MEMORY"), strings.Contains(text, "cudaErrorMemoryAllocation"):
		return Event{Kind: OutOfMemory, Number: rankIn(text)}, true
	case strings.Contains(text, "NVRM: Xid"), strings.Contains(text, "Xid (PCI"):
		_, rest, _ := strings.Cut(text, "): ")
		return Event{Kind: Xid, Number: -1, Code: numberAfter([]byte(" "+rest), " ")}, true
	}
	for _, key := range []string{"CUDA error: ", "HIP error: ", "CUDA failure: ", "Test CUDA failure", "CUDA driver error: "} {
		if i := strings.Index(text, key); i >= 0 {
			name := strings.TrimSpace(text[i+len(key):])
			e := Event{Kind: CUDAError, Number: rankIn(text), Name: cut(name, 100)}
			if isInstall(name, 0) {
				e.Kind = CUDAInstall
			}
			return e, true
		}
	}
	for _, words := range []string{
		"error while loading shared libraries: libcu", "libcudart.so", "error while loading shared libraries: libnccl", "undefined symbol: nccl", "Found no NVIDIA driver",
		"The NVIDIA driver on your system is too old", "Failed to initialize NVML", "driver/library version mismatch", "No CUDA GPUs are available",
		"CUDA unknown error", "libnccl.so.2: cannot open shared object",
	} {
		if strings.Contains(text, words) && (strings.Contains(text, "rror") || strings.Contains(text, "cannot open") || strings.Contains(text, "ailed")) {
			return Event{Kind: CUDAInstall, Number: rankIn(text), Name: words}, true
		}
	}
	return Event{}, false
}
