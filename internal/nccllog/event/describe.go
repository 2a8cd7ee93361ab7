package event

import (
	"cmp"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
)

// String describes the event in a few words.
func (e Event) String() string {
	switch {
	case e.Completion != nil && e.Completion.Status == codes.StatusFlushed:
		return "work request flushed"
	case e.Completion != nil:
		return "bad completion " + e.Completion.Name
	case e.Async != nil:
		return strings.TrimSpace("async event " + e.Async.Event + " " + e.Async.Device)
	case e.Verbs != nil:
		return strings.TrimSpace(e.Verbs.Call + " failed " + e.Verbs.Error)
	}
	text := cmp.Or(SignatureOf(e).What, "failure")
	if e.Socket != nil && e.Socket.Error != "" {
		text += ": " + e.Socket.Error
	}
	return text + e.named()
}

func (e Event) named() string {
	switch e.Kind {
	case CUDAFailed, CUDAError, Exception:
		if e.Name != "" {
			return ": " + e.Name
		}
	default:
	}
	return ""
}

// Peer returns the address or the name of the peer that the event names, or "".
func (e Event) Peer() string {
	switch {
	case e.Completion != nil:
		return e.Completion.Peer
	case e.Socket != nil:
		return e.Socket.Peer
	}
	return ""
}
