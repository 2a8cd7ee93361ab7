package kube

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/namespace"
)

// planned returns all that is printed of a plan and its findings.
func planned(t *testing.T, p plan.Plan, findings []check.Finding) string {
	t.Helper()
	out := strings.Join(p.Notes, "\n")
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			data, err := json.Marshal(c.Object)
			if err != nil {
				t.Fatal(err)
			}
			out += "\n" + string(data)
		}
	}
	for _, f := range findings {
		out += "\n" + text(f)
	}
	return out
}

// What deploy and setup do on clusters of kinds with rails of their own.
func TestJobsOnKindsOfClusters(t *testing.T) {
	deploy := func(t *testing.T, s cluster.State) string {
		p, findings := job.Deploy(s, job.Options{
			Name: "j", Namespace: "train", Nodes: 1, Image: "image", PodImage: "railhead", Mode: nccl.RDMA,
		})
		return planned(t, p, findings)
	}
	setup := func(t *testing.T, s cluster.State) string {
		p, findings := namespace.Setup(s, namespace.Options{Namespace: "train"})
		return planned(t, p, findings)
	}
	withoutPods := func(s *cluster.State) { s.Pods = nil }
	for name, test := range map[string]struct {
		cluster string
		change  func(*cluster.State)
		plan    func(*testing.T, cluster.State) string
		says    []string
		never   []string
	}{
		"deploy on InfiniBand by a device plugin": {
			cluster: "infiniband-by-plugin", change: withoutPods, plan: deploy,
			says: []string{`"rdma/ib":"8"`}, never: []string{"k8s.v1.cni.cncf.io/networks", "Multus"},
		},
		"setup on InfiniBand by a device plugin": {
			cluster: "infiniband-by-plugin", plan: setup,
			says: []string{"needs no attachments", "8 rdma/ib"}, never: []string{"has addresses to copy", "Multus"},
		},
		"deploy where a plugin lets pods share its devices": {
			cluster: "infiniband-by-plugin",
			change: func(s *cluster.State) {
				withoutPods(s)
				for _, n := range s.Nodes {
					delete(n.Allocatable, "rdma/ib")
					n.Allocatable["rdma/shared_ib"] = 1000
				}
			},
			plan: deploy, says: []string{`"rdma/shared_ib":"1"`},
		},
		"deploy on AMD's NICs, whose attachment is named once for each": {
			cluster: "amd-vnic", change: withoutPods, plan: deploy,
			says: []string{
				`"amd.com/vnic":"8"`,
				strings.TrimSuffix(strings.Repeat("amd-host-device-nad-vnic,", 8), ","),
			},
		},
		"deploy on Elastic Fabric Adapters by claim": {
			cluster: "efa-by-claim", plan: deploy,
			says: []string{"fail transport-supported", "aws-ofi-nccl", "--mode tcp"}, never: []string{"ResourceClaimTemplate"},
		},
		"deploy on Elastic Fabric Adapters by a device plugin": {
			cluster: "infiniband-by-plugin",
			change: func(s *cluster.State) {
				withoutPods(s)
				for _, n := range s.Nodes {
					delete(n.Allocatable, "rdma/ib")
					n.Allocatable[cluster.EFAResource] = 32
				}
			},
			plan: deploy, says: []string{"fail transport-supported", "vpc.amazonaws.com/efa"},
			never: []string{"Multus", "SriovNetworkNodePolicy"},
		},
		"setup on Elastic Fabric Adapters by claim": {
			cluster: "efa-by-claim", plan: setup, says: []string{"Railhead cannot set it up"},
			never: []string{"jobs claim their rails"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := recorded(t, test.cluster)
			if test.change != nil {
				test.change(&s)
			}
			got := test.plan(t, s)
			for _, want := range test.says {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			for _, never := range test.never {
				if strings.Contains(got, never) {
					t.Errorf("%q is in\n%s", never, got)
				}
			}
		})
	}
}

// The rails of pods are as many as the devices that nodes offer, whatever brings them.
func TestRailsOfKinds(t *testing.T) {
	s := recorded(t, "amd-vnic")
	if rails := s.UsableRails("train"); len(rails) != 8 {
		t.Errorf("%d rails by attachments, want 8", len(rails))
	}
	s = recorded(t, "infiniband-by-plugin")
	if rails := s.UsableRails("train"); len(rails) != 8 || len(cluster.RailNames(rails)) > 0 {
		t.Errorf("%d rails by the resource, with names %q", len(rails), cluster.RailNames(rails))
	}
	s = recorded(t, "efa-by-claim")
	if rails := s.ClaimRails(); len(rails) > 0 || !slices.Equal(cluster.EFAOffers(s), []string{"dra.net"}) {
		t.Errorf("rails %v, EFA by %q", cluster.RailNames(rails), cluster.EFAOffers(s))
	}
}
