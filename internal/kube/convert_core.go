package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

func convertNamespace(n *corev1.Namespace) cluster.Namespace {
	return cluster.Namespace{
		Name:        n.Name,
		Labels:      n.Labels,
		Annotations: n.Annotations,
		Terminating: n.DeletionTimestamp != nil || n.Status.Phase == corev1.NamespaceTerminating,
	}
}

func convertServiceAccount(a *corev1.ServiceAccount) cluster.ServiceAccount {
	return cluster.ServiceAccount{Namespace: a.Namespace, Name: a.Name}
}

// convertQuota uses the limits of the status, or the limits of the spec until the quota controller has written the
// status.
func convertQuota(q *corev1.ResourceQuota) cluster.Quota {
	hard := q.Status.Hard
	if len(hard) == 0 {
		hard = q.Spec.Hard
	}
	return cluster.Quota{
		Namespace: q.Namespace,
		Name:      q.Name,
		Hard:      resources(hard),
		Used:      resources(q.Status.Used),
		Scoped:    len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil,
	}
}

// convertEvent also reads the series: new senders write count and time only there (k8s.io/api/core/v1, Event).
func convertEvent(e *corev1.Event) cluster.Event {
	event := cluster.Event{
		Namespace: e.Namespace,
		Object:    workload.KindName(e.InvolvedObject.APIVersion, e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name,
		UID:       string(e.InvolvedObject.UID),
		Type:      e.Type,
		Reason:    e.Reason,
		Message:   e.Message,
		Count:     int(e.Count),
		Last:      e.CreationTimestamp.Time,
	}
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time} {
		if t.After(event.Last) {
			event.Last = t
		}
	}
	if e.Series != nil {
		event.Count = max(event.Count, int(e.Series.Count))
		if t := e.Series.LastObservedTime.Time; t.After(event.Last) {
			event.Last = t
		}
	}
	return event
}
