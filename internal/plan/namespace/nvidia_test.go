package namespace

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
