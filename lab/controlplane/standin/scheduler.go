package standin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// scheduleRetry is the time after which a pod that fits nowhere is looked at again.
const scheduleRetry = time.Second

// Scheduler stands for kube-scheduler where that takes longer to build than all that is shown: it binds a pod to the
// first node, by name, that can take it: by resources, node selector, node affinity and taints.
//
// It knows no affinity between pods, no volumes, no resource claims, no priorities and no preemption.
type Scheduler struct {
	client client.Client
	server client.Reader // not a cache: a pod that was just bound counts
}

func (s *Scheduler) add(m manager.Manager) error {
	s.client, s.server = m.GetClient(), m.GetAPIReader()
	return builder.ControllerManagedBy(m).Named("scheduler").For(&corev1.Pod{}).Complete(s)
}

// Reconcile binds a pod that waits for a node, or says why it cannot. There is one worker, so no two pods get the same
// resources.
func (s *Scheduler) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var pod corev1.Pod
	if err := s.client.Get(ctx, r.NamespacedName, &pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 ||
		pod.Spec.SchedulerName != corev1.DefaultSchedulerName {
		return reconcile.Result{}, nil
	}
	var nodes corev1.NodeList
	var pods corev1.PodList
	if err := errors.Join(s.server.List(ctx, &nodes), s.server.List(ctx, &pods)); err != nil {
		return reconcile.Result{}, err
	}
	for _, node := range nodes.Items { // by name, as the server lists them
		if takes(&node, &pod, pods.Items) {
			binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
			return reconcile.Result{}, client.IgnoreNotFound(s.client.SubResource("binding").Create(ctx, &pod, binding))
		}
	}
	err := s.refuse(ctx, &pod, fmt.Sprintf("0/%d nodes are available", len(nodes.Items)))
	return reconcile.Result{RequeueAfter: scheduleRetry}, client.IgnoreNotFound(err)
}

// refuse says once in the pod's status why it has no node. The patch is a strategic one, which merges conditions by
// type.
func (s *Scheduler) refuse(ctx context.Context, pod *corev1.Pod, why string) error {
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Message == why
	}) {
		return nil
	}
	patch := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	before := patch.DeepCopy()
	patch.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
		LastTransitionTime: metav1.Now(),
	}}
	return s.client.Status().Patch(ctx, patch, client.StrategicMergeFrom(before))
}

// takes reports whether the node can take the pod besides those that are bound to it.
func takes(node *corev1.Node, pod *corev1.Pod, pods []corev1.Pod) bool {
	hinders := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, tainted := schedulingv1.FindMatchingUntoleratedTaint(
		klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, hinders, false)
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if tainted || err != nil || !matches || node.Spec.Unschedulable {
		return false
	}
	free, slots := node.Status.Allocatable.DeepCopy(), node.Status.Allocatable.Pods().Value()
	for _, other := range pods {
		if other.Spec.NodeName != node.Name || other.Status.Phase == corev1.PodSucceeded ||
			other.Status.Phase == corev1.PodFailed {
			continue
		}
		slots--
		for name, used := range resource.PodRequests(&other, resource.PodResourcesOptions{}) {
			left := free[name]
			left.Sub(used)
			free[name] = left
		}
	}
	for name, wanted := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		if left := free[name]; left.Cmp(wanted) < 0 {
			return false
		}
	}
	return slots > 0
}
