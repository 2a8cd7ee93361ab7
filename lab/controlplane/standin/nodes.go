package standin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func labelSet(node *corev1.Node) labels.Set { return node.Labels }

// annotate sets annotations of the node, and nothing else: other programs write to it at the same time.
func (d *MachineConfigDaemon) annotate(ctx context.Context, node *corev1.Node, set map[string]string) error {
	return annotate(ctx, d.client, node, set)
}

func annotate(ctx context.Context, c client.Client, node *corev1.Node, set map[string]string) error {
	before := node.DeepCopy()
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	for key, value := range set {
		node.Annotations[key] = value
	}
	return client.IgnoreNotFound(c.Patch(ctx, node, client.MergeFrom(before)))
}

// ready sets the node's condition Ready and its node info. The patch is a strategic one, which merges conditions by
// type.
func (d *MachineConfigDaemon) ready(
	ctx context.Context,
	node *corev1.Node,
	status corev1.ConditionStatus,
	why, message string,
) error {
	now := metav1.Now()
	patch := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	before := patch.DeepCopy()
	patch.Status.NodeInfo.BootID = node.Status.NodeInfo.BootID
	patch.Status.Conditions = []corev1.NodeCondition{{
		Type:               corev1.NodeReady,
		Status:             status,
		Reason:             why,
		Message:            message,
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}}
	return client.IgnoreNotFound(d.client.Status().Patch(ctx, patch, client.StrategicMergeFrom(before)))
}
