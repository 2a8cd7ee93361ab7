package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

// TestJobOnNodes: pods run only on the named nodes.
func TestJobOnNodes(t *testing.T) {
	o := jobOptions()
	o.Scheduling.NodeNames = []string{"gpu-1", "gpu-2"}
	p, findings := Deploy(plantest.Training(), o)
	if check.Worst(findings) >= check.Warn {
		t.Fatal(findings)
	}
	var got any
	for _, c := range p.Changes() {
		if c.Object.GetKind() == "StatefulSet" {
			got = workload.Field(c.Object.Object, "spec.template.spec.affinity.nodeAffinity")
		}
	}
	term := func(name string) any {
		return map[string]any{
			"matchFields": []any{map[string]any{"key": "metadata.name", "operator": "In", "values": []any{name}}},
		}
	}
	want := map[string]any{
		"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{
			term("gpu-1"),
			term("gpu-2"),
		}},
	}
	if d := cmp.Diff(any(want), got); d != "" {
		t.Error(d)
	}
	o.Scheduling.NodeNames = []string{"gpu-1", "cpu-1"}
	if _, findings := Deploy(plantest.Training(), o); check.Worst(findings) != check.Fail {
		t.Errorf("a node without rails: %v", findings)
	}
}
