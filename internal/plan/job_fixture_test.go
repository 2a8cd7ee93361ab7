package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

var rails4 = []string{"eno5np0", "eno6np0", "eno7np0", "eno8np0"}

// gpuNode is a node with 8 GPUs and a virtual function of each rail.
func gpuNode(name string) cluster.Node {
	has := cluster.Resources{"cpu": 224000, "memory": 2 << 40, "ephemeral-storage": 1 << 40, "pods": 250, "nvidia.com/gpu": 8}
	for _, rail := range rails4 {
		has["openshift.io/"+rail+"rdma"] = 8
	}
	return cluster.Node{
		Name: name, Ready: true, Arch: "amd64", Allocatable: has, MachineConfig: cluster.NodeConfig{Current: "rendered-worker-1"},
		Labels: map[string]string{"node-role.kubernetes.io/worker": "", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
	}
}

// training is an OpenShift cluster where jobs can run: two nodes with GPUs among three, memlock lifted by MachineConfig, and
// the namespace train set up.
func training() cluster.State {
	s := cluster.State{
		Server: cluster.Server{Version: "v1.34.2", Minor: 34, Groups: []string{cluster.SecurityGroup, cluster.MachineConfigGroup, cluster.SriovGroup, cluster.NetworkGroup, cluster.JobSetGroup}},
		Read: []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes,
			cluster.SCCs, cluster.SCCGrants, cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas, cluster.Events, cluster.Objects},
		Nodes: []cluster.Node{gpuNode("gpu-1"), gpuNode("gpu-2"), {Name: "cpu-1", Ready: true, Arch: "amd64", Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38}}},
		Pools: []cluster.Pool{{Name: "worker", NodeSelector: map[string]string{"node-role.kubernetes.io/worker": ""}, ConfigSelector: cluster.Selector{MatchLabels: map[string]string{roleLabel: "worker"}},
			Target: "rendered-worker-1", Current: "rendered-worker-1", CurrentSources: []string{"99-worker-rdma-memlock"}, TargetSources: []string{"99-worker-rdma-memlock"}}},
		MachineConfigs: []cluster.MachineConfig{{Name: "99-worker-rdma-memlock", Labels: map[string]string{roleLabel: "worker"},
			Files: []cluster.File{{Path: "/etc/crio/crio.conf.d/99-rdma-memlock.conf", Content: "[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n"}}}},
		SCCs: []cluster.SCC{
			{Name: "restricted-v2", RunAsUser: "MustRunAsRange", Volumes: []string{"configMap", "downwardAPI", "emptyDir", "projected"}},
			{Name: SCCName, RunAsUser: "RunAsAny", AllowedCapabilities: []string{"IPC_LOCK"}, Volumes: []string{"configMap", "downwardAPI", "emptyDir", "projected", "secret"}},
			{Name: "privileged", Privileged: true, RunAsUser: "RunAsAny", AllowedCapabilities: []string{"*"}, Volumes: []string{"*"}},
		},
		SCCGrants: []cluster.SCCGrant{
			{SCC: "restricted-v2", Subject: "Group/system:authenticated", By: "ClusterRoleBinding/system:openshift:scc:restricted-v2"},
			{SCC: SCCName, Subject: "ServiceAccount/train/h-kim-sa", Namespace: "train", By: "RoleBinding/h-kim-sa-scc-railhead-rdma"},
		},
		Namespaces:      []cluster.Namespace{{Name: "default"}, {Name: "train"}},
		ServiceAccounts: []cluster.ServiceAccount{{Namespace: "train", Name: "default"}, {Namespace: "train", Name: "h-kim-sa"}},
	}
	for _, rail := range rails4 {
		resource := rail + "rdma"
		s.SriovPolicies = append(s.SriovPolicies, cluster.SriovPolicy{Namespace: "openshift-sriov-network-operator", Name: rail, ResourceName: resource, RDMA: true, DeviceType: "netdevice", PFs: []string{rail}})
		for _, namespace := range []string{"default", "train"} {
			s.Networks = append(s.Networks, cluster.Network{Namespace: namespace, Name: rail + "-network", Resource: "openshift.io/" + resource, Type: "sriov",
				Config: `{"cniVersion":"1.0.0","name":"` + rail + `-network","type":"sriov","ipam":{"type":"whereabouts","range":"10.0.0.0/24"}}`})
		}
	}
	return s
}

// unsolved is a training cluster whose nodes keep the memlock limit.
func unsolved() cluster.State {
	s := training()
	s.MachineConfigs, s.Pools[0].CurrentSources, s.Pools[0].TargetSources = nil, nil, nil
	return s
}

// vanilla is a Kubernetes cluster with the shared RDMA device plugin.
func vanilla() cluster.State {
	s := training()
	s.Server = cluster.Server{Version: "v1.36.3", Minor: 36, Groups: []string{cluster.NetworkGroup, "apps"}}
	s.Pools, s.MachineConfigs, s.SCCs, s.SCCGrants, s.SriovPolicies, s.ServiceAccounts = nil, nil, nil, nil, nil, nil
	for i := range s.Nodes[:2] {
		s.Nodes[i].Allocatable = cluster.Resources{"cpu": 1000, "memory": 1 << 40, "nvidia.com/gpu": 4, "rdma/roce": 63}
		s.Nodes[i].Taints = []cluster.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}}
	}
	s.Networks = []cluster.Network{{Namespace: "train", Name: "roce0", Type: "macvlan", Resource: "rdma/roce"}, {Namespace: "train", Name: "roce1", Type: "macvlan", Resource: "rdma/roce"}}
	return s
}

// programs are two small stand-ins for railhead-pod.
func programs() []Program {
	return []Program{NewProgram("amd64", []byte("amd64 program")), NewProgram("arm64", []byte("arm64 program"))}
}

func wishes() JobOptions {
	return JobOptions{Name: "h-kim", Namespace: "train", Nodes: 2, Image: "registry.example.com/torch:2.9", Programs: programs(), Command: []string{"torchrun", "train.py"}}
}

// manifests shows a plan as the golden files hold it.
func manifests(t *testing.T, p Plan, findings []check.Finding) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", p.Title)
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "# note: %s\n", note)
	}
	for _, f := range findings {
		fmt.Fprintf(&b, "# %s %s %s: %s\n", f.Status, f.Check, f.Subject, f.Summary)
	}
	for _, step := range p.Steps {
		fmt.Fprintf(&b, "# step %s: %s\n", step.ID, step.Title)
		for _, c := range step.Changes {
			text, err := yaml.Marshal(c.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "---\n# %s: %s\n%s", c.Verb, c.Why, text)
		}
	}
	return b.String()
}

// live is the objects of a plan as the API server would hold them.
func live(t *testing.T, p Plan) []cluster.Object {
	t.Helper()
	var objects []cluster.Object
	for _, c := range p.Changes() {
		o := c.Object.DeepCopy()
		unstructured.SetNestedField(o.Object, "1", "metadata", "resourceVersion")
		objects = append(objects, cluster.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Fields: o.Object})
	}
	return objects
}

// strictly decodes an object into its type and fails for every field that the type does not have.
func strictly(t *testing.T, object map[string]any, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, into, true); err != nil {
		t.Errorf("%T: %v", into, err)
	}
}

// findingIDs are the check and status of findings.
func findingIDs(findings []check.Finding) []string {
	var ids []string
	for _, f := range findings {
		ids = append(ids, f.Status.String()+" "+string(f.Check))
	}
	return ids
}

// wording is all that findings say.
func wording(findings []check.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Status, f.Check, f.Subject, f.Summary)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e)
		}
		if f.Fix != nil {
			fmt.Fprintf(&b, "  %s %s\n", f.Fix.Text, strings.Join(f.Fix.Commands, "; "))
		}
	}
	return b.String()
}
