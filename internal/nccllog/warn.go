package nccllog

import (
	"strings"
)

// warn takes a line of level WARN.
func (p *Parser) warn(r *rank, s *saying) {
	text := strings.ToValidUTF8(string(s.text[:min(len(s.text), 2*maxText)]), "")
	e := classify(text, string(s.where))
	e.Quote, e.Number = s.quote(), -1
	e.Source, _, _ = strings.Cut(string(s.where), " ")
	i := p.keep(r, e)
	if lines := more(e, text); lines > 0 && i >= 0 {
		label, _ := labelOf(s.line)
		p.open = pending{event: i, text: text, label: string(label), lines: lines}
	}
}

// more is how many lines a warning may go on for that is not whole: people and logs wrap long ones.
func more(e Event, text string) int {
	switch {
	case e.Completion != nil && !e.Completion.HasVendor:
		return 2
	case e.Kind == OFICompletion && !strings.Contains(text, "rror:"):
		return 1
	case e.Verbs != nil && (strings.HasSuffix(strings.TrimSpace(text), ",") || e.Verbs.Call == "ibv_modify_qp" && e.Verbs.Device == ""):
		return 3
	}
	return 0
}

// goOn adds a line to the warning that may go on in it.
func (p *Parser) goOn(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	p.open.lines--
	text := strings.TrimSpace(strings.ToValidUTF8(string(line[:min(len(line), maxText)]), ""))
	text = strings.TrimSpace(strings.TrimPrefix(text, p.open.label))
	if segment(line, 0) >= 0 || text == "" || p.open.event >= len(p.events) {
		p.open.lines = 0
		return false
	}
	if !strings.ContainsAny(text, ",:=<(") && !strings.Contains(text, "GID") {
		return false
	}
	joined := p.open.text + " " + text
	if p.events[p.open.event].Verbs != nil {
		joined = strings.TrimRight(p.open.text, ", ") + ", " + text
	}
	p.open.text = joined
	old := &p.events[p.open.event]
	e := classify(p.open.text, old.Source)
	if e.Kind != old.Kind || !told(e, *old) {
		p.open.lines = 0
		return false
	}
	old.Completion, old.Verbs = e.Completion, e.Verbs
	old.Text = cut(old.Text+" "+text, maxText)
	return true
}

// told reports whether one more line told more.
func told(e, old Event) bool {
	return e.Kind == OFICompletion || e.Completion != nil && *e.Completion != *old.Completion || e.Verbs != nil && *e.Verbs != *old.Verbs
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// retried takes a failure of level INFO that NCCL tries again.
func (p *Parser) retried(r *rank, s *saying) {
	text := strings.ToValidUTF8(string(s.text[:min(len(s.text), maxText)]), "")
	if !strings.Contains(text, "retry") {
		return
	}
	e := classify(text, "")
	if e.Kind != ConnectFailed && e.Kind != VerbsFailed {
		return
	}
	e.Quote, e.Number, e.Info = s.quote(), -1, true
	p.keep(r, e)
}

// sign is a word by which a warning's kind is known.
type sign struct {
	word string
	kind Kind
}

// signs of warnings, the special ones first. The words are those of NCCL's sources from 2.4 to 2.30, of RCCL and of the
// plugins.
func signs() []sign {
	return []sign{
		{"Message truncated", Truncated},
		{"Duplicate GPU detected", DuplicateGPU},
		{"Mismatched NCCL version", VersionsDiffer}, {"mismatched NCCL version", VersionsDiffer}, {"version mismatch", VersionsDiffer},
		{"no socket interface found", NoInterface}, {"No IP interface found", NoInterface}, {"no usable interface", NoInterface},
		{"No interface found", NoInterface}, {"no socket interface", NoInterface},
		{"Failed to open libibverbs", NoVerbs},
		{"Unable to open device", CannotOpen}, {"Failed to open device", CannotOpen},
		{"Failed to initialize any NET plugin", NoNetworkLeft},
		{"is incompatible with the local", LayersDiffer}, {"incompatible devices", LayersDiffer},
		{"mismatched physical devices", DevicesDiffer},
		{"ncclIbRoceGetVersionNum", GIDUnreadable},
		{"wrong type", WrongSocket}, {"GDRCopy", GDRCopyFailed}, {"gdrcopy", GDRCopyFailed}, {"gdr_open", GDRCopyFailed},
		{"Cuda Host Alloc", CUDAFailed},
		{"shared memory segment", ShmFailed}, {"posix_fallocate", ShmFailed}, {"shm_open", ShmFailed}, {"nccl-shm", ShmFailed},
		{"/dev/shm", ShmFailed}, {"Failed to allocate shared memory", ShmFailed},
		{"peer access", PeerAccess}, {"Peer access", PeerAccess}, {"P2P is disabled between", PeerAccess},
		{"NVLS", NVLSFailed}, {"ulticast", NVLSFailed}, {"NVLink SHARP", NVLSFailed},
		{"nvmlInit", CUDAInstall}, {"NVML", CUDAInstall}, {"Failed to find CUDA library", CUDAInstall}, {"libcuda", CUDAInstall},
		{"Service thread] Error encountered", Consequence}, {"Service thread] Accept failed", Consequence},
		{"Service thread] Could not receive type", Consequence}, {"Proxy Call to rank", Consequence}, {"ncclProxyClientGetFd call", Consequence},
		{"Socket recv failed while polling", Consequence}, {"encountered a fatal error (detected in", Consequence},
		{"commDestroySync", Consequence}, {"commReclaim", Consequence}, {"comm async abort", Consequence}, {"ncclProxyCallBlocking", Consequence},
		{"Async Error", Consequence}, {"ncclSocketReady: unexpected socket state", Consequence}, {"Timeout waiting for connection", ConnectFailed},
	}
}

// classify says what kind a warning is of, and reads its fields. The place in NCCL's sources helps where the words do not tell.
func classify(text, where string) Event {
	switch {
	case strings.Contains(where, "ras/"): // the service for ras clients, without which a run goes on
		return Event{Kind: Warning}
	case strings.Contains(text, "wrong magic"):
		return Event{Kind: Stranger}
	case strings.Contains(text, "message truncated") || strings.Contains(text, "collective mismatch"):
		return Event{Kind: SizesDiffer}
	case strings.Contains(text, "Got completion") || strings.Contains(text, "completion with error"):
		return Event{Kind: BadCompletion, Completion: completionOf(text)}
	case strings.Contains(text, "async event") || strings.Contains(text, "async fatal event"):
		return Event{Kind: AsyncEvent, Async: asyncOf(text)}
	case strings.Contains(text, "ibv_") && strings.Contains(text, "fail"):
		v := verbsOf(text)
		if v != nil && v.Call == "ibv_open_device" {
			return Event{Kind: CannotOpen} // the next line names the device
		}
		if v != nil {
			return Event{Kind: VerbsFailed, Verbs: v}
		}
	case strings.Contains(text, "NET/OFI"):
		return ofiOf(text)
	case strings.HasPrefix(text, "Error: network ") && strings.Contains(text, " not found"):
		return Event{Kind: NoNetworkLeft, Name: between(text, "Error: network ", " not found")}
	}
	if e, ok := cudaOf(text, where); ok {
		return e
	}
	for _, s := range signs() {
		if strings.Contains(text, s.word) {
			return Event{Kind: s.kind, Name: nameOf(s.kind, text), Code: Errno(lastPart(text))}
		}
	}
	if e, ok := socketOf(text); ok {
		return e
	}
	if isSource(where, "nvls.cc") {
		return Event{Kind: NVLSFailed}
	}
	return Event{Kind: Warning}
}

func isSource(where, name string) bool {
	i := strings.Index(where, name+":")
	return i == 0 || i > 0 && (where[i-1] == '/' || !isHost(where[i-1]))
}

// nameOf is what failed, where its name is in the text.
func nameOf(k Kind, text string) string {
	if k == CannotOpen {
		_, name, _ := strings.Cut(text, "evice ")
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	return ""
}

// between is the text between two words, "" where they are not both there.
func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !ok || !found {
		return ""
	}
	return inner
}

// lastPart is what stands after the last " : " or ": ", where the system's words for an error stand.
func lastPart(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return strings.TrimSpace(text)
}

// cudaOf takes "Cuda failure 2 'out of memory'" and "HIP failure 'invalid argument'"; up to 2.19 there is no number.
func cudaOf(text, where string) (Event, bool) {
	low := lower(text)
	i := strings.Index(low, "cuda failure")
	if i < 0 {
		if i = strings.Index(low, "hip failure"); i < 0 {
			return Event{}, false
		}
	}
	name := between(text[i:], "'", "'")
	code := 0
	for _, word := range strings.Fields(strings.NewReplacer(":", " ", "'", " ").Replace(text[i:])) {
		if n, ok := whole([]byte(word)); ok {
			code = n
			break
		}
	}
	e := Event{Kind: CUDAFailed, Name: name, Code: code}
	switch {
	case strings.Contains(name, "driver shutting down"): // at the end of a process
		e.Kind = Consequence
	case strings.Contains(name, "out of memory") || code == 2 && name == "":
		e.Kind = OutOfMemory
	case isSource(where, "nvls.cc") || strings.Contains(low, "nvls") || isSource(where, "multicast.cc"):
		e.Kind = NVLSFailed
	case strings.Contains(name, "peer access") || strings.Contains(name, "mapping of buffer object failed") || code == 217 || code == 205:
		e.Kind = PeerAccess
	case isInstall(name, code):
		e.Kind = CUDAInstall
	case (isSource(where, "p2p.cc") || isSource(where, "p2p.cu")) && (code == 101 || code == 400 || code == 201 || strings.Contains(name, "invalid device ordinal") || strings.Contains(name, "invalid resource handle") || strings.Contains(name, "invalid device context")):
		e.Kind = PeerAccess
	}
	return e, true
}

// lower makes ASCII letters small and keeps every byte in its place, which strings.ToLower does not.
func lower(text string) string {
	low := []byte(text)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return string(low)
}

// isInstall reports errors of CUDA that come from the driver and the libraries, not from the program (driver_types.h).
func isInstall(name string, code int) bool {
	for _, words := range []string{
		"driver version is insufficient", "no CUDA-capable device", "system not yet initialized", "forward compatibility",
		"system has unsupported display driver", "PTX was compiled", "no kernel image", "invalid device function", "unknown error",
		"initialization error", "API call is not supported in the installed", "shared object initialization failed",
	} {
		if strings.Contains(name, words) {
			return words != "unknown error"
		}
	}
	switch code {
	case 3, 35, 36, 98, 100, 209, 222, 802, 803, 804:
		return true
	}
	return false
}
