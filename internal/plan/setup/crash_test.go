package setup

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// situations are the clusters that the tests of invariants set up.
func situations() map[string]cluster.State {
	percent := openshift()
	poolOf(&percent, "worker").MaxUnavailable = "25%"
	three := openshift()
	poolOf(&three, "worker").MaxUnavailable = "3"
	ulimits := openshift()
	file := limits("99-zlimits.conf", "nofile=1048576:1048576")
	ulimits.MachineConfigs = append(ulimits.MachineConfigs, config("50-limits", "worker", file))
	worker := poolOf(&ulimits, "worker")
	worker.TargetSources = append(worker.TargetSources, "50-limits")
	worker.CurrentSources = append(worker.CurrentSources, "50-limits")
	two := withGPUPool(openshift())
	nodeOf(&two, "w01").Allocatable["rdma/hca"] = 8
	outdated := openshift()
	outdated.MachineConfigs = append(outdated.MachineConfigs, cluster.MachineConfig{
		Name:  plan.MemlockConfig("worker"),
		Files: []cluster.File{crio("99-rdma-memlock.conf", "[crio.runtime]\ndefault_ulimits = [\"memlock=65536\"]\n")},
		Labels: map[string]string{
			plan.RoleLabel:      "worker",
			plan.LabelManagedBy: plan.ManagedBy,
			plan.LabelComponent: ComponentSetup,
		},
	})
	outdated.MachineConfigs = append(outdated.MachineConfigs, cluster.MachineConfig{
		Name:            "99-worker-pt",
		Labels:          map[string]string{plan.RoleLabel: "worker"},
		KernelArguments: []string{"intel_iommu=on", "iommu=pt"},
	})
	worker = poolOf(&outdated, "worker")
	worker.TargetSources = append(worker.TargetSources, plan.MemlockConfig("worker"), "99-worker-pt")
	worker.CurrentSources = append(worker.CurrentSources, plan.MemlockConfig("worker"), "99-worker-pt")
	return map[string]cluster.State{
		"one pool": openshift(), "a quarter at once": percent, "three at once": three, "limits of others": ulimits,
		"custom pool with all GPUs": withGPUPool(openshift()), "both pools": two,
		"content of an earlier version": outdated,
	}
}

// settings lists the settings of the pools, and the objects.
func settings(s cluster.State) string {
	text := ""
	for _, p := range s.Pools {
		text += fmt.Sprintf("%s paused=%t maxUnavailable=%q annotations=%v current=%v done=%t\n"+
			"", p.Name, p.Paused, p.MaxUnavailable, p.Annotations, p.CurrentSources, p.Target == p.Current)
	}
	for _, o := range s.Objects {
		text += o.Kind + "/" + o.Name + "\n"
	}
	return text
}

// plannedReboots counts the reboots of a plan by node.
func plannedReboots(p plan.Plan) map[string]int {
	planned := map[string]int{}
	for _, r := range p.Reboots() {
		for _, n := range r.Nodes {
			planned[n]++
		}
	}
	return planned
}

// TestApplied: an applied plan leaves nothing to do. Every node has rebooted at most once, never more at once than the
// pool allows, and the settings of the pools are restored.
func TestApplied(t *testing.T) {
	for name, before := range situations() {
		for _, o := range []Options{{}, {VerifyFirst: true}} {
			t.Run(fmt.Sprintf("%s, first verified %t", name, o.VerifyFirst), func(t *testing.T) {
				m := simulate(before)
				p := mustPlan(t, m.State, o)
				m.apply(t, p, -1)
				if again := mustPlan(t, m.State, o); !again.Empty() {
					t.Errorf("the second run has steps %v", plantest.StepIDs(again))
				}
				planned := plannedReboots(p)
				for _, r := range p.Reboots() {
					if m.most[r.Pool] != r.AtOnce {
						t.Errorf("%d nodes of %s were away at once, planned were %d", m.most[r.Pool], r.Pool, r.AtOnce)
					}
				}
				if diff := cmp.Diff(planned, m.reboots); diff != "" {
					t.Errorf("reboots (-planned +done):\n%s", diff)
				}
				for node, n := range planned {
					if n != 1 {
						t.Errorf("%s reboots %d times", node, n)
					}
				}
				for i, p := range m.Pools {
					if p.Paused || p.MaxUnavailable != before.Pools[i].MaxUnavailable || len(p.Annotations) > 0 {
						t.Errorf("pool %s is left as %+v", p.Name, p)
					}
				}
			})
		}
	}
}

// TestInterrupted: the next run completes one that ended after any of its changes, with the same outcome and one reboot
// per node.
func TestInterrupted(t *testing.T) {
	for name, before := range situations() {
		for _, o := range []Options{{}, {VerifyFirst: true}} {
			whole := simulate(before)
			p := mustPlan(t, whole.State, o)
			whole.apply(t, p, -1)
			for k := range len(p.Changes()) {
				for ticks := range 4 {
					situation := fmt.Sprintf("%s, first verified %t, after %d changes and %d ticks",
						name, o.VerifyFirst, k, ticks)
					t.Run(situation, func(t *testing.T) {
						m := simulate(before)
						m.apply(t, p, k)
						for range ticks {
							m.tick()
						}
						m.apply(t, mustPlan(t, m.State, o), -1)
						if diff := cmp.Diff(settings(whole.State), settings(m.State)); diff != "" {
							t.Errorf("outcome (-whole +interrupted and completed):\n%s", diff)
						}
						if diff := cmp.Diff(whole.reboots, m.reboots); diff != "" {
							t.Errorf("reboots (-whole +interrupted and completed):\n%s", diff)
						}
					})
				}
			}
		}
	}
}

// TestRollbackRestores: rollback restores the cluster wherever the setup or the rollback itself was interrupted.
func TestRollbackRestores(t *testing.T) {
	for name, before := range situations() {
		if name == "content of an earlier version" {
			continue // there is something of setup's before
		}
		for _, o := range []Options{{}, {VerifyFirst: true}} {
			p := mustPlan(t, before, o)
			for k := range len(p.Changes()) + 1 {
				for _, broken := range []int{1, 2, 3, 4, -1} {
					situation := fmt.Sprintf("%s, first verified %t, after %d changes, interrupted after %d",
						name, o.VerifyFirst, k, broken)
					t.Run(situation, func(t *testing.T) {
						m := simulate(before)
						m.apply(t, p, k)
						clear(m.reboots)
						back, findings := Rollback(m.State)
						if len(findings) > 0 {
							t.Fatal(plantest.Lines(findings))
						}
						whole := m.apply(t, back, broken)
						planned, done := slices.Sorted(maps.Keys(plannedReboots(back))), slices.Sorted(maps.Keys(m.reboots))
						if diff := cmp.Diff(planned, done); whole && diff != "" {
							t.Errorf("reboots (-planned +done):\n%s", diff)
						}
						back, _ = Rollback(m.State)
						m.apply(t, back, -1)
						if diff := cmp.Diff(settings(before), settings(m.State)); diff != "" {
							t.Errorf("(-before +after):\n%s", diff)
						}
						if back, _ = Rollback(m.State); !back.Empty() {
							t.Errorf("steps %v are left", plantest.StepIDs(back))
						}
					})
				}
			}
		}
	}
}
