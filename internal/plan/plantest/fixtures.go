package plantest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Rails lists the interfaces of the rails of every fixture.
var Rails = []string{"eno5np0", "eno6np0", "eno7np0", "eno8np0"}

// GPUNode returns a node with 8 GPUs and a virtual function of each rail.
func GPUNode(name string) cluster.Node {
	has := cluster.Resources{
		"cpu":               224000,
		"memory":            2 << 40,
		"ephemeral-storage": 1 << 40,
		"pods":              250,
		"nvidia.com/gpu":    8,
	}
	for _, rail := range Rails {
		has["openshift.io/"+rail+"rdma"] = 8
	}
	return cluster.Node{
		Name:          name,
		Ready:         true,
		Arch:          "amd64",
		Allocatable:   has,
		MachineConfig: cluster.NodeConfig{Current: "rendered-worker-1"},
		Labels: map[string]string{
			"node-role.kubernetes.io/worker": "",
			"nvidia.com/gpu.product":         "NVIDIA-H100-80GB-HBM3",
		},
	}
}

// Training returns an OpenShift cluster where jobs can run: two nodes with GPUs among three, memlock lifted by
// MachineConfig, and the namespace train set up.
func Training() cluster.State {
	s := cluster.State{
		Server: cluster.Server{
			Version: "v1.34.2",
			Minor:   34,
			Groups: []string{
				cluster.SecurityGroup, cluster.MachineConfigGroup, cluster.SriovGroup, cluster.NetworkGroup,
				cluster.JobSetGroup,
			},
		},
		Read: []cluster.Kind{
			cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks,
			cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes, cluster.SCCs, cluster.SCCGrants,
			cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas, cluster.Events, cluster.Objects,
			cluster.PriorityClasses, cluster.RuntimeClasses,
		},
		PriorityClasses: []cluster.PriorityClass{{Name: "training"}},
		RuntimeClasses:  []cluster.RuntimeClass{{Name: "nvidia"}},
		Nodes: []cluster.Node{
			GPUNode("gpu-1"), GPUNode("gpu-2"),
			{
				Name:        "cpu-1",
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38},
			},
		},
		Pools: []cluster.Pool{
			{
				Name: "worker",
				NodeSelector: map[string]string{
					"node-role.kubernetes.io/worker": "",
				},
				ConfigSelector: cluster.Selector{MatchLabels: map[string]string{plan.RoleLabel: "worker"}},
				Target:         "rendered-worker-1",
				Current:        "rendered-worker-1",
				CurrentSources: []string{"99-worker-rdma-memlock"},
				TargetSources:  []string{"99-worker-rdma-memlock"},
			},
		},
		MachineConfigs: []cluster.MachineConfig{
			{
				Name: "99-worker-rdma-memlock",
				Labels: map[string]string{
					plan.RoleLabel: "worker",
				},
				Files: []cluster.File{
					{
						Path:    "/etc/crio/crio.conf.d/99-rdma-memlock.conf",
						Content: "[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n",
					},
				},
			},
		},
		SCCs: []cluster.SCC{
			{
				Name:      "restricted-v2",
				RunAsUser: "MustRunAsRange",
				Volumes:   []string{"configMap", "downwardAPI", "emptyDir", "projected"},
			},
			{
				Name:                plan.SCCName,
				RunAsUser:           "RunAsAny",
				AllowedCapabilities: []string{"IPC_LOCK"},
				Volumes:             []string{"configMap", "downwardAPI", "emptyDir", "projected", "secret"},
			},
			{
				Name:                "privileged",
				Privileged:          true,
				RunAsUser:           "RunAsAny",
				AllowedCapabilities: []string{"*"},
				Volumes:             []string{"*"},
			},
		},
		SCCGrants: []cluster.SCCGrant{
			{
				SCC:     "restricted-v2",
				Subject: "Group/system:authenticated",
				By:      "ClusterRoleBinding/system:openshift:scc:restricted-v2",
			},
			{
				SCC:       plan.SCCName,
				Subject:   "ServiceAccount/train/h-kim-sa",
				Namespace: "train",
				By:        "RoleBinding/h-kim-sa-scc-railhead-rdma",
			},
		},
		Namespaces: []cluster.Namespace{{Name: "default"}, {Name: "train"}},
		ServiceAccounts: []cluster.ServiceAccount{
			{Namespace: "train", Name: "default"}, {Namespace: "train", Name: "h-kim-sa"},
		},
	}
	for _, rail := range Rails {
		resource := rail + "rdma"
		s.SriovPolicies = append(s.SriovPolicies, cluster.SriovPolicy{
			Namespace:    "openshift-sriov-network-operator",
			Name:         rail,
			ResourceName: resource,
			RDMA:         true,
			DeviceType:   "netdevice",
			PFs:          []string{rail},
		})
		for _, namespace := range []string{"default", "train"} {
			s.Networks = append(s.Networks, cluster.Network{
				Namespace: namespace,
				Name:      rail + "-network",
				Resource:  "openshift.io/" + resource,
				Type:      "sriov",
				Config: `{"cniVersion":"1.0.0","name":"` + rail + `-network","type":"sriov",` +
					`"ipam":{"type":"whereabouts","range":"10.0.0.0/24"}}`,
			})
		}
	}
	return s
}

// Vanilla returns a Kubernetes cluster with the shared RDMA device plugin.
func Vanilla() cluster.State {
	s := Training()
	s.Server = cluster.Server{Version: "v1.36.3", Minor: 36, Groups: []string{cluster.NetworkGroup, "apps"}}
	s.Pools, s.MachineConfigs, s.SCCs, s.SCCGrants, s.SriovPolicies, s.ServiceAccounts = nil, nil, nil, nil, nil, nil
	for i := range s.Nodes[:2] {
		s.Nodes[i].Allocatable = cluster.Resources{"cpu": 1000, "memory": 1 << 40, "nvidia.com/gpu": 4, "rdma/roce": 63}
		s.Nodes[i].Taints = []cluster.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}}
	}
	s.Networks = []cluster.Network{
		{Namespace: "train", Name: "roce0", Type: "macvlan", Resource: "rdma/roce"},
		{Namespace: "train", Name: "roce1", Type: "macvlan", Resource: "rdma/roce"},
	}
	return s
}

// Manifests formats a plan for golden files.
func Manifests(t *testing.T, p plan.Plan, findings []check.Finding) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", p.Title)
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "# note: %s\n", note)
	}
	for _, line := range Lines(findings) {
		fmt.Fprintf(&b, "# %s\n", line)
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

// Live returns the objects of a plan as the API server returns them.
func Live(p plan.Plan) []cluster.Object {
	var objects []cluster.Object
	for _, c := range p.Changes() {
		o := c.Object.DeepCopy()
		o.SetResourceVersion("1")
		objects = append(objects, cluster.Object{
			APIVersion: o.GetAPIVersion(),
			Kind:       o.GetKind(),
			Namespace:  o.GetNamespace(),
			Name:       o.GetName(),
			Fields:     o.Object,
			Applied:    appliedFields(c.Object.Object),
		})
	}
	return objects
}

// appliedFields returns the fields of an apply in the form FieldsV1 of managedFields: lists with names by item, others
// as a whole.
func appliedFields(object map[string]any) map[string]any {
	fields := map[string]any{}
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			fields["f:"+key] = appliedFields(value)
		case []any:
			fields["f:"+key] = appliedItems(value)
		default:
			fields["f:"+key] = map[string]any{}
		}
	}
	return fields
}

func appliedItems(list []any) map[string]any {
	items := map[string]any{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if name, ok := fields["name"].(string); ok {
			items[fmt.Sprintf(`k:{"name":%q}`, name)] = appliedFields(fields)
		}
	}
	return items
}

// With returns the cluster with these objects of Railhead alone.
func With(s cluster.State, objects []cluster.Object) cluster.State {
	s.Objects, s.ConfigMaps = objects, nil
	for _, o := range objects {
		if o.Kind == "ConfigMap" {
			labels := (&unstructured.Unstructured{Object: o.Fields}).GetLabels()
			s.ConfigMaps = append(s.ConfigMaps, cluster.ConfigMap{Namespace: o.Namespace, Name: o.Name, Labels: labels})
		}
	}
	return s
}

// Strictly decodes an object into its type and fails for fields that the type does not have.
func Strictly(t *testing.T, object map[string]any, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, into, true); err != nil {
		t.Errorf("%T: %v", into, err)
	}
}

// FindingIDs returns the check and status of findings.
func FindingIDs(findings []check.Finding) []string {
	var ids []string
	for _, f := range findings {
		ids = append(ids, f.Status.String()+" "+string(f.Check))
	}
	return ids
}

// Wording returns all texts of findings.
func Wording(findings []check.Finding) string {
	var b strings.Builder
	for i, line := range Lines(findings) {
		f := findings[i]
		fmt.Fprintln(&b, line)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s\n", e)
		}
		if f.Fix != nil {
			fmt.Fprintf(&b, "  %s %s\n", f.Fix.Text, strings.Join(f.Fix.Commands, "; "))
		}
	}
	return b.String()
}

// BeforeSetup returns a training cluster without its namespace train: the operator has a network for each rail in
// default.
func BeforeSetup() cluster.State {
	s := Training()
	s.Networks = slices.DeleteFunc(s.Networks, func(n cluster.Network) bool { return n.Namespace == "train" })
	s.Namespaces, s.ServiceAccounts, s.SCCGrants = s.Namespaces[:1], nil, s.SCCGrants[:1]
	for _, rail := range Rails {
		s.SriovNetworks = append(s.SriovNetworks, cluster.SriovNetwork{
			Kind:            "SriovNetwork",
			Namespace:       "openshift-sriov-network-operator",
			Name:            rail + "-network",
			TargetNamespace: "default",
			ResourceName:    rail + "rdma",
			Spec: map[string]any{
				"resourceName":     rail + "rdma",
				"networkNamespace": "default",
				"ipam":             `{"type":"whereabouts","range":"10.0.0.0/24"}`,
				"linkState":        "auto",
			},
		})
	}
	return s
}

// AfterSetup returns a cluster after the plan of a namespace, with the attachments that the operator created.
func AfterSetup(s cluster.State, p plan.Plan) cluster.State {
	s = With(s, append(slices.Clone(s.Objects), Live(p)...))
	s.Networks, s.SriovNetworks = slices.Clone(s.Networks), slices.Clone(s.SriovNetworks)
	s.Namespaces, s.ServiceAccounts = slices.Clone(s.Namespaces), slices.Clone(s.ServiceAccounts)
	s.SCCGrants = slices.Clone(s.SCCGrants)
	for _, c := range p.Changes() {
		o := c.Object
		spec, _ := o.Object["spec"].(map[string]any)
		switch o.GetKind() {
		case "Namespace":
			s.Namespaces = append(s.Namespaces, cluster.Namespace{Name: o.GetName(), Labels: o.GetLabels()})
		case "ServiceAccount":
			s.ServiceAccounts = append(s.ServiceAccounts, cluster.ServiceAccount{
				Namespace: o.GetNamespace(),
				Name:      o.GetName(),
			})
		case "RoleBinding":
			_, name, _ := strings.Cut(o.GetName(), "-scc-")
			subject := o.Object["subjects"].([]any)[0].(map[string]any)
			s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
				SCC:       name,
				Namespace: o.GetNamespace(),
				By:        "RoleBinding/" + o.GetName(),
				Subject:   "ServiceAccount/" + subject["namespace"].(string) + "/" + subject["name"].(string),
			})
		case "NetworkAttachmentDefinition":
			config, _ := spec["config"].(string)
			s.Networks = append(s.Networks, cluster.Network{
				Namespace: o.GetNamespace(),
				Name:      o.GetName(),
				Resource:  o.GetAnnotations()["k8s.v1.cni.cncf.io/resourceName"],
				Config:    config,
				Type:      "sriov",
			})
		case "SriovNetwork", "SriovIBNetwork":
			s.SriovNetworks = append(s.SriovNetworks, cluster.SriovNetwork{
				Kind:            o.GetKind(),
				Namespace:       o.GetNamespace(),
				Name:            o.GetName(),
				TargetNamespace: spec["networkNamespace"].(string),
				ResourceName:    spec["resourceName"].(string),
				Spec:            spec,
			})
		}
	}
	return s
}

// Unread returns a cluster whose lists of some kinds could not be read.
func Unread(s cluster.State, kinds ...cluster.Kind) cluster.State {
	s.Read = slices.DeleteFunc(slices.Clone(s.Read), func(k cluster.Kind) bool { return slices.Contains(kinds, k) })
	for _, k := range kinds {
		s.Problems = append(s.Problems, cluster.Problem{Kind: k, Err: string(k) + " is forbidden", Forbidden: true})
	}
	return s
}

// Lines returns one line for each finding: status, check, subject and summary.
func Lines(findings []check.Finding) []string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Status, f.Check, f.Subject, f.Summary))
	}
	return lines
}

// StepIDs returns the IDs of the steps of a plan.
func StepIDs(p plan.Plan) []string {
	var ids []string
	for _, s := range p.Steps {
		ids = append(ids, s.ID)
	}
	return ids
}
