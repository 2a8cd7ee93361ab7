package clusterrules

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const podSecurity = `pods "llm-0" is forbidden: violates PodSecurity "restricted:latest": privileged ` +
	`(container "train" must not set securityContext.privileged=true)`

// asking returns a workload of two pods with GPUs that were not created, and its condition or event that says why.
func asking(kind string, change ...func(*cluster.Workload)) cluster.Workload {
	w := cluster.Workload{
		Kind: kind, Namespace: "train", Name: "llm", UID: "1", Size: 2, Wanted: 2, Changed: noon.Add(-time.Hour),
		Templates: []cluster.Pod{{
			Namespace: "train", ServiceAccount: "llm-sa", Requests: cluster.Resources{"nvidia.com/gpu": 8},
			Containers: []cluster.Container{{Name: "train"}},
		}},
	}
	for _, c := range change {
		c(&w)
	}
	return w
}

// refusal returns the event of a controller that could not create a pod.
func refusal(object, message string) cluster.Event {
	return cluster.Event{
		Namespace: "train", Object: object, Type: "Warning", Reason: "FailedCreate", Message: message, Last: noon,
	}
}

func podOf(name, owner, phase string) cluster.Pod {
	return cluster.Pod{
		Namespace: "train", Name: name, UID: name, Owner: owner, Phase: phase, Node: "gpu-0",
		Containers: []cluster.Container{{Name: "train", Running: phase == "Running"}},
	}
}

func cordonedPod(name, owner string) cluster.Pod {
	p := podOf(name, owner, "Pending")
	p.Node, p.Unscheduled = "", "0/2 nodes are available: 2 node(s) were unschedulable."
	return p
}

func readyPod(name, owner string) cluster.Pod {
	p := podOf(name, owner, "Running")
	p.Ready = true
	return p
}

func failedPod(name, owner string) cluster.Pod {
	p := podOf(name, owner, "Failed")
	p.Reason, p.Message = "Evicted", "The node was low on resource: memory. "
	return p
}

func withoutTemplates(w *cluster.Workload) { w.Templates = nil }

func madeBy(owner string) func(*cluster.Workload) {
	return func(w *cluster.Workload) { w.Owner, w.Name = owner, "llm-1" }
}

func sized(n int) func(*cluster.Workload) {
	return func(w *cluster.Workload) { w.Size, w.Wanted = n, n }
}

func withoutDevices(w *cluster.Workload) { w.Templates[0].Requests = cluster.Resources{"cpu": 1000} }

func justNow(w *cluster.Workload) { w.Changed = noon.Add(-5 * time.Second) }

func idle(w *cluster.Workload) { w.Wanted = 0 }

func TestMissingPods(t *testing.T) {
	gone := `error looking up service account train/llm-sa: serviceaccount "llm-sa" not found`
	full := `pods "llm-1-x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: ` +
		`requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=4`
	for name, c := range map[string]struct {
		workloads []cluster.Workload
		pods      []cluster.Pod
		events    []cluster.Event
		job       string
		want      []string // status, check and a part of the sentence
	}{
		"a StatefulSet that PodSecurity refuses": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			events:    []cluster.Event{refusal("StatefulSet/llm", podSecurity)},
			want:      []string{`fail pod-security of namespace train refuses llm-0: privileged`},
		},
		"a Deployment whose ReplicaSet exceeds a quota": {
			workloads: []cluster.Workload{asking("Deployment"), asking("ReplicaSet", madeBy("Deployment/llm"))},
			events:    []cluster.Event{refusal("ReplicaSet/llm-1", "Error creating: "+full)},
			want:      []string{"fail quota-exceeded a pod of Deployment llm requests"},
		},
		"a Deployment whose events have expired": {
			workloads: []cluster.Workload{asking("Deployment", func(w *cluster.Workload) {
				w.Conditions = []cluster.Condition{{Type: "ReplicaFailure", Reason: "FailedCreate", Message: full}}
			})},
			want: []string{"fail quota-exceeded"},
		},
		"a Deployment whose condition gives no reason": {
			workloads: []cluster.Workload{asking("Deployment", func(w *cluster.Workload) {
				w.Conditions = []cluster.Condition{{Type: "ReplicaFailure"}}
			})},
			want: []string{"unknown pod-pending Deployment llm has 0 of 2 pods ready"},
		},
		"a Job whose service account does not exist": {
			workloads: []cluster.Workload{asking("Job")},
			events:    []cluster.Event{refusal("Job/llm", `Error creating: pods "llm-x" is forbidden: `+gone)},
			want:      []string{"fail admission-refused service account llm-sa does not exist in namespace train"},
		},
		"a JobSet, one of whose Jobs is refused": {
			workloads: []cluster.Workload{
				asking("JobSet", sized(4)),
				asking("Job", madeBy("JobSet/llm")),
				asking("Job", madeBy("JobSet/llm"), func(w *cluster.Workload) { w.Name = "llm-2" }),
			},
			pods:   []cluster.Pod{readyPod("a", "Job/llm-1"), readyPod("b", "Job/llm-1")},
			events: []cluster.Event{refusal("Job/llm-2", full)},
			want:   []string{"fail quota-exceeded a pod of JobSet llm"},
		},
		"a PyTorchJob without its operator": {
			workloads: []cluster.Workload{asking("PyTorchJob")},
			want:      []string{"unknown pod-pending PyTorchJob llm has 0 of 2 pods ready"},
		},
		"a TrainJob without its JobSet": {
			workloads: []cluster.Workload{asking("TrainJob", withoutTemplates)},
			want:      []string{"unknown pod-pending TrainJob llm has 0 of 2 pods ready"},
		},
		"a TrainJob whose runtime is not supported": {
			workloads: []cluster.Workload{asking("TrainJob", withoutTemplates, idle, func(w *cluster.Workload) {
				w.Conditions = []cluster.Condition{{
					Type: "Failed", Reason: "TrainingRuntimeNotSupported", Message: "no runtime torch",
				}}
			})},
			want: []string{"fail pod-pending TrainJob llm has failed: TrainingRuntimeNotSupported: no runtime torch"},
		},
		"a TrainJob whose JobSet is refused": {
			workloads: []cluster.Workload{asking("TrainJob", withoutTemplates), asking("JobSet", madeBy("TrainJob/llm"))},
			events:    []cluster.Event{refusal("JobSet/llm-1", podSecurity)},
			want:      []string{"fail pod-security"},
		},
		"a TrainJob without devices": {
			workloads: []cluster.Workload{
				asking("TrainJob", withoutTemplates), asking("JobSet", withoutDevices, madeBy("TrainJob/llm")),
			},
		},
		"a DaemonSet refused by a webhook": {
			workloads: []cluster.Workload{asking("DaemonSet")},
			events:    []cluster.Event{refusal("DaemonSet/llm", `admission webhook "x" denied the request: no`)},
			want:      []string{"fail admission-refused"},
		},
		"pods that no scheduler sees": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods:      []cluster.Pod{{Namespace: "train", Name: "llm-0", Owner: "StatefulSet/llm", Phase: "Pending"}},
			want:      []string{"unknown pod-pending StatefulSet llm has 0 of 2 pods ready"},
		},
		"pods that are not ready on their node": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods: []cluster.Pod{
				podOf("llm-0", "StatefulSet/llm", "Running"), podOf("llm-1", "StatefulSet/llm", "Running"),
			},
			want: []string{"warn pod-pending has 0 of 2 pods ready"},
		},
		"a pod whose node does not answer while it is deleted": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods: []cluster.Pod{readyPod("llm-0", "StatefulSet/llm"), func() cluster.Pod {
				p := readyPod("llm-1", "StatefulSet/llm")
				p.Deleted = true
				return p
			}()},
			want: []string{
				"warn pod-pending StatefulSet llm has 1 of 2 pods ready",
				"unknown pod-pending StatefulSet llm has 1 of 2 pods running: what does not run was not examined",
			},
		},
		"pods that wait for cordoned nodes": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods:      []cluster.Pod{readyPod("llm-0", "StatefulSet/llm"), cordonedPod("llm-1", "StatefulSet/llm")},
			want: []string{
				"warn node-selection no node fits llm-1",
				"unknown pod-pending StatefulSet llm has 1 of 2 pods running: what does not run was not examined",
			},
		},
		"a pod of an unknown kind that no scheduler sees": {
			pods: []cluster.Pod{{
				Namespace: "train", Name: "notebook", Owner: "Notebook/notebook", Phase: "Pending",
				Containers: []cluster.Container{{Name: "shell"}}, Requests: cluster.Resources{"nvidia.com/gpu": 1},
			}},
			want: []string{"unknown pod-pending Notebook notebook has 0 of 1 pod ready"},
		},
		"a failed Job whose pods were deleted": {
			workloads: []cluster.Workload{asking("Job", idle, func(w *cluster.Workload) {
				w.Conditions = []cluster.Condition{{
					Type: "Failed", Reason: "DeadlineExceeded", Message: "Job was active longer",
				}}
			})},
			want: []string{"fail pod-pending Job llm has failed: DeadlineExceeded: Job was active longer"},
		},
		"a named job without devices": {
			workloads: []cluster.Workload{asking("StatefulSet", withoutDevices)},
			job:       "llm",
			want:      []string{"unknown pod-pending"},
		},
		"an attachment of the template that does not exist": {
			workloads: []cluster.Workload{asking("StatefulSet", func(w *cluster.Workload) {
				w.Templates[0].Annotations = map[string]string{networksAnnotation: "rail0,rail7"}
			})},
			events: []cluster.Event{refusal("StatefulSet/llm", podSecurity)},
			want:   []string{"fail nad-missing StatefulSet/llm names network rail7", "fail pod-security"},
		},
		"a TrainJob whose runtime names a network that is not there": {
			workloads: []cluster.Workload{
				asking("TrainJob", withoutTemplates),
				asking("JobSet", madeBy("TrainJob/llm"), func(w *cluster.Workload) {
					w.Templates[0].Annotations = map[string]string{networksAnnotation: "rail7"}
				}),
			},
			events: []cluster.Event{refusal("JobSet/llm-1", podSecurity)},
			want:   []string{"fail nad-missing TrainJob/llm names network rail7", "fail pod-security"},
		},

		"all pods are ready": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods:      []cluster.Pod{readyPod("llm-0", "StatefulSet/llm"), readyPod("llm-1", "StatefulSet/llm")},
		},
		"more pods than wanted in a change": {
			workloads: []cluster.Workload{asking("Deployment"), asking("ReplicaSet", madeBy("Deployment/llm"))},
			pods: []cluster.Pod{
				readyPod("a", "ReplicaSet/llm-1"), readyPod("b", "ReplicaSet/llm-1"),
				podOf("c", "ReplicaSet/llm-1", "Pending"),
			},
		},
		"a finished Job": {workloads: []cluster.Workload{asking("Job", idle)}},
		"a suspended JobSet with its Job": {
			workloads: []cluster.Workload{asking("JobSet", idle), asking("Job", idle, madeBy("JobSet/llm"))},
		},
		"one Job of a JobSet has finished": {
			workloads: []cluster.Workload{
				asking("JobSet", sized(4)),
				asking("Job", madeBy("JobSet/llm")),
				asking("Job", idle, madeBy("JobSet/llm"), func(w *cluster.Workload) { w.Name = "llm-2" }),
			},
			pods: []cluster.Pod{readyPod("a", "Job/llm-1"), readyPod("b", "Job/llm-1")},
		},
		"half of a Job has ended and the rest hangs": {
			workloads: []cluster.Workload{asking("Job", func(w *cluster.Workload) {
				w.Size, w.Wanted, w.Succeeded = 4, 2, 2
			})},
			pods: []cluster.Pod{
				podOf("llm-0", "Job/llm", "Succeeded"), podOf("llm-1", "Job/llm", "Succeeded"),
				podOf("llm-2", "Job/llm", "Pending"), podOf("llm-3", "Job/llm", "Pending"),
			},
			want: []string{
				"warn pod-pending Job llm has 0 of 2 pods ready, for an unknown reason",
				"unknown pod-pending Job llm has 0 of 2 pods running",
			},
		},
		"a pod of a Job has ended a moment ago": {
			workloads: []cluster.Workload{asking("Job", func(w *cluster.Workload) {
				w.Size, w.Wanted, w.Succeeded = 3, 2, 1
			})},
			pods: []cluster.Pod{
				podOf("llm-0", "Job/llm", "Succeeded"), podOf("llm-1", "Job/llm", "Succeeded"),
				readyPod("llm-2", "Job/llm"),
			},
		},
		"a pod of a Job failed, and another one runs in its place": {
			workloads: []cluster.Workload{asking("Job")},
			pods: []cluster.Pod{
				failedPod("llm-a", "Job/llm"), readyPod("llm-b", "Job/llm"), readyPod("llm-c", "Job/llm"),
			},
		},
		"a pod of a Deployment was evicted, and another one runs in its place": {
			workloads: []cluster.Workload{asking("Deployment"), asking("ReplicaSet", madeBy("Deployment/llm"))},
			pods: []cluster.Pod{
				failedPod("a", "ReplicaSet/llm-1"), readyPod("b", "ReplicaSet/llm-1"), readyPod("c", "ReplicaSet/llm-1"),
			},
		},
		"a pod of a Job failed, and none runs in its place": {
			workloads: []cluster.Workload{asking("Job")},
			pods:      []cluster.Pod{failedPod("llm-a", "Job/llm"), readyPod("llm-c", "Job/llm")},
			want:      []string{"fail pod-evicted"},
		},
		"replicas: 0": {
			workloads: []cluster.Workload{asking("StatefulSet", sized(0))},
		},
		"a workload without GPUs and RDMA": {workloads: []cluster.Workload{asking("Deployment", withoutDevices)}},
		"created seconds ago": {
			workloads: []cluster.Workload{asking("StatefulSet", justNow)},
		},
		"a named job that was created seconds ago": {
			workloads: []cluster.Workload{asking("StatefulSet", justNow)}, job: "llm",
			want: []string{
				"unknown pod-pending StatefulSet llm has 0 of 2 pods running", "skipped pod-pending StatefulSet llm has 0 of 2 pods ready so far: it has just changed",
			},
		},
		"in another namespace": {
			workloads: []cluster.Workload{asking("StatefulSet", func(w *cluster.Workload) {
				w.Namespace = "elsewhere"
			})},
		},
		"another job than the named one": {workloads: []cluster.Workload{asking("StatefulSet")}, job: "h-kim"},
		"an event of a former StatefulSet": {
			workloads: []cluster.Workload{asking("StatefulSet")},
			pods: []cluster.Pod{
				readyPod("llm-0", "StatefulSet/llm"), podOf("llm-1", "StatefulSet/llm", "Succeeded"),
			},
			events: []cluster.Event{{
				Namespace: "train", Object: "StatefulSet/llm", UID: "0", Type: "Warning", Reason: "FailedCreate",
				Message: podSecurity,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rulestest.Training(t)
			s.Taken = noon
			s.Read = append(s.Read, cluster.Workloads)
			s.Workloads, s.Events, s.Pods = c.workloads, append(s.Events, c.events...), append(s.Pods, c.pods...)
			r := Judge(s, Options{Namespace: "train", Job: workload.Ref{Name: c.job}})
			if len(r.Findings) != len(c.want) {
				t.Fatalf("found %+v, want %q", r.Findings, c.want)
			}
			for i, f := range r.Findings {
				status, rest, _ := strings.Cut(c.want[i], " ")
				id, says, _ := strings.Cut(rest, " ")
				if f.Status.String() != status || string(f.Check) != id || !strings.Contains(f.Summary, says) {
					t.Errorf("%s %s: %s; want %s", f.Status, f.Check, f.Summary, c.want[i])
				}
			}
		})
	}
}

// A workload that has just been created is no fault, and not healthy either.
func TestJustCreated(t *testing.T) {
	s := cluster.State{Read: []cluster.Kind{cluster.Workloads}, Taken: noon, Workloads: []cluster.Workload{
		asking("StatefulSet", justNow),
	}}
	r := Judge(s, Options{Namespace: "train"})
	if len(r.Findings) > 0 || slices.Contains(r.Passed, pods.PodPending) ||
		!slices.Contains(r.Skipped, check.Skip{
			Check: pods.PodPending, Why: "StatefulSet llm has 0 of 2 pods ready so far: it has just changed",
		}) {
		t.Errorf("%+v", r)
	}
}

// An archive of a version that did not read workloads has those that Railhead deployed.
func TestMissingPodsOfObjects(t *testing.T) {
	s := cluster.State{Objects: []cluster.Object{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "train", Name: "job",
		Fields: map[string]any{"spec": map[string]any{"replicas": float64(2), "template": map[string]any{}}},
	}}}
	if r := Judge(s, Options{Namespace: "train"}); len(r.Findings) != 1 || r.Findings[0].Status != check.Unknown {
		t.Errorf("without an event of the controller: %+v", r.Findings)
	}
	s.Events = []cluster.Event{refusal("StatefulSet/job", podSecurity)}
	for _, job := range []string{"", "job"} {
		r := Judge(s, Options{Namespace: "train", Job: workload.Ref{Name: job}})
		if len(r.Findings) != 1 || r.Findings[0].Check != "pod-security" || r.Findings[0].Subject.Name != "job" {
			t.Errorf("%q: %+v", job, r.Findings)
		}
	}
	if r := Judge(s, Options{Namespace: "elsewhere"}); len(r.Findings) > 0 {
		t.Errorf("of another namespace: %+v", r.Findings)
	}
}

// Workloads that the user may not list are never silently left out.
func TestForbiddenWorkloads(t *testing.T) {
	forbidden := func(resource string) cluster.Problem {
		return cluster.Problem{
			Kind: cluster.Workloads, Resource: resource, Namespace: "train", Err: "no", Forbidden: true,
		}
	}
	s := rulestest.Training(t)
	s.Problems = []cluster.Problem{forbidden("jobs.batch.volcano.sh"), forbidden("pytorchjobs.kubeflow.org")}
	r := Judge(s, Options{Namespace: "train"})
	skipped := slices.ContainsFunc(r.Skipped, func(s check.Skip) bool {
		return s.Why == "you may not list jobs.batch.volcano.sh, pytorchjobs.kubeflow.org: an administrator can"
	})
	if len(r.Findings) > 0 || !skipped {
		t.Errorf("of operators: %+v, %+v", r.Findings, r.Skipped)
	}
	s.Problems = append(s.Problems, forbidden("statefulsets.apps"))
	r = Judge(s, Options{Namespace: "train"})
	if len(r.Findings) != 1 || r.Findings[0].Status != check.Unknown {
		t.Fatalf("of Kubernetes: %+v", r.Findings)
	}
	want := []string{
		"kubectl auth can-i list jobs.batch.volcano.sh -n train",
		"kubectl auth can-i list pytorchjobs.kubeflow.org -n train",
		"kubectl auth can-i list statefulsets.apps -n train",
	}
	if diff := cmp.Diff(want, r.Findings[0].Fix.Commands); diff != "" {
		t.Error(diff)
	}
}
