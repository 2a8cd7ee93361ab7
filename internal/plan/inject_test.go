package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
)

func manifest(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const podManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: mine
  namespace: train
  annotations:
    k8s.v1.cni.cncf.io/networks: eno5np0-network, default/other@net9
    keep: me
spec:
  serviceAccountName: h-kim-sa
  containers:
  - name: sidecar
    image: busybox
    command: [sleep, "1000"]
  - name: trainer
    image: torch
    command: [python, -u]
    args: [train.py]
    env:
    - name: RAILHEAD_MODE
      value: auto
    - name: MINE
      value: "1"
    resources:
      limits: {nvidia.com/gpu: 4, openshift.io/eno5np0rdma: 2}
    volumeMounts:
    - {name: shm, mountPath: /dev/shm/}
  volumes:
  - name: shm
    emptyDir: {medium: Memory}
`

const templateOf = `
      containers:
      - name: a
        image: torch
        command: [torchrun, train.py]
        resources: {limits: {nvidia.com/gpu: "8"}}
`

func injections() map[string]struct {
	s        cluster.State
	manifest string
	o        JobOptions
} {
	type c = struct {
		s        cluster.State
		manifest string
		o        JobOptions
	}
	o := JobOptions{Programs: programs()}
	named := o
	named.Container = "sidecar"
	tcp := o
	tcp.Mode = nccl.TCP
	auto := o
	auto.Mode, auto.PodImage = nccl.Auto, "registry.example.com/railhead-pod:1"
	return map[string]c{
		"pod":              {training(), podManifest, o},
		"pod-by-container": {unsolved(), podManifest, named},
		"statefulset":      {training(), "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: train}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:" + templateOf, o},
		"deployment-tcp":   {training(), "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:" + templateOf, tcp},
		"job-auto":         {training(), "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: train}\nspec:\n  template:\n    spec:\n      restartPolicy: Never" + templateOf, auto},
		"jobset": {training(), "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: js, namespace: train}\nspec:\n  replicatedJobs:\n" +
			"  - name: a\n    template: {spec: {template: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: '[{\"name\":\"mine\",\"namespace\":\"x\"}]'}}, spec: {containers: [{name: a, image: i, command: [x]}]}}}}\n" +
			"  - name: b\n    template: {spec: {template: {spec: {containers: [{name: a, image: i, command: [z]}]}}}}\n", o},
	}
}

func TestInject(t *testing.T) {
	for name, c := range injections() {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, c.manifest)
			once, findings := Inject(before, c.s, c.o)
			var b bytes.Buffer
			b.WriteString("# " + strings.ReplaceAll(wording(findings), "\n", "\n# ") + "\n")
			text, err := yaml.Marshal(once.Object)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
			golden(t, "inject/"+name+".yaml", b.String())
			if check.Worst(findings) == check.Fail {
				t.Fatal(wording(findings))
			}
			if diff := cmp.Diff(manifest(t, c.manifest), before); diff != "" {
				t.Errorf("the manifest was changed in place:\n%s", diff)
			}
			twice, _ := Inject(once, c.s, c.o)
			if diff := cmp.Diff(once.Object, twice.Object); diff != "" {
				t.Errorf("injecting twice (-once +twice):\n%s", diff)
			}
			switch once.GetKind() {
			case "Pod":
				strictly(t, once.Object, &corev1.Pod{})
			case "StatefulSet":
				strictly(t, once.Object, &appsv1.StatefulSet{})
			case "Deployment":
				strictly(t, once.Object, &appsv1.Deployment{})
			case "Job":
				strictly(t, once.Object, &batchv1.Job{})
			}
			for _, o := range InjectDelivery(before, c.s, c.o) {
				if o.GetLabels()[LabelInstance] != before.GetName() || c.o.PodImage != "" {
					t.Errorf("%s has labels %v", o.GetName(), o.GetLabels())
				}
			}
		})
	}
}

// TestInjectIsJob holds a bare manifest with a job's command against the pod of deploy: the same function made both.
func TestInjectIsJob(t *testing.T) {
	o := wishes()
	o.Type = Single
	p, _ := Job(training(), o)
	changes := p.Changes()
	template, _ := nested(changes[len(changes)-1].Object.Object, "spec", "template", "spec")
	job := template.(map[string]any)
	bare := manifest(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: h-kim, namespace: train}\nspec: {serviceAccountName: h-kim-sa, containers: [{name: train, image: registry.example.com/torch:2.9, command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}]}")
	injected, findings := Inject(bare, training(), o)
	pod := injected.Object["spec"].(map[string]any)
	if diff := cmp.Diff(job["initContainers"], pod["initContainers"]); diff != "" || len(findings) > 0 {
		t.Errorf("init containers (-deploy +inject):\n%s\n%s", diff, wording(findings))
	}
	if diff := cmp.Diff(job["volumes"], pod["volumes"]); diff != "" {
		t.Errorf("volumes (-deploy +inject):\n%s", diff)
	}
	own, others := job["containers"].([]any)[0].(map[string]any), pod["containers"].([]any)[0].(map[string]any)
	for _, field := range []string{"command", "volumeMounts", "terminationMessagePolicy"} {
		if diff := cmp.Diff(own[field], others[field]); diff != "" {
			t.Errorf("%s (-deploy +inject):\n%s", field, diff)
		}
	}
}

func TestInjectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		want     string
		says     string
	}{
		"a kind without pods": {"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: train}", "fail manifest-suitable", "Deployment, Job, JobSet, Pod, StatefulSet"},
		"no template":         {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: train}\nspec: {}", "fail manifest-suitable", "no pod template"},
		"no containers":       {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {}", "fail manifest-suitable", "no container"},
		"no command":          {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {containers: [{name: c, image: i}]}", "fail manifest-suitable", "container c says no command"},
		"an annotation that is no JSON": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train, annotations: {k8s.v1.cni.cncf.io/networks: '[{'}}\nspec: {containers: [{name: c, image: i, command: [x]}]}",
			"fail manifest-suitable", "k8s.v1.cni.cncf.io/networks"},
		"a namespace without rails": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: nowhere}\nspec: {containers: [{name: c, image: i, command: [x]}]}", "fail rails-attached", "namespace nowhere"},
		"spec of another shape":     {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, namespace: train}\nspec: {template: 7}", "fail manifest-suitable", "no pod template"},
	} {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, c.manifest)
			after, findings := Inject(before, training(), JobOptions{Programs: programs()})
			if diff := cmp.Diff([]string{c.want}, findingIDs(findings)); diff != "" || !strings.Contains(wording(findings), c.says) {
				t.Errorf("findings (-want +got):\n%s\n%s", diff, wording(findings))
			}
			if diff := cmp.Diff(before.Object, after.Object); diff != "" {
				t.Errorf("a refused manifest was changed:\n%s", diff)
			}
		})
	}
}

// FuzzInject feeds any manifest: what people write is foreign text.
func FuzzInject(f *testing.F) {
	f.Add(podManifest)
	for _, c := range injections() {
		f.Add(c.manifest)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fields map[string]any
		if yaml.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			t.Skip()
		}
		data, err := yaml.Marshal(fields)
		if err != nil {
			t.Skip()
		}
		var u unstructured.Unstructured
		if data, err = yaml.YAMLToJSON(data); err != nil || u.UnmarshalJSON(data) != nil {
			t.Skip()
		}
		o := JobOptions{Programs: programs()}
		once, findings := Inject(u, training(), o)
		if check.Worst(findings) == check.Fail {
			return
		}
		twice, _ := Inject(once, training(), o)
		if diff := cmp.Diff(once.Object, twice.Object); diff != "" {
			t.Errorf("injecting twice:\n%s", diff)
		}
	})
}
