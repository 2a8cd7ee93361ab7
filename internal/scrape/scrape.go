// Package scrape answers the HTTP requests of a Prometheus server without net/http, which has megabytes.
package scrape

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxRequest is more than the header of a scrape has: about 300 bytes.
const maxRequest = 8 << 10

// contentType is the content type of the Prometheus text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// ParseAddress parses HOST:PORT, where HOST is an IP address; without HOST it means all addresses of the machine.
func ParseAddress(text string) (netip.AddrPort, error) {
	if port, all := strings.CutPrefix(text, ":"); all {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("port %q is not a number up to 65535", port)
		}
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(n)), nil
	}
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return address, fmt.Errorf("%q is not IP:PORT or :PORT", text)
	}
	return address, nil
}

// complete reports whether a request without a body has arrived.
func complete(request []byte) bool {
	return bytes.Contains(request, []byte("\r\n\r\n")) || bytes.Contains(request, []byte("\n\n"))
}

// answer returns the response to a request (RFC 9112). page writes the metrics.
func answer(request []byte, page func() []byte) []byte {
	line, _, _ := strings.Cut(string(request), "\n")
	fields := strings.Fields(line)
	if len(fields) != 3 || !strings.HasPrefix(fields[2], "HTTP/1.") || !complete(request) {
		return response("400 Bad Request", []byte("not an HTTP/1 request\n"))
	}
	path, _, _ := strings.Cut(fields[1], "?")
	switch {
	case path != "/metrics":
		return response("404 Not Found", []byte("there is only /metrics\n"))
	case fields[0] != "GET":
		return response("405 Method Not Allowed\r\nAllow: GET", []byte("only GET\n"))
	}
	return response("200 OK", page())
}

func response(status string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		status, contentType, len(body))
	return append([]byte(head), body...)
}
