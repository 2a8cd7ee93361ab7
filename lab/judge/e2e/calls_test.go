package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// counter stands between railhead and the API server and counts what is asked.
type counter struct {
	answer func(path string) http.HandlerFunc // in place of the server, if it returns one

	mu    sync.Mutex
	calls []string
}

// counted is the user of a name whose calls are counted.
func counted(t *testing.T, name string, groups ...string) (user, *counter) {
	t.Helper()
	cfg, err := openShift.Users.Config(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.calls = append(c.calls, r.Method+" "+r.URL.Path)
		if r.URL.Query().Has("watch") {
			c.calls[len(c.calls)-1] = "WATCH " + r.URL.Path
		}
		c.mu.Unlock()
		if c.answer != nil {
			if own := c.answer(r.URL.Path); own != nil {
				own(w, r)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	k := api.NewConfig()
	k.Clusters["proxy"] = &api.Cluster{Server: server.URL}
	k.Contexts["proxy"] = &api.Context{Cluster: "proxy"}
	k.CurrentContext = "proxy"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := clientcmd.Write(*k)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return user{kubeconfig: file}, c
}

// take returns the calls so far and begins anew.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

var wrote = regexp.MustCompile(`(?m)^  (created|configured|unchanged|deleted) `)

// TestCalls: a deploy asks the server little more than it writes.
func TestCalls(t *testing.T) {
	const ns = "counted"
	setUp(t)
	engineer(t, "r-sato", ns)
	u, c := counted(t, "r-sato")
	few := func(r result, most int) {
		t.Helper()
		calls := c.take()
		written := len(wrote.FindAllString(r.err, -1))
		t.Logf("%d calls, %d objects written: %d more", len(calls), written, len(calls)-written)
		if len(calls)-written > most {
			t.Errorf("%d calls for %d objects, allowed are %d more:\n%s", len(calls), written, most, strings.Join(calls, "\n"))
		}
	}
	few(u.does(t, deploy("job", ns)...), 15)
	t.Run("a second time", func(t *testing.T) {
		r := u.does(t, deploy("job", ns)...)
		if calls := c.take(); strings.Contains(fmt.Sprint(calls), "PATCH") || !strings.Contains(r.err, "Nothing to do") {
			t.Errorf("calls %q", calls)
		}
	})
	few(u.does(t, "delete", "job", "-n", ns, "--yes"), 11)
	few(u.does(t, deploy("single", ns, "--type=single")...), 15)
	few(u.does(t, "status", "single", "-n", ns), 13)
	few(u.does(t, "delete", "single", "-n", ns, "--yes"), 11)
	few(u.does(t, deploy("tcp", ns, "--mode=tcp")...), 15)
	few(u.does(t, "delete", "tcp", "-n", ns, "--yes"), 11)
}
