package namespace

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// nvidia is a cluster with NVIDIA's network operator and without the SR-IOV operator.
func nvidia() cluster.State {
	s := plantest.Vanilla()
	s.Server.Groups = append(s.Server.Groups, cluster.NvidiaGroup)
	s.Read = append(s.Read, cluster.NicPolicies)
	s.Networks = nil
	s.NvidiaResources = []cluster.NvidiaResource{
		{Policy: "p", Resource: "nvidia.com/rail1", RDMA: true}, {Policy: "p", Resource: "nvidia.com/rail0", RDMA: true},
		{Policy: "p", Resource: "nvidia.com/storage"},
		{Policy: "p", Resource: "rdma/shared_a", RDMA: true, Shared: true, Ports: []string{"ens2f0np0"}},
	}
	for i := range s.Nodes[:2] {
		for _, r := range s.NvidiaResources {
			s.Nodes[i].Allocatable[r.Resource] = 8
		}
	}
	return s
}

func TestSetupNvidia(t *testing.T) {
	const oneRange = `{"type":"whereabouts","range":"10.1.0.0/16"}`
	subnet := []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
	for name, test := range map[string]struct {
		change func(*cluster.State, *Options)
		golden string
		says   string
		fails  bool
	}{
		"a subnet, with whereabouts": {
			change: func(_ *cluster.State, o *Options) { o.RailSubnets = subnet }, golden: "nvidia.yaml",
		},
		"a subnet, with nv-ipam": {
			change: func(s *cluster.State, o *Options) {
				s.Server.Groups = append(s.Server.Groups, cluster.NvIPAMGroup)
				o.RailSubnets, o.Networks = subnet, []string{"rail0"}
			},
			golden: "nvidia-nv-ipam.yaml",
		},
		"one subnet for all, with a HostDeviceNetwork": {
			change: func(_ *cluster.State, o *Options) { o.IPAM = oneRange }, fails: true,
			says: "3 rails would be in the subnet of --ipam and answer ARP for each other",
		},
		"one subnet for a single rail": {
			change: func(_ *cluster.State, o *Options) { o.IPAM, o.Networks = oneRange, []string{"rail0"} },
			says:   "ipam: '" + oneRange + "'",
		},
		"one subnet for shared ports": {
			change: func(s *cluster.State, o *Options) {
				s.NvidiaResources[3].Ports = []string{"ens2f0np0", "ens2f1np1"}
				o.IPAM, o.Networks = oneRange, []string{"rdma/shared_a"}
			},
			says: `"type":"macvlan"},{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_ignore":"1"`,
		},
		"subnets for other rails": {
			change: func(_ *cluster.State, o *Options) { o.RailSubnets = slices.Repeat(subnet, 2) }, fails: true,
			says: "--rail-subnets has 2 subnets, but there are 3 rails",
		},
		"no addresses": {
			change: func(*cluster.State, *Options) {}, fails: true,
			says: "--rail-subnets gives none",
		},
		"the addresses of another namespace": {
			change: func(s *cluster.State, o *Options) {
				o.Networks = []string{"rail0"}
				s.SriovNetworks = []cluster.SriovNetwork{{
					Kind: "HostDeviceNetwork", Name: "x", TargetNamespace: "other", ResourceName: "rail0",
					Spec: map[string]any{"ipam": `{"type":"whereabouts","range":"10.1.0.0/24"}`},
				}}
			},
			says: `ipam: '{"type":"whereabouts","range":"10.1.0.0/24"}'`,
		},
		"a network of that name for another namespace": {
			change: func(s *cluster.State, o *Options) {
				o.Networks, o.RailSubnets = []string{"rail0"}, subnet
				s.SriovNetworks = []cluster.SriovNetwork{
					{Kind: "HostDeviceNetwork", Name: "train-rail0", TargetNamespace: "other", ResourceName: "rail0"},
				}
			},
			says: "HostDeviceNetwork train-rail0 exists for namespace other: it is not changed",
		},
		"attachments that were made by hand": {
			change: func(s *cluster.State, _ *Options) {
				s.Networks = []cluster.Network{
					{Namespace: "train", Name: "a", Resource: "nvidia.com/rail0", Type: "host-device"},
					{Namespace: "train", Name: "b", Resource: "nvidia.com/rail1", Type: "host-device"},
					{
						Namespace: "train", Name: "c", Resource: "rdma/shared_a", Type: "macvlan",
						Config: `{"type":"macvlan","master":"ens2f0np0","ipam":{"type":"whereabouts","range":"10.1.0.0/16"}}`,
					},
				}
			},
			says: "# note: Rails of namespace train: a (nvidia.com/rail0, 2 nodes), b (nvidia.com/rail1, 2 nodes), " +
				"c (rdma/shared_a, 2 nodes).\n# step access",
		},
		"an attachment that was made by hand, and no addresses for the others": {
			change: func(s *cluster.State, _ *Options) {
				s.Networks = []cluster.Network{
					{Namespace: "train", Name: "a", Resource: "nvidia.com/rail0", Type: "host-device"},
				}
			},
			says: "# note: nvidia.com/rail1 gets no attachment: " +
				"no network of it has addresses to copy, and --rail-subnets gives none.\n",
		},
		"the SR-IOV operator, which has no policy": {
			change: func(s *cluster.State, o *Options) {
				s.Server.Groups = append(s.Server.Groups, cluster.SriovGroup)
				s.Read = append(s.Read, cluster.SriovPolicies, cluster.SriovNodes, cluster.SriovNetworks)
				o.RailSubnets = subnet
			},
			golden: "nvidia.yaml",
		},
		"the SR-IOV operator, which has no policy, and policies unread": {
			change: func(s *cluster.State, _ *Options) {
				s.Server.Groups = append(s.Server.Groups, cluster.SriovGroup)
				s.Read = append(s.Read, cluster.SriovPolicies, cluster.SriovNodes, cluster.SriovNetworks)
				*s = plantest.Unread(*s, cluster.NicPolicies)
				s.NvidiaResources = nil
			},
			says: "unknown cluster-readable nicclusterpolicies",
		},
		"policies unread": {
			change: func(s *cluster.State, _ *Options) { *s = plantest.Unread(*s, cluster.NicPolicies) },
			says:   "unknown cluster-readable nicclusterpolicies",
		},
		"networks unread": {
			change: func(s *cluster.State, _ *Options) { *s = plantest.Unread(*s, cluster.SriovNetworks) },
			says:   "unknown cluster-readable sriovnetworks",
		},
		"no RDMA": {
			change: func(s *cluster.State, _ *Options) { s.NvidiaResources = s.NvidiaResources[2:3] }, fails: true,
			says: "no NicClusterPolicy has a device plugin with RDMA resources",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := nvidia(), Options{Namespace: "train"}
			test.change(&s, &o)
			p, findings := Setup(s, o)
			text := plantest.Manifests(t, p, findings)
			if !strings.Contains(text, test.says) || (check.Worst(findings) == check.Fail) != test.fails {
				t.Errorf("does not say %q:\n%s", test.says, text)
			}
			if test.fails && len(findings) > 1 {
				t.Errorf("fails %d times:\n%s", len(findings), text)
			}
			if test.golden != "" {
				plantest.Golden(t, test.golden, text)
			}
		})
	}
}

// TestSetupNvidiaAgain: what the operator made of the networks are rails, and a second run changes nothing.
func TestSetupNvidiaAgain(t *testing.T) {
	s, o := nvidia(), Options{Namespace: "train", RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}
	p, _ := Setup(s, o)
	s = plantest.With(s, plantest.Live(p))
	for _, c := range p.Changes() {
		if kind := c.Object.GetKind(); kind == "HostDeviceNetwork" || kind == "NetworkAttachmentDefinition" {
			n := cluster.Network{Namespace: "train", Name: c.Object.GetName(), Type: "host-device"}
			n.Resource = "nvidia.com/" + strings.TrimPrefix(n.Name, "train-")
			if kind != "HostDeviceNetwork" {
				n.Type, n.Resource = "macvlan", c.Object.GetAnnotations()[resourceNameAnnotation]
			}
			s.Networks = append(s.Networks, n)
		}
	}
	var rails []string
	for _, r := range s.UsableRails("train") {
		rails = append(rails, r.Resource)
	}
	if diff := cmp.Diff([]string{"rdma/shared_a", "nvidia.com/rail0", "nvidia.com/rail1"}, rails); diff != "" {
		t.Errorf("rails (-want +got):\n%s", diff)
	}
	if again, findings := Setup(s, o); len(again.Steps) > 0 {
		for _, step := range again.Steps {
			if step.ID == "networks" {
				t.Errorf("a second run:\n%s", plantest.Manifests(t, again, findings))
			}
		}
	}
}

// TestSharedPool: nv-ipam knows no addresses of other pools, so two networks with one subnet share a pool, and subnets
// of different size do not overlap.
func TestSharedPool(t *testing.T) {
	for name, test := range map[string]struct {
		rails  []string
		subnet string
		pools  []string
		want   []string
	}{
		"the same subnet": {[]string{"rail0", "rail1"}, "10.9.0.0/16", []string{"train-rail0", "train-rail1"}, nil},
		"the same for fewer": {
			[]string{"rail0"}, "10.9.0.0/16", nil,
			[]string{
				"fail job-request namespace/other: the subnet 10.9.0.0/16 of other-rail0 " +
					"overlaps 10.9.0.0/17 of IPPool train-rail0",
				"fail job-request namespace/other: the subnet 10.9.0.0/16 of other-rail0 " +
					"overlaps 10.9.128.0/17 of IPPool train-rail1",
			},
		},
		"another subnet": {[]string{"rail0"}, "10.8.0.0/16", []string{"other-rail0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, rails := nvidia(), []string{"rail0", "rail1"}
			s.Server.Groups = append(s.Server.Groups, cluster.NvIPAMGroup)
			p, _ := Setup(s, Options{
				Namespace: "train", Networks: rails, RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
			})
			s = plantest.With(s, plantest.Live(p))
			p, findings := Setup(s, Options{
				Namespace: "other", Networks: test.rails, RailSubnets: []netip.Prefix{netip.MustParsePrefix(test.subnet)},
			})
			var pools []string
			for _, c := range p.Changes() {
				ipam, _, _ := unstructured.NestedString(c.Object.Object, "spec", "ipam")
				if _, pool, ok := strings.Cut(ipam, `"poolName":"`); ok {
					pools = append(pools, strings.TrimSuffix(pool, `","type":"nv-ipam"}`))
				}
			}
			if diff := cmp.Diff(test.pools, pools); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
			findings = slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Status != check.Fail })
			if diff := cmp.Diff(test.want, plantest.Lines(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
