package kube

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// workloadOf returns the conversion for workloads of a kind. It drops old revisions of a Deployment: they have no pods.
func workloadOf(k workload.Kind) func(*anyObject) []cluster.Workload {
	return func(o *anyObject) []cluster.Workload {
		w := Workload(k, o.Object)
		if w.Size == 0 && w.Owner != "" {
			return nil
		}
		return []cluster.Workload{w}
	}
}

// Workload converts an object of a kind, or a manifest of one.
func Workload(k workload.Kind, object map[string]any) cluster.Workload {
	w := k.Describe(object)
	by := writer((&unstructured.Unstructured{Object: object}).GetManagedFields())
	for i, template := range k.PodTemplates(object) {
		var t corev1.PodTemplateSpec
		// what cannot be converted stays empty: the API server refuses such a pod, and the controller reports it
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(template, &t)
		pod := convertJobPod(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec})
		pod.Namespace, pod.ServiceAccount, pod.Writer = w.Namespace, w.Templates[i].ServiceAccount, by
		requests := cluster.Resources{}
		maps.Copy(requests, pod.Limits) // the default, which the API server sets in pods alone
		maps.Copy(requests, pod.Requests)
		pod.Requests = nonEmpty(requests)
		w.Templates[i] = pod
	}
	return w
}
