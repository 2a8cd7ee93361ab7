// Package webhook serves the admission webhook: pods over HTTPS, its metrics, and whether it is ready.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/admission"
	"github.com/railhead/railhead/internal/plan/job"
)

const (
	// maxReview is more than the API server accepts for one object (3 MiB, apiserver MaxRequestBodyBytes), twice: a
	// review may have the old one, too.
	maxReview = 8 << 20
	// shutdownTime is the time for the answers that are under way.
	shutdownTime  = 5 * time.Second
	reconnect     = 10 * time.Minute
	retryInterval = 5 * time.Second
)

// Server answers the API server from the last State that it was given. It makes no request of its own.
type Server struct {
	Options job.Options // of the injection
	// Drain is the time for which the server still answers when its context has ended: until then the API server may
	// not know that it should ask the other replica.
	Drain time.Duration
	// Connect watches the cluster.
	Connect func(context.Context) iter.Seq2[cluster.State, error]
	Say     func(error) // called with its errors

	state   atomic.Pointer[cluster.State]
	metrics metrics
}

// Use answers from another State.
func (s *Server) Use(state cluster.State) {
	state = admission.Reduce(state)
	s.state.Store(&state)
}

// Handler returns the paths of the server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+plan.WebhookPath, s.inject)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.state.Load() == nil {
			http.Error(w, "the cluster was not read yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.metrics.write(w, s.state.Load())
	})
	return mux
}

func (s *Server) inject(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	var answer []byte
	var d admission.Decision
	if err == nil {
		answer, d, err = admission.Review(body, s.state.Load(), s.Options)
	}
	s.metrics.observe(d, err, time.Since(begun))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the API server counts an answer that it does not get
}

// Serve answers at an address until the context ends, and then as long as Drain says. The folder has the certificate,
// tls.crt and tls.key, which may be replaced at any time.
func (s *Server) Serve(ctx context.Context, address, folder string) error {
	certificate := &certificate{folder: folder}
	if _, err := certificate.get(nil); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         &tls.Config{GetCertificate: certificate.get, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // the API server gives up after at most 30 s
		IdleTimeout:       2 * time.Minute,
	}
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		s.follow(ctx)
		return nil
	})
	g.Go(func() error {
		defer cancel()
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		<-time.After(s.Drain)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		return server.Shutdown(within)
	})
	return g.Wait()
}

// follow answers from the newest State that Connect yields, until the context ends. It connects again from time to
// time, because a connection knows only the API groups that it found at first. After an error the last State remains.
func (s *Server) follow(ctx context.Context) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, reconnect)
		for state, err := range s.Connect(within) {
			if err == nil {
				s.Use(state)
			} else if ctx.Err() == nil {
				s.Say(err)
			}
		}
		if within.Err() == nil { // it ended with an error
			pause(ctx)
		}
		cancel()
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryInterval):
	}
}
