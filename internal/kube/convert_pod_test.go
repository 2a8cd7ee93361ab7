package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

func TestPodRequests(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want cluster.Resources
	}{
		"asks for nothing": {`containers: [{name: a}]`, nil},
		"containers add up": {`
containers:
- {name: a, resources: {requests: {cpu: 500m, memory: 1Gi, nvidia.com/gpu: "8"}}}
- {name: b, resources: {requests: {cpu: "1", openshift.io/eno5np0rdma: "1"}}}
`, cluster.Resources{"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 8, "openshift.io/eno5np0rdma": 1}},
		"init container asks for more than the containers": {`
initContainers:
- {name: i, resources: {requests: {cpu: "4", memory: 1Gi}}}
- {name: j, resources: {requests: {cpu: "1", memory: 2Gi}}}
containers: [{name: a, resources: {requests: {cpu: "2", memory: 1Gi}}}]
`, cluster.Resources{"cpu": 4000, "memory": 2 << 30}},
		"sidecar runs with the containers and the init containers after it": {`
initContainers:
- {name: first, resources: {requests: {cpu: "3"}}}
- {name: sidecar, restartPolicy: Always, resources: {requests: {cpu: "1"}}}
- {name: last, resources: {requests: {cpu: "5"}}}
containers: [{name: a, resources: {requests: {cpu: "2"}}}]
`, cluster.Resources{"cpu": 6000}},
		"sidecar and containers ask for more than the init containers": {`
initContainers:
- {name: sidecar, restartPolicy: Always, resources: {requests: {cpu: "1"}}}
- {name: last, resources: {requests: {cpu: "1"}}}
containers: [{name: a, resources: {requests: {cpu: "2"}}}]
`, cluster.Resources{"cpu": 3000}},
		"pod as a whole": {`
resources: {requests: {cpu: "8"}}
containers: [{name: a, resources: {requests: {cpu: "2", nvidia.com/gpu: "1"}}}]
`, cluster.Resources{"cpu": 8000, "nvidia.com/gpu": 1}},
		"overhead of a runtime class": {`
overhead: {cpu: 250m, memory: 160Mi}
containers: [{name: a, resources: {requests: {cpu: "1"}}}]
`, cluster.Resources{"cpu": 1250, "memory": 160 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, podRequests(from[corev1.PodSpec](t, test.spec))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPodLimits(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want cluster.Resources
	}{
		"limited by nothing": {`containers: [{name: a, resources: {requests: {cpu: "2"}}}]`, nil},
		"containers add up, and an init container has more memory": {`
initContainers: [{name: i, resources: {limits: {cpu: 100m, memory: 4Gi}}}]
containers:
- {name: a, resources: {limits: {cpu: "2", memory: 1Gi}, requests: {memory: 1Mi}}}
- {name: b, resources: {limits: {memory: 1Gi}}}
`, cluster.Resources{"cpu": 2000, "memory": 4 << 30}},
		"sidecar": {`
initContainers: [{name: s, restartPolicy: Always, resources: {limits: {memory: 1Gi}}}]
containers: [{name: a, resources: {limits: {memory: 1Gi}}}]
`, cluster.Resources{"memory": 2 << 30}},
		"pod as a whole": {`
resources: {limits: {memory: 8Gi}}
containers: [{name: a, resources: {limits: {memory: 1Gi}}}]
`, cluster.Resources{"memory": 8 << 30}},
		"overhead of a runtime class, on what is limited": {`
overhead: {cpu: 250m, memory: 1Gi}
containers: [{name: a, resources: {limits: {cpu: "1"}}}]
`, cluster.Resources{"cpu": 1250}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, podLimits(from[corev1.PodSpec](t, test.spec))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const jobPod = `
metadata:
  namespace: train
  name: h-kim-0
  uid: 5d0b
  labels: {app.kubernetes.io/instance: h-kim, app.kubernetes.io/managed-by: railhead}
  annotations: {k8s.v1.cni.cncf.io/networks: eno5np0-network, openshift.io/scc: railhead-rdma}
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: other, uid: "1"}
  - {apiVersion: apps/v1, kind: StatefulSet, name: h-kim, uid: "2", controller: true}
spec:
  nodeName: moc-r4pcc02u15
  serviceAccountName: h-kim-sa
  initContainers: [{name: railhead, image: quay.io/x/train:1}]
  containers:
  - name: train
    image: quay.io/x/train:1
    resources: {requests: {nvidia.com/gpu: "8"}, limits: {nvidia.com/gpu: "8", memory: 1Gi}}
  - {name: side, image: "quay.io/x/side:1"}
status:
  phase: Running
  podIP: 10.128.4.7
  conditions:
  - {type: PodScheduled, status: "True"}
  - {type: Ready, status: "False", reason: ContainersNotReady}
  initContainerStatuses:
  - {name: railhead, ready: true, restartCount: 0, state: {terminated: {exitCode: 0, reason: Completed}}}
  containerStatuses:
  - {name: side, ready: true, restartCount: 0, state: {running: {startedAt: "2026-01-05T10:00:00Z"}}}
  - name: train
    restartCount: 3
    state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s restarting failed container}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled}}
`

func TestBackOffKeepsTheLastWords(t *testing.T) {
	status := from[corev1.ContainerStatus](t, `{name: train, restartCount: 2,
  state: {waiting: {reason: CrashLoopBackOff, message: back-off 20s restarting failed container}},
  lastState: {terminated: {exitCode: 125, reason: Error,
    message: "railhead-pod: not started: RDMA is required (--mode rdma) but no usable RDMA device was found"}}}`)
	refused := 125
	want := cluster.Container{Name: "train", Restarts: 2, Waiting: "CrashLoopBackOff", ExitCode: &refused,
		Ended:   "Error",
		Message: "railhead-pod: not started: RDMA is required (--mode rdma) but no usable RDMA device was found"}
	if diff := cmp.Diff(want, container(corev1.Container{Name: "train"}, *status)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPodOf(t *testing.T) {
	zero, killed := 0, 137
	light := cluster.Pod{
		Namespace: "train", Name: "h-kim-0", UID: "5d0b", Owner: "StatefulSet/h-kim", Node: "moc-r4pcc02u15",
		Phase:    "Running",
		Requests: cluster.Resources{"nvidia.com/gpu": 8}, ServiceAccount: "h-kim-sa", IP: "10.128.4.7",
	}
	whole := light
	whole.Labels = map[string]string{"app.kubernetes.io/instance": "h-kim", "app.kubernetes.io/managed-by": "railhead"}
	whole.Annotations = map[string]string{
		"k8s.v1.cni.cncf.io/networks": "eno5np0-network",
		"openshift.io/scc":            "railhead-rdma",
	}
	whole.Limits = cluster.Resources{"nvidia.com/gpu": 8, "memory": 1 << 30}
	whole.Containers = []cluster.Container{
		{Name: "railhead", Init: true, Image: "quay.io/x/train:1", Ready: true, ExitCode: &zero, Ended: "Completed"},
		{Name: "train", Image: "quay.io/x/train:1", GPUs: true, Restarts: 3, Waiting: "CrashLoopBackOff",
			Message:  "back-off 40s restarting failed container",
			ExitCode: &killed, Ended: "OOMKilled"},
		{Name: "side", Image: "quay.io/x/side:1", Ready: true, Running: true},
	}
	for name, test := range map[string]struct {
		want Want
		pod  string
		out  cluster.Pod
	}{
		"pod of the job":                     {Want{Namespace: "train", Job: "h-kim"}, jobPod, whole},
		"pod of another job":                 {Want{Namespace: "train", Job: "other"}, jobPod, light},
		"same job name in another namespace": {Want{Namespace: "prod", Job: "h-kim"}, jobPod, light},
		"pod that no job is asked for":       {Want{}, jobPod, light},
		"pod that the scheduler cannot place": {
			Want{},
			`{metadata: {name: p}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", ` +
				`reason: Unschedulable, message: "0/13 nodes are available: 13 Insufficient nvidia.com/gpu."}]}}`,
			cluster.Pod{
				Name:        "p",
				Phase:       "Pending",
				Unscheduled: "0/13 nodes are available: 13 Insufficient nvidia.com/gpu.",
			},
		},
		"pod that the kubelet refused": {
			Want{},
			`{metadata: {name: p}, status: {phase: Failed, reason: UnexpectedAdmissionError, message: "Allocate ` +
				`failed due to no healthy devices present"}}`,
			cluster.Pod{
				Name:    "p",
				Phase:   "Failed",
				Reason:  "UnexpectedAdmissionError",
				Message: "Allocate failed due to no healthy devices present",
			},
		},
		"pod that is being deleted and not placed": {
			Want{},
			`{metadata: {name: p, deletionTimestamp: "2026-01-05T10:00:00Z"}, status: {phase: Pending}}`,
			cluster.Pod{Name: "p", Phase: "Pending", Deleted: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.out, podOf(test.want)(from[corev1.Pod](t, test.pod))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInjected: a container's own resources count: the pod's sum may have them from an init container alone.
func TestInjected(t *testing.T) {
	limits := corev1.ResourceList{
		"openshift.io/eno5np0rdma": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("8"),
		"cpu": resource.MustParse("8"),
	}
	mounts := []corev1.VolumeMount{{Name: "railhead-conf", MountPath: "/etc/nccl.conf"}}
	for name, c := range map[string]struct {
		container corev1.Container
		want      []string
	}{
		"rails and files": {
			corev1.Container{VolumeMounts: mounts, Resources: corev1.ResourceRequirements{Limits: limits}},
			[]string{"mount /etc/nccl.conf", "resource openshift.io/eno5np0rdma"},
		},
		"its resources replaced": {corev1.Container{VolumeMounts: mounts}, []string{"mount /etc/nccl.conf"}},
		"not of Railhead":        {corev1.Container{Resources: corev1.ResourceRequirements{Limits: limits}}, nil},
	} {
		if diff := cmp.Diff(c.want, injected(c.container)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWriter(t *testing.T) {
	at := func(manager, subresource, fields string, minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields),
			Time: new(metav1.Date(2026, 11, 1, 8, minute, 0, 0, time.UTC)),
		}
	}
	const spec, labels = `{"f:spec":{"f:template":{}}}`, `{"f:metadata":{"f:labels":{}}}`
	controller, multus := at("kube-controller-manager", "", spec, 1), at("multus", "", labels, 3)
	for want, entries := range map[string][]metav1.ManagedFieldsEntry{
		"":                        {multus, {Manager: "without fields"}},
		"kube-controller-manager": {multus, controller, at("autoscaler", "scale", spec, 4)},
		"kubectl-patch":           {at("kubectl-patch", "", spec, 2), controller, multus},
	} {
		if got := writer(entries); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
