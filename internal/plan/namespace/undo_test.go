package namespace

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

// prepared returns a state with what setup created for a namespace, and its names.
func prepared(t *testing.T, namespace string) (s cluster.State, names []string) {
	t.Helper()
	o := Options{Namespace: namespace, Users: []string{"ml-team"}, Programs: []delivery.Program{
		delivery.Packed("amd64", []byte("amd64 program")),
	}}
	s = plantest.BeforeSetup()
	s.Read = append(s.Read, cluster.UserBindings, cluster.NvidiaObjects)
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
	stays := "Namespace train stays, and what other namespaces may use: device classes and the cluster role of --users."
	if want := "Deleted " + p.Deleted() + ". " + stays; p.Closing != want || !strings.Contains(want, "1 ServiceAccount") {
		t.Errorf("closing: %q", p.Closing)
	}
	s.Objects = other.Objects
	if again, findings := Undo(s, "train"); !again.Empty() || len(findings) > 0 {
		t.Errorf("again: %+v\n%s", again, plantest.Wording(findings))
	}
}

func TestUndoRefuses(t *testing.T) {
	job := cluster.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "train", Name: "h-kim", Fields: map[string]any{}}
	pod := cluster.Pod{Namespace: "train", Name: "own-0", Phase: "Running", ServiceAccount: "railhead-sa"}
	ended, elsewhere, injected := pod, pod, pod
	injected.ServiceAccount, injected.Annotations = "default", map[string]string{workload.Injected: workload.ByFiles}
	attached := func(annotation string) cluster.Pod {
		p := injected
		p.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": annotation}
		return p
	}
	ended.Phase, elsewhere.Namespace = "Succeeded", "other"
	for name, c := range map[string]struct {
		change func(*cluster.State)
		says   string // "": it does not refuse
	}{
		"a job":                    {func(s *cluster.State) { s.Objects = append(s.Objects, job) }, "is in use by Job h-kim"},
		"a pod of inject":          {func(s *cluster.State) { s.Pods = []cluster.Pod{injected} }, "is in use by pod train/own-0"},
		"a pod with an attachment": {func(s *cluster.State) { s.Pods = []cluster.Pod{attached("default/a, train-eno5np0-network@net1")} }, "is in use by pod train/own-0"},
		"a pod with an attachment as JSON": {
			func(s *cluster.State) {
				p := attached(`[{"name": "train-eno5np0-network", "namespace": "train"}]`)
				p.Namespace = "other"
				s.Pods = []cluster.Pod{p}
			}, "is in use by pod other/own-0",
		},
		"a pod with an attachment of that name elsewhere": {
			func(s *cluster.State) {
				p := attached("train-eno5np0-network")
				p.Namespace = "other"
				s.Pods = []cluster.Pod{p}
			}, "",
		},
		"a pod with the account":  {func(s *cluster.State) { s.Pods = []cluster.Pod{pod} }, "is in use by pod train/own-0"},
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

// TestUndoNvidia: the networks of NVIDIA's operator are deleted, and the pools of their addresses unless others use them.
func TestUndoNvidia(t *testing.T) {
	const pool = `{"type":"nv-ipam","poolName":"train-rail0"}`
	all := []string{
		"IPPool train-ens2f0np0", "IPPool train-rail0", "IPPool train-rail1", "HostDeviceNetwork train-rail0",
		"HostDeviceNetwork train-rail1", "NetworkAttachmentDefinition train-ens2f0np0", "ServiceAccount railhead-sa",
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "IPPool train-rail0" })
	for name, c := range map[string]struct {
		change func(*cluster.State)
		want   []string
		note   string
	}{
		"no other namespace": {func(*cluster.State) {}, all, ""},
		"what the operator made of them": {func(s *cluster.State) {
			s.Networks = []cluster.Network{{Namespace: "train", Name: "train-rail0", Config: `{"ipam":` + pool + "}"}}
			s.SriovNetworks = []cluster.SriovNetwork{
				{Kind: hostDeviceNetwork, Name: "train-rail0", TargetNamespace: "train", Spec: map[string]any{"ipam": pool}},
			}
		}, all, ""},
		"a network of another namespace": {func(s *cluster.State) {
			s.SriovNetworks = []cluster.SriovNetwork{
				{Kind: hostDeviceNetwork, Name: "eval-0", TargetNamespace: "eval", Spec: map[string]any{"ipam": pool}},
			}
		}, kept, "IPPool train-rail0 stays: HostDeviceNetwork eval-0 uses it."},
		"an attachment of a user": {func(s *cluster.State) {
			s.Networks = []cluster.Network{{Namespace: "train", Name: "own", Config: `{"ipam":` + pool + "}"}}
		}, kept, "IPPool train-rail0 stays: attachment train/own uses it."},
		"an attachment with several pools": {func(s *cluster.State) {
			both := `{"plugins":[{"type":"macvlan","ipam":{"type":"nv-ipam","poolName":"other,train-rail0"}}]}`
			s.Networks = []cluster.Network{{Namespace: "eval", Name: "both", Config: both}}
		}, kept, "IPPool train-rail0 stays: attachment eval/both uses it."},
		"a network with the name of a pool": {func(s *cluster.State) {
			s.Networks = []cluster.Network{{Namespace: "eval", Name: "x", Config: `{"name":"train-rail0","ipam":{"type":"dhcp"}}`}}
		}, all, ""},
		"networks unread": {func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Networks) }, all[3:],
			"IPPool train-rail0 stays: whether other networks use it could not be read."},
		"a network of a user": {func(s *cluster.State) {
			i := slices.IndexFunc(s.Objects, func(o cluster.Object) bool { return o.Kind == hostDeviceNetwork && o.Name == "train-rail0" })
			delete(s.Objects[i].Fields["metadata"].(map[string]any), "labels")
		}, slices.DeleteFunc(slices.Clone(kept), func(name string) bool { return name == "HostDeviceNetwork train-rail0" }), ""},
		"the label for the webhook": {func(s *cluster.State) {
			s.Namespaces = []cluster.Namespace{{Name: "train", Labels: map[string]string{workload.WebhookLabel: workload.WebhookEnabled}}}
		}, all, "kubectl label namespace train railhead.dev/inject-"},
	} {
		s := nvidia()
		s.Server.Groups = append(s.Server.Groups, cluster.NvIPAMGroup)
		s.Read = append(s.Read, UndoKinds()...)
		for _, namespace := range []string{"train", "eval"} {
			p, findings := Setup(s, Options{Namespace: namespace, RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}})
			s.Objects = append(s.Objects, plantest.Live(p)...)
			if p.Empty() {
				t.Fatal(plantest.Wording(findings))
			}
		}
		c.change(&s)
		p, findings := Undo(s, "train")
		var got []string
		for _, change := range p.Changes() {
			got = append(got, change.Object.GetKind()+" "+change.Object.GetName())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(findings) > 0 {
			t.Errorf("%s (-want +deleted):\n%s%s", name, diff, plantest.Wording(findings))
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "IPPool") {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	}
}
