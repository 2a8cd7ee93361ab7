package plan

import "strings"

// TrainerTakesForGPU reports whether Kubeflow Trainer counts a resource among GPUs, by its name (kubeflow/trainer 2.3.0
// pkg/runtime/runtime.go numGPU).
func TrainerTakesForGPU(resource string) bool {
	return strings.Contains(strings.ToLower(resource), "gpu")
}
