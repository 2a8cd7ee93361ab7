package standin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestTakes(t *testing.T) {
	gpus := func(n string) corev1.ResourceList {
		return corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(n)}
	}
	gpuPod := func(n, node string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{
			Spec: corev1.PodSpec{
				NodeName:   node,
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: gpus(n)}}},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	taint := corev1.Taint{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		node func(*corev1.Node)
		pod  func(*corev1.Pod)
		pods []corev1.Pod
		want bool
	}{
		"free":           {want: true},
		"another node's": {pods: []corev1.Pod{gpuPod("8", "gpu-1", corev1.PodRunning)}, want: true},
		"ended":          {pods: []corev1.Pod{gpuPod("8", "gpu-0", corev1.PodSucceeded)}, want: true},
		"GPUs are used":  {pods: []corev1.Pod{gpuPod("1", "gpu-0", corev1.PodRunning)}},
		"no more pods": {node: func(n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("0")
		}},
		"cordoned":        {node: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		"tainted":         {node: func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint} }},
		"selects another": {pod: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"gpu": "h200"} }},
		"no such resource": {pod: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["rdma/hca"] = resource.MustParse("1")
		}},
		"tolerates": {
			node: func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint} },
			pod: func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpExists}}
			},
			want: true,
		},
	} {
		node, pod := corev1.Node{}, gpuPod("8", "", corev1.PodPending)
		node.Name, node.Status.Allocatable = "gpu-0", gpus("8")
		node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
		if test.node != nil {
			test.node(&node)
		}
		if test.pod != nil {
			test.pod(&pod)
		}
		if got := takes(&node, &pod, test.pods); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
