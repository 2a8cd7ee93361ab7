package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/report"
)

// updated returns a pool of two nodes, of which the first has the new configuration.
func updated() cluster.State {
	node := func(name, config string) cluster.Node {
		return cluster.Node{
			Name: name, Arch: "amd64", Ready: true, Labels: map[string]string{"node-role.kubernetes.io/worker": ""},
			MachineConfig: cluster.NodeConfig{Current: config, Desired: config, State: "Done"},
		}
	}
	return cluster.State{
		SchemaVersion: 1,
		Read:          []cluster.Kind{cluster.Nodes, cluster.Pools, cluster.Pods},
		Pools: []cluster.Pool{{
			Name: "worker", Target: "new", Current: "old",
			NodeSelector: map[string]string{"node-role.kubernetes.io/worker": ""},
		}},
		Nodes: []cluster.Node{node("w01", "new"), node("w02", "old")},
	}
}

// checking is the plan of a rollout that is held for the check of its first node.
func checking() plan.Plan {
	return plan.Plan{Steps: []plan.Step{
		{ID: setup.StepVerifyFirst, Title: "Check the node"},
		{
			ID: "rollout", Title: "Let the others follow", Changes: []plan.Change{creation("MachineConfigPool", "", "worker")},
			Disruption: plan.Disruption{Reboots: []plan.Reboot{{Pool: "worker", Nodes: []string{"w01", "w02"}}}},
		},
	}}
}

// snapshotOf returns what railhead-pod writes on a node with this limit of locked memory.
func snapshotOf(t *testing.T, limit host.Fact[host.Limit]) string {
	t.Helper()
	text, err := json.Marshal(host.Snapshot{
		SchemaVersion: host.SchemaVersion, Cmdline: host.Know("iommu=pt"), Limits: host.Limits{MemlockSoft: limit},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFirstNodes: the others follow only if the check of the first nodes finds no fault. It leaves no pod behind.
func TestFirstNodes(t *testing.T) {
	const (
		undo     = "the rollout stays paused; undo it with 'railhead setup rollback'"
		tryAgain = "\nTry again with 'railhead setup cluster --verify-first', or undo it with 'railhead setup rollback'"
	)
	unlimited := snapshotOf(t, host.Know(host.Unlimited))
	for name, test := range map[string]struct {
		s            standIn
		dry          bool
		interrupt    bool
		inconclusive bool
		err          string
		said         string
		follows      bool
	}{
		"no fault": {s: standIn{phase: "Succeeded", log: unlimited}, said: "\n  checked w01: no fault\n", follows: true},
		"a fault": {
			s:    standIn{phase: "Succeeded", log: snapshotOf(t, host.Know(host.Limit(65536)))},
			err:  "the check of w01 failed: " + undo,
			said: "fail: node/w01: the container runtime limits locked memory to 65536 bytes",
		},
		"not conclusive": {
			s:            standIn{phase: "Succeeded", log: snapshotOf(t, host.Unread[host.Limit]("EIO"))},
			err:          "the check of w01 is not conclusive: " + undo,
			said:         "unknown: node/w01: the locked-memory limit of containers could not be read",
			inconclusive: true,
		},
		"no node has the configuration": {
			s:    standIn{state: cluster.State{SchemaVersion: 1}},
			err:  "no node to check has the new configuration yet; the rollout stays paused",
			said: "Check the node",
		},
		"nodes are not read": {
			s: standIn{state: cluster.State{
				SchemaVersion: 1, Problems: []cluster.Problem{{Kind: cluster.Nodes, Err: "leader changed"}},
			}},
			err:  "the nodes could not be read, so the rollout stays paused: leader changed",
			said: "Check the node",
		},
		"no image": {
			s: standIn{image: kube.ErrNoShellImage},
			err: "node w01 could not be checked, so the rollout stays paused: " + kube.ErrNoShellImage.Error() +
				"; set one with --verify-image\nTry again with 'railhead setup cluster --verify-first --verify-image IMAGE', " +
				"or undo it with 'railhead setup rollback'",
			said: "Check the node",
		},
		"no answer": {
			s:    standIn{phase: "Succeeded", log: "sh: railhead-pod: not found"},
			err:  "node w01 could not be checked, so the rollout stays paused: read the snapshot of pod",
			said: "is Succeeded",
		},
		"the pod is refused": {
			s:    standIn{answer: func(plan.Change, kube.DryRun) error { return errors.New("forbidden") }},
			err:  "node w01 could not be checked, so the rollout stays paused: forbidden" + tryAgain,
			said: "Check the node",
		},
		"the pod does not end": {
			s:    standIn{phase: "Running"},
			err:  "node w01 could not be checked, so the rollout stays paused: not done after 5m0s: pod railhead-probe-w01-",
			said: "is Running",
		},
		"interrupted": {
			s:         standIn{phase: "Running"},
			interrupt: true,
			err:       "interrupted",
			said: "Interrupted: the rollout stays paused. " +
				"The same command checks again; 'railhead setup rollback' undoes it",
		},
		"dry run": {dry: true, said: "Check the node", follows: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if test.interrupt {
					time.AfterFunc(time.Minute, interrupt)
				}
				s := &test.s
				if s.state.SchemaVersion == 0 {
					s.state = updated()
				}
				var out bytes.Buffer
				o := Options{Wait: Wait{Live: &report.Live{W: &out}}, DryRun: test.dry, Check: NodeCheck{
					Namespace: "default",
					Programs: func() ([]delivery.Program, error) {
						return []delivery.Program{delivery.Packed("amd64", []byte("binary"))}, nil
					},
				}}
				err := Plan(ctx, s, checking(), o)
				if got := textOf(err); !strings.HasPrefix(got, test.err) || (got == "") != (test.err == "") {
					t.Errorf("error %q, want %q", got, test.err)
				}
				if errors.Is(err, ErrInterrupted) != test.interrupt || errors.Is(err, ErrInconclusive) != test.inconclusive {
					t.Errorf("error: %#v", err)
				}
				if said := out.String(); !strings.Contains(said, test.said) {
					t.Errorf("it does not say %q:\n%s", test.said, said)
				}
				if follows := strings.Contains(out.String(), "Let the others follow\n"); follows != test.follows {
					t.Errorf("the others follow: %v", follows)
				}
				delete(s.objects, "MachineConfigPool/worker")
				if len(s.objects) > 0 {
					t.Errorf("left: %v", s.objects)
				}
			})
		})
	}
}

// TestVerifyAgain: the command that is to be tried again has what this try lacked.
func TestVerifyAgain(t *testing.T) {
	tests := map[string]struct {
		image string
		err   error
		want  string
	}{
		"no image": {
			"", fmt.Errorf("%w; set one", kube.ErrNoShellImage),
			"railhead setup cluster --verify-first --verify-image IMAGE",
		},
		"an image that was named": {
			"registry.example/tools:1", errors.New("image cannot be pulled"),
			"railhead setup cluster --verify-first --verify-image registry.example/tools:1",
		},
		"another error": {"", errors.New("pod is Pending"), "railhead setup cluster --verify-first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := NodeCheck{Image: test.image}
			if diff := cmp.Diff(test.want, c.again(test.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
