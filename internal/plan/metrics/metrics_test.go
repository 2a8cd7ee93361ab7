package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

const image = "registry.example/railhead:1"

func kubernetes() cluster.State {
	return cluster.State{
		Server: cluster.Server{Minor: 34, Groups: []string{"apps"}},
		Read:   Kinds(),
		Nodes:  []cluster.Node{{Name: "cpu-01"}, {Name: "gpu-01"}},
	}
}

func openShift() cluster.State {
	s := kubernetes()
	s.Server.Groups = append(s.Server.Groups, cluster.SecurityGroup, cluster.MonitoringGroup)
	s.Nodes[1].Labels = map[string]string{
		"feature.node.kubernetes.io/pci-15b3.present": "true", "nvidia.com/gpu.present": "true",
		"feature.node.kubernetes.io/rdma.available": "false",
	}
	return s
}

// applied is the cluster after a plan.
func applied(s cluster.State, p plan.Plan) cluster.State {
	for _, c := range p.Changes() {
		o := c.Object.DeepCopy()
		// OpenShift's default (openshift/kubernetes admission/customresourcevalidation/securitycontextconstraints)
		if volumes, isSCC := o.Object["volumes"].([]any); isSCC && len(volumes) == 0 {
			o.Object["volumes"] = []any{"none"}
		}
		s.Objects = append([]cluster.Object{{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
			Fields: o.Object,
		}}, s.Objects...)
		if o.GetKind() == "Namespace" {
			s.Namespaces = append(s.Namespaces, cluster.Namespace{Name: o.GetName()})
		}
	}
	return s
}

// TestObjects compares everything that is written. A second run writes nothing.
func TestObjects(t *testing.T) {
	labelled := kubernetes()
	labelled.Nodes[1].Labels = map[string]string{"example.com/rdma": "yes"}
	for name, c := range map[string]struct {
		s cluster.State
		o Options
	}{
		"kubernetes": {labelled, Options{Image: image, Nodes: "example.com/rdma=yes"}},
		"openshift":  {openShift(), Options{Image: image}},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := Setup(c.s, c.o)
			text := "# " + strings.Join(p.Notes, "\n# ") + "\n"
			for _, change := range p.Changes() {
				object, err := yaml.Marshal(change.Object.Object)
				if err != nil {
					t.Fatal(err)
				}
				text += fmt.Sprintf("---\n# %s: %s\n%s", change.Verb, change.Why, object)
			}
			plantest.Golden(t, name+".yaml", text)
			again, more := Setup(applied(c.s, p), c.o)
			if !again.Empty() || len(findings)+len(more) > 0 {
				t.Errorf("%v, findings %q", again, plantest.Lines(append(findings, more...)))
			}
		})
	}
}

func TestNoLabels(t *testing.T) {
	_, findings := Setup(kubernetes(), Options{Image: image, Nodes: "example.com/rdma=yes"})
	want := []string{"warn job-request namespace/railhead-metrics: " +
		"no node has the label example.com/rdma=yes, so none serves metrics"}
	if diff := cmp.Diff(want, plantest.Lines(findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p, _ := Setup(kubernetes(), Options{Image: image})
	notes := strings.Join(p.Notes, "\n")
	if !strings.Contains(notes, "all Linux nodes") || !strings.Contains(notes, "9440") {
		t.Error(notes)
	}
}

func TestRefusals(t *testing.T) {
	taken, unread := kubernetes(), kubernetes()
	taken.Namespaces = []cluster.Namespace{{Name: Name}}
	unread.Problems = []cluster.Problem{{Kind: cluster.Metrics, Err: "forbidden", Forbidden: true}}
	for situation, c := range map[string]struct {
		s    cluster.State
		o    Options
		want check.ID
	}{
		"no image":                {kubernetes(), Options{}, plan.JobRequest},
		"no label":                {kubernetes(), Options{Image: image, Nodes: "gpu-01"}, plan.JobRequest},
		"somebody else's":         {taken, Options{Image: image}, plan.NameFree},
		"a list that is not read": {unread, Options{Image: image}, "cluster-readable"},
	} {
		p, findings := Setup(c.s, c.o)
		if len(findings) != 1 || findings[0].Check != c.want || !p.Empty() {
			t.Errorf("%s: %q, plan %v", situation, plantest.Lines(findings), p)
		}
	}
	if _, findings := Undo(unread); len(findings) != 1 {
		t.Errorf("undo: %q", plantest.Lines(findings))
	}
}

// TestUndo: all that the plan wrote is deleted, and nothing of others.
func TestUndo(t *testing.T) {
	p, _ := Setup(openShift(), Options{Image: image})
	s := applied(openShift(), p)
	s.Objects = append(s.Objects, cluster.Object{Kind: "Namespace", Name: "railhead-system", Fields: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{plan.LabelComponent: "webhook"}},
	}})
	undo, findings := Undo(s)
	got := map[string]bool{}
	for _, c := range undo.Changes() {
		got[string(c.Verb)+" "+c.Object.GetKind()+" "+c.Object.GetName()] = true
	}
	want := map[string]bool{}
	for _, c := range p.Changes() {
		want["delete "+c.Object.GetKind()+" "+c.Object.GetName()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(findings) > 0 {
		t.Errorf("%s%q", diff, plantest.Lines(findings))
	}
	for _, o := range s.Objects {
		o.Fields["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-23T12:00:00Z"
	}
	if p, _ := Undo(s); !p.Empty() {
		t.Errorf("it goes already: %v", p)
	}
	if p, _ := Undo(kubernetes()); !p.Empty() {
		t.Errorf("nothing to undo: %v", p)
	}
}

func TestProgress(t *testing.T) {
	p, _ := Setup(kubernetes(), Options{Image: image})
	on := func(nodes, available, updated, observed int64) cluster.State {
		s := applied(kubernetes(), p)
		d, _ := s.Object("DaemonSet", Name, Name)
		d.Fields["metadata"].(map[string]any)["generation"] = int64(2)
		d.Fields["status"] = map[string]any{
			"observedGeneration": observed, "desiredNumberScheduled": nodes,
			"numberAvailable": available, "updatedNumberScheduled": updated,
		}
		return s
	}
	running := func(available, updated, observed int64) cluster.State { return on(2, available, updated, observed) }
	for situation, c := range map[string]struct {
		s      cluster.State
		done   bool
		status check.Status
		line   string
	}{
		"not there":               {kubernetes(), false, check.Pass, ""},
		"not seen by controllers": {applied(kubernetes(), p), false, check.Pass, "0 of 0 nodes"},
		"no node is selected":     {on(0, 0, 0, 2), true, check.Warn, "0 of 0 nodes"},
		"none":                    {running(0, 2, 2), false, check.Fail, "0 of 2 nodes"},
		"one":                     {running(1, 2, 2), false, check.Warn, "1 of 2 nodes"},
		"all":                     {running(2, 2, 2), true, check.Pass, "2 of 2 nodes serve RDMA metrics on port"},
		"all, but the old":        {running(2, 0, 2), false, check.Fail, "0 of 2"},
		"a change is not seen":    {running(2, 2, 1), false, check.Pass, "2 of 2"},
	} {
		line, status := Status(c.s)
		if got := Available(c.s); got.Done != c.done || status != c.status || !strings.Contains(line, c.line) {
			t.Errorf("%s: %+v, %v %q", situation, got, status, line)
		}
	}
	s := running(1, 2, 2)
	s.Pods = []cluster.Pod{{Namespace: Name, Name: "m-1", Phase: "Pending", Containers: []cluster.Container{
		{Name: "metrics", Image: image, Waiting: "ImagePullBackOff", Message: "not found"},
	}}}
	if got := Available(s); len(got.Items) != 1 || got.Items[0].Note == "" {
		t.Errorf("image: %+v", got)
	}
}
