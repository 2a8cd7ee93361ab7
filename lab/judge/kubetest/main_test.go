// Package kubetest holds package kube to a real API server.
package kubetest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// openShift is the cluster that the project was born on, shared by the tests that leave its server alone.
var openShift *controlplane.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(controlplane.Share(m, controlplane.OpenShift(), func(ctx context.Context, p *controlplane.ControlPlane) error {
		openShift = p
		if err := shape.Born().Create(ctx, p.Client()); err != nil {
			return err
		}
		return p.Settle(ctx)
	}))
}

// calls counts the calls of a client.
type calls struct {
	mu   sync.Mutex
	made []string // GET /api/v1/nodes
}

func (c *calls) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.made = append(c.made, r.Method+" "+r.URL.Path)
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// take returns the calls since it was last asked.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

// flags returns the flags of a command line.
func flags(t *testing.T, args ...string) *kube.Flags {
	t.Helper()
	f, set := &kube.Flags{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// as connects as a user, with what counts the calls.
func as(t *testing.T, p *controlplane.ControlPlane, user string, groups ...string) (*kube.Client, *calls) {
	t.Helper()
	text, err := p.Users.Kubeconfig(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, counted := flags(t, "--kubeconfig="+path), &calls{}
	f.Wrap = counted.wrap
	c, err := f.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Talk = func(line string) { t.Log(line) }
	return c, counted
}

// admin connects as one to whom nothing is forbidden.
func admin(t *testing.T, p *controlplane.ControlPlane) (*kube.Client, *calls) {
	return as(t, p, "system:admin", "system:masters")
}

// object reads an object from YAML.
func object(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o unstructured.Unstructured
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

func apply(t *testing.T, text string) plan.Change {
	return plan.Change{Verb: plan.Apply, Object: object(t, text)}
}

func remove(t *testing.T, text string) plan.Change {
	return plan.Change{Verb: plan.Delete, Object: object(t, text)}
}

// create makes objects as the administrator would by hand.
func create(t *testing.T, p *controlplane.ControlPlane, texts ...string) {
	t.Helper()
	for _, text := range texts {
		o := object(t, text)
		if err := p.Client().Create(t.Context(), &o); err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
	}
}

// patience bounds every wait, on a machine that has other things to do.
const patience = 10 * time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-ticks.C:
		case <-deadline:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// namespace makes a namespace of the test's own that takes pods.
func namespace(t *testing.T, p *controlplane.ControlPlane, name string) {
	t.Helper()
	create(t, p, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
	eventually(t, "namespace "+name+" has a service account", func() bool {
		o := object(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
		return p.Client().Get(t.Context(), client.ObjectKey{Namespace: name, Name: "default"}, &o) == nil
	})
}
