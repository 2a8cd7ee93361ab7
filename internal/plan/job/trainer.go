package job

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// noteMistakenGPUs notes that Kubeflow Trainer may take rails for GPUs. Where a runtime of MPI has one process on each
// node, its default, Trainer starts one for each GPU, and counts for that the first resource that it finds with "gpu"
// in its name: the order is random (kubeflow/trainer 2.3.0 pkg/runtime/runtime.go numGPU, framework/plugins/mpi).
func noteMistakenGPUs(d *plan.Draft, runtime unstructured.Unstructured, rails []cluster.Rail) {
	policy, _ := workload.Field(runtime.Object, "spec.mlPolicy.mpi").(map[string]any)
	processes, set := policy["numProcPerNode"]
	if policy == nil || runtime.GroupVersionKind().Group != cluster.TrainerGroup || set && processes != int64(1) {
		return
	}
	for _, r := range rails {
		if r.Driver == "" && plan.TrainerTakesForGPU(r.Resource) {
			d.Note("Kubeflow Trainer takes %s for GPUs, because of its name, and may start as many processes on a "+
				"node as it has rails: set spec.trainer.numProcPerNode of the TrainJob, or "+
				"mlPolicy.mpi.numProcPerNode.",
				r.Resource)
			return
		}
	}
}
