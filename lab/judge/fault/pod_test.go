package fault

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestNamespaces: each fault of a pod has a namespace of its own, and is one of nodes.
func TestNamespaces(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Namespace == "" {
			continue
		}
		if wrong := validation.IsDNS1123Label(f.Namespace); seen[f.Namespace] || !f.Nodes || len(wrong) > 0 {
			t.Errorf("%s: namespace %s: %v", f.Name, f.Namespace, wrong)
		}
		seen[f.Namespace] = true
	}
	if len(seen) == 0 {
		t.Error("no fault is of a pod")
	}
}

// shape has the requests and mounts of a container of a pod.
type shape struct {
	Name      string
	Resources []string
	Mounts    []string
}

func shapes(p *corev1.Pod) (all []shape) {
	for _, c := range p.Spec.Containers {
		s := shape{Name: c.Name}
		for _, name := range []string{"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma"} {
			if q, ok := c.Resources.Limits[corev1.ResourceName(name)]; ok {
				s.Resources = append(s.Resources, name+" "+q.String())
			}
		}
		for _, m := range c.VolumeMounts {
			s.Mounts = append(s.Mounts, m.MountPath)
		}
		all = append(all, s)
	}
	return all
}

func TestTrainer(t *testing.T) {
	both, mounts := []string{"openshift.io/eno5np0rdma 1", "openshift.io/eno6np0rdma 1"}, []string{PodProgram, "/dev/shm"}
	for name, test := range map[string]struct {
		change   func(*corev1.Pod)
		want     []shape
		networks string
	}{
		"as it should be":       {func(*corev1.Pod) {}, []shape{{"train", both, mounts}}, "default/eno5np0,default/eno6np0"},
		"devices in a sidecar":  {giveSidecar, []shape{{"sidecar", both, mounts}, {"train", nil, mounts}}, "default/eno5np0,default/eno6np0"},
		"verbs nodes mounted":   {mountVerbs, []shape{{"train", nil, append(mounts, "/dev/infiniband")}}, ""},
		"of a rail more, later": {func(p *corev1.Pod) { ask(p, "openshift.io/eno5np0rdma", "2") }, []shape{{"train", []string{"openshift.io/eno5np0rdma 2", both[1]}, mounts}}, "default/eno5np0,default/eno6np0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := trainer("fault-x", "node-b")
			test.change(p)
			if diff := cmp.Diff(test.want, shapes(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := p.Annotations["k8s.v1.cni.cncf.io/networks"]; got != test.networks || p.Namespace != "fault-x" || p.Spec.NodeSelector[corev1.LabelHostname] != "node-b" {
				t.Errorf("networks %q, in %s, on %v", got, p.Namespace, p.Spec.NodeSelector)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	for _, f := range []struct{ name, resource, want string }{
		{"nowhere", "openshift.io/nowhererdma", `"name":"nowhere","type":"sriov","ipam":{"type":"whereabouts","range":"192.168.7.0/24","kubernetes":{"kubeconfig":"/lab/own/cni.kubeconfig"}}`},
	} {
		n := network("fault-x", f.name, f.resource, `"range":"192.168.7.0/24"`)
		if n.Annotations["k8s.v1.cni.cncf.io/resourceName"] != f.resource || !strings.Contains(n.Spec.Config, f.want) {
			t.Errorf("%+v", n)
		}
	}
}
