package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
)

// TestDescribe has the objects of controllers in the situations in which they want fewer pods than their spec has.
func TestDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		kind, object string
		want         int
	}{
		"a Job that runs":                 {"Job", "{spec: {parallelism: 2, completions: 2}, status: {active: 2}}", 2},
		"a Job that has one pod left":     {"Job", "{spec: {parallelism: 2, completions: 8}, status: {succeeded: 7}}", 1},
		"a work queue that drains":        {"Job", "{spec: {parallelism: 2}, status: {succeeded: 1}}", 0},
		"a suspended Job":                 {"Job", "{spec: {parallelism: 2, completions: 2, suspend: true}}", 0},
		"a Job that is being deleted":     {"Job", "{metadata: {deletionTimestamp: 2026-05-04T12:00:00Z}, spec: {completions: 2}}", 0},
		"a finished Job":                  {"Job", "{spec: {completions: 1}, status: {conditions: [{type: Complete, status: 'True'}]}}", 0},
		"a JobSet that has not failed":    {"JobSet", "{spec: {replicatedJobs: [{replicas: 2}]}, status: {conditions: [{type: Failed, status: 'False'}]}}", 2},
		"a failed JobSet":                 {"JobSet", "{spec: {replicatedJobs: [{replicas: 2}]}, status: {conditions: [{type: Failed, status: 'True'}]}}", 0},
		"a suspended MPIJob":              {"MPIJob", "{spec: {runPolicy: {suspend: true}, mpiReplicaSpecs: {Worker: {replicas: 2}}}}", 0},
		"a TrainJob":                      {"TrainJob", "{spec: {trainer: {numNodes: 3}}}", 3},
		"a TrainJob of its runtime":       {"TrainJob", "{spec: {runtimeRef: {name: torch}}}", 1},
		"a TrainJob that is complete":     {"TrainJob", "{status: {conditions: [{type: Complete, status: 'True'}]}}", 0},
		"a RayJob that is complete":       {"RayJob", "{status: {jobDeploymentStatus: Complete}}", 0},
		"a RayJob that waits for a retry": {"RayJob", "{status: {jobDeploymentStatus: Retrying}}", 1},
		"a Job of another cluster":        {"Job", "{spec: {parallelism: 2, managedBy: kueue.x-k8s.io/multikueue}}", 0},
		"a StatefulSet that is scaled in": {"StatefulSet", "{spec: {replicas: 0}}", 0},
		"a DaemonSet that fits no node":   {"DaemonSet", "{status: {desiredNumberScheduled: 0}}", 0},
		"a PyTorchJob without a status":   {"PyTorchJob", "{spec: {pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 3}}}}", 4},
	} {
		k, _ := first(func(k Kind) bool { return k.Name() == c.kind })
		if got := k.Describe(objectIn(t, c.object)).Wanted; got != c.want {
			t.Errorf("%s: wants %d pods, not %d", name, c.want, got)
		}
	}
	k, _ := Of("Job")
	if w := k.Describe(objectIn(t, "{spec: {parallelism: 2, completions: 8}, status: {succeeded: 7}}")); w.Succeeded != 7 {
		t.Errorf("a Job of which 7 pods succeeded: %+v", w)
	}
	k, _ = Of("RayJob")
	failed, ok := k.Describe(objectIn(t, "{status: {jobDeploymentStatus: Failed, reason: AppFailed, message: oom}}")).Failed()
	if !ok || failed.Reason != "AppFailed" || failed.Message != "oom" {
		t.Errorf("a RayJob that failed: %+v", failed)
	}
	k, _ = Of("Deployment")
	got := k.Describe(objectIn(t, `
metadata: {name: serve, namespace: train, uid: "7", creationTimestamp: 2026-05-04T11:00:00Z}
spec: {replicas: 3, template: {spec: {serviceAccountName: serve-sa}}}
status:
  conditions:
  - {type: Available, status: 'False', lastTransitionTime: 2026-05-04T13:00:00Z}
  - type: ReplicaFailure
    status: 'True'
    reason: FailedCreate
    message: exceeded quota
    lastTransitionTime: 2026-05-04T12:00:00Z`))
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	want := cluster.Workload{
		Kind: "Deployment", Namespace: "train", Name: "serve", UID: "7", Size: 3, Wanted: 3, Changed: noon,
		Templates: []cluster.Pod{{Namespace: "train", ServiceAccount: "serve-sa"}},
		Conditions: []cluster.Condition{
			{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "exceeded quota", Since: noon},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func objectIn(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// The workers of a LeaderWorkerSet are StatefulSets that a pod owns.
func TestFamilies(t *testing.T) {
	workers, _ := Of("StatefulSet")
	leader := []cluster.Pod{{Namespace: "train", Name: "vllm-0", Owner: "StatefulSet/vllm", Ready: true}}
	s := cluster.State{Read: []cluster.Kind{cluster.Workloads}, Pods: leader, Workloads: []cluster.Workload{
		{Kind: "LeaderWorkerSet", Namespace: "train", Name: "vllm", Size: 4, Wanted: 4},
		{Kind: "StatefulSet", Namespace: "train", Name: "vllm", Owner: "LeaderWorkerSet/vllm", Size: 1, Wanted: 1},
		workers.Describe(objectIn(t, `
metadata:
  name: vllm-0
  namespace: train
  labels: {leaderworkerset.sigs.k8s.io/name: vllm}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: vllm-0, controller: true}]
spec: {replicas: 3}`)),
		{Kind: "StatefulSet", Namespace: "other", Name: "vllm", Size: 1, Wanted: 1},
	}}
	families := Families(s)
	if len(families) != 2 || len(families[0].Made) != 2 || families[0].WantedPods() != 4 || len(families[0].Pods) != 1 {
		t.Errorf("%+v", families)
	}
}

// TestWantedPods: a chain of controllers wants each pod once.
func TestWantedPods(t *testing.T) {
	made := func(kind, name, owner string, size int) cluster.Workload {
		return cluster.Workload{Kind: kind, Name: name, Owner: owner, Size: size, Wanted: size}
	}
	jobSet := made("JobSet", "llama", "TrainJob/llama", 4)
	half, other := made("Job", "llama-a", "JobSet/llama", 2), made("Job", "llama-b", "JobSet/llama", 2)
	for name, test := range map[string]struct {
		made []cluster.Workload
		want int
	}{
		"nothing is made":             {nil, 4},
		"a JobSet without Jobs":       {[]cluster.Workload{jobSet}, 4},
		"a JobSet with half its Jobs": {[]cluster.Workload{jobSet, half}, 4},
		"a JobSet with all its Jobs":  {[]cluster.Workload{jobSet, half, other}, 4},
	} {
		f := Family{Workload: made("TrainJob", "llama", "", 4), Made: test.made}
		if got := f.WantedPods(); got != test.want {
			t.Errorf("%s: %d pods are wanted, want %d", name, got, test.want)
		}
	}
}
