package namespace

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func namespaceCases() map[string]struct {
	s cluster.State
	o Options
} {
	type c = struct {
		s cluster.State
		o Options
	}
	policies := plantest.BeforeSetup()
	policies.SriovNetworks = nil
	policies.SriovPolicies[1].LinkType = "IB"
	tuning := plantest.BeforeSetup() // an administrator has extended the allowlist of sysctls
	tuning.SriovNetworks, tuning.SriovPolicies = []cluster.SriovNetwork{{
		Kind: "SriovNetwork", Namespace: "openshift-sriov-network-operator", Name: "elsewhere",
		TargetNamespace: "elsewhere", Spec: map[string]any{"metaPlugins": arpPlugin},
	}}, policies.SriovPolicies
	exclusive := func(s cluster.State) cluster.State {
		for _, node := range []string{"gpu-1", "gpu-2", "cpu-1"} {
			mode := map[bool]string{true: "exclusive", false: "shared"}[node != "cpu-1"]
			s.SriovNodes = append(s.SriovNodes, cluster.SriovNode{
				Namespace: "openshift-sriov-network-operator",
				Node:      node,
				RDMAMode:  mode,
			})
		}
		return s
	}
	tuned := exclusive(plantest.BeforeSetup())
	tuned.SriovNetworks[0].Spec["metaPlugins"] = `{"type":"tuning","mtu":9000}`
	tuned.SriovNetworks[1].Spec["metaPlugins"] = `{"type": "rdma"}`
	mixed := exclusive(policies)
	mixed.Nodes = append(slices.Clone(mixed.Nodes[:2]), plantest.GPUNode("cpu-1"))
	hosts := plantest.BeforeSetup()
	for i := range hosts.SriovNetworks {
		hosts.SriovNetworks[i].Spec["ipam"] = `{"type":"host-local"}`
	}
	custom := plantest.BeforeSetup()
	custom.SCCs = append(custom.SCCs, cluster.SCC{Name: "nccl-scc"})
	plain := plantest.Vanilla()
	plain.Namespaces, plain.Networks[0].Namespace, plain.Networks[1].Namespace = nil, "default", "default"
	return map[string]c{
		"operator": {plantest.BeforeSetup(), Options{Namespace: "train", Name: "h-kim"}},
		"program": {
			plantest.Training(),
			Options{Namespace: "train", Name: "h-kim", Programs: []delivery.Program{
				delivery.Packed("amd64", []byte("amd64 program")), delivery.Packed("arm64", []byte("arm64 program")),
			}},
		},
		"operator-one-rail": {hosts, Options{Namespace: "train", Networks: []string{"eno6np0rdma"}}},
		"policies-alone":    {policies, Options{Namespace: "train", Name: "h-kim", SCC: "privileged"}},
		"policies-ipam": {
			tuning,
			Options{Namespace: "train", Name: "h-kim", IPAM: `{"type":"whereabouts","range":"10.1.0.0/16"}`},
		},
		"rail-subnets": {
			policies,
			Options{Namespace: "train", Name: "h-kim", RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}},
		},
		"exclusive-networks": {tuned, Options{Namespace: "train", Name: "h-kim"}},
		"exclusive-policies": {mixed, Options{Namespace: "train", Name: "h-kim", Networks: []string{"eno6np0rdma"}}},
		"exclusive-copied": {
			exclusive(plantest.BeforeSetup()),
			Options{Namespace: "train", Name: "h-kim", NetworksFrom: "default", Networks: []string{"eno5np0-network"}},
		},
		"custom-scc": {
			custom,
			Options{
				Namespace:    "train",
				SCC:          "nccl-scc",
				NetworksFrom: "default",
				Networks:     []string{"eno5np0-network"},
			},
		},
		"copied": {
			plantest.BeforeSetup(),
			Options{Namespace: "train", Name: "h-kim", NetworksFrom: "default"},
		},
		"vanilla-copied": {plain, Options{Namespace: "train", NetworksFrom: "default"}},
		"vanilla-ipc-lock": {
			plain,
			Options{Namespace: "train", NetworksFrom: "default", Networks: []string{"roce1"}, AllowIPCLock: true},
		},
		"set-up-by-hand-there": {plantest.Training(), Options{Namespace: "train", Name: "h-kim"}},
	}
}

func TestNamespaceManifests(t *testing.T) {
	for name, c := range namespaceCases() {
		t.Run(name, func(t *testing.T) {
			p, findings := Setup(c.s, c.o)
			plantest.Golden(t, "namespace/"+name+".yaml", plantest.Manifests(t, p, findings))
			for _, change := range p.Changes() {
				switch change.Object.GetKind() {
				case "Namespace":
					plantest.Strictly(t, change.Object.Object, &corev1.Namespace{})
				case "ServiceAccount":
					plantest.Strictly(t, change.Object.Object, &corev1.ServiceAccount{})
				case "RoleBinding":
					plantest.Strictly(t, change.Object.Object, &rbacv1.RoleBinding{})
				case "Role":
					plantest.Strictly(t, change.Object.Object, &rbacv1.Role{})
				case "ClusterRole", "ClusterRoleBinding":
					t.Error("a right that holds everywhere")
				}
				runtime.DeepCopyJSON(change.Object.Object) // panics for what JSON has not
			}
		})
	}
}

func TestNamespaceAgainChangesNothing(t *testing.T) {
	for name, c := range namespaceCases() {
		t.Run(name, func(t *testing.T) {
			p, _ := Setup(c.s, c.o)
			after := plantest.AfterSetup(c.s, p)
			again, findings := Setup(after, c.o)
			if !again.Empty() || check.Worst(findings) == check.Fail {
				t.Errorf("a second run:\n%s", plantest.Manifests(t, again, findings))
			}
		})
	}
}

// TestInfiniBandByNodes: if a policy has no link type, its NICs on the nodes have one.
func TestInfiniBandByNodes(t *testing.T) {
	for name, c := range map[string]struct {
		policy cluster.SriovPolicy
		want   string
	}{
		"NIC by name":       {cluster.SriovPolicy{PFs: []string{"ib0#0-3"}}, "SriovIBNetwork"},
		"NIC by device":     {cluster.SriovPolicy{Vendor: "15b3", DeviceID: "1021"}, "SriovIBNetwork"},
		"Ethernet NIC":      {cluster.SriovPolicy{Vendor: "15b3", DeviceID: "101d"}, "SriovNetwork"},
		"NIC of no node":    {cluster.SriovPolicy{PFs: []string{"ib1"}}, "SriovNetwork"},
		"policy says so":    {cluster.SriovPolicy{PFs: []string{"eth0"}, LinkType: "ib"}, "SriovIBNetwork"},
		"policy says other": {cluster.SriovPolicy{PFs: []string{"ib0"}, LinkType: "ETH"}, "SriovNetwork"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.BeforeSetup()
			s.SriovNetworks = nil
			c.policy.Name, c.policy.ResourceName, c.policy.RDMA = "p", "rail", true
			s.SriovPolicies = []cluster.SriovPolicy{c.policy}
			s.SriovNodes = []cluster.SriovNode{{Node: "gpu-1", Interfaces: []cluster.SriovInterface{
				{Name: "ib0", Vendor: "15b3", DeviceID: "1021", LinkType: "IB"},
				{Name: "eth0", Vendor: "15b3", DeviceID: "101d", LinkType: "ETH"},
			}}}
			p, _ := Setup(s, Options{Namespace: "train"})
			changes := p.Changes()
			if got := changes[len(changes)-1].Object.GetKind(); got != c.want {
				t.Errorf("made a %s, want %s", got, c.want)
			}
		})
	}
}

func TestNamespaceThenDeploy(t *testing.T) {
	s := plantest.BeforeSetup()
	programs := []delivery.Program{delivery.Packed("amd64", []byte("amd64 program"))}
	p, _ := Setup(s, Options{Namespace: "train", Name: "h-kim", Programs: programs})
	s = plantest.AfterSetup(s, p)
	for _, step := range p.Steps {
		if step.Done != nil && step.Done(s).Done {
			t.Errorf("%s is done before the operator made the attachments", step.ID)
		}
	}
	for _, n := range s.SriovNetworks[4:] {
		s.Networks = append(s.Networks, cluster.Network{
			Namespace: n.TargetNamespace,
			Name:      n.Name,
			Resource:  "openshift.io/" + n.ResourceName,
			Type:      "sriov",
		})
	}
	for _, step := range p.Steps {
		if step.Done != nil && !step.Done(s).Done {
			t.Errorf("%s is not done: %+v", step.ID, step.Done(s))
		}
	}
	job, findings := job.Deploy(s, job.Options{
		Name:      "h-kim",
		Namespace: "train",
		Nodes:     2,
		Image:     "registry.example.com/torch:2.9",
		Programs:  programs,
	})
	for _, o := range plantest.Live(job) {
		if o.Kind == "ConfigMap" {
			t.Errorf("deploy creates %s, which setup created", o.Name)
		}
	}
	if job.Empty() || !strings.Contains(job.Title, "RDMA over 4 rails") {
		t.Errorf("deploy after setup: %s\n%s", job.Title, plantest.Wording(findings))
	}
}

// TestArchitectures: a namespace gets railhead-pod for the processors of the nodes that may run jobs.
func TestArchitectures(t *testing.T) {
	node := func(arch string, gpus int64) cluster.Node {
		return cluster.Node{Name: arch, Arch: arch, Allocatable: cluster.Resources{"nvidia.com/gpu": gpus}}
	}
	programs := []delivery.Program{
		delivery.Packed("amd64", []byte("amd64 program")), delivery.Packed("arm64", []byte("arm64 program")),
	}
	tests := map[string]struct {
		nodes []cluster.Node
		want  []string
	}{
		"GPUs on some nodes":    {[]cluster.Node{node("amd64", 0), node("arm64", 8)}, []string{"arm64"}},
		"no GPU":                {[]cluster.Node{node("amd64", 0)}, []string{"amd64"}},
		"no GPU, two kinds":     {[]cluster.Node{node("amd64", 0), node("arm64", 0)}, []string{"amd64", "arm64"}},
		"no node that is known": {nil, []string{"amd64", "arm64"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step := Options{Namespace: "train", Programs: programs}.delivery(cluster.State{Nodes: test.nodes})
			var got []string
			for _, c := range step.Changes {
				arch, _, _ := strings.Cut(strings.TrimPrefix(c.Object.GetName(), "railhead-pod-"), "-")
				got = append(got, arch)
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, slices.Compact(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChain(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"one plugin": {
			`{"cniVersion":"1.0.0","name":"n","type":"sriov","vlan":0,"ipam":{"type":"static"}}`,
			`{"cniVersion":"1.0.0","name":"n","plugins":[{"ipam":{"type":"static"},"type":"sriov","vlan":0},` +
				`{"type":"rdma"}]}`,
		},
		"a list": {
			`{"cniVersion":"0.4.0","plugins":[{"type":"sriov"},{"type":"tuning"}]}`,
			`{"cniVersion":"0.4.0","plugins":[{"type":"sriov"},{"type":"tuning"},{"type":"rdma"}]}`,
		},
		"before lists": {
			`{"cniVersion":"0.2.0","type":"sriov"}`,
			`{"cniVersion":"0.3.1","plugins":[{"type":"sriov"},{"type":"rdma"}]}`,
		},
		"without version": {`{"type":"sriov"}`, `{"cniVersion":"0.3.1","plugins":[{"type":"sriov"},{"type":"rdma"}]}`},
		"long numbers": {
			`{"cniVersion":"1.0.0","type":"sriov","id":12345678901234567890}`,
			`{"cniVersion":"1.0.0","plugins":[{"id":12345678901234567890,"type":"sriov"},{"type":"rdma"}]}`,
		},
		"no JSON":   {`{`, ""},
		"no plugin": {`[]`, ""},
		"null":      {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chain(c.config)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	for text, want := range map[string]string{
		"": rdmaPlugin, " \n": rdmaPlugin, `{ "type": "rdma" }`: `{ "type": "rdma" }`,
		`{"type":"tuning"}`:                 `{"type":"tuning"},{"type":"rdma"}`,
		`{"type":"tuning"},{"type":"rdma"}`: `{"type":"tuning"},{"type":"rdma"}`, "garbage": `garbage,{"type":"rdma"}`,
	} {
		if got := chained(text, rdmaPlugin); got != want {
			t.Errorf("metaPlugins %q: %q, want %q", text, got, want)
		}
	}
}

// FuzzChain: a configuration becomes a list that ends with the rdma plugin, or is refused.
func FuzzChain(f *testing.F) {
	f.Add(`{"cniVersion":"1.0.0","name":"n","type":"sriov"}`)
	f.Add(`{"plugins":[{"type":"sriov"}]}`)
	f.Fuzz(func(t *testing.T, config string) {
		text, err := chain(config)
		if err != nil {
			return
		}
		var list struct {
			Plugins []any `json:"plugins"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Plugins) == 0 ||
			!cmp.Equal(list.Plugins[len(list.Plugins)-1], any(map[string]any{
				"type": "rdma",
			})) {
			t.Errorf("%q became %q: %v", config, text, err)
		}
	})
}

func TestNamespaceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		s    func(*cluster.State)
		o    Options
		want []string
		says string
	}{
		"no name": {want: []string{"fail job-request"}, says: "must be a DNS label"},
		"a namespace that is being deleted": {
			s:    func(s *cluster.State) { s.Namespaces[0] = cluster.Namespace{Name: "train", Terminating: true} },
			o:    Options{Namespace: "train"},
			want: []string{"fail namespace-ready"},
			says: "being deleted",
		},
		"no SCC yet": {
			s:    func(s *cluster.State) { s.SCCs = s.SCCs[:1] },
			o:    Options{Namespace: "train"},
			want: []string{"fail scc-usable"},
			says: "railhead setup cluster",
		},
		"a source without rails": {
			o:    Options{Namespace: "train", NetworksFrom: "kube-system"},
			want: []string{"fail networks-source"},
			says: "railhead setup namespace train --networks-from default",
		},
		"itself as source": {
			o:    Options{Namespace: "train", NetworksFrom: "train"},
			want: []string{"fail networks-source"},
		},
		"a rail that the source lacks": {
			o:    Options{Namespace: "train", NetworksFrom: "default", Networks: []string{"x"}},
			want: []string{"fail networks-source"},
			says: "no rail named x",
		},
		"a resource without a policy": {
			o:    Options{Namespace: "train", Networks: []string{"x"}},
			want: []string{"fail networks-source"},
			says: "isRdma: true named x",
		},
		"no policies, rails elsewhere": {
			s:    func(s *cluster.State) { s.SriovPolicies = nil },
			o:    Options{Namespace: "train"},
			want: []string{"fail networks-source"},
			says: "--networks-from default",
		},
		"policies are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SriovPolicies) },
			o:    Options{Namespace: "train"},
			want: []string{"fail networks-source"},
			says: "no SR-IOV policy can be read",
		},
		"attachments are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Networks) },
			o:    Options{Namespace: "train"},
			want: []string{"unknown cluster-readable"},
			says: "may exist already",
		},
		"networks of the operator are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SriovNetworks); s.SriovNetworks = nil },
			o:    Options{Namespace: "train"},
			want: []string{"unknown cluster-readable"},
			says: "sriovnetworks could not be read: no attachment is created",
		},
		"an attachment of somebody else": {
			s: func(s *cluster.State) {
				s.Networks = append(s.Networks, cluster.Network{
					Namespace: "train",
					Name:      "eno5np0-network",
					Resource:  "openshift.io/other",
					Type:      "sriov",
				})
			},
			o:    Options{Namespace: "train", NetworksFrom: "default"},
			want: []string{"warn name-free"},
			says: "it is not changed",
		},
		"a network of somebody else": {
			s: func(s *cluster.State) {
				s.SriovNetworks = append(s.SriovNetworks, cluster.SriovNetwork{
					Kind:            "SriovNetwork",
					Namespace:       "openshift-sriov-network-operator",
					Name:            "train-eno5np0-network",
					TargetNamespace: "other",
					ResourceName:    "x",
				})
			},
			o:    Options{Namespace: "train"},
			want: []string{"warn name-free"},
			says: "SriovNetwork train-eno5np0-network exists for resource x",
		},
		"a level that forbids the capability": {
			s: func(s *cluster.State) {
				*s = plantest.Vanilla()
				s.Namespaces[1].Labels = map[string]string{plan.EnforceLabel: "baseline"}
			},
			o:    Options{Namespace: "train", AllowIPCLock: true},
			want: []string{"fail pod-security"},
			says: "enforce=privileged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.BeforeSetup()
			if c.s != nil {
				c.s(&s)
			}
			p, findings := Setup(s, c.o)
			if diff := cmp.Diff(c.want, plantest.FindingIDs(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if fails := check.Worst(findings) == check.Fail; fails && !p.Empty() {
				t.Errorf("a plan of %d steps with a failure", len(p.Steps))
			}
			if text := plantest.Wording(findings); !strings.Contains(text, c.says) {
				t.Errorf("%q is not in:\n%s", c.says, text)
			}
		})
	}
}
