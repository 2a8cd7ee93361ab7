package kube

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/cluster"
)

// nodesView is a view of nodes and service accounts, whose followers the test plays.
func nodesView() *view {
	c := &Client{api: plain(), seen: map[string]map[string]any{}}
	w := Want{Kinds: []cluster.Kind{cluster.Nodes, cluster.ServiceAccounts}}
	sources := c.api.sources(w)
	return newView(c, w, sources)
}

// pass lets time go by, the bubble's own.
func pass(d time.Duration) { <-time.After(d) }

func rowsOf(values ...any) rows {
	r := rows{values: map[string]any{}}
	for _, v := range values {
		switch v := v.(type) {
		case cluster.Node:
			r.values["/"+v.Name] = []cluster.Node{v}
		case cluster.ServiceAccount:
			r.values[v.Namespace+"/"+v.Name] = []cluster.ServiceAccount{v}
		}
	}
	return r
}

// shown collects what a view yields while script plays its followers, in the bubble's time.
func shown(t *testing.T, script func(*view)) (states [][]string, errs []error) {
	synctest.Test(t, func(t *testing.T) {
		v := nodesView()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			v.show(ctx, func(s cluster.State, err error) bool {
				names := []string{}
				for _, n := range s.Nodes {
					names = append(names, n.Name)
				}
				states, errs = append(states, names), append(errs, err)
				return true
			})
		}()
		synctest.Wait()
		script(v)
		pass(time.Second)
		synctest.Wait()
		cancel()
		<-done
	})
	return states, errs
}

func TestShow(t *testing.T) {
	node := func(name string) cluster.Node { return cluster.Node{Name: name} }
	whole := func(v *view) {
		v.replace(0, rowsOf(node("a")))
		v.replace(1, rowsOf())
		synctest.Wait()
	}
	for name, test := range map[string]struct {
		script func(*view)
		want   [][]string
	}{
		"nothing before every list is read": {func(v *view) { v.replace(0, rowsOf(node("a"))) }, nil},
		"every list is read":                {whole, [][]string{{"a"}}},
		"a burst is one State": {func(v *view) {
			whole(v)
			for _, name := range []string{"b", "c", "d"} {
				v.put(0, "/"+name, []cluster.Node{node(name)})
				pass(10 * time.Millisecond)
			}
		}, [][]string{{"a"}, {"a", "b", "c", "d"}}},
		"changes far apart are one State each": {func(v *view) {
			whole(v)
			v.put(0, "/b", []cluster.Node{node("b")})
			pass(time.Second)
			v.put(0, "/a", nil)
		}, [][]string{{"a"}, {"a", "b"}, {"b"}}},
		"a heartbeat is no change": {func(v *view) {
			whole(v)
			pass(time.Second)
			v.put(0, "/a", []cluster.Node{node("a")})
			v.put(0, "/gone", nil)
		}, [][]string{{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			states, errs := shown(t, test.script)
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Error(diff)
			}
			for _, err := range errs {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestShowOutage(t *testing.T) {
	away := errors.New("connection refused")
	states, errs := shown(t, func(v *view) {
		v.replace(0, rowsOf(cluster.Node{Name: "a"}))
		v.replace(1, rowsOf())
		pass(time.Second)
		v.setAway(0, away)
		v.setAway(1, away)
		pass(time.Second)
		v.setAway(0, away) // once more: nothing new
		pass(time.Second)
		v.setAway(0, nil)
		v.setAway(1, nil)
		pass(time.Second)
		v.setAway(0, nil)
	})
	if diff := cmp.Diff([][]string{{"a"}, {"a"}, {"a"}}, states); diff != "" {
		t.Error(diff)
	}
	var outage *Outage
	if len(errs) != 3 || errs[0] != nil || !errors.As(errs[1], &outage) || !errors.Is(errs[1], away) || errs[2] != nil {
		t.Errorf("errors %v; want none, an outage, none", errs)
	}
}

func TestShowEndsIfTheServerRejectsTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := nodesView()
		var last error
		v.setAway(0, ErrUnauthorized)
		v.show(t.Context(), func(_ cluster.State, err error) bool {
			last = err
			return true
		})
		if !errors.Is(last, ErrUnauthorized) {
			t.Errorf("ended with %v", last)
		}
	})
}

func watchEvent(kind, object string) metav1.WatchEvent {
	return metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: []byte(object)}}
}

func TestApplyEvents(t *testing.T) {
	type step struct{ kind, object string }
	const marked = `{"metadata":{"resourceVersion":"20","annotations":{"k8s.io/initial-events-end":"true"}}}`
	for name, test := range map[string]struct {
		steps   []step
		names   []string
		version string
		read    bool
		err     error
	}{
		"the list comes first": {[]step{
			{"ADDED", `{"metadata":{"name":"a","resourceVersion":"3"}}`},
			{"BOOKMARK", `{"metadata":{"resourceVersion":"5"}}`},
			{"BOOKMARK", marked},
		},
			[]string{"a"}, "20", true, nil},
		"the list is not complete": {
			[]step{{"ADDED", `{"metadata":{"name":"a","resourceVersion":"3"}}`}},
			nil,
			"",
			false,
			nil,
		},
		"deleted while the list is read": {
			[]step{
				{"ADDED", `{"metadata":{"name":"a"}}`},
				{"DELETED", `{"metadata":{"name":"b"}}`},
				{"BOOKMARK", marked},
			},
			[]string{"a"},
			"20",
			true,
			nil,
		},
		"changes after the list": {
			[]step{
				{"BOOKMARK", marked},
				{"ADDED", `{"metadata":{"name":"a","resourceVersion":"21"}}`},
				{"ADDED", `{"metadata":{"name":"b","resourceVersion":"22"}}`},
				{"DELETED", `{"metadata":{"name":"a","resourceVersion":"23"}}`},
			},
			[]string{"b"},
			"23",
			true,
			nil,
		},
		"a bookmark updates the version": {
			[]step{{"BOOKMARK", marked}, {"BOOKMARK", `{"metadata":{"resourceVersion":"99"}}`}},
			nil,
			"99",
			true,
			nil,
		},
		"version expired": {[]step{
			{"BOOKMARK", marked},
			{"ERROR", `{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}`},
		},
			nil, "20", true, errRelist},
	} {
		t.Run(name, func(t *testing.T) {
			v := nodesView()
			f := follower{client: v.client, source: v.sources[0], view: v, index: 0}
			initial := &rows{values: map[string]any{}}
			var err error
			for _, s := range test.steps {
				if initial, err = f.apply(watchEvent(s.kind, s.object), initial); err != nil {
					break
				}
			}
			var names []string
			state := v.client.assemble(v.want, v.sources, []rows{v.tables[0].rows, v.tables[1].rows})
			for _, n := range state.Nodes {
				names = append(names, n.Name)
			}
			if diff := cmp.Diff(test.names, names); diff != "" {
				t.Error(diff)
			}
			if f.version != test.version || v.tables[0].read != test.read || !errors.Is(err, test.err) {
				t.Errorf("version %q, read %v, error %v; want %q, %v, %v", f.version, v.tables[0].read, err,
					test.version, test.read, test.err)
			}
		})
	}
}

func TestAnObjectThatCannotBeRead(t *testing.T) {
	v := nodesView()
	f := follower{client: v.client, source: v.sources[0], view: v, index: 0}
	f.replace(rowsOf(cluster.Node{Name: "a"}))
	if _, err := f.apply(watchEvent("MODIFIED", `{"metadata":{"name":"a"},"spec":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	state := v.client.assemble(v.want, v.sources, []rows{v.tables[0].rows, v.tables[1].rows})
	if p := state.Problem(cluster.Nodes); p == nil || len(state.Nodes) != 1 {
		t.Errorf("nodes %v, problem %v; want the node as it was and a problem", state.Nodes, p)
	}
}
