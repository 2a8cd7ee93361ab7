package job

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

func TestJobSize(t *testing.T) {
	set := func(kind string, spec map[string]any) []cluster.Object {
		return []cluster.Object{{Kind: kind, Namespace: "train", Name: "h-kim", Fields: map[string]any{"spec": spec}}}
	}
	workers := map[string]any{"template": map[string]any{"spec": map[string]any{"parallelism": int64(4)}}}
	for name, test := range map[string]struct {
		objects []cluster.Object
		want    int
	}{
		"StatefulSet":                 {set("StatefulSet", map[string]any{"replicas": int64(2)}), 2},
		"JobSet":                      {set("JobSet", map[string]any{"replicatedJobs": []any{workers}}), 4},
		"JobSet of another shape":     {set("JobSet", map[string]any{"replicatedJobs": []any{}}), 0},
		"of another name":             {set("Service", nil), 0},
		"StatefulSet without a count": {set("StatefulSet", map[string]any{}), 1},
	} {
		k, object, _ := workload.Find(cluster.State{Objects: test.objects}, "h-kim", "train")
		if got := k.Size(object.Fields); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestFormerPod: events of an earlier pod with the same name do not explain the current pod.
func TestFormerPod(t *testing.T) {
	refused := cluster.Event{
		Namespace: "train", Object: "Pod/h-kim-0", UID: "1", Type: "Warning", Reason: "FailedCreatePodSandBox",
		Message: `plugin type="multus" failed (add): cannot find a network-attachment-definition (eno5np0) in namespace (train)`,
	}
	s := cluster.State{Events: []cluster.Event{refused}}
	for uid, want := range map[string]check.ID{"1": pods.NADMissing, "": pods.NADMissing, "2": ""} {
		pod := cluster.Pod{Namespace: "train", Name: "h-kim-0", UID: uid, Phase: "Pending", Node: "gpu-0"}
		if f, _ := plan.ExplainPod(s, pod); f.Check != want {
			t.Errorf("pod of uid %q: %q, want %q", uid, f.Check, want)
		}
	}
}

// TestChangedJob: after a change of the job, only new pods count.
func TestChangedJob(t *testing.T) {
	set := func(generation, observed int64, update string) []cluster.Object {
		return []cluster.Object{{Kind: "StatefulSet", Namespace: "train", Name: "h-kim", Fields: map[string]any{
			"metadata": map[string]any{"generation": generation}, "status": map[string]any{
				"observedGeneration": observed,
				"updateRevision":     update,
			},
		}}}
	}
	pod := func(name, hash string, change func(*cluster.Pod)) cluster.Pod {
		p := cluster.Pod{Namespace: "train", Name: name, Phase: "Running", Node: "gpu-1", Ready: true,
			Labels: map[string]string{
				plan.LabelInstance:         "h-kim",
				plan.LabelComponent:        workload.ComponentJob,
				"controller-revision-hash": hash,
			}}
		if change != nil {
			change(&p)
		}
		return p
	}
	noImage := func(p *cluster.Pod) {
		p.Ready, p.Phase = false, "Pending"
		p.Containers = []cluster.Container{{Name: "train", Waiting: "ErrImagePull", Message: "manifest unknown"}}
	}
	const old, young = "h-kim-1", "h-kim-2"
	for name, test := range map[string]struct {
		objects []cluster.Object
		pods    []cluster.Pod
		done    bool
		text    string
		stuck   check.ID
	}{
		"the controller has not observed the change": {
			set(2, 1, old),
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", old, nil)},
			false,
			"h-kim: 0 of 2 pods ready",
			"",
		},
		"the controller has written no status": {
			set(1, 0, ""),
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", old, nil)},
			false,
			"h-kim: 0 of 2 pods ready",
			"",
		},
		"observed, no pod replaced": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", old, nil)},
			false,
			"h-kim: 0 of 2 pods ready",
			"",
		},
		"one pod replaced": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", young, nil)},
			false,
			"h-kim: 1 of 2 pods ready",
			"",
		},
		"all pods replaced": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", young, nil), pod("h-kim-1", young, nil)},
			true,
			"h-kim: 2 of 2 pods ready",
			"",
		},
		"only the old pod has an error": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", old, noImage), pod("h-kim-1", young, nil)},
			false,
			"h-kim: 1 of 2 pods ready",
			"",
		},
		"the old pod has an error, change not observed": {
			set(2, 1, old),
			[]cluster.Pod{pod("h-kim-0", old, noImage), pod("h-kim-1", old, nil)},
			false,
			"h-kim: 0 of 2 pods ready",
			"",
		},
		"the new pod has an error": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", young, noImage)},
			false,
			"h-kim: 0 of 2 pods ready",
			pods.ImagePull,
		},
		"the StatefulSet is not read": {
			nil,
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", old, nil)},
			true,
			"h-kim: 2 of 2 pods ready",
			"",
		},
		"a StatefulSet of another name": {
			[]cluster.Object{{Kind: "StatefulSet", Namespace: "train", Name: "other"}},
			[]cluster.Pod{pod("h-kim-0", old, nil), pod("h-kim-1", old, nil)},
			true,
			"h-kim: 2 of 2 pods ready",
			"",
		},
		"a pod without the revision label": {
			set(2, 2, young),
			[]cluster.Pod{pod("h-kim-0", "", nil), pod("h-kim-1", young, nil)},
			true,
			"h-kim: 2 of 2 pods ready",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := Done("h-kim", "train", 2)(cluster.State{Objects: test.objects, Pods: test.pods})
			if p.Done != test.done || p.Text != test.text || p.Bars[0].Count > 2 {
				t.Errorf("done %t, %q, %+v", p.Done, p.Text, p.Bars)
			}
			var stuck check.ID
			if p.Stuck != nil {
				stuck = p.Stuck.Check
			}
			if stuck != test.stuck {
				t.Errorf("stuck by %q, want %q", stuck, test.stuck)
			}
		})
	}
}

// TestUnreadStatefulSet: without the right to read the StatefulSet, the job is not reported as done.
func TestUnreadStatefulSet(t *testing.T) {
	labels := map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}
	s := cluster.State{
		Pods: []cluster.Pod{{Namespace: "train", Name: "h-kim-0", Labels: labels, Phase: "Running", Ready: true}},
		Problems: []cluster.Problem{
			{Kind: cluster.StatefulSets, Err: "statefulsets.apps is forbidden", Forbidden: true},
		},
	}
	want := plan.Progress{Text: "whether the change has taken effect could not be read: statefulsets.apps is forbidden"}
	if diff := cmp.Diff(want, Done("h-kim", "train", 1)(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOldRefusal: events from before the job was written, or of an earlier job with its name, are ignored.
func TestOldRefusal(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	refused := func(object, uid string, last time.Time) cluster.Event {
		return cluster.Event{Namespace: "train", Object: object, UID: uid, Type: "Warning", Reason: "FailedCreate", Last: last,
			Message: `create Pod h-kim-0 in StatefulSet h-kim failed error: pods "h-kim-0" is forbidden: unable to validate against any security context constraint: [provider restricted-v2: .containers[0].capabilities.add: Invalid value: "IPC_LOCK": capability may not be added]`}
	}
	set := []cluster.Object{
		{
			Kind:      "StatefulSet",
			Namespace: "train",
			Name:      "h-kim",
			Fields:    map[string]any{"metadata": map[string]any{"uid": "2"}},
		},
	}
	for name, test := range map[string]struct {
		written time.Time
		objects []cluster.Object
		event   cluster.Event
		want    check.ID
	}{
		"nothing was written in this run": {
			time.Time{},
			nil,
			refused("StatefulSet/h-kim", "1", at),
			pods.SCCIPCLock,
		},
		"event from before the write": {at.Add(time.Minute), nil, refused("StatefulSet/h-kim", "1", at), ""},
		"event from after the write": {
			at,
			nil,
			refused("StatefulSet/h-kim", "1", at.Add(time.Minute)),
			pods.SCCIPCLock,
		},
		"event in the same second": {
			at.Add(time.Second),
			nil,
			refused("StatefulSet/h-kim", "1", at),
			pods.SCCIPCLock,
		},
		"event of the Job of an earlier JobSet": {at.Add(time.Minute), nil, refused("Job/h-kim-worker-0", "7", at), ""},
		"event of an earlier StatefulSet":       {time.Time{}, set, refused("StatefulSet/h-kim", "1", at), ""},
		"event of this StatefulSet": {
			time.Time{},
			set,
			refused("StatefulSet/h-kim", "2", at),
			pods.SCCIPCLock,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.State{Written: test.written, Objects: test.objects, Events: []cluster.Event{test.event}}
			var got check.ID
			if p := Done("h-kim", "train", 2)(s); p.Stuck != nil {
				got = p.Stuck.Check
				if p.Stuck.Patience != 10*time.Second {
					t.Errorf("patience of %v with a refusal, want 10s", p.Stuck.Patience)
				}
			}
			if got != test.want {
				t.Errorf("stuck by %q, want %q", got, test.want)
			}
		})
	}
}

// TestPatienceWithPods: the obstacle with the least patience counts.
func TestPatienceWithPods(t *testing.T) {
	labels := map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}
	two := []cluster.Pod{
		{Namespace: "train", Name: "h-kim-0", UID: "1", Labels: labels, Phase: "Pending", Node: "gpu-0"},
		{Namespace: "train", Name: "h-kim-1", UID: "2", Labels: labels, Phase: "Pending", Node: "gpu-1"},
	}
	mount := cluster.Event{Namespace: "train", Object: "Pod/h-kim-0", UID: "1", Type: "Warning", Reason: "FailedMount",
		Message: `MountVolume.SetUp failed for volume "railhead-parts" : object "train"/"railhead-pod-amd64-0" not registered`}
	s := cluster.State{Pods: two, Events: []cluster.Event{mount}}
	if p := Done("h-kim", "train", 2)(s); p.Stuck == nil || p.Stuck.Check != pods.VolumeNotReady || p.Stuck.Patience != 2*time.Minute {
		t.Errorf("stuck by %+v", p.Stuck)
	}
	s.Pods[1].Containers = []cluster.Container{{Name: "train", Waiting: "ErrImagePull", Message: "manifest unknown"}}
	if p := Done("h-kim", "train", 2)(s); p.Stuck == nil || p.Stuck.Check != pods.ImagePull || p.Stuck.Patience != 0 {
		t.Errorf("stuck by %+v", p.Stuck)
	}
}

// TestChangeIsWatched: the StatefulSet is watched only if the job already has pods.
func TestChangeIsWatched(t *testing.T) {
	for name, test := range map[string]struct {
		kind string
		pods int
		want []cluster.Kind
	}{
		"a new job":       {StatefulSet, 0, []cluster.Kind{cluster.Pods, cluster.Events}},
		"an existing job": {StatefulSet, 2, []cluster.Kind{cluster.Pods, cluster.Events, cluster.StatefulSets}},
		"a JobSet":        {JobSet, 0, []cluster.Kind{cluster.Pods, cluster.Events}},
	} {
		s := plantest.Training()
		for i := range test.pods {
			s.Pods = append(s.Pods, cluster.Pod{
				Namespace: "train",
				Name:      fmt.Sprintf("h-kim-%d", i),
				Labels:    map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob},
			})
		}
		o := jobOptions()
		o.Kind = test.kind
		p, findings := Deploy(s, o)
		if p.Empty() {
			t.Fatalf("%s: %v", name, plantest.Lines(findings))
		}
		if diff := cmp.Diff(test.want, p.Steps[len(p.Steps)-1].Watch); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestJobNeedsObjects: the objects of the job are read if it has pods.
func TestJobNeedsObjects(t *testing.T) {
	o := Options{Name: "h-kim", Namespace: "train"}
	s := cluster.State{}
	if kinds := Needs(s, o); len(kinds) > 0 {
		t.Errorf("needs %v of a job that is not there", kinds)
	}
	labels := map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}
	s.Pods = []cluster.Pod{{Namespace: "train", Name: "h-kim-0", Labels: labels}}
	if kinds := Needs(s, o); !slices.Equal(kinds, []cluster.Kind{cluster.Objects}) {
		t.Errorf("needs %v", kinds)
	}
}
