// Package serve makes pages of results, diagnoses and machines, from files or a cluster, and serves them.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/report/html"
)

// pageServer shows one page, and tells browsers when it has changed.
type pageServer struct {
	mu      sync.Mutex
	page    html.Page
	version int           // of the page, from 0
	changed chan struct{} // closed at the next change
	ends    <-chan struct{}
}

// Source has a page that changes.
type Source interface {
	// Page returns the current page.
	Page(ctx context.Context) (html.Page, error)
	// Follow shows every later page until the context ends.
	Follow(ctx context.Context, show func(html.Page)) error
}

// Serve shows a page until the context ends. It returns the page that was shown last.
func Serve(
	ctx context.Context, source Source, page html.Page, address string, say func(format string, args ...any),
) (html.Page, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return page, fmt.Errorf("--serve: %w", err)
	}
	s := &pageServer{page: page, changed: make(chan struct{}), ends: ctx.Done()}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	say("http://%s/ shows the page. Press Ctrl-C to stop.", listener.Addr())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		err := source.Follow(ctx, s.show)
		if ctx.Err() == nil {
			say("The page is no longer updated: %v", cmp.Or(err, errors.New("the cluster cannot be watched")))
		}
		<-ctx.Done()
		return server.Close() // Shutdown would wait for the browsers' event streams
	})
	err = g.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page, err
}

// CheckAddress refuses addresses that other machines can reach: the page names the machines of a cluster.
func CheckAddress(address string) error {
	name, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return fmt.Errorf("--serve %s: not an address such as 127.0.0.1:8080", address)
	case !local(name):
		return fmt.Errorf("--serve %s: must be a local address, such as 127.0.0.1:8080 or localhost:8080", address)
	}
	return nil
}

// local reports whether a name or an address belongs to the loopback interface.
func local(name string) bool {
	address, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && address.IsLoopback()
}

func (s *pageServer) show(page html.Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = page
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *pageServer) now() (page html.Page, version int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page, s.version, s.changed
}

func (s *pageServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /events", s.serveEvents)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page of another site whose name resolves to this machine (DNS rebinding) has that name in Host.
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil || !local(name) {
			http.Error(w, "use the address 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *pageServer) servePage(w http.ResponseWriter, _ *http.Request) {
	page, version, _ := s.now()
	var b bytes.Buffer
	if err := html.WriteLive(&b, page, fmt.Sprintf("/events?have=%d", version)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b.Bytes()) // the browser has gone
}

// serveEvents sends one event for each page that is newer than the browser's
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (s *pageServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	have := r.FormValue("have")
	for {
		_, version, changed := s.now()
		event := ": unchanged\n\n"
		if now := strconv.Itoa(version); now != have {
			event, have = "data: "+now+"\n\n", now
		}
		if _, err := fmt.Fprint(w, event); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.ends:
			return
		}
	}
}
