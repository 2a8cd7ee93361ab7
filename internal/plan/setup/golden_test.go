package setup

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// transcript is a plan as text: its steps, what they disturb, its notes and all that it writes.
func transcript(t *testing.T, p plan.Plan) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n", p.Title)
	for _, s := range p.Steps {
		fmt.Fprintf(&text, "\n# step %s: %s\n", s.ID, s.Title)
		for _, r := range s.Disruption.Reboots {
			fmt.Fprintf(&text, "#   reboots of pool %s, %d at once: %s\n", r.Pool, r.AtOnce, strings.Join(r.Nodes, " "))
		}
		for _, c := range s.Changes {
			body, err := yaml.Marshal(c.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "--- # %s: %s\n%s", c.Verb, c.Why, body)
		}
	}
	text.WriteString("\n")
	for _, n := range p.Notes {
		fmt.Fprintf(&text, "# note: %s\n", n)
	}
	return text.String()
}

func TestGolden(t *testing.T) {
	mixed := withGPUPool(openshift())
	nodeOf(&mixed, "w12").Labels["feature.node.kubernetes.io/cpu-model.vendor_id"] = "AMD"
	poolOf(&mixed, "gpu").MaxUnavailable = "50%"
	tests := map[string]struct {
		s cluster.State
		o Options
	}{
		"setup-default":      {openshift(), Options{}},
		"setup-own-pool":     {openshift(), Options{OwnPool: "gpu"}},
		"setup-verify-first": {mixed, Options{VerifyFirst: true}},
		"setup-limits":       {situations()["limits of others"], Options{NoIOMMU: true}},
		"setup-ipc-lock":     {openshift(), Options{NoIOMMU: true, NoMemlock: true, AllowIPCLock: true}},
		"setup-sriov": {
			withNICs(openshift()),
			Options{NoIOMMU: true, NoMemlock: true, SCC: "privileged", Sriov: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plantest.Golden(t, name+".yaml", transcript(t, mustPlan(t, test.s, test.o)))
		})
	}
	t.Run("rollback", func(t *testing.T) {
		m := simulate(withNICs(openshift()))
		m.apply(t, mustPlan(t, m.State, Options{Sriov: true}), 9)
		back, _ := Rollback(m.State)
		plantest.Golden(t, "rollback.yaml", transcript(t, back))
	})
}
