package job

import (
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// ofKind returns a workload of a kind with two ready pods.
func ofKind(kind string, uids ...string) workload.Family {
	f := workload.Family{Workload: cluster.Workload{Kind: kind, Namespace: "train", Name: "h-kim", Size: 2}}
	for i, uid := range uids {
		name := []string{"h-kim-0", "h-kim-1"}[i]
		f.Pods = append(f.Pods, cluster.Pod{
			Namespace: "train", Name: name, UID: uid, Phase: "Running", Ready: true,
			Labels: map[string]string{workload.LabelInstance: "h-kim", workload.LabelComponent: workload.ComponentJob},
		})
	}
	return f
}

func TestRestart(t *testing.T) {
	old := ofKind("StatefulSet", "a", "b")
	p, findings := Restart(old)
	if len(findings) > 0 || len(p.Steps) != 1 || len(p.Steps[0].Changes) != 2 {
		t.Fatalf("plan %+v, findings %v", p, findings)
	}
	if c := p.Steps[0].Changes[1].Object; c.GetName() != "h-kim-1" || c.GetUID() != "b" {
		t.Errorf("it deletes %s, %s: a pod that was replaced since must stay", c.GetName(), c.GetUID())
	}
	for name, c := range map[string]struct {
		pods []cluster.Pod
		done bool
	}{
		"the old pods are still there": {old.Pods, false},
		"one is new":                   {ofKind("", "a", "c").Pods, false},
		"both are new":                 {ofKind("", "c", "d").Pods, true},
		"one is missing":               {ofKind("", "c").Pods, false},
	} {
		s := cluster.State{Read: []cluster.Kind{cluster.Pods, cluster.Events}, Pods: c.pods}
		if got := p.Steps[0].Done(s).Done; got != c.done {
			t.Errorf("%s: done is %v", name, got)
		}
	}
}

func TestRestartOtherKinds(t *testing.T) {
	for _, kind := range []string{"Job", "JobSet", "PyTorchJob"} {
		p, findings := Restart(ofKind(kind, "a", "b"))
		if !p.Empty() || check.Worst(findings) != check.Fail {
			t.Errorf("%s: plan %v, findings %v", kind, p, findings)
		}
	}
}
