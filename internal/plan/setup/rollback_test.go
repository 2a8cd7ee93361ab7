package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func TestRollback(t *testing.T) {
	tests := map[string]struct {
		change   func(*cluster.State)
		steps    []string
		findings []string
	}{
		"everything that setup created": {
			func(*cluster.State) {},
			[]string{"pause", "machine-configs", "rollout", "scc"},
			nil,
		},
		"an SCC in use": {func(s *cluster.State) {
			s.SCCGrants = []cluster.SCCGrant{
				{SCC: plan.SCCName, Subject: "ServiceAccount/train/a-sa", Namespace: "train", By: "RoleBinding/x"},
				{SCC: plan.SCCName, Subject: "ServiceAccount/lab/b-sa", Namespace: "lab", By: "RoleBinding/x"},
				{SCC: "privileged", Subject: "User/root", By: "ClusterRoleBinding/y"},
			}
		}, []string{"pause", "machine-configs", "rollout", "scc"},
			[]string{"warn scc-unused scc/railhead-rdma: SCC railhead-rdma is still used in lab and train"}},
		"who uses the SCC could not be read": {
			func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SCCGrants) },
			[]string{"pause", "machine-configs", "rollout", "scc"},
			[]string{"unknown scc-unused rolebindings: whether pods may still use SCC railhead-rdma could not be read"},
		},
		"a pool paused by somebody": {func(s *cluster.State) { poolOf(s, "worker").Paused = true }, nil,
			[]string{
				"fail pool-not-paused pool/worker: pool worker is paused, and not by Railhead: " +
					"its nodes would not be updated",
			}},
		"a degraded pool may be the reason for the rollback": {func(s *cluster.State) {
			setCondition(poolOf(s, "worker"), "NodeDegraded", "True", "Node w03 is reporting: kaboom")
		},
			[]string{"pause", "machine-configs", "rollout", "scc"},
			[]string{
				"warn pool-healthy pool/worker: pool worker is degraded (NodeDegraded): Node w03 is reporting: kaboom",
			}},
		"objects of other parts and of others are left": {func(s *cluster.State) {
			other := func(kind, name, component string) cluster.Object {
				return cluster.Object{
					APIVersion: "v1",
					Kind:       kind,
					Name:       name,
					Fields: map[string]any{"metadata": map[string]any{"labels": map[string]any{
						plan.LabelManagedBy: plan.ManagedBy, plan.LabelComponent: component,
					}}},
				}
			}
			s.Objects = append(s.Objects[:0:0],
				other("MachineConfig", "99-x", "job"),
				other("ServiceAccount", "a-sa", ComponentSetup),
				cluster.Object{Kind: "MachineConfig", Name: "99-y", Fields: map[string]any{}})
		}, nil, nil},
		"a MachineConfig that no pool selects": {func(s *cluster.State) {
			for i, m := range s.MachineConfigs {
				if createdBySetup(m.Labels) {
					s.MachineConfigs[i].Labels = map[string]string{
						plan.LabelManagedBy: plan.ManagedBy,
						plan.LabelComponent: ComponentSetup,
						plan.RoleLabel:      "gone",
					}
				}
			}
		}, []string{"machine-configs", "scc"}, nil},
		"policies, too: after the rollout, whose pool the operator pauses while it drains a node": {
			func(s *cluster.State) {
				s.Objects = append(s.Objects, cluster.Object{
					APIVersion: "sriovnetwork.openshift.io/v1",
					Kind:       "SriovNetworkNodePolicy",
					Namespace:  "openshift-sriov-network-operator",
					Name:       "railhead-eno5np0",
					Fields: map[string]any{
						"metadata": map[string]any{
							"labels": map[string]any{
								plan.LabelManagedBy: plan.ManagedBy,
								plan.LabelComponent: ComponentSetup,
							},
						},
					},
				})
			},
			[]string{"pause", "machine-configs", "rollout", "sriov", "scc"},
			nil,
		},
		"objects could not be read": {
			func(s *cluster.State) { s.Problems = []cluster.Problem{{Kind: cluster.Objects, Err: "etcd is gone"}} },
			nil,
			[]string{"fail cluster-readable objects: objects could not be read, so no plan can be made"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := simulate(openshift())
			m.apply(t, mustPlan(t, m.State, Options{}), -1)
			test.change(&m.State)
			p, findings := Rollback(m.State)
			if diff := cmp.Diff(test.findings, plantest.Lines(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.steps, plantest.StepIDs(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingToRollBack(t *testing.T) {
	for name, s := range map[string]cluster.State{
		"openshift":  openshift(),
		"kubernetes": {Server: cluster.Server{Groups: []string{"apps"}}, Read: []cluster.Kind{cluster.Objects}},
	} {
		if p, findings := Rollback(s); !p.Empty() || check.Worst(findings) != check.Pass {
			t.Errorf("%s: steps %v, %v", name, plantest.StepIDs(p), plantest.Lines(findings))
		}
	}
}
