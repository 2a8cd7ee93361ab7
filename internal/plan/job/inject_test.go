package job

import (
	"bytes"
	"fmt"
	"slices"
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
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/workload"
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

// securePod meets Pod Security level restricted by the fields of its container, not of the pod.
const securePod = `
apiVersion: v1
kind: Pod
metadata: {name: secure, namespace: train}
spec:
  securityContext: {runAsNonRoot: true, fsGroup: 2000}
  containers:
  - name: trainer
    image: torch
    command: [python, train.py]
    securityContext:
      runAsUser: 1000
      runAsGroup: 1000
      seccompProfile: {type: RuntimeDefault}
      seLinuxOptions: {level: "s0:c1,c2"}
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
    resources: {limits: {nvidia.com/gpu: 8}}
    volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 32Gi}}]
`

func injections() map[string]struct {
	s        cluster.State
	manifest string
	o        Options
} {
	type c = struct {
		s        cluster.State
		manifest string
		o        Options
	}
	o := Options{Programs: programs()}
	named := o
	named.Container = "sidecar"
	tcp := o
	tcp.Mode, tcp.Memory = nccl.TCP, "128Gi"
	auto := o
	auto.Mode, auto.PodImage = nccl.Auto, "registry.example.com/railhead-pod:1"
	memory := o
	memory.Memory = "128Gi"
	return map[string]c{
		"mpijob-v1":        {plantest.Training(), strings.Replace(mpiManifest, "v2beta1", "v1", 1), o},
		"pod":              {plantest.Training(), podManifest, o},
		"pod-restricted":   {plantest.Training(), securePod, memory},
		"pod-by-container": {memlockLimited(), podManifest, named},
		"statefulset": {
			plantest.Training(),
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: train}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:" + templateOf,
			o,
		},
		"deployment-tcp": {
			plantest.Training(),
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:" + templateOf,
			tcp,
		},
		"job-auto": {
			plantest.Training(),
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: train}\nspec:\n  template:\n    spec:\n      restartPolicy: Never" + templateOf,
			auto,
		},
		"jobset": {plantest.Training(), "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: js, namespace: train}\nspec:\n  replicatedJobs:\n" +
			"  - name: a\n    template: {spec: {template: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: '[{\"name\":\"mine\",\"namespace\":\"x\"}]'}}, spec: {containers: [{name: a, image: i, command: [x]}]}}}}\n" +
			"  - name: b\n    template: {spec: {template: {spec: {containers: [{name: a, image: i, command: [z]}]}}}}\n", o},
		"mpijob":     {plantest.Training(), mpiManifest, o},
		"raycluster": {plantest.Training(), rayManifest, auto},
		"pod-without-command": {memlockLimited(), "apiVersion: v1\nkind: Pod\nmetadata: {name: serve, namespace: train}\nspec:\n" +
			"  serviceAccountName: h-kim-sa\n  containers:\n  - name: vllm\n    image: vllm\n    args: [serve, model]\n" +
			"    env: [{name: NCCL_DEBUG, value: INFO}]\n    envFrom: [{configMapRef: {name: settings}}]\n" +
			"    resources: {limits: {nvidia.com/gpu: 8}}\n" +
			"    volumeMounts: [{name: own, mountPath: /etc/nccl.conf, subPath: nccl.conf}]\n  volumes: [{name: own, configMap: {name: own}}]\n", o},
		"pytorchjob": {plantest.Training(), "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: pt, namespace: train}\nspec:\n  pytorchReplicaSpecs:\n" +
			"    Master: {template: {spec: {containers: [{name: pytorch, image: i, command: [x], resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n" +
			"    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: i, command: [x], resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n", o},
	}
}

func TestInject(t *testing.T) {
	for name, c := range injections() {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, c.manifest)
			once, findings := Inject(before, c.s, c.o)
			var b bytes.Buffer
			b.WriteString("# " + strings.ReplaceAll(plantest.Wording(findings), "\n", "\n# ") + "\n")
			text, err := yaml.Marshal(once.Object)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
			plantest.Golden(t, "inject/"+name+".yaml", b.String())
			if check.Worst(findings) == check.Fail {
				t.Fatal(plantest.Wording(findings))
			}
			if diff := cmp.Diff(manifest(t, c.manifest), before); diff != "" {
				t.Errorf("the manifest was changed in place:\n%s", diff)
			}
			twice, again := Inject(once, c.s, c.o)
			if diff := cmp.Diff(once.Object, twice.Object); diff != "" || check.Worst(again) == check.Fail {
				t.Errorf("injecting twice (-once +twice):\n%s\n%s", diff, plantest.Wording(again))
			}
			switch once.GetKind() {
			case "Pod":
				plantest.Strictly(t, once.Object, &corev1.Pod{})
			case "StatefulSet":
				plantest.Strictly(t, once.Object, &appsv1.StatefulSet{})
			case "Deployment":
				plantest.Strictly(t, once.Object, &appsv1.Deployment{})
			case "Job":
				plantest.Strictly(t, once.Object, &batchv1.Job{})
			}
			_, j := inject(before, c.s, c.o)
			for _, o := range j.injectionParts() {
				if o.GetLabels()[plan.LabelInstance] != before.GetName() || c.o.PodImage != "" {
					t.Errorf("%s has labels %v", o.GetName(), o.GetLabels())
				}
			}
		})
	}
}

// TestInjectAll: each manifest gets the rails of its own namespace.
func TestInjectAll(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s%s}\nspec: {containers: [{name: c, image: i, command: [x]}]}\n"
	text := strings.Join([]string{
		fmt.Sprintf(pod, "a", ", namespace: train"), "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: elsewhere}\n", fmt.Sprintf(pod, "b", ""), fmt.Sprintf(pod, "c", ", namespace: train"),
	}, "---\n")
	all, err := manifests.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"train", "other"}, Options{Namespace: "other"}.Namespaces(all)); diff != "" {
		t.Errorf("namespaces to read (-want +got):\n%s", diff)
	}
	if err := all.In("train"); err == nil || err.Error() != "Service s is in namespace elsewhere, but -n is train: omit -n, or use -n elsewhere" {
		t.Errorf("-n train: %v", err)
	}
	other := plantest.Training()
	other.Networks = []cluster.Network{
		{Namespace: "other", Name: "one", Resource: "openshift.io/eno5np0rdma", Type: "sriov"},
	}
	out, draft := InjectAll(all, map[string]cluster.State{
		"train": plantest.Training(),
		"other": other,
	}, Options{Namespace: "other", Programs: programs()})
	var got []string
	for _, o := range out {
		got = append(got, strings.TrimSpace(o.GetKind()+" "+o.GetNamespace()+" "+o.GetAnnotations()[networksAnnotation]))
	}
	const rails = "eno5np0-network,eno6np0-network,eno7np0-network,eno8np0-network"
	want := []string{
		"ConfigMap train",
		"ConfigMap other",
		"Pod train " + rails,
		"Service elsewhere",
		"Pod other one",
		"Pod train " + rails,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(draft.Findings) > 0 {
		t.Errorf("objects (-want +got):\n%s\n%s", diff, plantest.Wording(draft.Findings))
	}
}

// TestInjectRoles: pods without GPUs get no rail if others of the same object have GPUs.
func TestInjectRoles(t *testing.T) {
	const gpus = "resources: {limits: {nvidia.com/gpu: 8}}"
	ray := func(head, worker string) string {
		return "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r, namespace: train}\nspec:\n" +
			"  headGroupSpec: {rayStartParams: {num-gpus: '0'}, template: {spec: {containers: [{name: head, image: i, command: [x], " +
			head + "}]}}}\n  workerGroupSpecs:\n" +
			"  - {groupName: a, template: {spec: {containers: [{name: worker, image: i, command: [x], " + worker + "}]}}}\n"
	}
	for name, c := range map[string]struct {
		manifest, container string
		want                []string
	}{
		"head without GPUs": {ray("", gpus), "", []string{"worker"}},
		"head with GPUs":    {ray(gpus, gpus), "", []string{"head", "worker"}},
		"no GPUs at all":    {ray("", ""), "", []string{"head", "worker"}},
		"the head by name":  {ray("", gpus), "head", []string{"head"}},
		"launcher of MPI":   {mpiManifest, "", []string{"worker"}},
		"leader that only routes": {
			"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l, namespace: train}\n" +
				"spec:\n  leaderWorkerTemplate:\n    leaderTemplate: {spec: {containers: [{name: route, image: i, command: [x]}]}}\n" +
				"    workerTemplate: {spec: {containers: [{name: serve, image: i, command: [x], " + gpus + "}]}}\n",
			"", []string{"serve"},
		},
	} {
		object, findings := Inject(manifest(t, c.manifest), plantest.Training(),
			Options{Programs: programs(), Container: c.container})
		k, _ := workload.Of(object.GetKind())
		var got []string
		for _, template := range k.PodTemplates(object.Object) {
			if workload.Field(template, "metadata.annotations") != nil {
				got = append(got, fmt.Sprint(podspec.Main(template["spec"].(map[string]any), "")["name"]))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: containers with rails (-want +got):\n%s\n%s", name, diff, plantest.Wording(findings))
		}
	}
}

// rayManifest is as the samples of KubeRay are: the head has no GPUs, and no container has a command.
const rayManifest = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: tune, namespace: train}
spec:
  rayVersion: 2.46.0
  headGroupSpec:
    rayStartParams: {num-gpus: "0"}
    template: {spec: {containers: [{name: ray-head, image: rayproject/ray, ports: [{containerPort: 6379, name: gcs-server}]}]}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 2
    template: {spec: {containers: [{name: ray-worker, image: rayproject/ray, resources: {limits: {nvidia.com/gpu: 8}}}]}}
`

const mpiManifest = `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: mpi, namespace: train}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: launcher, image: i, command: [mpirun, all_reduce_perf]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: worker, image: i, command: [/usr/sbin/sshd, -De], resources: {limits: {nvidia.com/gpu: 8}}}]}}}
`

// TestWrap: railhead-pod starts a command only if its processes inherit the environment.
func TestWrap(t *testing.T) {
	container := func(text string) map[string]any {
		var c map[string]any
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		start     start
		container string
		wraps     bool
	}{
		{start{}, "command: [torchrun, train.py]", true},
		{start{}, "command: [/railhead/bin/railhead-pod, run, --, x]", true},
		{start{wrap: WrapNever}, "command: [/railhead/bin/railhead-pod, run, --, x]", true},
		{start{}, "args: [train.py]", false},
		{start{}, "command: [sh, -c, 'mkdir -p /run/sshd; /usr/sbin/sshd -De']", false},
		{start{}, "{command: [/bin/bash, -c], args: ['sshd -D']}", false},
		{start{}, "command: [train-sshd-like]", true},
		{start{wrap: WrapAlways}, "command: [/usr/sbin/sshd, -De]", true},
		{start{wrap: WrapNever}, "command: [torchrun, train.py]", false},
		{start{controller: "RayCluster"}, "command: [ray, start]", false},
		{start{controller: "RayCluster", wrap: WrapAlways}, "command: [ray, start]", true},
	} {
		if obstacle := c.start.obstacle(nil, container(c.container)); (obstacle == "") != c.wraps {
			t.Errorf("%+v %s: %q", c.start, c.container, obstacle)
		}
	}
}

// TestInjectUnknownKind: an object that makes pods is not passed through because its kind is unknown.
func TestInjectUnknownKind(t *testing.T) {
	all, err := manifests.Read([]byte(podManifest + "---\napiVersion: example.com/v1\nkind: Train\n" +
		"metadata: {name: t, namespace: train}\nspec:\n  groups:\n  - template:\n     spec:" + templateOf))
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]cluster.State{"train": plantest.Training()}
	o := Options{Namespace: "train", Programs: programs()}
	_, draft := InjectAll(all, states, o)
	got := plantest.Wording(draft.Findings)
	if check.Worst(draft.Findings) != check.Fail || !strings.Contains(got, "railhead does not know where Train has pod templates") ||
		!strings.Contains(got, "railhead inject -f FILE --template-path 'spec.groups[].template'") {
		t.Errorf("Train:\n%s", got)
	}
	o.TemplatePaths = []string{"spec.groups[].template"}
	out, draft := InjectAll(all, states, o)
	if check.Worst(draft.Findings) == check.Fail {
		t.Fatal(plantest.Wording(draft.Findings))
	}
	injected := workload.AtPaths(out[len(out)-1].Object, o.TemplatePaths).PodTemplates(out[len(out)-1].Object)
	if len(injected) != 1 || workload.Field(injected[0], "metadata.annotations") == nil {
		t.Errorf("Train injected: %v", injected)
	}
}

func TestFixedNames(t *testing.T) {
	env := map[string]string{
		"NCCL_IB_HCA": "mlx5_6,mlx5_7", "NCCL_SOCKET_IFNAME": "eth0", "UCX_NET_DEVICES": "^mlx5_0", "NCCL_DEBUG": "INFO",
		"NCCL_IB_GID_INDEX": "3",
	}
	o := jobOptions()
	o.Env = env
	_, deployed := Deploy(plantest.Training(), o)
	text := strings.NewReplacer("    - name: MINE\n      value: \"1\"\n", "    - name: NCCL_IB_HCA\n      value: mlx5_6,mlx5_7\n"+
		"    - name: NCCL_IB_GID_INDEX\n      value: \"3\"\n").Replace(podManifest)
	_, injected := Inject(manifest(t, text), plantest.Training(), Options{Programs: programs()})
	want := []check.Ref{check.EnvRef("NCCL_IB_GID_INDEX"), check.EnvRef("NCCL_IB_HCA")}
	for name, findings := range map[string][]check.Finding{"deploy": deployed, "inject": injected} {
		var got []check.Ref
		for _, f := range findings {
			got = append(got, f.Subject)
		}
		slices.SortFunc(got, func(a, b check.Ref) int { return strings.Compare(a.Name, b.Name) })
		if diff := cmp.Diff(want, got); diff != "" || check.Worst(findings) != check.Warn {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFixedNamesOf: what happens to a fixed name depends on where it stands, and on how the pods get their settings.
func TestFixedNamesOf(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {serviceAccountName: h-kim-sa, " +
		"containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}, %s}]}"
	const hca, warns = "env: [{name: NCCL_IB_HCA, value: mlx5_6}]", "warn user-setting env/NCCL_IB_HCA: "
	const fixed = warns + "NCCL_IB_HCA=mlx5_6 is fixed for all pods, but devices differ from node to node"
	for name, c := range map[string]struct {
		container string
		mode      nccl.Mode
		want      []string
	}{
		"behind railhead-pod": {"command: [x], " + hca, nccl.RDMA, []string{fixed, "replaces a value that contradicts the pod's devices"}},
		"by files": {"command: [/usr/sbin/sshd], " + hca, nccl.RDMA,
			[]string{fixed, "files, which replace no variable: a pod whose devices the value contradicts does not start"}},
		"by files, over TCP": {"command: [/usr/sbin/sshd], " + hca, nccl.TCP, []string{fixed, "it is kept, right or wrong"}},
		"UCX by files": {"command: [/usr/sbin/sshd], env: [{name: UCX_NET_DEVICES, value: 'mlx5_6:1'}]", nccl.RDMA,
			[]string{"warn user-setting env/UCX_NET_DEVICES", "it is kept, right or wrong"}},
		"in a ConfigMap": {"command: [x], env: [{name: NCCL_IB_HCA, valueFrom: {configMapKeyRef: {name: s, key: hca}}}]", nccl.RDMA,
			[]string{"unknown user-setting env/NCCL_IB_HCA: NCCL_IB_HCA is the same for all pods, but devices differ from node to " +
				"node: its value, key hca of ConfigMap s, was not read"}},
		"in a shell": {"command: [bash, -c, 'export NCCL_IB_HCA=mlx5_6; python train.py']", nccl.RDMA,
			[]string{fixed, "command of the pods", "The command sets it after railhead-pod, which cannot replace it."}},
		"computed in a shell": {"command: [bash, -c, 'export NCCL_IB_HCA=$(./hcas)']", nccl.RDMA, nil},
	} {
		_, findings := Inject(manifest(t, fmt.Sprintf(pod, c.container)), plantest.Training(), Options{Programs: programs(), Mode: c.mode})
		findings = slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Check != nccl.UserSetting })
		got := plantest.Wording(findings)
		if len(c.want) == 0 && got != "" {
			t.Errorf("%s:\n%s", name, got)
		}
		for _, want := range c.want {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s: not once %q:\n%s", name, want, got)
			}
		}
	}
	o := jobOptions()
	o.Command, o.Script = []string{"sh", "-c", "NCCL_IB_HCA=mlx5_6 x"}, &Script{Name: "a.sh", Content: []byte("export UCX_NET_DEVICES=mlx5_6:1\n")}
	_, findings := Deploy(plantest.Training(), o)
	if got := plantest.Wording(findings); !strings.Contains(got, fixed) || !strings.Contains(got, "warn user-setting env/UCX_NET_DEVICES") {
		t.Errorf("deploy:\n%s", got)
	}
}

// TestInjectIsJob: a manifest with the command of a job becomes the pod of deploy.
func TestInjectIsJob(t *testing.T) {
	o := jobOptions()
	o.Type, o.Env = Single, map[string]string{"HOME": "/root"} // a manifest has its own
	p, _ := Deploy(plantest.Training(), o)
	changes := p.Changes()
	template := workload.Field(changes[len(changes)-1].Object.Object, "spec.template.spec")
	job := template.(map[string]any)
	bare := manifest(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: h-kim, namespace: train}\nspec: {serviceAccountName: h-kim-sa, containers: [{name: train, image: registry.example.com/torch:2.9, command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}]}")
	injected, findings := Inject(bare, plantest.Training(), o)
	pod := injected.Object["spec"].(map[string]any)
	if diff := cmp.Diff(job["initContainers"], pod["initContainers"]); diff != "" || len(findings) > 0 {
		t.Errorf("init containers (-deploy +inject):\n%s\n%s", diff, plantest.Wording(findings))
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
		"a kind without pods": {
			"apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: train}",
			"fail manifest-suitable",
			"one of " + strings.Join(workload.WithTemplates(), ", "),
		},
		"no template": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: train}\nspec: {}",
			"fail manifest-suitable",
			"no pod template",
		},
		"no containers": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {}",
			"fail manifest-suitable",
			"no container",
		},
		"no command": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {containers: [{name: c, image: i}]}",
			"fail manifest-suitable",
			"container c has no command; railhead-pod cannot start",
		},
		"no place for a file": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {containers: [{name: c, image: i, command: [sshd], env: [{name: NCCL_CONF_FILE, value: /x}], volumeMounts: [{name: x, mountPath: /etc/nccl.conf}]}]}",
			"fail manifest-suitable",
			"container c has a NCCL_CONF_FILE and a /etc/nccl.conf of its own",
		},
		"an annotation with invalid JSON": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train, annotations: {k8s.v1.cni.cncf.io/networks: '[{'}}\nspec: {containers: [{name: c, image: i, command: [x]}]}",
			"fail manifest-suitable", "k8s.v1.cni.cncf.io/networks"},
		"a namespace without rails": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: nowhere}\nspec: {containers: [{name: c, image: i, command: [x]}]}",
			"fail rails-attached",
			"namespace nowhere",
		},
		"memory that is not a quantity": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {containers: [{name: c, image: i, command: [x]}]}",
			"fail job-request",
			"--memory is \"much\"",
		},
		"spec of another shape": {
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, namespace: train}\nspec: {template: 7}",
			"fail manifest-suitable",
			"no pod template",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, c.manifest)
			o := Options{Programs: programs()}
			if name == "no command" {
				o.Wrap = WrapAlways
			}
			if c.want == "fail job-request" {
				o.Memory = "much"
			}
			after, findings := Inject(before, plantest.Training(), o)
			if diff := cmp.Diff([]string{c.want}, plantest.FindingIDs(findings)); diff != "" || !strings.Contains(plantest.Wording(findings), c.says) {
				t.Errorf("findings (-want +got):\n%s\n%s", diff, plantest.Wording(findings))
			}
			if diff := cmp.Diff(before.Object, after.Object); diff != "" {
				t.Errorf("a refused manifest was changed:\n%s", diff)
			}
		})
	}
}

// TestInjectIPCLock: the capability works for root only, so a manifest with another user is refused. Otherwise the
// capability would have no effect, or the pods would not start.
func TestInjectIPCLock(t *testing.T) {
	pod := func(ofPod, ofContainer string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {serviceAccountName: h-kim-sa, " + ofPod + "containers: [{name: c, image: i, command: [x], " + ofContainer + "}]}"
	}
	for name, c := range map[string]struct {
		ofPod, ofContainer string
		want               []string
		says               string
		security           map[string]any // of the container and of the init container, where it is accepted
	}{
		"no security context": {security: map[string]any{"runAsUser": int64(0), "runAsNonRoot": false}},
		"user 0": {
			ofContainer: "securityContext: {runAsUser: 0}",
			security:    map[string]any{"runAsUser": int64(0), "runAsNonRoot": false},
		},
		"the container overrides the pod": {ofPod: "securityContext: {runAsNonRoot: true, runAsUser: 1000}, ", ofContainer: "securityContext: {runAsUser: 0, runAsNonRoot: false}",
			security: map[string]any{"runAsUser": int64(0), "runAsNonRoot": false}},
		"the pod forbids root": {
			ofPod: "securityContext: {runAsNonRoot: true}, ",
			want:  []string{"fail pod-memlock"},
			says:  "container c cannot lock the memory that RDMA registers: the capability IPC_LOCK works only for root of the node, but securityContext.runAsNonRoot is true",
		},
		"the container forbids root": {
			ofContainer: "securityContext: {runAsNonRoot: true}",
			want:        []string{"fail pod-memlock"},
			says:        "railhead setup cluster",
		},
		"the pod has a user": {
			ofPod: "securityContext: {runAsUser: 1000}, ",
			want:  []string{"fail pod-memlock"},
			says:  "securityContext.runAsUser: 1000 (want 0, or nodes that lift the memlock limit)",
		},
		"the container has a user": {
			ofPod:       "securityContext: {runAsUser: 0}, ",
			ofContainer: "securityContext: {runAsUser: 1000}",
			want:        []string{"fail pod-memlock"},
			says:        "--memlock node",
		},
		"the capability is dropped, too": {
			ofContainer: "securityContext: {capabilities: {drop: [ALL, CAP_IPC_LOCK]}}",
			want:        []string{"fail pod-memlock"},
			says:        "container c drops the capability CAP_IPC_LOCK",
		},
		"all others are dropped": {
			ofContainer: "securityContext: {capabilities: {drop: [ALL]}}",
			security:    map[string]any{"runAsUser": int64(0), "runAsNonRoot": false},
		},
		"another spelling": {
			ofContainer: "securityContext: {capabilities: {add: [CAP_IPC_LOCK]}}",
			want:        []string{"fail pod-memlock"},
			says:        "container c adds the capability CAP_IPC_LOCK: an SCC that allows IPC_LOCK refuses that spelling",
		},
		"lower case": {
			ofContainer: "securityContext: {capabilities: {add: [ipc_lock]}}",
			want:        []string{"fail pod-memlock"},
			says:        "adds the capability ipc_lock",
		},
		"a user namespace": {
			ofPod: "hostUsers: false, ",
			want:  []string{"fail pod-memlock"},
			says:  "hostUsers is false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := manifest(t, pod(c.ofPod, c.ofContainer))
			after, findings := Inject(before, memlockLimited(), Options{Programs: programs()})
			if diff := cmp.Diff(c.want, plantest.FindingIDs(findings)); diff != "" || !strings.Contains(plantest.Wording(findings), c.says) {
				t.Fatalf("findings (-want +got):\n%s\n%s", diff, plantest.Wording(findings))
			}
			if c.security == nil {
				if diff := cmp.Diff(before.Object, after.Object); diff != "" {
					t.Errorf("a refused manifest was changed:\n%s", diff)
				}
				return
			}
			for _, list := range []string{"containers", "initContainers"} {
				all := workload.Field(after.Object, "spec."+list)
				security := all.([]any)[0].(map[string]any)["securityContext"].(map[string]any)
				for field, want := range c.security {
					if security[field] != want {
						t.Errorf("%s: %s is %v, want %v", list, field, security[field], want)
					}
				}
				if added := workload.Field(security, "capabilities.add"); (list == "containers") != cmp.Equal(added, []any{"IPC_LOCK"}) {
					t.Errorf("%s add %v", list, added)
				}
			}
		})
	}
}

// TestInjectWithoutAccount: inject keeps the account of a manifest, and names one of the namespace that may lock memory.
func TestInjectWithoutAccount(t *testing.T) {
	pod := manifest(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: train}, spec: {containers: [{name: c, image: i, command: [x]}]}}")
	_, findings := Inject(pod, memlockLimited(), Options{Programs: programs()})
	text := plantest.Wording(findings)
	for _, want := range []string{"service account default may not add IPC_LOCK", "Use --service-account h-kim-sa, whose pods may add IPC_LOCK."} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	o := Options{Programs: programs(), Rights: access.Rights{ServiceAccount: "h-kim-sa"}}
	after, findings := Inject(pod, memlockLimited(), o)
	if account := workload.Field(after.Object, "spec.serviceAccountName"); account != "h-kim-sa" || check.Worst(findings) == check.Fail {
		t.Errorf("account %v\n%s", account, plantest.Wording(findings))
	}
}

// FuzzInject injects into any manifest.
func FuzzInject(f *testing.F) {
	f.Add(podManifest)
	f.Add(securePod)
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
		o := Options{Programs: programs()}
		once, findings := Inject(u, plantest.Training(), o)
		if check.Worst(findings) == check.Fail {
			return
		}
		twice, findings := Inject(once, plantest.Training(), o)
		if diff := cmp.Diff(once.Object, twice.Object); diff != "" || check.Worst(findings) == check.Fail {
			t.Errorf("injecting twice:\n%s\n%s", diff, plantest.Wording(findings))
		}
	})
}

// TestInjectKeepsUnknownFields: a manifest may use fields of an API that is newer than the program.
func TestInjectKeepsUnknownFields(t *testing.T) {
	objects, err := manifests.Read([]byte(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: own, namespace: train}
spec:
  futureStrategy: {waves: 3}
  template:
    spec:
      futureScheduling: [{zone: a}]
      containers:
      - name: train
        image: i
        command: [train]
        futureRestart: {after: 5s}
        securityContext: {futureSandbox: strict, runAsUser: 0}
        env: [{name: A, value: b, futureSource: file}]
`))
	if err != nil {
		t.Fatal(err)
	}
	out, findings := Inject(objects[0], plantest.Training(), jobOptions())
	if len(findings) > 0 {
		t.Fatal(plantest.Wording(findings))
	}
	pod := workload.Field(out.Object, "spec.template").(map[string]any)
	container := workload.Field(pod, "spec").(map[string]any)["containers"].([]any)[0].(map[string]any)
	env := container["env"].([]any)
	got := map[string]any{
		"object":    workload.Field(out.Object, "spec.futureStrategy.waves"),
		"pod":       workload.Field(pod, "spec.futureScheduling"),
		"container": workload.Field(container, "futureRestart.after"),
		"security":  workload.Field(container, "securityContext.futureSandbox"),
		"env":       env[len(env)-1].(map[string]any)["futureSource"],
	}
	want := map[string]any{
		"object":    float64(3),
		"pod":       []any{map[string]any{"zone": "a"}},
		"container": "5s",
		"security":  "strict",
		"env":       "file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
