package nccllog

import (
	"slices"
	"strings"
)

// warn takes a line of level WARN.
func (p *Parser) warn(r *rank, s *logLine) {
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

// more returns how many lines an incomplete warning may continue for: people and logs wrap long ones.
func more(e Event, text string) int {
	switch {
	case e.Completion != nil && !e.Completion.HasVendor:
		return 2
	case e.Kind == OFICompletion && !strings.Contains(text, "rror:"):
		return 1
	case e.Verbs != nil && (strings.HasSuffix(strings.TrimSpace(text), ",") || e.Verbs.Call == "ibv_modify_qp" &&
		e.Verbs.Device == ""):
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
	if e.Kind != old.Kind || !addsEvidence(e, *old) {
		p.open.lines = 0
		return false
	}
	old.Completion, old.Verbs = e.Completion, e.Verbs
	old.Text = cut(old.Text+" "+text, maxText)
	return true
}

// told reports whether one more line told more.
func addsEvidence(e, old Event) bool {
	return e.Kind == OFICompletion || e.Completion != nil && *e.Completion != *old.Completion || e.Verbs != nil &&
		*e.Verbs != *old.Verbs
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// retried takes a failure of level INFO that NCCL tries again.
func (p *notices) retried(r *rank, s *logLine) {
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

// classify returns the event of a warning of NCCL. The place in NCCL's sources helps where the words do not tell.
func classify(text, where string) Event {
	e, ok := Event{}, false
	switch {
	case strings.Contains(where, "ras/"): // the service for ras clients, without which a run goes on
	case strings.Contains(text, "NET/OFI"):
		e, ok = recognise(OFI, text, where)
	default:
		e, ok = recognise(NCCL, text, where)
	}
	if !ok {
		e = Event{Kind: Warning, Signature: "warning"}
	}
	e.Number = -1
	return e
}

func readCompletion(text, _ string) (Event, bool) {
	return Event{Kind: BadCompletion, Completion: completionOf(text)}, true
}

func readAsync(text, _ string) (Event, bool) {
	return Event{Kind: AsyncEvent, Async: asyncOf(text)}, true
}

func readVerbs(text, _ string) (Event, bool) {
	if !strings.Contains(text, "fail") {
		return Event{}, false
	}
	v := verbsOf(text)
	return Event{Kind: VerbsFailed, Verbs: v}, v != nil
}

// readOpenFailed: the next line names the device.
func readOpenFailed(text, where string) (Event, bool) {
	e, ok := readVerbs(text, where)
	return Event{Kind: CannotOpen}, ok && e.Verbs.Call == "ibv_open_device"
}

func readNetworkNotFound(text, _ string) (Event, bool) {
	return Event{Kind: NoNetworkLeft, Name: between(text, "Error: network ", " not found")},
		strings.HasPrefix(text, "Error: network ") && strings.Contains(text, " not found")
}

// readDevice reads the name of a device that cannot be opened.
func readDevice(text, _ string) (Event, bool) {
	_, name, _ := strings.Cut(text, "evice ")
	name, _, _ = strings.Cut(name, " ")
	return Event{Kind: CannotOpen, Name: name, Code: Errno(lastPart(text))}, true
}

func readNVLSSource(_, where string) (Event, bool) {
	return Event{Kind: NVLSFailed}, isSource(where, "nvls.cc")
}

func isSource(where, name string) bool {
	i := strings.Index(where, name+":")
	return i == 0 || i > 0 && (where[i-1] == '/' || !isHost(where[i-1]))
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

// lastPart returns the text after the last ": ", where the system's words for an error are.
func lastPart(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return strings.TrimSpace(text)
}

// readCUDA reads "Cuda failure 2 'out of memory'" and "HIP failure 'invalid argument'"; up to 2.19 there is no number.
func readCUDA(text, where string) (Event, bool) {
	low := lower(text)
	i := max(strings.Index(low, "cuda failure"), strings.Index(low, "hip failure"))
	if i < 0 {
		return Event{}, false
	}
	name, code := between(text[i:], "'", "'"), 0
	for _, word := range strings.Fields(strings.NewReplacer(":", " ", "'", " ").Replace(text[i:])) {
		if n, ok := whole([]byte(word)); ok {
			code = n
			break
		}
	}
	return Event{Kind: kindOfCUDA(name, code, low, where), Name: name, Code: code}, true
}

// kindOfCUDA tells the errors of CUDA apart by their names and numbers (driver_types.h).
func kindOfCUDA(name string, code int, low, where string) Kind {
	p2p := isSource(where, "p2p.cc") || isSource(where, "p2p.cu")
	switch {
	case strings.Contains(name, "driver shutting down"): // at the end of a process
		return Consequence
	case strings.Contains(name, "out of memory") || code == 2 && name == "":
		return OutOfMemory
	case isSource(where, "nvls.cc") || strings.Contains(low, "nvls") || isSource(where, "multicast.cc"):
		return NVLSFailed
	case hasAny(name, "peer access", "mapping of buffer object failed") || slices.Contains([]int{217, 205}, code):
		return PeerAccess
	case isInstall(name, code):
		return CUDAInstall
	case p2p && slices.Contains([]int{101, 400, 201}, code),
		p2p && hasAny(name, "invalid device ordinal", "invalid resource handle", "invalid device context"):
		return PeerAccess
	}
	return CUDAFailed
}

// hasAny reports whether a text has one of the words.
func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
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
		"driver version is insufficient", "no CUDA-capable device", "system not yet initialized",
		"forward compatibility",
		"system has unsupported display driver", "PTX was compiled", "no kernel image", "invalid device function",
		"unknown error",
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
