package scrape

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hang is a limit that only a connection reaches that hangs.
const hang = 5 * time.Minute

// serving returns the address of a listener that serves a page.
func serving(t *testing.T, address string, page string) string {
	t.Helper()
	l := listening(t, address)
	l.serve(t, page)
	return l.Address.String()
}

// patient is a listener whose clients have time.
type patient struct{ Listener }

func listening(t *testing.T, address string) *patient {
	t.Helper()
	at, err := ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	l.limits = limits{stall: hang, patience: hang}
	return &patient{l}
}

// serve serves a page until the test ends.
func (p *patient) serve(t *testing.T, page string) {
	t.Helper()
	ended := make(chan error)
	go func() { ended <- p.Serve(func() []byte { return []byte(page) }) }()
	t.Cleanup(func() {
		p.Close()
		if err := <-ended; !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EBADF) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestServe(t *testing.T) {
	large := strings.Repeat("railhead_wire_up 1\n", 100_000) // more than the buffers of a connection
	everywhere := serving(t, ":0", large)
	port := netip.MustParseAddrPort(everywhere).Port()
	for _, client := range []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()} {
		r, err := http.Get("http://" + netip.AddrPortFrom(client, port).String() + "/metrics?x=1")
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Logf("%v: %v", client, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(text) != large || r.Header.Get("Content-Type") != contentType {
			t.Errorf("%v: %v, %d bytes, %v", client, err, len(text), r.Header)
		}
	}
}

func TestAnswers(t *testing.T) {
	address := serving(t, "127.0.0.1:0", "page\n")
	for request, want := range map[string]string{
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n":  "HTTP/1.1 200 OK\r\n",
		"GET /metrics HTTP/1.0\n\n":                 "HTTP/1.1 200 OK\r\n",
		"GET / HTTP/1.1\r\n\r\n":                    "HTTP/1.1 404 ",
		"POST /metrics HTTP/1.1\r\n\r\n":            "HTTP/1.1 405 ",
		"GET /metrics\r\n\r\n":                      "HTTP/1.1 400 ",
		"\r\n\r\n":                                  "HTTP/1.1 400 ",
		"GET /" + strings.Repeat("x", 2*maxRequest): "HTTP/1.1 400 ",
		"GET /metrics HTTP/1.1\r\nHost:":            "", // no end
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(hang))
		_, _ = io.WriteString(c, request)
		_ = c.(*net.TCPConn).CloseWrite()
		answer, err := io.ReadAll(c)
		if !strings.HasPrefix(string(answer), want) || want == "" && len(answer) > 0 {
			t.Errorf("%.40q: %q, %v", request, answer, err)
		}
		hasPage := strings.HasSuffix(string(answer), "page\n")
		if hasPage != strings.Contains(want, "200") {
			t.Errorf("%.40q: %q", request, answer)
		}
		c.Close()
	}
}

// TestSlowClient: one that sends nothing holds up the next for a short time only.
func TestSlowClient(t *testing.T) {
	l := listening(t, "127.0.0.1:0")
	l.limits.stall = 100 * time.Millisecond
	var clients []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", l.Address.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(hang))
		clients = append(clients, c)
	}
	if _, err := io.WriteString(clients[1], "GET /metrics HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	l.serve(t, "page\n")
	if answer, err := io.ReadAll(clients[1]); err != nil || !strings.HasSuffix(string(answer), "page\n") {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		":9440": "[::]:9440", "127.0.0.1:1": "127.0.0.1:1", "[::1]:2": "[::1]:2",
		"": "", ":": "", ":http": "", ":65536": "", "localhost:1": "",
	} {
		got, err := ParseAddress(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	taken := netip.MustParseAddrPort(serving(t, "127.0.0.1:0", ""))
	if _, err := Listen(taken); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), taken.String()) {
		t.Error(err)
	}
}
