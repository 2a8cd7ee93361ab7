package namespace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// TestSetupClaims: where only a DRA driver offers NICs, the namespace gets no attachment, and the driver a class.
func TestSetupClaims(t *testing.T) {
	dra := func(change func(*cluster.State)) cluster.State {
		s := plantest.Vanilla()
		s.Read = append(s.Read, cluster.DRADevices, cluster.DeviceClasses)
		s.Networks = []cluster.Network{{Namespace: "other", Name: "r", Type: "macvlan", Resource: "rdma/roce"}}
		s.DRADevices = []cluster.DRADevice{{
			Driver: cluster.DRANet, Node: "gpu-1", Name: "a", RDMA: true, Attribute: map[string]string{"dra.net/ifName": "eth1"},
		}}
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		s     cluster.State
		steps []string
		says  string
	}{
		"no class": {
			dra(func(*cluster.State) {}), []string{"classes"}, "jobs claim their rails from the DRA driver dra.net (eth1)",
		},
		"a class": {
			dra(func(s *cluster.State) {
				s.DeviceClasses = []cluster.DeviceClass{{Name: "dranet", Selectors: []string{`device.driver == "dra.net"`}}}
			}),
			nil, "needs no attachments",
		},
		"classes unread": {
			dra(func(s *cluster.State) { *s = plantest.Unread(*s, cluster.DeviceClasses) }), nil, "deviceclasses could not be read",
		},
		"attachments": {
			dra(func(s *cluster.State) { s.Networks = plantest.Vanilla().Networks }), nil, "Rails of namespace train: roce0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := Setup(test.s, Options{Namespace: "train"})
			var steps []string
			for _, id := range plantest.StepIDs(p) {
				if id != "access" {
					steps = append(steps, id)
				}
			}
			if diff := cmp.Diff(test.steps, steps); diff != "" || check.Worst(findings) == check.Fail {
				t.Errorf("steps (-want +got):\n%s%s", diff, plantest.Wording(findings))
			}
			if text := plantest.Manifests(t, p, findings); !strings.Contains(text, test.says) {
				t.Errorf("does not say %q:\n%s", test.says, text)
			}
			for _, c := range p.Changes() {
				if c.Object.GetKind() == "DeviceClass" && c.Object.GetName() != cluster.DRANet {
					t.Errorf("class %s", c.Object.GetName())
				}
			}
		})
	}
}
