package event

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
)

// readSocket reads failures of TCP connections:
//
//	Connect to 10.0.0.5<39275> failed : Connection refused
//	socketPollConnect: connect to 10.0.0.5<39275> returned Connection timed out, exceeded error retry count after ...
//	socketProgress: Connection closed by remote peer worker-1<53012>
//	socketProgressOpt: Call to recv from 10.0.0.5<1234> failed : Connection reset by peer
//	socketProgressOpt: Call to send to 10.0.0.5<1234> failed : Connection reset by peer
//
// From 2.13 to 2.23 "socketStartConnect: " precedes the first form.
func readSocket(e *Event, text, _ string) bool {
	low := find.Lower(text)
	switch {
	case find.Any(low, "connection closed by remote peer", "connection closed by peer",
		"connection closed by localrank"):
		e.Kind, e.Socket = SocketClosed, &Socket{Peer: peerOf(text, " peer ")}
	case connectFailed(low):
		e.Kind, e.Socket = ConnectFailed, &Socket{Peer: peerOf(text, "onnect to "), Error: errorOf(text)}
	case find.Any(low, "socketprogress", "net : call to", "call to recv", "call to send", "call to read ",
		"call to write "):
		e.Kind = SocketFailed
		_, call, _ := strings.Cut(text, "all to ")
		e.Socket = &Socket{Peer: cmp.Or(peerOf(call, " from "), peerOf(call, " to ")), Error: errorOf(text)}
	case find.Any(low, "call to bind ", "call to socket ", "call to listen ", "call to getaddrinfo", "call to accept"):
		e.Kind, e.Socket = SocketFailed, &Socket{Error: errorOf(text)}
	case strings.Contains(low, "getting address info"):
		e.Kind, e.Socket = ConnectFailed, &Socket{Error: find.LastPart(text)}
	default:
		return false
	}
	return true
}

func connectFailed(low string) bool {
	return strings.Contains(low, "connect to ") && find.Any(low, "fail", "returned", "time") ||
		strings.Contains(low, "call to connect ") && find.Any(low, "fail", "returned") ||
		find.Any(low, "call to connect timeout", "pollconnect", "startconnect")
}

// peerOf returns the peer that follows a word.
func peerOf(text, word string) string {
	_, rest, _ := strings.Cut(text, word)
	peer, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return find.Cut(strings.TrimRight(peer, ",.:"), 80)
}

// errorOf returns the error of a line.
func errorOf(text string) string {
	said := codes.FirstError(text)
	if said == "" && strings.Contains(find.Lower(text), "timeout") {
		return "Connection timed out"
	}
	return said
}

var glooSource = []string{"gloo/transport/tcp/"}

// readGloo reads failures of the connections of gloo, which name their peer as [10.0.0.7]:3421.
func readGloo(e *Event, text, _ string) bool {
	e.Number, e.Socket = rankIn(text), &Socket{Error: errorOf(text)}
	if ip := find.Between(text[max(strings.LastIndexByte(text, '['), 0):], "[", "]"); isAddress(ip) {
		e.Socket.Peer = ip + "<" + strings.TrimRight(find.WordAfter(text, ip+"]:"), ":") + ">"
	}
	switch {
	case strings.Contains(text, "connectFullMesh"): // of the rendezvous
		return false
	case strings.Contains(text, "Connection closed by peer"):
		e.Kind = SocketClosed
	case strings.Contains(text, "Timed out waiting"):
		e.Kind = Watchdog
	case find.Any(text, "connect [", "SO_ERROR"):
		e.Kind = ConnectFailed
	case e.Socket.Error != "":
		e.Kind = SocketFailed
	default:
		return false
	}
	return true
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
