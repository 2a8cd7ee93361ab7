package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// jobCases returns the jobs whose manifests have golden files.
func jobCases() map[string]struct {
	s cluster.State
	o Options
} {
	with := func(change func(*Options)) Options {
		o := jobOptions()
		change(&o)
		return o
	}
	arm := plantest.Training()
	arm.Nodes[1].Arch = "arm64"
	uid := int64(1000)
	type c = struct {
		s cluster.State
		o Options
	}
	return map[string]c{
		"multi": {plantest.Training(), jobOptions()},
		"multi-ipc-lock": {memlockLimited(), with(func(o *Options) {
			o.Command, o.Script = nil, &Script{Name: "train.py", Content: []byte("import torch\n")}
		})},
		"multi-two-architectures": {arm, with(func(o *Options) { o.Command = nil })},
		"multi-job":               {plantest.Training(), with(func(o *Options) { o.Kind = "" })},
		"multi-scheduling": {queueing(), with(func(o *Options) {
			o.Kind, o.CPU, o.Memory, o.Guaranteed = "", "32", "256Gi", true
			o.Scheduling.Labels = map[string]string{"team": "vision", "cost-center": "42"}
			o.Scheduling.Annotations = map[string]string{"example.com/owner": "h-kim, r-sato"}
			o.Startup.StartupProbe, o.Startup.Preflight, o.Startup.GDRLevel = true, PreflightFail, "PHB"
			o.Scheduling.Queue, o.Scheduling.PriorityClass, o.Scheduling.Scheduler = "team-a", "training", "bin-packing"
			o.Scheduling.GracePeriod, o.Scheduling.DisruptionBudget = 10*time.Minute, true
		})},
		"multi-volumes": {volumes(), with(func(o *Options) {
			o.Kind, o.SCC = "", ""
			for _, text := range []string{
				"data=pvc:imagenet:/data:ro", "token=secret:hf:/etc/hf", "settings=configmap:train:/etc/train",
				"scratch=emptydir:2Ti:/scratch", "home=nfs:[fd00::1]:/export/home:/home", "models=hostpath:/srv/models:/models:ro",
			} {
				v, _ := volume.Parse(text)
				o.Storage.Volumes = append(o.Storage.Volumes, v)
			}
		})},
		"multi-jobset": {plantest.Training(), with(func(o *Options) {
			o.Kind, o.Nodes, o.GPUs, o.Memory, o.CPU, o.EphemeralStorage, o.Storage.Shm = JobSet, 2, 4, "512Gi",
				"64000m", "200Gi", "1024Gi"
		})},
		"single": {plantest.Training(), with(func(o *Options) {
			o.Type, o.Nodes, o.PullSecrets, o.PullPolicy, o.Scheduling.RuntimeClass = Single, 0, []string{"pull"},
				"Always", "nvidia"
			o.Env = map[string]string{"NCCL_DEBUG": "INFO", "MASTER_PORT": "1234"}
			o.Scheduling.NodeSelector = map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
			o.Scheduling.Tolerations = []cluster.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}}
		})},
		"multi-pod-image": {
			plantest.Training(),
			with(func(o *Options) { o.PodImage, o.SCC = "registry.example.com/railhead-pod:1", plan.SCCName }),
		},
		"multi-image-volume": {
			plantest.Training(),
			with(func(o *Options) {
				o.PodImage, o.Delivery = "registry.example.com/railhead-pod:1", delivery.ByImageVolume
			}),
		},
		"multi-tcp-vanilla": {plantest.Vanilla(), with(func(o *Options) { o.Mode, o.RunAsUser = nccl.TCP, &uid })},
		"multi-vanilla":     {plantest.Vanilla(), jobOptions()},
		"single-privileged": {func() cluster.State {
			s := plantest.Training()
			s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
				SCC:       "privileged",
				Subject:   "ServiceAccount/train/h-kim-sa",
				Namespace: "train",
				By:        "RoleBinding/x",
			})
			return s
		}(), with(func(o *Options) { o.Type, o.Nodes, o.Privileged = Single, 1, true })},
	}
}

func TestJobManifests(t *testing.T) {
	for name, c := range jobCases() {
		t.Run(name, func(t *testing.T) {
			p, findings := Deploy(c.s, c.o)
			plantest.Golden(t, "job/"+name+".yaml", plantest.Manifests(t, p, findings))
			if p.Empty() || check.Worst(findings) == check.Fail {
				t.Fatalf("no plan: %s", plantest.Wording(findings))
			}
			for _, change := range p.Changes() {
				object := change.Object.Object
				switch change.Object.GetKind() {
				case "StatefulSet":
					plantest.Strictly(t, object, &appsv1.StatefulSet{})
				case "Service":
					plantest.Strictly(t, object, &corev1.Service{})
				case "ConfigMap":
					plantest.Strictly(t, object, &corev1.ConfigMap{})
				case "PodDisruptionBudget":
					plantest.Strictly(t, object, &policyv1.PodDisruptionBudget{})
				case "Job":
					plantest.Strictly(t, object, &batchv1.Job{})
				case "JobSet":
					jobs := workload.Field(object, "spec.replicatedJobs")
					template := jobs.([]any)[0].(map[string]any)["template"].(map[string]any)
					plantest.Strictly(t, template, &batchv1.JobTemplateSpec{})
				default:
					t.Errorf("an object of kind %s", change.Object.GetKind())
				}
			}
		})
	}
}

// withPods returns the State with all pods of the job.
func withPods(s cluster.State, o Options, ready bool) cluster.State {
	s.Pods = slices.Clone(s.Pods)
	for i := range max(o.Nodes, 1) {
		s.Pods = append(s.Pods, cluster.Pod{
			Namespace: o.Namespace,
			Name:      fmt.Sprintf("%s-%d", o.Name, i),
			Ready:     ready,
			Labels:    map[string]string{workload.LabelInstance: o.Name, workload.LabelComponent: workload.ComponentJob},
		})
	}
	return s
}

func TestJobAgainChangesNothing(t *testing.T) {
	for name, c := range jobCases() {
		t.Run(name, func(t *testing.T) {
			p, _ := Deploy(c.s, c.o)
			after := withPods(plantest.With(c.s, plantest.Live(p)), c.o, true)
			again, findings := Deploy(after, c.o)
			if !again.Empty() || check.Worst(findings) == check.Fail {
				t.Errorf("a second run: %d steps\n%s", len(again.Steps), plantest.Wording(findings))
			}
			// whatever is lost is made again, and nothing else
			for i, o := range after.Objects {
				partly := plantest.With(after, slices.Delete(slices.Clone(after.Objects), i, i+1))
				if rest, _ := Deploy(partly, c.o); len(rest.Changes()) != 1 || rest.Changes()[0].Object.GetName() != o.Name {
					t.Errorf("without %s %s: %d changes", o.Kind, o.Name, len(rest.Changes()))
				}
			}
		})
	}
}

// TestInterruptedDeploy: after Ctrl-C the same command waits for the pods again, and writes nothing.
func TestInterruptedDeploy(t *testing.T) {
	p, _ := Deploy(plantest.Training(), jobOptions())
	starting := withPods(plantest.With(plantest.Training(), plantest.Live(p)), jobOptions(), false)
	again, findings := Deploy(starting, jobOptions())
	if len(again.Steps) != 1 || len(again.Changes()) > 0 || check.Worst(findings) == check.Fail {
		t.Fatalf("%+v\n%s", again, plantest.Wording(findings))
	}
	step := again.Steps[0]
	if step.Title != "Wait until the pods of h-kim run" || step.Done(starting).Done || len(step.Watch) == 0 {
		t.Errorf("%q, of %s", step.Title, step.Watch)
	}
}

func TestJobChangedRestartsPods(t *testing.T) {
	p, _ := Deploy(plantest.Training(), jobOptions())
	after := plantest.With(plantest.Training(), plantest.Live(p))
	if again, _ := Deploy(after, jobOptions()); len(again.Steps) != 1 || again.Steps[0].Disruption.RestartsPods {
		t.Errorf("a job without pods: %+v", again) // it is written again, to wait for them
	}
	after = withPods(after, jobOptions(), true)
	o := jobOptions()
	o.Image = "registry.example.com/torch:3"
	again, findings := Deploy(after, o)
	if len(again.Changes()) != 1 || !again.Steps[0].Disruption.RestartsPods || !strings.Contains(strings.Join(again.Notes, " "), "restart") {
		t.Errorf("another image: %+v\n%s", again, plantest.Wording(findings))
	}
}

func TestJobChooses(t *testing.T) {
	busy := plantest.Training()
	for _, node := range []string{"gpu-1", "gpu-2"} {
		busy.Pods = append(busy.Pods, cluster.Pod{
			Namespace: "other",
			Name:      node,
			Node:      node,
			Phase:     "Running",
			Requests:  cluster.Resources{"openshift.io/eno5np0rdma": 8},
		})
	}
	blind := plantest.Training()
	blind.Read = slices.DeleteFunc(blind.Read, func(k cluster.Kind) bool {
		return k == cluster.Nodes || k == cluster.Pods
	})
	blind.Nodes = nil
	elsewhere := jobOptions()
	elsewhere.Namespace = "default"
	for name, c := range map[string]struct {
		s    cluster.State
		o    Options
		want string // the mode that the pods are told
		note string
	}{
		"rails are free": {
			plantest.Training(),
			jobOptions(),
			"rdma",
			"found 2 free nodes with 4 rails of namespace train",
		},
		"rails are held": {busy, jobOptions(), "tcp", "held by other/gpu-1 (8)"},
		"no attachments": {
			vanillaWithout(),
			jobOptions(),
			"tcp",
			"namespace train has no network attachments",
		},
		"nodes are not read": {blind, withGPUs(jobOptions(), 8), "rdma", "could not be read"},
		"no GPUs at all":     {noGPUs(), jobOptions(), "tcp", "the pods request none"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Mode = nccl.Auto
			p, findings := Deploy(c.s, c.o)
			if check.Worst(findings) == check.Fail {
				t.Fatal(plantest.Wording(findings))
			}
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("%q is not in:\n%s", c.note, notes)
			}
			if text := plantest.Manifests(t, p, nil); !strings.Contains(text, "name: RAILHEAD_MODE\n            value: "+c.want) && !strings.Contains(text, "- name: RAILHEAD_MODE\n          value: "+c.want) {
				t.Errorf("mode is not %s:\n%s", c.want, text)
			}
		})
	}
}

func vanillaWithout() cluster.State {
	s := plantest.Vanilla()
	s.Networks = nil
	return s
}

func noGPUs() cluster.State {
	s := vanillaWithout()
	for i := range s.Nodes {
		s.Nodes[i].Allocatable = cluster.Resources{"cpu": 4000}
		s.Nodes[i].Taints = nil
	}
	return s
}

func withGPUs(o Options, n int) Options {
	o.GPUs = n
	return o
}

func TestScriptCommand(t *testing.T) {
	for name, want := range map[string][]string{
		"train.py\nimport":             {"torchrun", "/railhead/script/train.py"},
		"run.sh\necho":                 {"sh", "/railhead/script/run.sh"},
		"run.sh\n#!/bin/bash -e\necho": {"/bin/bash", "-e", "/railhead/script/run.sh"},
		"go\n#!/usr/bin/env python3\n": {"/usr/bin/env", "python3", "/railhead/script/go"},
		"data.bin\n\x00":               nil,
		"empty\n#! ":                   nil,
	} {
		file, content, _ := strings.Cut(name, "\n")
		if diff := cmp.Diff(want, Script{Name: file, Content: []byte(content)}.command()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
}

func TestJobDone(t *testing.T) {
	labels := map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}
	ready := cluster.Pod{
		Namespace: "train",
		Name:      "h-kim-0",
		Labels:    labels,
		Phase:     "Running",
		Node:      "gpu-1",
		Ready:     true,
	}
	waits := cluster.Pod{Namespace: "train", Name: "h-kim-1", Labels: labels, Phase: "Pending"}
	refused := cluster.Event{
		Namespace: "train",
		Object:    "StatefulSet/h-kim",
		Type:      "Warning",
		Reason:    "FailedCreate",
		Message:   `pods "h-kim-0" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`,
	}
	for name, c := range map[string]struct {
		pods   []cluster.Pod
		events []cluster.Event
		done   bool
		text   string
		states []string
		stuck  check.ID
	}{
		"nothing yet": {text: "h-kim: 0 of 2 pods ready", states: []string{"2 pods missing waiting"}},
		"refused": {
			events: []cluster.Event{refused},
			text:   "h-kim: 0 of 2 pods ready",
			states: []string{"2 pods missing waiting"},
			stuck:  pods.QuotaExceeded,
		},
		"one is ready": {
			pods:   []cluster.Pod{waits, ready},
			text:   "h-kim: 1 of 2 pods ready",
			states: []string{"h-kim-0 Running", "h-kim-1 Pending"},
		},
		"one has no image": {
			pods: []cluster.Pod{
				ready,
				{
					Namespace: "train",
					Name:      "h-kim-1",
					Labels:    labels,
					Phase:     "Pending",
					Node:      "gpu-2",
					Containers: []cluster.Container{
						{Name: "train", Waiting: "ErrImagePull", Message: "manifest unknown"},
					},
				},
			},
			text: "h-kim: 1 of 2 pods ready", states: []string{
				"h-kim-0 Running",
				"h-kim-1 ErrImagePull",
			}, stuck: pods.ImagePull,
		},
		"one cannot be scheduled now": {
			pods: []cluster.Pod{ready, waits},
			events: []cluster.Event{
				{
					Namespace: "train",
					Object:    "Pod/h-kim-1",
					Type:      "Warning",
					Reason:    "FailedScheduling",
					Message:   "0/3 nodes are available: 3 node(s) were unschedulable.",
				},
			},
			text: "h-kim: 1 of 2 pods ready", states: []string{"h-kim-0 Running", "h-kim-1 Pending"},
		},
		"all are ready, and an old event": {pods: []cluster.Pod{
			ready,
			{Namespace: "train", Name: "h-kim-1", Labels: labels, Phase: "Succeeded"},
		}, events: []cluster.Event{refused}, done: true,
			text: "h-kim: 2 of 2 pods ready", states: []string{"h-kim-0 Running", "h-kim-1 Succeeded"}},
		"pods of another namespace": {
			pods:   []cluster.Pod{{Namespace: "other", Name: "h-kim-0", Labels: labels, Ready: true}},
			text:   "h-kim: 0 of 2 pods ready",
			states: []string{"2 pods missing waiting"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Training()
			s.Pods, s.Events = c.pods, c.events
			p := Done("h-kim", "train", 2)(s)
			if p.Done != c.done || p.Text != c.text {
				t.Errorf("done %t, %q", p.Done, p.Text)
			}
			var states []string
			for _, item := range p.Items {
				states = append(states, item.Name+" "+item.State)
			}
			if diff := cmp.Diff(c.states, states); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			var stuck check.ID
			if p.Stuck != nil {
				stuck = p.Stuck.Check
			}
			if stuck != c.stuck {
				t.Errorf("stuck by %q, want %q", stuck, c.stuck)
			}
		})
	}
}

func TestPodSecurity(t *testing.T) {
	seccomp := map[string]any{"type": "RuntimeDefault"}
	uid := int64(1000)
	ranged := func(s *cluster.State) { s.SCCs[1].RunAsUser = "MustRunAsRange" }
	for name, c := range map[string]struct {
		s    func(*cluster.State)
		o    func(*Options)
		want map[string]any
	}{
		"no SCC is pinned": {
			want: map[string]any{"seccompProfile": seccomp, "runAsNonRoot": true},
		},
		"an SCC that sets the user": {
			s:    ranged,
			o:    func(o *Options) { o.SCC = plan.SCCName },
			want: map[string]any{"seccompProfile": seccomp, "runAsNonRoot": true},
		},
		"an SCC that runs as any": {
			o:    func(o *Options) { o.SCC = plan.SCCName },
			want: map[string]any{"seccompProfile": seccomp},
		},
		"an SCC that runs as any, and a user": {
			o:    func(o *Options) { o.SCC, o.RunAsUser = plan.SCCName, &uid },
			want: map[string]any{"seccompProfile": seccomp, "runAsUser": uid},
		},
		"an SCC that could not be read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SCCs); s.SCCs = nil },
			o:    func(o *Options) { o.SCC = plan.SCCName },
			want: map[string]any{"seccompProfile": seccomp},
		},
		"an SCC of another owner": {
			o:    func(o *Options) { o.SCC = "privileged" },
			want: map[string]any{},
		},
		"level restricted, an SCC that runs as any": {
			s:    restricted,
			o:    func(o *Options) { o.SCC = plan.SCCName },
			want: map[string]any{"seccompProfile": seccomp, "runAsNonRoot": true},
		},
		"level restricted, an SCC of another owner": {
			s:    restricted,
			o:    func(o *Options) { o.SCC = "privileged" },
			want: map[string]any{"seccompProfile": seccomp, "runAsNonRoot": true},
		},
		"IPC_LOCK": {
			o:    func(o *Options) { o.Memlock = access.MemlockByIPCLock },
			want: map[string]any{"seccompProfile": seccomp},
		},
		"plain Kubernetes": {
			s:    func(s *cluster.State) { *s = plantest.Vanilla() },
			o:    func(o *Options) { o.Mode = nccl.TCP },
			want: map[string]any{"seccompProfile": seccomp},
		},
		"plain Kubernetes, restricted": {
			s:    func(s *cluster.State) { *s = plantest.Vanilla(); restricted(s) },
			o:    func(o *Options) { o.Mode = nccl.TCP },
			want: map[string]any{"seccompProfile": seccomp, "runAsNonRoot": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := plantest.Training(), jobOptions()
			if c.s != nil {
				c.s(&s)
			}
			if c.o != nil {
				c.o(&o)
			}
			j := newRequest(s, o)
			j.devices()
			j.privileges("", nil)
			got := map[string]any{}
			if security := j.job.access.Pod; security != nil {
				got = plan.Fields(security)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// restricted sets the strictest Pod Security level for namespace train.
func restricted(s *cluster.State) {
	s.Namespaces[1].Labels = map[string]string{plan.EnforceLabel: "restricted"}
}
