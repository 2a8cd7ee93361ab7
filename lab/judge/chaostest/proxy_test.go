//go:build chaos

package chaostest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/pki"
)

const (
	// outage is how long a killed API server is away before it is started again.
	outage = time.Second
	// grace is how long an interrupted program may take to cancel the request that it is making. Requests that it does
	// not cancel, as those that clean up, are then forwarded.
	grace = time.Second
)

// proxy is between railhead and the API server. It forwards requests as the administrator, records them, and disturbs
// those that it is told to.
type proxy struct {
	plane      *controlplane.ControlPlane
	target     *url.URL
	upstream   http.RoundTripper
	kubeconfig []byte

	mu        sync.Mutex
	idle      *sync.Cond // no handler runs
	handlers  int
	seen      map[string]int
	trace     []string
	disturbs  map[string]way // by request
	hit       map[string]way
	interrupt func()
	restarted chan error // of a killed API server
}

// connection is the key of a request's connection in its context.
type connection struct{}

func newProxy(t *testing.T, plane *controlplane.ControlPlane) *proxy {
	t.Helper()
	p := &proxy{plane: plane}
	p.idle = sync.NewCond(&p.mu)
	var err error
	if p.upstream, err = rest.TransportFor(plane.Admin()); err != nil {
		t.Fatal(err)
	}
	if p.target, err = url.Parse(plane.Admin().Host); err != nil {
		t.Fatal(err)
	}
	authority, err := pki.New()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:   p,
		ErrorLog:  log.New(io.Discard, "", 0), // connections that are cut
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, c)
		},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { server.Close() })
	k := api.NewConfig()
	k.Clusters["lab"] = &api.Cluster{Server: "https://" + listener.Addr().String(), CertificateAuthorityData: authority.CertPEM}
	k.AuthInfos["admin"] = &api.AuthInfo{}
	k.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: "admin", Namespace: "default"}
	k.CurrentContext = "lab"
	if p.kubeconfig, err = clientcmd.Write(*k); err != nil {
		t.Fatal(err)
	}
	return p
}

// begin prepares for a command that interrupt ends.
func (p *proxy) begin(interrupt func(), disturbs map[string]way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.trace, p.hit = map[string]int{}, nil, map[string]way{}
	p.interrupt, p.disturbs = interrupt, disturbs
}

// end waits until nothing of the command is left, and the API server is back. It returns the requests, and which of them
// were disturbed.
func (p *proxy) end() (trace []string, hit map[string]way, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.handlers > 0 {
		p.idle.Wait()
	}
	if p.restarted != nil {
		err, p.restarted = <-p.restarted, nil
	}
	return p.trace, maps.Clone(p.hit), err
}

// record returns how to disturb the request. A request has a name by which it is the same in each run.
func (p *proxy) record(r *http.Request) way {
	name := r.Method + " " + certificateName.ReplaceAllString(r.URL.Path, webhookSecret)
	switch {
	case watches(r):
		name += " watch"
	case r.URL.Query().Has("dryRun"):
		name += dryRun
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[name]++
	name = fmt.Sprintf("%s #%d", name, p.seen[name])
	p.trace = append(p.trace, name)
	w := p.disturbs[name]
	if w != "" {
		p.hit[name] = w
	}
	return w
}

func watches(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer p.handles()()
	switch p.record(r) {
	case interruptBefore:
		p.interrupt()
		select {
		case <-r.Context().Done():
		case <-time.After(grace):
			p.forward(w, r, func() {})
		}
	case interruptAfter:
		if watches(r) {
			p.forward(w, r, p.interrupt)
			return
		}
		p.forward(w, r, func() {})
		p.interruptSoon()
	case connectionCut:
		cut(r)
	case unavailable:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,`+
			`"message":"the server is currently unable to handle the request"}`)
	case answerLost:
		p.carryOut(r)
		cut(r)
	case serverKilled:
		p.kill()
		cut(r)
	default:
		p.forward(w, r, func() {})
	}
}

// handles counts a handler until done is called.
func (p *proxy) handles() (done func()) {
	p.count(1)
	return func() { p.count(-1) }
}

func (p *proxy) count(handlers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handlers += handlers; p.handlers == 0 {
		p.idle.Broadcast()
	}
}

// interruptSoon interrupts when the response has left: this handler has to return for that.
func (p *proxy) interruptSoon() {
	done := p.handles()
	go func() {
		defer done()
		<-time.After(5 * time.Millisecond)
		p.interrupt()
	}()
}

// kill kills the API server and starts it again a little later.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plane.KillAPIServer()
	restarted := make(chan error, 1)
	p.restarted = restarted
	go func() {
		<-time.After(outage)
		restarted <- p.plane.RestartAPIServer(context.Background())
	}()
}

// cut resets the connection of a request, unless railhead has canceled the request.
func cut(r *http.Request) {
	if r.Context().Err() != nil {
		return
	}
	c, _ := r.Context().Value(connection{}).(*tls.Conn)
	if tcp, ok := c.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		tcp.Close()
	}
}

// forward lets the API server answer. It calls answered when the first part of the body is sent.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, answered func()) {
	resp, err := p.ask(r)
	if err != nil {
		cut(r)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush() // a watch without events has begun
	once := sync.OnceFunc(answered)
	for part := make([]byte, 1<<16); ; {
		n, err := resp.Body.Read(part)
		if n > 0 {
			if _, err := w.Write(part[:n]); err != nil {
				return
			}
			_ = flush.Flush()
			once()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			cut(r)
			return
		}
	}
}

// carryOut lets the API server answer and drops the answer: of a watch the first part, otherwise all.
func (p *proxy) carryOut(r *http.Request) {
	resp, err := p.ask(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if watches(r) {
		_, _ = resp.Body.Read(make([]byte, 1))
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
}

func (p *proxy) ask(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, "", ""
	return p.upstream.RoundTrip(out)
}
