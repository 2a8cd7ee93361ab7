package setup

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// rolling13 returns a state of the rollout of rendered-worker-2, which has 99-rdma.
func rolling13(change func(*cluster.State)) cluster.State {
	s := openshift()
	p := poolOf(&s, "worker")
	p.Target, p.TargetSources, p.Generation, p.Observed = "rendered-worker-2", []string{
		"00-worker",
		"01-worker-container-runtime",
		"99-rdma",
	}, 5, 5
	p.Updated, p.Ready = 0, 0
	setCondition(p, "Updated", "False", "")
	setCondition(p, "Updating", "True", "")
	change(&s)
	return s
}

func toward(s *cluster.State, names ...string) {
	for _, name := range names {
		n := nodeOf(s, name)
		n.MachineConfig.Desired, n.MachineConfig.State = "rendered-worker-2", "Working"
	}
}

func arrive(s *cluster.State, names ...string) {
	for _, name := range names {
		nodeOf(s, name).MachineConfig = cluster.NodeConfig{
			Current: "rendered-worker-2",
			Desired: "rendered-worker-2",
			State:   "Done",
		}
	}
	poolOf(s, "worker").Updated += len(names)
	poolOf(s, "worker").Ready += len(names)
}

func workers() []string {
	s := openshift()
	var names []string
	for _, n := range s.NodesOf("worker") {
		names = append(names, n.Name)
	}
	return names
}

// settle completes the rollout, also in the status of the pool.
func settle(s *cluster.State) {
	arrive(s, workers()...)
	p := poolOf(s, "worker")
	p.Current, p.CurrentSources = p.Target, p.TargetSources
	setCondition(p, "Updated", "True", "")
	setCondition(p, "Updating", "False", "")
}

func TestRolloutDone(t *testing.T) {
	with := clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}}
	type summary struct {
		Done  bool
		Text  string
		Count int
		Stuck string
	}
	tests := map[string]struct {
		s    cluster.State
		r    clusterrules.Rollout
		want summary
	}{
		"just after it was written: the pool is Updated with the old": {openshift(), with,
			summary{Text: "worker: waiting for the machine-config-operator to render the new configuration"}},
		"rendered, the pool's status is the old one": {rolling13(func(s *cluster.State) {
			p := poolOf(s, "worker")
			p.Updated, p.Ready, p.Observed = 13, 13, 4
			setCondition(p, "Updated", "True", "")
		}), with, summary{Text: "worker: 0 of 13 nodes done"}},
		"the first node is on its way": {
			rolling13(func(s *cluster.State) { toward(s, "w01") }),
			with,
			summary{Text: "worker: 0 of 13 nodes done"},
		},
		"1 of 13": {
			rolling13(func(s *cluster.State) { arrive(s, "w01"); toward(s, "w02") }),
			with,
			summary{Text: "worker: 1 of 13 nodes done", Count: 1},
		},
		"all nodes have it, the pool does not say so yet": {
			rolling13(func(s *cluster.State) { arrive(s, workers()...) }),
			with,
			summary{Text: "worker: 13 of 13 nodes done", Count: 13},
		},
		"done": {rolling13(settle), with, summary{Done: true, Text: "worker: all 13 nodes done", Count: 13}},
		"done, but of an older generation": {
			rolling13(func(s *cluster.State) { settle(s); poolOf(s, "worker").Generation++ }),
			with,
			summary{Text: "worker: 13 of 13 nodes done", Count: 13},
		},
		"done, but one node is not Ready": {rolling13(func(s *cluster.State) {
			settle(s)
			poolOf(s, "worker").Ready = 12
			nodeOf(s, "w07").Ready = false
		}), with, summary{Text: "worker: 12 of 13 nodes done", Count: 12}},
		"done, but one node still has a not-ready taint": {rolling13(func(s *cluster.State) {
			settle(s)
			nodeOf(s, "w07").Taints = []cluster.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}
		}), with, summary{Text: "worker: 12 of 13 nodes done", Count: 12}},
		"done, and one node has a taint of its own": {rolling13(func(s *cluster.State) {
			settle(s)
			nodeOf(s, "w07").Taints = []cluster.Taint{{Key: "nvidia.com/gpu", Effect: "NoSchedule"}}
		}), with, summary{Done: true, Text: "worker: all 13 nodes done", Count: 13}},
		"content is changed: the old rendering has the name, too": {
			rolling13(settle),
			clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}, From: "rendered-worker-2"},
			summary{Text: "worker: waiting for the machine-config-operator to render the new configuration"},
		},
		"removed: not rendered yet": {
			rolling13(settle),
			clusterrules.Rollout{Pool: "worker", Without: []string{"99-rdma"}},
			summary{Text: "worker: waiting for the machine-config-operator to render the new configuration"},
		},
		"removed: done": {
			openshift(),
			clusterrules.Rollout{Pool: "worker", Without: []string{"99-rdma"}},
			summary{Done: true, Text: "worker: all 13 nodes done", Count: 13},
		},
		"paused by setup": {rolling13(func(s *cluster.State) {
			arrive(s, "w01")
			p := poolOf(s, "worker")
			p.Paused, p.Annotations = true, map[string]string{cluster.AnnotationPausedBy: cluster.PausedBySetup}
		}), with, summary{Text: "worker: paused, 1 of 13 nodes done", Count: 1}},
		"paused by somebody": {
			rolling13(func(s *cluster.State) { arrive(s, "w01"); poolOf(s, "worker").Paused = true }),
			with,
			summary{
				Text:  "worker: paused, 1 of 13 nodes done",
				Count: 1,
				Stuck: "fail rollout-progress pool/worker: the rollout of pool worker is blocked: someone paused it",
			},
		},
		"a node is degraded": {rolling13(func(s *cluster.State) {
			toward(s, "w03")
			nodeOf(s, "w03").MachineConfig.State = "Degraded"
			nodeOf(s, "w03").MachineConfig.Reason = "failed to drain node: w03 after 1 hour"
		}), with, summary{
			Text: "worker: 0 of 13 nodes done",
			Stuck: "fail rollout-progress node/w03: the rollout of pool worker is blocked: node w03 is Degraded: " +
				"failed to drain node: w03 after 1 hour",
		}},
		"it cannot be rendered": {func() cluster.State {
			s := openshift()
			worker := poolOf(&s, "worker")
			setCondition(worker, "RenderDegraded", "True", "parsing Ignition config failed: unknown version")
			return s
		}(), with, summary{
			Text: "worker: waiting for the machine-config-operator to render the new configuration",
			Stuck: "fail rollout-progress pool/worker: the rollout of pool worker is blocked: RenderDegraded: " +
				"parsing Ignition config failed: unknown version",
		}},
		"a cordoned node uses up what may be away": {
			rolling13(func(s *cluster.State) { arrive(s, "w01"); nodeOf(s, "w09").Unschedulable = true }),
			with,
			summary{
				Text:  "worker: 1 of 13 nodes done",
				Count: 1,
				Stuck: "fail rollout-progress pool/worker: the rollout of pool worker is blocked: " +
					"it waits for cordoned nodes: w09",
			},
		},
		"a cordoned node, and room for others": {rolling13(func(s *cluster.State) {
			poolOf(s, "worker").MaxUnavailable = "2"
			nodeOf(s, "w09").Unschedulable = true
		}), with,
			summary{Text: "worker: 0 of 13 nodes done"}},
		"the rollout itself cordoned the node": {
			rolling13(func(s *cluster.State) { toward(s, "w01"); nodeOf(s, "w01").Unschedulable = true }),
			with,
			summary{Text: "worker: 0 of 13 nodes done"},
		},
		"only a cordoned node keeps the pool from being done": {rolling13(func(s *cluster.State) {
			arrive(s, workers()...)
			poolOf(s, "worker").Ready = 12
			nodeOf(s, "w09").Unschedulable = true
		}), with,
			summary{
				Text:  "worker: 12 of 13 nodes done",
				Count: 12,
				Stuck: "fail rollout-progress pool/worker: the rollout of pool worker is blocked: " +
					"it waits for cordoned nodes: w09",
			}},
		"the pool was deleted": {func() cluster.State { s := openshift(); s.Pools = s.Pools[:1]; return s }(), with,
			summary{
				Text:  "worker: the pool was deleted",
				Stuck: "fail rollout-progress pool/worker: the rollout of pool worker is blocked: the pool was deleted",
			}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := RolloutDone(test.r)(test.s)
			sum := summary{Done: got.Done, Text: got.Text, Count: got.Bars[0].Count}
			if got.Stuck != nil {
				sum.Stuck = strings.Join(plantest.Lines([]check.Finding{got.Stuck.Finding}), "")
			}
			if diff := cmp.Diff(test.want, sum); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeItems(t *testing.T) {
	s := rolling13(func(s *cluster.State) {
		arrive(s, "w01")
		toward(s, "w02", "w03", "w04", "w05", "w06")
		nodeOf(s, "w03").Ready = false
		nodeOf(s, "w03").NotReady = "NodeStatusUnknown: Kubelet stopped posting node status."
		nodeOf(s, "w04").MachineConfig.State = "Unreconcilable"
		nodeOf(s, "w04").MachineConfig.Reason = "ignition disks section contains changes"
		nodeOf(s, "w05").MachineConfig.State = "Done" // told, not begun
		nodeOf(s, "w06").MachineConfig.State = "Rebooting"
		arrive(s, "w07", "w08")
		nodeOf(s, "w07").Unschedulable = true
		nodeOf(s, "w08").Ready, nodeOf(s, "w08").NotReady = false, "KubeletNotReady: starting"
		nodeOf(s, "w09").Ready, nodeOf(s, "w09").NotReady = false, "KubeletNotReady: broken"
		nodeOf(s, "w10").Unschedulable = true
	})
	want := []plan.Item{
		{Name: "w01", State: "Done", Done: true}, {Name: "w02", State: "Working"},
		{Name: "w03", State: "Rebooting", Note: "NodeStatusUnknown: Kubelet stopped posting node status."},
		{Name: "w04", State: "Unreconcilable", Note: "ignition disks section contains changes"},
		{Name: "w05", State: "Working"}, {Name: "w06", State: "Rebooting"},
		{Name: "w07", State: "Done", Note: "cordoned"},
		{Name: "w08", State: "Rebooting", Note: "KubeletNotReady: starting"},
		{Name: "w09", State: "waiting", Note: "not Ready: KubeletNotReady: broken"},
		{Name: "w10", State: "waiting", Note: "cordoned"},
		{Name: "w11", State: "waiting"}, {Name: "w12", State: "waiting"}, {Name: "w13", State: "waiting"},
	}
	got := RolloutDone(clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}})(s)
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOtherConditions(t *testing.T) {
	r := clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}}
	tests := map[string]struct {
		s                        cluster.State
		rendered, started, first bool
	}{
		"not rendered": {openshift(), false, false, false},
		"rendered":     {rolling13(func(*cluster.State) {}), true, false, false},
		"one is told":  {rolling13(func(s *cluster.State) { toward(s, "w01") }), true, true, false},
		"one is done":  {rolling13(func(s *cluster.State) { arrive(s, "w01") }), true, true, true},
		"one is done, and cordoned": {
			rolling13(func(s *cluster.State) { arrive(s, "w01"); nodeOf(s, "w01").Unschedulable = true }),
			true,
			true,
			false,
		},
		"pools not readable": {
			cluster.State{Problems: []cluster.Problem{{Kind: cluster.Pools, Err: "forbidden"}}},
			false,
			false,
			false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := []bool{targetRendered(r)(test.s).Done, firstStarted(r)(test.s).Done, firstDone(r)(test.s).Done}
			if diff := cmp.Diff([]bool{test.rendered, test.started, test.first}, got); diff != "" {
				t.Errorf("rendered, started, first done (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTwoPools: done when both are, stuck when one is.
func TestTwoPools(t *testing.T) {
	s := rolling13(settle)
	both := RolloutDone(clusterrules.Rollout{
		Pool: "worker",
		With: []string{"99-rdma"},
	}, clusterrules.Rollout{Pool: "master", With: []string{"99-rdma"}})
	got := both(s)
	if got.Done || got.Text != "worker: all 13 nodes done; master: "+
		"waiting for the machine-config-operator to render the new configuration" {
		t.Errorf("%t %s", got.Done, got.Text)
	}
	if diff := cmp.Diff([]plan.Bar{
		{Name: "worker", Count: 13, Total: 13, Text: "all 13 nodes done"},
		{Name: "master", Total: 3, Text: "waiting for the machine-config-operator to render the new configuration"},
	}, got.Bars); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	setCondition(poolOf(&s, "master"), "RenderDegraded", "True", "m2")
	if got = both(s); got.Stuck == nil || got.Stuck.Subject != check.Named(check.Pool, "master") {
		t.Errorf("stuck: %+v", got.Stuck)
	}
}

func TestWithoutNodes(t *testing.T) {
	s := rolling13(func(s *cluster.State) { poolOf(s, "worker").Updated = 4 })
	s.Nodes, s.Problems = nil, []cluster.Problem{{Kind: cluster.Nodes, Err: "nodes is forbidden", Forbidden: true}}
	got := RolloutDone(clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}})(s)
	if diff := cmp.Diff(plan.Progress{
		Text: "worker: 4 of 13 nodes done",
		Bars: []plan.Bar{{Name: "worker", Count: 4, Total: 13, Text: "4 of 13 nodes done"}},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// backward returns the rollback of rendered-worker-2, which w03 failed to apply. Its failed drain left w03 cordoned.
func backward(change func(*cluster.State)) cluster.State {
	s := openshift()
	p := poolOf(&s, "worker")
	p.Current, p.CurrentSources, p.Generation, p.Observed = "rendered-worker-2", []string{"00-worker", "99-rdma"}, 7, 7
	setCondition(p, "Updated", "False", "")
	setCondition(p, "NodeDegraded", "True", "Node w03 is reporting: kaboom")
	setCondition(p, "Degraded", "True", "Node w03 is reporting: kaboom")
	n := nodeOf(&s, "w03")
	n.Unschedulable = true
	n.MachineConfig = cluster.NodeConfig{
		Current: "rendered-worker-1",
		Desired: "rendered-worker-2",
		State:   "Degraded",
		Reason:  "kaboom",
	}
	change(&s)
	return s
}

// left gives nodes the configuration that is rolled back.
func left(s *cluster.State, names ...string) {
	for _, name := range names {
		nodeOf(s, name).MachineConfig = cluster.NodeConfig{
			Current: "rendered-worker-2",
			Desired: "rendered-worker-2",
			State:   "Done",
		}
	}
}

// TestRollbackOfDegraded: a node that failed at the removed configuration is no obstacle while it may still get another;
// cordoned it is not told, and others only while there is room.
func TestRollbackOfDegraded(t *testing.T) {
	const waits = "pool/worker: the rollout of pool worker is blocked: it waits for cordoned nodes: w03"
	tests := map[string]struct {
		change   func(*cluster.State)
		stuck    string
		commands string
	}{
		"it is all that is left": {func(*cluster.State) {}, waits, "oc adm uncordon w03"},
		"one at a time, and it is the one": {
			func(s *cluster.State) { left(s, "w01", "w02") },
			waits,
			"oc adm uncordon w03",
		},
		"room for others": {func(s *cluster.State) {
			left(s, "w01", "w02")
			poolOf(s, "worker").MaxUnavailable = "2"
		}, "", ""},
		"room for others, and none is left": {
			func(s *cluster.State) { poolOf(s, "worker").MaxUnavailable = "2" },
			waits,
			"oc adm uncordon w03",
		},
		"others are being rolled back": {func(s *cluster.State) {
			nodeOf(s, "w01").MachineConfig = cluster.NodeConfig{
				Current: "rendered-worker-2",
				Desired: "rendered-worker-1",
				State:   "Working",
			}
		}, "", ""},
		"others are on their way to the one that goes": {func(s *cluster.State) {
			nodeOf(s, "w01").Unschedulable = true
			nodeOf(s, "w01").MachineConfig = cluster.NodeConfig{
				Current: "rendered-worker-1",
				Desired: "rendered-worker-2",
				State:   "Working",
			}
		}, "", ""},
		"its drain failed": {func(s *cluster.State) {
			nodeOf(s, "w03").MachineConfig.Reason = "failed to drain node: w03 after 1 hour"
		},
			waits, "oc adm uncordon w03\noc get poddisruptionbudgets -A"},
		"it was not cordoned": {func(s *cluster.State) { nodeOf(s, "w03").Unschedulable = false }, "", ""},
		"it is told, and its state is the old one": {func(s *cluster.State) {
			nodeOf(s, "w03").Unschedulable = false
			nodeOf(s, "w03").MachineConfig.Desired = "rendered-worker-1"
		}, "node/w03: the rollout of pool worker is blocked: node w03 is Degraded: kaboom",
			"oc -n openshift-machine-config-operator get pods -l k8s-app=machine-config-daemon --field-selector " +
				"spec.nodeName=w03"},
		"it is told, and reboots": {func(s *cluster.State) {
			nodeOf(s, "w03").Ready = false
			nodeOf(s, "w03").MachineConfig.Desired = "rendered-worker-1"
		}, "", ""},
		"the pool is paused by setup": {func(s *cluster.State) {
			poolOf(s, "worker").Paused, poolOf(s, "worker").Annotations = true, map[string]string{
				cluster.AnnotationPausedBy: cluster.PausedBySetup,
			}
		}, "", ""},
		"the rollback cannot be rendered": {
			func(s *cluster.State) { setCondition(poolOf(s, "worker"), "RenderDegraded", "True", "no such thing") },
			"pool/worker: the rollout of pool worker is blocked: RenderDegraded: no such thing",
			"oc describe machineconfigpool worker",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := RolloutDone(clusterrules.Rollout{
				Pool:    "worker",
				Without: []string{"99-rdma"},
			})(backward(test.change))
			stuck, commands := "", ""
			if o := got.Stuck; o != nil {
				stuck, commands = o.Subject.String()+": "+o.Summary, strings.Join(o.Fix.Commands, "\n")
				if o.Patience == 0 {
					t.Error("it is given up at once")
				}
			}
			if stuck != test.stuck || commands != test.commands || got.Done {
				t.Errorf("done %t, stuck %q\n%s", got.Done, stuck, commands)
			}
		})
	}
}

// TestRenderedThoughDegraded: a configuration is rendered although nodes fail to apply it.
func TestRenderedThoughDegraded(t *testing.T) {
	condition := targetRendered(clusterrules.Rollout{Pool: "worker", Without: []string{"99-rdma"}})
	before := backward(func(s *cluster.State) {
		p := poolOf(s, "worker")
		p.Target, p.TargetSources, p.Paused = p.Current, p.CurrentSources, true
		p.Annotations = map[string]string{cluster.AnnotationPausedBy: cluster.PausedBySetup}
	})
	if p := condition(before); p.Done || p.Stuck != nil {
		t.Errorf("before: done %t, stuck %+v", p.Done, p.Stuck)
	}
	if p := condition(backward(func(*cluster.State) {})); !p.Done || p.Stuck != nil {
		t.Errorf("after: done %t, stuck %+v", p.Done, p.Stuck)
	}
	setCondition(poolOf(&before, "worker"), "RenderDegraded", "True", "no such thing")
	if p := condition(before); p.Stuck == nil || !strings.Contains(p.Stuck.Summary, "no such thing") {
		t.Errorf("not rendered: stuck %+v", p.Stuck)
	}
	if p := condition(cluster.State{}); p.Stuck == nil || p.Stuck.Patience != 0 {
		t.Errorf("no pool: stuck %+v", p.Stuck)
	}
}

// TestPatienceWithRollouts: errors that a controller or a person may resolve have patience, permanent ones have none.
func TestPatienceWithRollouts(t *testing.T) {
	state := func(state string) func(*cluster.State) {
		return func(s *cluster.State) {
			nodeOf(s, "w03").MachineConfig = cluster.NodeConfig{
				Current: "rendered-worker-1",
				Desired: "rendered-worker-2",
				State:   state,
				Reason:  "kaboom",
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*cluster.State)
		want   time.Duration
	}{
		"an error of a daemon":             {state("Degraded"), 10 * time.Minute},
		"a configuration that no node can": {state("Unreconcilable"), 2 * time.Minute},
		"not rendered": {
			func(s *cluster.State) { setCondition(poolOf(s, "worker"), "RenderDegraded", "True", "x") },
			2 * time.Minute,
		},
		"paused by somebody": {func(s *cluster.State) { poolOf(s, "worker").Paused = true }, 10 * time.Minute},
		"cordoned":           {func(s *cluster.State) { nodeOf(s, "w09").Unschedulable = true }, 10 * time.Minute},
		"gone":               {func(s *cluster.State) { s.Pools = nil }, 0},
		"degraded, and nodes not readable": {func(s *cluster.State) {
			s.Nodes = nil
			setCondition(poolOf(s, "worker"), "NodeDegraded", "True", "Node w03 is reporting: kaboom")
		}, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			got := RolloutDone(clusterrules.Rollout{
				Pool: "worker",
				With: []string{"99-rdma"},
			})(rolling13(test.change)).Stuck
			if got == nil || got.Patience != test.want {
				t.Errorf("%+v, want patience of %v", got, test.want)
			}
		})
	}
}

func TestStuckFix(t *testing.T) {
	tests := map[string]struct{ reason, command string }{
		"drain": {"failed to drain node: w03 after 1 hour", "oc get poddisruptionbudgets -A"},
		"disk": {
			`unexpected on-disk state validating against rendered-worker-2: content mismatch for file "/etc/x"`,
			"oc debug node/w03 -- touch /host/run/machine-config-daemon-force",
		},
		"anything":   {"kaboom", "railhead setup rollback"},
		"not a word": {"", "railhead setup rollback"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := rolling13(func(s *cluster.State) {
				nodeOf(s, "w03").MachineConfig = cluster.NodeConfig{
					Current: "rendered-worker-1",
					Desired: "rendered-worker-2",
					State:   "Degraded",
					Reason:  test.reason,
				}
			})
			got := RolloutDone(clusterrules.Rollout{Pool: "worker", With: []string{"99-rdma"}})(s).Stuck
			if got == nil || !strings.Contains(strings.Join(got.Fix.Commands, "\n"), test.command) {
				t.Errorf("%+v", got)
			}
			back := RolloutDone(clusterrules.Rollout{Pool: "worker", Without: []string{"50-gone"}})(s).Stuck
			if back == nil || strings.Contains(strings.Join(back.Fix.Commands, "\n"), "rollback") {
				t.Errorf("during rollback: %+v", back)
			}
		})
	}
}

func TestRebootRounds(t *testing.T) {
	for _, test := range []struct{ nodes, atOnce, want int }{{13, 1, 13}, {13, 6, 3}, {12, 6, 2}, {0, 1, 0}, {3, 5, 1}} {
		if got := rebootRounds(test.nodes, test.atOnce); got != test.want {
			t.Errorf("%d nodes, %d at once: %d rounds, want %d", test.nodes, test.atOnce, got, test.want)
		}
	}
}
