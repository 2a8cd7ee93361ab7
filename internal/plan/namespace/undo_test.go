package namespace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// prepared returns a state with what setup created for a namespace, and its names.
func prepared(t *testing.T, namespace string) (s cluster.State, names []string) {
	t.Helper()
	o := Options{Namespace: namespace, Users: []string{"ml-team"}, Programs: []delivery.Program{
		delivery.Packed("amd64", []byte("amd64 program")),
	}}
	s = plantest.BeforeSetup()
	s.Read = append(s.Read, cluster.UserBindings)
	p, findings := Setup(s, o)
	s.Objects = plantest.Live(p)
	if len(s.Objects) < 5 {
		t.Fatalf("%+v\n%s", s.Objects, plantest.Wording(findings))
	}
	for _, o := range s.Objects {
		names = append(names, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	return s, names
}

func TestUndo(t *testing.T) {
	s, created := prepared(t, "train")
	other, _ := prepared(t, "other")
	s.Objects = append(s.Objects, other.Objects...)
	p, findings := Undo(s, "train")
	var deleted []string
	for _, c := range p.Changes() {
		if c.Verb != plan.Delete {
			t.Errorf("%s %s", c.Verb, c.Object.GetName())
		}
		deleted = append(deleted, c.Object.GetKind()+" "+c.Object.GetNamespace()+"/"+c.Object.GetName())
	}
	want := slices.DeleteFunc(created, func(name string) bool {
		return strings.HasPrefix(name, "Namespace ") || strings.HasPrefix(name, "Cluster")
	})
	slices.Sort(want)
	slices.Sort(deleted)
	if diff := cmp.Diff(want, deleted); diff != "" || len(findings) > 0 {
		t.Errorf("-want +deleted:\n%s%s", diff, plantest.Wording(findings))
	}
	s.Objects = other.Objects
	if again, findings := Undo(s, "train"); !again.Empty() || len(findings) > 0 {
		t.Errorf("again: %+v\n%s", again, plantest.Wording(findings))
	}
}

func TestUndoRefuses(t *testing.T) {
	job := cluster.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "train", Name: "h-kim", Fields: map[string]any{}}
	pod := cluster.Pod{Namespace: "train", Name: "own-0", Phase: "Running", ServiceAccount: "railhead-sa"}
	ended, elsewhere := pod, pod
	ended.Phase, elsewhere.Namespace = "Succeeded", "other"
	for name, c := range map[string]struct {
		change func(*cluster.State)
		says   string // "": it does not refuse
	}{
		"a job":                   {func(s *cluster.State) { s.Objects = append(s.Objects, job) }, "is in use by Job h-kim"},
		"a pod with the account":  {func(s *cluster.State) { s.Pods = []cluster.Pod{pod} }, "is in use by pod own-0"},
		"pods that do not use it": {func(s *cluster.State) { s.Pods = []cluster.Pod{ended, elsewhere} }, ""},
		"pods were not read":      {func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Pods) }, "pods could not be read"},
		"objects were not read":   {func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Objects) }, "objects could not be read"},
	} {
		s, _ := prepared(t, "train")
		c.change(&s)
		p, findings := Undo(s, "train")
		refused := check.Worst(findings) == check.Fail
		if refused != (c.says != "") || p.Empty() != refused || !strings.Contains(plantest.Wording(findings), c.says) {
			t.Errorf("%s: %+v\n%s", name, p, plantest.Wording(findings))
		}
	}
}
