package nccllog

import "strings"

// socketOf reads failures of TCP connections:
//
//	Connect to 10.0.0.5<39275> failed : Connection refused                                  up to 2.23, with "socketStartConnect: " from 2.13 on
//	socketPollConnect: connect to 10.0.0.5<39275> returned Connection timed out, exceeded error retry count after 35 attempts
//	socketProgress: Connection closed by remote peer worker-1<53012>
//	socketProgressOpt: Call to recv from 10.0.0.5<1234> failed : Connection reset by peer
func socketOf(text string) (Event, bool) {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "connection closed by remote peer"), strings.Contains(low, "connection closed by peer"), strings.Contains(low, "connection closed by localrank"):
		return Event{Kind: SocketClosed, Socket: &Socket{Peer: peerOf(text, " peer ")}}, true
	case strings.Contains(low, "connect to ") && (strings.Contains(low, "fail") || strings.Contains(low, "returned") || strings.Contains(low, "time")),
		strings.Contains(low, "call to connect ") && (strings.Contains(low, "fail") || strings.Contains(low, "returned")),
		strings.Contains(low, "call to connect timeout"):
		return Event{Kind: ConnectFailed, Socket: &Socket{Peer: peerOf(text, "onnect to "), Error: errorOf(text)}}, true
	case strings.Contains(low, "pollconnect") || strings.Contains(low, "startconnect"):
		return Event{Kind: ConnectFailed, Socket: &Socket{Peer: peerOf(text, "onnect to "), Error: errorOf(text)}}, true
	case strings.Contains(low, "socketprogress") || strings.Contains(low, "call to recv") || strings.Contains(low, "call to send") ||
		strings.Contains(low, "net : call to") || strings.Contains(low, "call to read ") || strings.Contains(low, "call to write "):
		e := Event{Kind: SocketFailed, Socket: &Socket{Peer: peerOf(text, " from "), Error: errorOf(text)}}
		if e.Socket.Peer == "" {
			e.Socket.Peer = peerOf(text, " to ")
		}
		return e, true
	case strings.Contains(low, "call to bind ") || strings.Contains(low, "call to socket ") || strings.Contains(low, "call to listen ") || strings.Contains(low, "call to getaddrinfo"),
		strings.Contains(low, "call to accept"):
		return Event{Kind: SocketFailed, Socket: &Socket{Error: errorOf(text)}}, true
	case strings.Contains(low, "getting address info"):
		return Event{Kind: ConnectFailed, Socket: &Socket{Error: lastPart(text)}}, true
	}
	return Event{}, false
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

// ofiOf reads what the plugin of AWS warns of (aws-ofi-nccl src/nccl_ofi_*.c).
func ofiOf(text string) Event {
	for _, s := range []sign{
		{"GDRCopy", GDRCopyFailed}, {"gdrcopy", GDRCopyFailed},
		{"egister memory", OFIRegister}, {"fi_mr_reg", OFIRegister}, {"mr_reg", OFIRegister}, {"registration", OFIRegister}, {"register MR", OFIRegister},
		{"completed with error", OFICompletion}, {"Unresponsive receiver", OFICompletion},
		{"eligible providers", OFINoProvider}, {"optimal provider", OFINoProvider}, {"EFA provider is supported", OFINoProvider},
		{"initialization failed", OFINoProvider}, {"No provider", OFINoProvider}, {"no provider", OFINoProvider}, {"find any", OFINoProvider},
		{"pciPath", Warning}, {"product_name", Warning}, {"ncclGetVersion", Warning}, {"environment", Warning},
		{"nitialize", OFIFailed}, {"fi_getinfo", OFINoProvider}, {"fi_", OFIFailed}, {"ailed", OFIFailed}, {"ould", OFIFailed},
	} {
		if strings.Contains(text, s.word) {
			e := Event{Kind: s.kind, Name: "OFI"}
			if rc := numberAfter([]byte(text), "RC: "); rc > 0 {
				e.Code = rc
			}
			return e
		}
	}
	return Event{Kind: Warning}
}
