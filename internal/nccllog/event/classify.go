package event

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// OfWarning returns the event of a warning of NCCL. Where is the place in NCCL's sources.
func OfWarning(text, where string) Event {
	e, ok := Event{}, false
	switch {
	case strings.Contains(where, "ras/"): // the service for RAS clients; training does not need it
	case strings.Contains(text, "NET/OFI"):
		e, ok = recognize(ofiSignatures, text, where)
		e.Name, e.Code = "OFI", max(find.NumberAfter(text, "RC: "), 0)
	default:
		e, ok = recognize(ncclSignatures, text, where)
	}
	if !ok {
		e = New(Warning, "warning", Quote{})
	}
	if isBenign(e, text) {
		return New(Harmless, benignID, Quote{})
	}
	return e
}

// quotedWarnings are words of NCCL's warnings that programs and people quote without NCCL's prefix.
var quotedWarnings = []string{
	"NVLink SHARP", "Duplicate GPU detected", "no socket interface found", "socketStartConnect",
	"socketPollConnect", "ncclIbRoceGetVersionNum", "Got completion from peer", "shared memory segment",
	"Got async event", "Last NCCL warning(error)", "Message truncated : received", "Cuda failure", "HIP failure",
	"Call to posix_fallocate",
}

// OfQuote returns the event of a warning of NCCL that a line of another program quotes.
func OfQuote(text string) (Event, bool) {
	word := find.First(text, quotedWarnings)
	if word == "" {
		return Event{}, false
	}
	_, rest, _ := strings.Cut(text, word)
	e := OfWarning(word+rest, "")
	return e, e.Kind != Warning
}

// OfProgram returns the event of a line that NCCL did not write.
func OfProgram(text string) (Event, bool) {
	e, ok := recognize(otherSignatures, text, "")
	if ok && isBenign(e, text) {
		return New(Harmless, benignID, Quote{}), true
	}
	return e, ok
}

// Words returns search words. Each line that OfQuote or OfProgram recognizes contains at least one of them.
func Words() []string {
	words := slices.Clone(quotedWarnings)
	for _, s := range otherSignatures {
		words = append(words, s.Words...)
	}
	return words
}

func readVerbs(e *Event, text, _ string) bool {
	e.Verbs = verbsOf(text)
	return e.Verbs != nil
}

// readOpenFailed reads no device: the next line has it.
func readOpenFailed(_ *Event, text, _ string) bool {
	v := verbsOf(text)
	return v != nil && v.Call == "ibv_open_device"
}

func readNetworkNotFound(e *Event, text, _ string) bool {
	e.Name = find.Between(text, "Error: network ", " not found")
	return strings.HasPrefix(text, "Error: network ") && strings.Contains(text, " not found")
}

func readDevice(e *Event, text, _ string) bool {
	_, name, _ := strings.Cut(text, "evice ")
	e.Name, _, _ = strings.Cut(name, " ")
	e.Code = codes.Errno(find.LastPart(text))
	return true
}

func readNVLSSource(_ *Event, _, where string) bool { return IsSource(where, "nvls.cc") }

// IsSource reports whether a place is in the source file.
func IsSource(where, file string) bool {
	i := strings.Index(where, file+":")
	return i == 0 || i > 0 && !prefix.IsHost(where[i-1])
}

// NoRDMA is in the first line that railhead-pod prints before it starts a command without RDMA.
const NoRDMA = "NO RDMA: training runs over TCP."
