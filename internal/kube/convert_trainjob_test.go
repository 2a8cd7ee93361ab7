package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertTrainJob(t *testing.T) {
	for text, want := range map[string]cluster.TrainJob{
		`
metadata: {name: h-kim, namespace: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    resourcesPerNode:
      limits: {nvidia.com/gpu: "8", memory: 1Gi}
      requests: {cpu: "2"}
`: {
			Namespace: "train",
			Name:      "h-kim",
			Runtime:   "torch-distributed",
			PerNode:   cluster.Resources{"nvidia.com/gpu": 8, "memory": 1 << 30, "cpu": 2000},
		},
		`
metadata: {name: plain, namespace: train}
spec: {runtimeRef: {name: torch-distributed}}
`: {Namespace: "train", Name: "plain", Runtime: "torch-distributed"},
	} {
		if diff := cmp.Diff(want, convertTrainJob(from[trainJob](t, text))); diff != "" {
			t.Error(diff)
		}
	}
}
