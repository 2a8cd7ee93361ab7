package standin

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// drainRetry is the time after which pods that were not evicted are asked for again.
const drainRetry = 500 * time.Millisecond

// drainController cordons and drains a node, or uncordons it, when its daemon asks for it.
type drainController struct {
	client client.Client
}

// Reconcile does what the annotation of the node asks for.
func (c *drainController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var node corev1.Node
	if err := c.client.Get(ctx, r.NamespacedName, &node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	wanted := node.Annotations[desiredDrain]
	if wanted == "" || wanted == node.Annotations[appliedDrain] {
		return reconcile.Result{}, nil
	}
	drain := strings.HasPrefix(wanted, "drain-")
	before := node.DeepCopy()
	node.Spec.Unschedulable = drain
	if err := c.client.Patch(ctx, &node, client.MergeFrom(before)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if drain {
		if left, err := c.evict(ctx, node.Name); err != nil || left {
			return reconcile.Result{RequeueAfter: drainRetry}, err
		}
	}
	return reconcile.Result{}, annotate(ctx, c.client, &node, map[string]string{appliedDrain: wanted})
}

// evict asks for the eviction of the node's pods but those of DaemonSets, and reports whether there are any. A
// disruption budget that forbids it is tried again.
func (c *drainController) evict(ctx context.Context, node string) (left bool, err error) {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods); err != nil {
		return false, err
	}
	for _, pod := range pods.Items {
		owner := metav1.GetControllerOf(&pod)
		if pod.Spec.NodeName != node || owner != nil && owner.Kind == "DaemonSet" {
			continue
		}
		left = true
		_ = c.client.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{})
	}
	return left, nil
}
