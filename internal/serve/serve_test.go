package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/report/html"
)

func TestServeAddress(t *testing.T) {
	const notLocal = "must be a local address"
	for address, wrong := range map[string]string{
		"127.0.0.1:0":    "",
		"localhost:0":    "",
		"[::1]:0":        "",
		"127.8.8.8:0":    "",
		"0.0.0.0:0":      notLocal,
		":8080":          notLocal,
		"10.0.0.1:80":    notLocal,
		"example.com:80": notLocal,
		"8080":           "not an address",
	} {
		err := CheckAddress(address)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// slides is a source of the pages that a test sends.
type slides struct {
	first html.Page
	next  chan html.Page
}

func (s slides) Page(context.Context) (html.Page, error) { return s.first, nil }

func (s slides) Follow(ctx context.Context, show func(html.Page)) error {
	for {
		select {
		case page := <-s.next:
			show(page)
		case <-ctx.Done():
			return nil
		}
	}
}

// talk passes on the messages of the server.
type talk chan string

func (t talk) Write(p []byte) (int, error) {
	t <- string(p)
	return len(p), nil
}

func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	said := make(talk, 8)
	say := func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }
	source := slides{first: html.Page{Title: "before"}, next: make(chan html.Page)}
	type end struct {
		page html.Page
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		page, err := Serve(ctx, source, source.first, "127.0.0.1:0", say)
		ended <- end{page, err}
	}()
	url, _, _ := strings.Cut(<-said, " ")
	read := func(r io.Reader, until string) string {
		var all []byte
		piece := make([]byte, 64<<10)
		for !bytes.Contains(all, []byte(until)) {
			n, err := r.Read(piece)
			if all = append(all, piece[:n]...); err != nil {
				t.Fatalf("%v before %q", err, until)
			}
		}
		return string(all)
	}
	get := func(path string) io.ReadCloser {
		answer, err := http.Get(strings.TrimSuffix(url, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer.Body
	}
	text := read(get("/"), "</html>")
	for _, want := range []string{
		"<h1>before</h1>", `<meta name="events" content="/events?have=0">`, "connect-src &#39;self&#39;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	events := get("/events?have=0")
	read(events, ": unchanged\n\n")
	source.next <- html.Page{Title: "after"}
	read(events, "data: 1\n\n")
	if text := read(get("/"), "</html>"); !strings.Contains(text, "<h1>after</h1>") {
		t.Error("the old page is still shown")
	}
	read(get("/events?have=0"), "data: 1\n\n") // a page that changed between two requests is not lost
	stop()
	select {
	case e := <-ended:
		if e.err != nil || e.page.Title != "after" {
			t.Errorf("%q, %v", e.page.Title, e.err)
		}
	case <-time.After(5 * time.Minute): // it hangs
		t.Fatal("the server still runs after Ctrl-C")
	}
}

// The name of another site may resolve to 127.0.0.1: its page must not read the served one.
func TestServeForeignHost(t *testing.T) {
	s := &pageServer{changed: make(chan struct{})}
	server := httptest.NewServer(s.handler())
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for name, want := range map[string]int{
		"127.0.0.1": 200, "localhost": 200, "evil.example.com": 403, "localhost.example.com": 403,
	} {
		request, _ := http.NewRequest(http.MethodGet, server.URL, nil)
		request.Host = net.JoinHostPort(name, port)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, want)
		}
	}
}
