package nccllog

import (
	"cmp"
	"strings"
)

// socketOf reads failures of TCP connections:
//
//	Connect to 10.0.0.5<39275> failed : Connection refused                                  up to 2.23, with "socketStartConnect: " from 2.13 on
//	socketPollConnect: connect to 10.0.0.5<39275> returned Connection timed out, exceeded error retry count after 35 attempts
//	socketProgress: Connection closed by remote peer worker-1<53012>
//	socketProgressOpt: Call to recv from 10.0.0.5<1234> failed : Connection reset by peer
func socketOf(text, _ string) (Event, bool) {
	low := strings.ToLower(text)
	switch {
	case hasAny(low, "connection closed by remote peer", "connection closed by peer", "connection closed by localrank"):
		return Event{Kind: SocketClosed, Socket: &Socket{Peer: peerOf(text, " peer ")}}, true
	case connectFailed(low):
		return Event{Kind: ConnectFailed, Socket: &Socket{Peer: peerOf(text, "onnect to "), Error: errorOf(text)}}, true
	case hasAny(low, "socketprogress", "call to recv", "call to send", "net : call to", "call to read ",
		"call to write "):
		peer := cmp.Or(peerOf(text, " from "), peerOf(text, " to "))
		return Event{Kind: SocketFailed, Socket: &Socket{Peer: peer, Error: errorOf(text)}}, true
	case hasAny(low, "call to bind ", "call to socket ", "call to listen ", "call to getaddrinfo", "call to accept"):
		return Event{Kind: SocketFailed, Socket: &Socket{Error: errorOf(text)}}, true
	case strings.Contains(low, "getting address info"):
		return Event{Kind: ConnectFailed, Socket: &Socket{Error: lastPart(text)}}, true
	}
	return Event{}, false
}

func connectFailed(low string) bool {
	return strings.Contains(low, "connect to ") && hasAny(low, "fail", "returned", "time") ||
		strings.Contains(low, "call to connect ") && hasAny(low, "fail", "returned") ||
		hasAny(low, "call to connect timeout", "pollconnect", "startconnect")
}

// peerOf is the peer that follows a word, when it looks like one.
func peerOf(text, word string) string {
	_, rest, ok := strings.Cut(text, word)
	if !ok {
		return ""
	}
	peer, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return cut(strings.TrimRight(peer, ",.:"), 80)
}

// errorOf is the system's word for a failure, wherever it stands in the text.
func errorOf(text string) string {
	best, at := "", len(text)
	for _, e := range systemErrors() {
		if i := strings.Index(text, e.words); i >= 0 && i < at {
			best, at = e.words, i
		}
	}
	if best == "" && strings.Contains(strings.ToLower(text), "timeout") {
		return "Connection timed out"
	}
	return best
}
