package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/admission"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/plantest"
)

var options = job.Options{Programs: []delivery.Program{
	delivery.Packed("amd64", make([]byte, 10*delivery.PartSize)),
	delivery.Packed("arm64", make([]byte, 10*delivery.PartSize)),
}}

// training is a cluster with a number of nodes, and railhead-pod in namespace train.
func training(nodes int) cluster.State {
	s := plantest.Training()
	s.Read, s.Pods = append(s.Read, cluster.ConfigMaps), nil
	for i := range nodes {
		s.Nodes = append(s.Nodes, plantest.GPUNode(fmt.Sprintf("node-%d", i)))
	}
	d := delivery.Delivery{Programs: options.Programs}
	for _, o := range d.Missing(s, "train", delivery.Kept()) {
		s.ConfigMaps = append(s.ConfigMaps, cluster.ConfigMap{Namespace: "train", Name: o.GetName()})
	}
	return s
}

func review(i int) string {
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": {"uid": "u-%d", "namespace": "train", "object": {"apiVersion": "v1", "kind": "Pod",
			"metadata": {"generateName": "llama-worker-"},
			"spec": {"containers": [{"name": "a", "image": "torch", "command": ["torchrun", "train.py"],
				"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}`, i)
}

func get(t *testing.T, server *httptest.Server, path string) (code int, body string) {
	t.Helper()
	r, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func post(t testing.TB, server *httptest.Server, text string) (code int, body string) {
	t.Helper()
	r, err := server.Client().Post(server.URL+plan.WebhookPath, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(answer)
}

func TestHandler(t *testing.T) {
	s := &Server{Options: options}
	server := httptest.NewTLSServer(s.Handler())
	defer server.Close()
	if code, _ := get(t, server, "/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	if code, _ := get(t, server, "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("ready before the cluster was read: %d", code)
	}
	code, body := post(t, server, review(1))
	if code != http.StatusOK || !strings.Contains(body, `"allowed":true,"warnings"`) {
		t.Errorf("before the cluster was read: %d, %s", code, body)
	}
	s.Use(training(0))
	if code, _ := get(t, server, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %d", code)
	}
	code, body = post(t, server, review(2))
	if code != http.StatusOK || !strings.Contains(body, `"patchType":"JSONPatch"`) {
		t.Errorf("%d, %s", code, body)
	}
	if code, body := post(t, server, "{}"); code != http.StatusBadRequest || !strings.Contains(body, "has no pod") {
		t.Errorf("%d, %s", code, body)
	}
	if code, _ := get(t, server, plan.WebhookPath); code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", code)
	}
	_, text := get(t, server, "/metrics")
	for _, want := range []string{
		`railhead_webhook_pods_total{outcome="failed",reason="cluster-not-read"} 1`,
		`railhead_webhook_pods_total{outcome="injected",reason=""} 1`,
		"railhead_webhook_errors_total 1\n",
		"# TYPE railhead_webhook_request_duration_seconds histogram",
		`railhead_webhook_request_duration_seconds_bucket{le="+Inf"} 3`,
		"railhead_webhook_request_duration_seconds_count 3\n",
		"railhead_webhook_state_timestamp_seconds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}

// TestHistogram: a bucket counts what is at most as slow as its name says.
func TestHistogram(t *testing.T) {
	var m metrics
	for _, took := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 2 * time.Second} {
		m.observe(admission.Decision{}, nil, took)
	}
	var text bytes.Buffer
	m.write(&text, nil)
	for _, want := range []string{
		`{le="0.0005"} 0`, `{le="0.001"} 1`, `{le="0.0025"} 2`, `{le="1"} 2`, `{le="+Inf"} 3`, "_sum 2.003",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in:\n%s", want, text.String())
		}
	}
}

// TestFollow: an outage keeps the last State, and a connection that ends is made again.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var said []string
		connections := 0
		connect := func(context.Context) iter.Seq2[cluster.State, error] {
			connections++
			return func(yield func(cluster.State, error) bool) {
				if connections == 1 && yield(cluster.State{SchemaVersion: 7}, nil) {
					yield(cluster.State{}, errors.New("no contact"))
				}
			}
		}
		s := &Server{Connect: connect, Say: func(err error) { said = append(said, err.Error()) }}
		s.follow(ctx)
		state := s.state.Load()
		if state == nil || state.SchemaVersion != 7 || !slices.Equal(said, []string{"no contact"}) {
			t.Errorf("state %v, said %q", state, said)
		}
		if connections < 10 || connections > 14 {
			t.Errorf("%d connections in a minute", connections)
		}
	})
}

// TestServe: the server reads the certificate that replaces its own, and ends with its context.
func TestServe(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, age time.Duration) []byte {
		cert, key, err := Issue(name, time.Now().Add(time.Hour))
		if err == nil {
			err = errors.Join(os.WriteFile(folder+"/tls.crt", cert, 0o600), os.WriteFile(folder+"/tls.key", key, 0o600),
				os.Chtimes(folder+"/tls.crt", time.Time{}, time.Now().Add(-age)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	first := write("first.test", time.Minute)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := &Server{Connect: func(context.Context) iter.Seq2[cluster.State, error] {
		return func(yield func(cluster.State, error) bool) { yield(cluster.State{}, nil) }
	}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, address, folder) }()
	reach := func(name string, trusted []byte) error {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trusted)
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, ServerName: name})
		if err != nil {
			return err
		}
		return c.Close()
	}
	for err = reach("first.test", first); errors.Is(err, syscall.ECONNREFUSED); {
		err = reach("first.test", first) // until it listens
	}
	if err != nil {
		t.Error(err)
	}
	if err := reach("second.test", write("second.test", 0)); err != nil {
		t.Errorf("renewed: %v", err)
	}
	if err := os.Remove(folder + "/tls.key"); err != nil {
		t.Fatal(err)
	}
	if err := reach("first.test", first); err == nil {
		t.Error("the first certificate is still in use")
	}
	if cancel(); <-done != nil {
		t.Errorf("ended with %v", err)
	}
	if err := s.Serve(t.Context(), address, t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a certificate: %v", err)
	}
}

// BenchmarkInject sends the pods of a cluster of 1,000 nodes over HTTPS, one after the other. The API server waits for
// each answer: of 1,000, all but ten must come within 10 ms.
func BenchmarkInject(b *testing.B) {
	s := &Server{Options: options}
	s.Use(training(1000))
	server := httptest.NewUnstartedServer(s.Handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		code, body := post(b, server, review(i))
		took = append(took, time.Since(begun))
		if code != http.StatusOK || !strings.Contains(body, "JSONPatch") {
			b.Fatalf("%d, %s", code, body)
		}
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	b.ReportMetric(p99.Seconds()*1000, "ms-p99")
	if len(took) >= 1000 && p99 >= 10*time.Millisecond {
		b.Errorf("%v at the 99th percentile", p99)
	}
}
