package job

import (
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// TestDoubt: a transient error does not end the wait, but is reported.
func TestDoubt(t *testing.T) {
	slow := cluster.Event{
		Namespace: "train", Object: "Pod/h-kim-0", Type: "Warning", Reason: "FailedCreatePodSandBox",
		Message: `plugin type="multus" failed (add): Multus: [train/h-kim-0/ff]: error waiting for pod: Get "https://10.0.0.9:6443/api/v1/namespaces/train/pods/h-kim-0?timeout=1m0s": context deadline exceeded`,
	}
	missing := cluster.Event{
		Namespace: "train", Object: "Pod/h-kim-1", Type: "Warning", Reason: "FailedCreatePodSandBox",
		Message: `plugin type="multus" failed (add): cannot find a network-attachment-definition (eno5np0) in namespace (train)`,
	}
	pod := func(name string, ready bool) cluster.Pod {
		return cluster.Pod{
			Namespace: "train",
			Name:      name,
			Phase:     "Pending",
			Node:      "gpu-0",
			Ready:     ready,
			Labels:    map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob},
		}
	}
	for name, test := range map[string]struct {
		pods         []cluster.Pod
		events       []cluster.Event
		doubt, stuck check.ID
	}{
		"slow": {[]cluster.Pod{pod("h-kim-0", false)}, []cluster.Event{slow}, pods.NodeOverload, ""},
		"slow, and broken": {
			[]cluster.Pod{pod("h-kim-0", false), pod("h-kim-1", false)},
			[]cluster.Event{slow, missing},
			pods.NodeOverload,
			pods.NADMissing,
		},
		"slow, then ready": {[]cluster.Pod{pod("h-kim-0", true)}, []cluster.Event{slow}, "", ""},
	} {
		p := Done("h-kim", "train", len(test.pods))(cluster.State{Pods: test.pods, Events: test.events})
		var doubt, stuck check.ID
		if p.Doubt != nil {
			doubt = p.Doubt.Check
		}
		if p.Stuck != nil {
			stuck = p.Stuck.Check
		}
		if doubt != test.doubt || stuck != test.stuck {
			t.Errorf("%s: doubt %q, stuck %q", name, doubt, stuck)
		}
	}
}
