package kubetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/lab/controlplane"
)

// bare starts a control plane of a test's own, of etcd and the API server alone.
func bare(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	p, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func watched() kube.Want {
	return kube.Want{Kinds: []cluster.Kind{cluster.Nodes, cluster.ServiceAccounts, cluster.Networks, cluster.SCCGrants}}
}

// viewer steps through a watch.
type viewer struct {
	t    *testing.T
	next func() (cluster.State, error, bool)
}

func watch(t *testing.T, c *kube.Client, w kube.Want) viewer {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	next, stop := iter.Pull2(c.Watch(ctx, w))
	t.Cleanup(func() {
		cancel()
		stop()
	})
	return viewer{t, next}
}

// until looks at States until one is as wanted, and returns how many it looked at.
func (v viewer) until(what string, ok func(cluster.State, error) bool) int {
	v.t.Helper()
	for n := 1; ; n++ {
		s, err, more := v.next()
		if !more {
			v.t.Fatalf("the watch ended before %s", what)
		}
		if ok(s, err) {
			return n
		}
	}
}

func serviceAccount(name string) string {
	return "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: default, name: " + name + "}}"
}

func has(name string) func(cluster.State, error) bool {
	return func(s cluster.State, err error) bool {
		for _, a := range s.ServiceAccounts {
			if err == nil && a.Name == name {
				return true
			}
		}
		return false
	}
}

func TestWatch(t *testing.T) {
	p := bare(t)
	create(t, p, "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z'}]}}", serviceAccount("first"))
	c, counted := admin(t, p)
	counted.take()
	v := watch(t, c, watched())
	if n := v.until("there is a State", has("first")); n != 1 {
		t.Errorf("State %d is the first that is whole", n)
	}
	made := counted.take()
	if len(made) != 2 {
		t.Errorf("two lists are read and watched by two calls, not %v", made)
	}
	t.Run("a burst", func(t *testing.T) {
		for i := range 20 {
			create(t, p, serviceAccount(fmt.Sprintf("burst-%02d", i)))
		}
		if n := v.until("the burst is seen", has("burst-19")); n > 10 {
			t.Errorf("20 objects made at once are %d States", n)
		}
	})
	t.Run("a heartbeat, and a change behind it", func(t *testing.T) {
		node := object(t, "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
		beat := `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:10Z"}]}}`
		if err := p.Client().Status().Patch(t.Context(), &node, client.RawPatch("application/strategic-merge-patch+json", []byte(beat))); err != nil {
			t.Fatal(err)
		}
		if err := p.Client().Patch(t.Context(), &node, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))); err != nil {
			t.Fatal(err)
		}
		v.until("the node is cordoned", func(s cluster.State, err error) bool { return err == nil && s.Nodes[0].Unschedulable })
	})
	t.Run("the server is killed and comes back", func(t *testing.T) {
		counted.take()
		p.KillAPIServer()
		var outage *kube.Outage
		v.until("the server is gone", func(s cluster.State, err error) bool {
			return errors.As(err, &outage) && len(s.ServiceAccounts) == 21 // the last that was seen
		})
		if err := p.RestartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, p, serviceAccount("afterwards"))
		v.until("the change after the outage", has("afterwards"))
		if made := counted.take(); len(made) > 20 {
			t.Errorf("%d calls for an outage of a few seconds: %v", len(made), made)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		o := object(t, serviceAccount("first"))
		if err := p.Client().Delete(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
		v.until("the deletion", func(s cluster.State, err error) bool { return err == nil && !has("first")(s, err) })
	})
}

// A server before Kubernetes 1.34 does not know sendInitialEvents, and says of resourceVersionMatch what this one does
// without it.
func TestWatchOfAnOldServer(t *testing.T) {
	p := openShift
	namespace(t, p, "old-server")
	text, err := p.Users.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	f, counted := flags(t, "--kubeconfig="+text), &calls{}
	f.Wrap = func(next http.RoundTripper) http.RoundTripper {
		return counted.wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
			q := r.URL.Query()
			if q.Has("sendInitialEvents") {
				q.Del("sendInitialEvents")
				r.URL.RawQuery = q.Encode()
			}
			return next.RoundTrip(r)
		}))
	}
	c, err := f.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted.take()
	w := kube.Want{Namespace: "old-server", Kinds: []cluster.Kind{cluster.ServiceAccounts, cluster.Namespaces}}
	v := watch(t, c, w)
	v.until("there is a State", has("default"))
	create(t, p, strings.Replace(serviceAccount("late"), "default", "old-server", 1))
	v.until("the change", has("late"))
	if made := counted.take(); len(made) > 6 {
		t.Errorf("%d calls: %v", len(made), made)
	}
}

func TestTheServerIsAway(t *testing.T) {
	p := bare(t)
	c, _ := admin(t, p)
	var talk []string
	c.Talk = func(line string) { talk = append(talk, line) }
	c.Patience = patience
	restart := func(t *testing.T) {
		p.KillAPIServer()
		done := make(chan error, 1)
		go func() { done <- p.RestartAPIServer(context.WithoutCancel(t.Context())) }()
		t.Cleanup(func() {
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	change := apply(t, serviceAccount("h-kim-sa"))
	t.Run("while a change is carried out", func(t *testing.T) {
		restart(t)
		outcome, err := c.Carry(t.Context(), change, false)
		if err != nil || outcome != kube.Created {
			t.Errorf("%q, %v; want created", outcome, err)
		}
		if len(talk) != 1 || !strings.Contains(talk[0], "trying again for 10m0s") {
			t.Errorf("said %q", talk)
		}
	})
	t.Run("while it is read", func(t *testing.T) {
		restart(t)
		s, err := c.Read(t.Context(), watched())
		if err != nil || len(s.Problems) > 0 || !has("h-kim-sa")(s, nil) {
			t.Errorf("%+v, %v", s, err)
		}
		if len(talk) != 2 {
			t.Errorf("lists read at once say once that the server is away: %q", talk)
		}
	})
	t.Run("for longer than one is willing to wait", func(t *testing.T) {
		p.KillAPIServer()
		c.Patience = 500 * time.Millisecond
		_, err := c.Carry(t.Context(), change, false)
		if !errors.Is(err, kube.ErrUnreachable) {
			t.Errorf("%v", err)
		}
		if _, err = c.Read(t.Context(), watched()); !errors.Is(err, kube.ErrUnreachable) {
			t.Errorf("%v", err)
		}
		c.Patience = time.Hour // longer than the test
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err = c.Carry(ctx, change, false); err == nil {
			t.Error("it was carried out")
		}
		c.Patience = patience
	})
	t.Run("and back again", func(t *testing.T) {
		if err := p.RestartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		if outcome, err := c.Carry(t.Context(), change, false); err != nil || outcome != kube.Unchanged {
			t.Errorf("%q, %v; want unchanged", outcome, err)
		}
	})
}

// A server without any operator lacks kinds: nothing is known to be wrong with that.
func TestReadAServerWithoutOperators(t *testing.T) {
	c, counted := admin(t, bare(t))
	counted.take()
	s, err := c.Read(t.Context(), kube.Want{Kinds: everything()})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) > 0 || s.Server.OpenShift() || !s.Knows(cluster.SCCs) || s.SCCs != nil {
		t.Errorf("problems %v, SCCs %v", s.Problems, s.SCCs)
	}
	if made := counted.take(); len(made) != 17 {
		t.Errorf("%d calls, want 17: %v", len(made), made)
	}
}
