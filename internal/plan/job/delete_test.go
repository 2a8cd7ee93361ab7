package job

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/namespace"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

// deployed returns a training cluster with deployed jobs and the objects of the namespace.
func deployed(t *testing.T, jobs ...string) cluster.State {
	t.Helper()
	s := plantest.BeforeSetup()
	p, _ := namespace.Setup(s, namespace.Options{Namespace: "train", Name: "h-kim", NetworksFrom: "default"})
	s = plantest.AfterSetup(s, p)
	for _, name := range jobs {
		o := jobOptions()
		o.Name, o.Script, o.Memlock = name, &Script{Name: "train.py"}, access.MemlockByNode
		job, findings := Deploy(s, o)
		if job.Empty() {
			t.Fatal(plantest.Wording(findings))
		}
		s = plantest.With(s, append(s.Objects, plantest.Live(job)...))
	}
	return s
}

func changed(p plan.Plan) []string {
	var all []string
	for _, c := range p.Changes() {
		all = append(all, string(c.Verb)+" "+c.Object.GetKind()+" "+c.Object.GetNamespace()+"/"+c.Object.GetName())
	}
	return all
}

func TestDeleteJob(t *testing.T) {
	own := []string{
		"delete StatefulSet train/h-kim",
		"delete Service train/h-kim-headless",
		"delete ConfigMap train/h-kim-script",
	}
	parts := delivery.Delivery{Programs: programs()[:1]}.Missing(cluster.State{}, "train", nil)
	program := parts[0].GetName()
	child := cluster.Object{APIVersion: "v1", Kind: "Service", Namespace: "train", Name: "made-by-jobset", Fields: map[string]any{"metadata": map[string]any{
		"labels": map[string]any{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob},
		"ownerReferences": []any{
			map[string]any{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "h-kim", "uid": "1"},
		},
	}}}
	labelled := func(label, value string) cluster.State {
		s := deployed(t, "h-kim")
		for i, o := range s.Objects {
			if o.Name == program {
				s.Objects[i].Fields["metadata"].(map[string]any)["labels"].(map[string]any)[label] = value
			}
		}
		return s
	}
	withProgram := slices.Insert(slices.Clone(own), 2, "delete ConfigMap train/"+program)
	for name, c := range map[string]struct {
		s    cluster.State
		want []string
	}{
		"the last job":                   {deployed(t, "h-kim"), withProgram},
		"another job needs railhead-pod": {deployed(t, "h-kim", "other"), own},
		"an injected manifest needs it":  {labelled(plan.LabelInstance, "my-deployment"), own},
		"the namespace keeps it":         {labelled(delivery.LabelKeep, "true"), own},
		"an object with an owner":        {withObject(deployed(t, "h-kim"), child), withProgram},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := Delete(c.s, "h-kim", "train")
			if diff := cmp.Diff(c.want, changed(p)); diff != "" || len(findings) > 0 {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, plantest.Wording(findings))
			}
		})
	}
}

func withObject(s cluster.State, o cluster.Object) cluster.State {
	s.Objects = append(s.Objects, o)
	return s
}

// TestDeleteInterrupted: a deletion that ends after any of its changes is completed by the next one.
func TestDeleteInterrupted(t *testing.T) {
	claims := deployed(t, "h-kim")
	for i, o := range claims.Objects {
		if o.Kind == "StatefulSet" {
			claims.Objects[i].Fields["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["resourceClaims"] =
				[]any{map[string]any{"name": "rails", "resourceClaimTemplateName": "h-kim-rails-1"}}
		}
	}
	for name, s := range map[string]cluster.State{"rails by attachments": deployed(t, "h-kim"), "rails by claims": claims} {
		t.Run(name, func(t *testing.T) {
			p, _ := Delete(s, "h-kim", "train")
			all := p.Changes()
			for n := 1; n < len(all); n++ {
				s := s
				s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(o cluster.Object) bool {
					return slices.ContainsFunc(all[:n], func(c plan.Change) bool {
						return c.Object.GetKind() == o.Kind && c.Object.GetNamespace() == o.Namespace && c.Object.GetName() == o.Name
					})
				})
				rest, _ := Delete(s, "h-kim", "train")
				if diff := cmp.Diff(changed(p)[n:], without(changed(rest), changed(p)[:n])); diff != "" {
					t.Errorf("after %q (-want +got):\n%s", changed(p)[:n], diff)
				}
			}
		})
	}
}

// without returns the texts that are not among others.
func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(others, text) })
}

func TestDeleteMissingJob(t *testing.T) {
	s := deployed(t, "h-kim")
	for name, c := range map[string]struct {
		s               cluster.State
		name, namespace string
		want            string
	}{
		"a misspelled name":             {s, "h-kin", "train", "fail job-found"},
		"another namespace":             {s, "h-kim", "default", "fail job-found"},
		"the name of a namespace setup": {s, "railhead", "train", "fail job-found"},
		"objects were not read":         {plantest.Unread(s, cluster.Objects), "h-kim", "train", "fail cluster-readable"},
		"nothing is deployed":           {plantest.Training(), "h-kim", "train", "fail job-found"},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := Delete(c.s, c.name, c.namespace)
			if diff := cmp.Diff([]string{c.want}, plantest.FindingIDs(findings)); diff != "" || !p.Empty() || check.Worst(findings) != check.Fail {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListJobs: kubectl lists nothing at all if one of the kinds is unknown to the cluster.
func TestListJobs(t *testing.T) {
	s := plantest.Training()
	for want, groups := range map[string][]string{
		"kubectl get statefulset,job,jobset -A -l app.kubernetes.io/managed-by=railhead": s.Server.Groups,
		"kubectl get statefulset,job -A -l app.kubernetes.io/managed-by=railhead":        nil,
	} {
		s.Server.Groups = groups
		_, findings := Delete(s, "h-kim", "train")
		if diff := cmp.Diff([]string{want}, findings[0].Fix.Commands); diff != "" {
			t.Errorf("API groups %v (-want +got):\n%s", groups, diff)
		}
	}
}

func TestJobGone(t *testing.T) {
	s := plantest.Training()
	gone := Gone("h-kim", "train")
	if p := gone(s); !p.Done {
		t.Errorf("no pod is left, and %+v", p)
	}
	s.Pods = []cluster.Pod{
		{
			Namespace: "train",
			Name:      "h-kim-0",
			Node:      "gpu-1",
			Deleted:   true,
			Labels:    map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob},
		},
	}
	want := plan.Progress{
		Text:  "h-kim: 1 pod left",
		Items: []plan.Item{{Name: "h-kim-0", State: "Terminating", Note: "gpu-1"}},
	}
	if diff := cmp.Diff(want, gone(s)); diff != "" {
		t.Errorf("one pod is left (-want +got):\n%s", diff)
	}
	s.Pods = nil
	want = plan.Progress{Text: "h-kim: whether pods are left could not be read: pods is forbidden"}
	if diff := cmp.Diff(want, gone(plantest.Unread(s, cluster.Pods))); diff != "" {
		t.Errorf("the pods were not read (-want +got):\n%s", diff)
	}
}
