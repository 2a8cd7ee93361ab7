package job

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

func TestMistakenGPUs(t *testing.T) {
	mpi := func(policy map[string]any) map[string]any { return map[string]any{"mpi": policy} }
	gpuRail := []cluster.Rail{{Resource: "openshift.io/eno5rdma"}, {Resource: "openshift.io/GPU0rdma"}}
	for name, c := range map[string]struct {
		policy map[string]any
		rails  []cluster.Rail
		note   bool
	}{
		"one process on each node":   {mpi(map[string]any{}), gpuRail, true},
		"the same, written":          {mpi(map[string]any{"numProcPerNode": int64(1)}), gpuRail, true},
		"eight processes":            {mpi(map[string]any{"numProcPerNode": int64(8)}), gpuRail, false},
		"no gpu in the names":        {mpi(map[string]any{}), gpuRail[:1], false},
		"claimed rails":              {mpi(map[string]any{}), []cluster.Rail{{Resource: "gpu0", Driver: "dra.net"}}, false},
		"torchrun":                   {map[string]any{"torch": map[string]any{}}, gpuRail, false},
		"a runtime without a policy": {nil, gpuRail, false},
	} {
		var d plan.Draft
		noteMistakenGPUs(&d, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": cluster.TrainerGroup + "/v1alpha1", "kind": "TrainingRuntime",
			"spec": map[string]any{"mlPolicy": c.policy},
		}}, c.rails)
		says := func(n string) bool { return strings.Contains(n, "takes openshift.io/GPU0rdma for GPUs") }
		if got := slices.ContainsFunc(d.Notes, says); got != c.note {
			t.Errorf("%s: %q", name, d.Notes)
		}
	}
}
