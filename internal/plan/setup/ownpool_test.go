package setup

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// TestOwnPool: only the nodes with GPUs reboot, once to set them up and once to undo it, whether the first is checked
// or not; afterwards all is as before.
func TestOwnPool(t *testing.T) {
	for name, o := range map[string]Options{
		"at once":     {OwnPool: "gpu"},
		"first alone": {OwnPool: "gpu", VerifyFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := simulate(openshift())
			before := clone(m.State)
			m.apply(t, mustPlan(t, m.State, o), -1)
			once := map[string]int{"w12": 1, "w13": 1}
			if diff := cmp.Diff(once, m.reboots); diff != "" {
				t.Errorf("reboots (-want +got):\n%s", diff)
			}
			if again := mustPlan(t, m.State, o); !again.Empty() {
				t.Errorf("a second run has steps %v", plantest.StepIDs(again))
			}
			if again := mustPlan(t, m.State, Options{}); !again.Empty() {
				t.Errorf("a run without the flag has steps %v", plantest.StepIDs(again))
			}
			if status := Status(m.State); len(status.Pools) != 1 || !status.Pools[0].Progress.Done {
				t.Errorf("status %+v", status.Pools)
			}
			clear(m.reboots)
			back, findings := Rollback(m.State)
			if len(findings) > 0 {
				t.Fatal(plantest.Lines(findings))
			}
			m.apply(t, back, -1)
			if diff := cmp.Diff(once, m.reboots); diff != "" {
				t.Errorf("reboots of the rollback (-want +got):\n%s", diff)
			}
			for i, n := range m.State.Nodes {
				if !maps.Equal(n.Labels, before.Nodes[i].Labels) || n.MachineConfig != before.Nodes[i].MachineConfig {
					t.Errorf("node %s: %v, %v", n.Name, n.Labels, n.MachineConfig)
				}
			}
			if len(m.Pools) != 2 || len(m.Objects) > 0 {
				t.Errorf("left over: %d pools, %d objects", len(m.Pools), len(m.Objects))
			}
		})
	}
}

// TestOwnPoolInterrupted: after any number of changes, the same command completes them, and rollback undoes them; no
// other node reboots.
func TestOwnPoolInterrupted(t *testing.T) {
	o := Options{OwnPool: "gpu", VerifyFirst: true}
	total := len(mustPlan(t, openshift(), o).Changes())
	for changes := 1; changes < total; changes++ {
		m := simulate(openshift())
		m.apply(t, mustPlan(t, m.State, o), changes)
		half := *m
		half.State, half.reboots = clone(m.State), map[string]int{}
		m.apply(t, mustPlan(t, m.State, o), -1)
		if diff := cmp.Diff(map[string]int{"w12": 1, "w13": 1}, m.reboots); diff != "" {
			t.Errorf("completed after %d changes: reboots (-want +got):\n%s", changes, diff)
		}
		back, _ := Rollback(half.State)
		half.apply(t, back, -1)
		for name := range half.reboots {
			if name != "w12" && name != "w13" {
				t.Errorf("undone after %d changes: %s rebooted", changes, name)
			}
		}
		if len(half.Pools) != 2 || len(half.Objects) > 0 {
			t.Errorf("undone after %d changes: %d pools, %d objects are left", changes, len(half.Pools), len(half.Objects))
		}
	}
}

// TestOwnPoolGrows: a GPU node that is new in pool worker joins the pool, and it alone reboots.
func TestOwnPoolGrows(t *testing.T) {
	m := simulate(openshift())
	m.apply(t, mustPlan(t, m.State, Options{OwnPool: "gpu"}), -1)
	clear(m.reboots)
	nodeOf(&m.State, "w01").Allocatable["nvidia.com/gpu"] = 8
	p := mustPlan(t, m.State, Options{OwnPool: "gpu"})
	if want := []plan.Reboot{{Pool: "gpu", Nodes: []string{"w01"}, AtOnce: 1}}; !cmp.Equal(want, p.Reboots()) {
		t.Errorf("reboots %v", p.Reboots())
	}
	m.apply(t, p, -1)
	if diff := cmp.Diff(map[string]int{"w01": 1}, m.reboots); diff != "" {
		t.Errorf("reboots (-want +got):\n%s", diff)
	}
}

// TestOwnPoolLeaves: nodes of another custom pool stay there, and the plan says so.
func TestOwnPoolLeaves(t *testing.T) {
	s := withGPUPool(openshift())
	nodeOf(&s, "w01").Allocatable["nvidia.com/gpu"] = 8
	p := mustPlan(t, s, Options{OwnPool: "rails"})
	const want = "Pool gpu has nodes with RDMA NICs or GPUs too. Set it up with --pool gpu."
	if reboots := p.Reboots(); len(reboots) != 1 || !slices.Equal(reboots[0].Nodes, []string{"w01"}) ||
		!slices.Contains(p.Notes, want) {
		t.Errorf("reboots %v, notes %q", reboots, p.Notes)
	}
}

func TestOwnPoolRefused(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.State)
		name   string
		want   []string
	}{
		"a pool of somebody else": {
			func(s *cluster.State) { *s = withGPUPool(*s) }, "gpu",
			[]string{"fail name-free pool/gpu: pool gpu exists and was not created by Railhead"},
		},
		"pool worker": {
			func(*cluster.State) {}, "worker",
			[]string{"fail name-free pool/worker: pool worker exists and was not created by Railhead"},
		},
		"the label is in use": {
			func(s *cluster.State) { nodeOf(s, "w01").Labels[role("gpu")] = "" }, "gpu",
			[]string{
				"fail name-free pool/gpu: label node-role.kubernetes.io/gpu, which would select the nodes of pool gpu, " +
					"is in use on w01",
			},
		},
		"no name": {
			func(*cluster.State) {}, "GPU_1",
			[]string{`fail name-free pool/GPU_1: "GPU_1" is no name for a machine config pool`},
		},
		"no node": {
			func(s *cluster.State) {
				delete(nodeOf(s, "w12").Allocatable, "nvidia.com/gpu")
				delete(nodeOf(s, "w13").Allocatable, "nvidia.com/gpu")
			}, "gpu",
			[]string{
				"fail pool-nodes pool/gpu: no node of pool worker has RDMA NICs or GPUs, so pool gpu would have no nodes",
			},
		},
		"pool worker is in the middle of a setup without the flag": {
			func(s *cluster.State) {
				m := simulate(*s)
				p, _ := Cluster(*s, Options{})
				for _, step := range p.Steps[:3] { // all but its rollout
					for _, c := range step.Changes {
						m.change(t, c)
					}
				}
				m.tick()
				m.tick()
				*s = m.State
			}, "gpu",
			[]string{
				"fail pool-idle pool/gpu: pool worker, whose nodes would move, is in the middle of an earlier setup",
			},
		},
		"pool worker is being rolled out": {
			func(s *cluster.State) { bringTo(s, 1, "rendered-worker-0") }, "gpu",
			[]string{
				"fail pool-idle pool/worker: another rollout of pool worker is running: " +
					"12 of 13 nodes have rendered-worker-1",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			p, findings := Cluster(s, Options{OwnPool: test.name})
			failed := slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Status != check.Fail })
			if diff := cmp.Diff(test.want, plantest.Lines(failed)); diff != "" || !p.Empty() {
				t.Errorf("steps %v, findings (-want +got):\n%s", plantest.StepIDs(p), diff)
			}
		})
	}
	set := simulate(openshift())
	set.apply(t, mustPlan(t, set.State, Options{}), -1)
	if p := mustPlan(t, set.State, Options{OwnPool: "gpu"}); !p.Empty() {
		t.Errorf("pool worker is set up, and there are steps %v", plantest.StepIDs(p))
	}
}

// TestArrivedUnread: right after nodes changed their pool, its counts are still those from before, so without the nodes
// nothing shows that they have arrived. The next step deletes the pool that they leave.
func TestArrivedUnread(t *testing.T) {
	m := simulate(openshift())
	m.apply(t, mustPlan(t, m.State, Options{OwnPool: "gpu"}), -1)
	arrived := arrived(cluster.WorkerPool)
	if p := arrived(m.State); !p.Done {
		t.Fatalf("before nodes move: %+v", p)
	}
	for _, name := range []string{"w12", "w13"} {
		delete(nodeOf(&m.State, name).Labels, role("gpu"))
	}
	s := plantest.Unread(m.State, cluster.Nodes)
	s.Nodes = nil
	if p := arrived(s); p.Done {
		t.Errorf("the nodes were not read: %+v", p)
	}
}

// TestOwnPoolBlocked: no node moves into a pool that does not take a configuration.
func TestOwnPoolBlocked(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.Pool)
		want   []string
	}{
		"paused by somebody": {
			func(p *cluster.Pool) { p.Paused = true },
			[]string{"fail pool-not-paused pool/gpu: pool gpu is paused, and not by Railhead: " +
				"its nodes would not be updated"},
		},
		"degraded": {
			func(p *cluster.Pool) { setCondition(p, "NodeDegraded", "True", "Node w12 is reporting: kaboom") },
			[]string{"fail pool-healthy pool/gpu: pool gpu is degraded (NodeDegraded): Node w12 is reporting: kaboom"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := simulate(openshift())
			m.apply(t, mustPlan(t, m.State, Options{OwnPool: "gpu"}), -1)
			nodeOf(&m.State, "w01").Allocatable["nvidia.com/gpu"] = 8
			test.change(poolOf(&m.State, "gpu"))
			p, findings := Cluster(m.State, Options{OwnPool: "gpu"})
			if diff := cmp.Diff(test.want, plantest.Lines(findings)); diff != "" || !p.Empty() {
				t.Errorf("steps %v, findings (-want +got):\n%s", plantest.StepIDs(p), diff)
			}
		})
	}
}

// TestOwnPoolWithConfigsOfOthers: nodes reboot when they leave a pool that has got a MachineConfig of somebody else, and
// the plan says so.
func TestOwnPoolWithConfigsOfOthers(t *testing.T) {
	m := simulate(openshift())
	m.apply(t, mustPlan(t, m.State, Options{OwnPool: "gpu"}), -1)
	m.MachineConfigs = append(m.MachineConfigs,
		config("50-hugepages-gpu", "gpu"),
		config("97-gpu-generated-kubelet", "gpu"), config("98-gpu-generated-kubelet", "gpu"))
	for range 10 {
		m.tick()
	}
	clear(m.reboots)
	p, findings := Rollback(m.State)
	want := []string{"warn pool-nodes pool/gpu: " +
		"pool gpu has 1 MachineConfig of its own, " +
		"which Railhead did not create: 2 nodes lose what it sets, and reboot, when the pool is deleted"}
	if diff := cmp.Diff(want, plantest.Lines(findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	m.apply(t, p, -1)
	if diff := cmp.Diff(plannedReboots(p), m.reboots); diff != "" {
		t.Errorf("reboots (-planned +done):\n%s", diff)
	}
}
