package job

import (
	"slices"
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
	old.Templates = old.Pods[:1]
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

// TestRestartOfOthers: kinds whose controllers replace deleted pods, without the labels of deploy.
func TestRestartOfOthers(t *testing.T) {
	for _, kind := range []string{"Deployment", "ReplicaSet", "DaemonSet", "LeaderWorkerSet", "RayCluster"} {
		old := ofKind(kind, "a", "b")
		p, findings := Restart(old)
		if len(findings) > 0 || len(p.Steps) != 1 || len(p.Steps[0].Changes) != 2 {
			t.Fatalf("%s: plan %+v, findings %v", kind, p, findings)
		}
		step := p.Steps[0]
		if !slices.Contains(step.Watch, cluster.Workloads) {
			t.Errorf("%s: the pods are not found without their workload", kind)
		}
		for uids, want := range map[[2]string]bool{{"a", "b"}: false, {"c", "b"}: false, {"c", "d"}: true} {
			s := cluster.State{Read: step.Watch, Pods: ofKind(kind, uids[:]...).Pods, Workloads: []cluster.Workload{
				old.Workload, {Kind: "Job", Namespace: "train", Name: "h-kim", Size: 2},
			}}
			for i := range s.Pods {
				s.Pods[i].Labels, s.Pods[i].Owner = nil, kind+"/h-kim"
			}
			if got := step.Done(s); got.Done != want {
				t.Errorf("%s, pods %v: %+v", kind, uids, got)
			}
		}
	}
}

func TestRestartOtherKinds(t *testing.T) {
	for _, kind := range []string{"Job", "JobSet", "PyTorchJob", "RayJob", "Pod", "TrainJob"} {
		p, findings := Restart(ofKind(kind, "a", "b"))
		if !p.Empty() || check.Worst(findings) != check.Fail {
			t.Errorf("%s: plan %v, findings %v", kind, p, findings)
		}
	}
}
