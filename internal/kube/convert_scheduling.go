package kube

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// localQueue has the fields of a LocalQueue that are read (kueue apis/kueue/v1beta1 LocalQueue).
type localQueue struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterQueue string `json:"clusterQueue"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func convertLocalQueue(q *localQueue) cluster.LocalQueue {
	queue := cluster.LocalQueue{Namespace: q.Namespace, Name: q.Name, ClusterQueue: q.Spec.ClusterQueue}
	active := meta.FindStatusCondition(q.Status.Conditions, "Active")
	if active != nil && active.Status == metav1.ConditionFalse {
		queue.Inactive = cmp.Or(active.Message, active.Reason, "it is not active")
	}
	return queue
}

func convertPriorityClass(c *metav1.PartialObjectMetadata) cluster.PriorityClass {
	return cluster.PriorityClass{Name: c.Name}
}

func convertRuntimeClass(c *metav1.PartialObjectMetadata) cluster.RuntimeClass {
	return cluster.RuntimeClass{Name: c.Name}
}
