package kube

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// trainJob has the fields of a TrainJob that are read (kubeflow/trainer pkg/apis/trainer/v1alpha1).
type trainJob struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		RuntimeRef struct {
			Name string `json:"name"`
		} `json:"runtimeRef"`
		Trainer struct {
			ResourcesPerNode *corev1.ResourceRequirements `json:"resourcesPerNode"`
		} `json:"trainer"`
	} `json:"spec"`
}

// convertTrainJob uses limits as the default of requests, as the API server does in pods.
func convertTrainJob(j *trainJob) cluster.TrainJob {
	t := cluster.TrainJob{Namespace: j.Namespace, Name: j.Name, Runtime: j.Spec.RuntimeRef.Name}
	if per := j.Spec.Trainer.ResourcesPerNode; per != nil {
		t.PerNode = cluster.Resources{}
		maps.Copy(t.PerNode, resources(per.Limits))
		maps.Copy(t.PerNode, resources(per.Requests))
	}
	return t
}
