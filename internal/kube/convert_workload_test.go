package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// A template has what its pods will ask for: a GPU is often only in the limits.
func TestConvertWorkload(t *testing.T) {
	convert := func(kind, text string) []cluster.Workload {
		var o anyObject
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		k, _ := workload.Of(kind)
		return workloadOf(k)(&o)
	}
	got := convert("PyTorchJob", `
metadata:
  name: llama
  namespace: train
  managedFields: [{manager: kubectl-client-side-apply, fieldsV1: {"f:spec": {}}}]
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata:
          annotations: {k8s.v1.cni.cncf.io/networks: rail0}
        spec:
          containers:
          - {name: pytorch, resources: {limits: {nvidia.com/gpu: 8, openshift.io/rail0: 1}, requests: {cpu: 4}}}
          resourceClaims: [{name: nics}]`)
	want := []cluster.Workload{{
		Kind: "PyTorchJob", Namespace: "train", Name: "llama", Size: 2, Wanted: 2,
		Templates: []cluster.Pod{{
			Namespace:      "train",
			ServiceAccount: "default",
			Writer:         "kubectl-client-side-apply",
			Annotations:    map[string]string{"k8s.v1.cni.cncf.io/networks": "rail0"},
			Requests:       cluster.Resources{"cpu": 4000, "nvidia.com/gpu": 8, "openshift.io/rail0": 1},
			Limits:         cluster.Resources{"nvidia.com/gpu": 8, "openshift.io/rail0": 1},
			Claims:         []string{"nics"},
			Containers:     []cluster.Container{{Name: "pytorch", GPUs: true}},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	old := convert("ReplicaSet", `
metadata: {name: serve-1, ownerReferences: [{kind: Deployment, name: serve, controller: true}]}
spec: {replicas: 0}`)
	if len(old) > 0 {
		t.Errorf("an old revision: %+v", old)
	}
}
