package collect

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// standIn is an API server with a kubelet.
type standIn struct {
	mu      sync.Mutex
	objects map[string]plan.Change // by kind and name
	deleted []string
	// answer is called after an object was created.
	answer func(plan.Change) error
	// refuse is called before an object is created.
	refuse func(plan.Change) error
	// ending pods remain after they were deleted.
	ending bool
	// phase of the existing pods.
	phase string
	log   string
	// cut is how often the log is cut short.
	cut int
	// unread: pods cannot be read.
	unread bool
	// hangs: the kubelets send no logs.
	hangs bool
}

func nameOf(c plan.Change) string { return c.Object.GetKind() + "/" + c.Object.GetName() }

func (s *standIn) Carry(ctx context.Context, change plan.Change, _ kube.DryRun) (kube.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := nameOf(change)
	_, there := s.objects[name]
	switch {
	case change.Verb == plan.Delete && !there:
		return kube.Unchanged, nil
	case change.Verb == plan.Delete:
		s.deleted = append(s.deleted, name)
		if !s.ending || change.Object.GetKind() != "Pod" {
			delete(s.objects, name)
		}
		return kube.Deleted, nil
	}
	if s.refuse != nil {
		if err := s.refuse(change); err != nil {
			return "", err
		}
	}
	if s.objects == nil {
		s.objects = map[string]plan.Change{}
	}
	s.objects[name] = change
	if s.answer != nil {
		if err := s.answer(change); err != nil {
			return "", err
		}
	}
	if ctx.Err() != nil { // the answer is lost
		return "", ctx.Err()
	}
	if there {
		return kube.Configured, nil
	}
	return kube.Created, nil
}

func (s *standIn) state() cluster.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := cluster.State{
		SchemaVersion: 1,
		Read:          []cluster.Kind{cluster.Pods, cluster.Nodes},
		Nodes:         []cluster.Node{{Name: "gpu-0", Arch: "amd64"}, {Name: "gpu-1", Arch: "amd64"}},
	}
	if s.unread {
		state.Read = nil
		return state
	}
	for _, c := range s.objects {
		if c.Object.GetKind() == "Pod" {
			state.Pods = append(state.Pods, cluster.Pod{Namespace: "default", Name: c.Object.GetName(), Phase: s.phase})
		}
	}
	return state
}

func (s *standIn) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for ctx.Err() == nil {
			if !yield(s.state(), nil) {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

func (s *standIn) Read(context.Context, kube.Want) (cluster.State, error) { return s.state(), nil }

func (s *standIn) ShellImage(context.Context, string) (string, error) { return "shell", nil }

func (s *standIn) Logs(ctx context.Context, _ kube.PodRef, _ kube.LogOptions) (io.ReadCloser, error) {
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.log
	if s.cut > 0 {
		s.cut--
		text = text[:len(text)/2]
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (s *standIn) Snapshots(context.Context, []kube.Visit, kube.VisitOptions, func(kube.Visited)) error {
	return nil
}

func (s *standIn) left() []string {
	var names []string
	for name := range s.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func creation(kind, name string) plan.Change {
	return plan.Change{Verb: plan.Apply, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "default"},
	}}}
}

// Objects of the command are removed whatever the server answered. Other objects stay.
func TestTemporary(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(s *standIn, interrupt func())
		left    []string
	}{
		"created": {func(*standIn, func()) {}, []string{"ConfigMap/shared"}},
		"the answer is lost": {func(s *standIn, _ func()) {
			s.answer = func(c plan.Change) error {
				if c.Object.GetKind() == "Pod" {
					return errors.New("connection reset by peer")
				}
				return nil
			}
		}, []string{"ConfigMap/shared"}},
		"interrupted meanwhile": {func(s *standIn, interrupt func()) {
			s.answer = func(c plan.Change) error { interrupt(); return nil }
		}, []string{"ConfigMap/shared"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				shared := creation("ConfigMap", "shared")
				s := &standIn{objects: map[string]plan.Change{nameOf(shared): shared}}
				c.arrange(s, interrupt)
				var said []string
				temporary := NewTemporary(s, "default", func(line string) { said = append(said, line) })
				changes := []plan.Change{shared, creation("ConfigMap", "part"), creation("Pod", "probe-"+temporary.ID)}
				for _, change := range changes {
					_ = temporary.Create(ctx, change)
				}
				temporary.Remove(ctx)
				if !slices.Equal(s.left(), c.left) || len(said) > 0 {
					t.Errorf("left: %q, said: %q", s.left(), said)
				}
			})
		})
	}
}

// A pod that still terminates is reported, with a command.
func TestTemporaryTerminating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &standIn{ending: true}
		var said []string
		temporary := NewTemporary(s, "default", func(line string) { said = append(said, line) })
		pod := "probe-" + temporary.ID
		if err := temporary.Create(t.Context(), creation("Pod", pod)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		temporary.Remove(t.Context())
		if took := time.Since(begun); took != removeTime {
			t.Errorf("it took %v", took)
		}
		want := "Still terminating after 30s: 1 pod. Devices stay in use until then. " +
			"Check with: kubectl get pods -n default " + pod
		if !slices.Equal(said, []string{want}) {
			t.Errorf("%q", said)
		}
	})
}
