package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func TestSCCObject(t *testing.T) {
	tests := map[string]struct {
		minor        int
		o            Options
		image        bool
		capabilities []string
		user         string
	}{
		"server without image volumes": {32, Options{}, false, []string{}, "MustRunAsRange"},
		"server with image volumes":    {33, Options{}, true, []string{}, "MustRunAsRange"},
		"the capability and its root":  {33, Options{AllowIPCLock: true}, true, []string{"IPC_LOCK"}, "RunAsAny"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := sccObject(cluster.State{Server: cluster.Server{Minor: test.minor}}, test.o).Object
			volumes, _, _ := unstructured.NestedStringSlice(o, "volumes")
			capabilities, _, _ := unstructured.NestedStringSlice(o, "allowedCapabilities")
			user, _, _ := unstructured.NestedString(o, "runAsUser", "type")
			scc := cluster.SCC{Volumes: volumes}
			if diff := cmp.Diff([]any{
				test.image,
				test.capabilities,
				test.user,
			}, []any{scc.AllowsVolume("image"), capabilities, user}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !scc.AllowsVolume("downwardAPI") || scc.AllowsVolume("hostPath") {
				t.Errorf("volumes %v", volumes)
			}
			for _, field := range []string{
				"allowHostDirVolumePlugin", "allowHostIPC", "allowHostNetwork", "allowHostPID",
				"allowHostPorts", "allowPrivilegedContainer", "allowPrivilegeEscalation",
			} {
				if o[field] != false {
					t.Errorf("%s is %v", field, o[field])
				}
			}
		})
	}
}

// TestSCCNarrowed: an SCC that once allowed the capability is not silently narrowed.
func TestSCCNarrowed(t *testing.T) {
	m := simulate(openshift())
	o := Options{NoIOMMU: true, NoMemlock: true, AllowIPCLock: true}
	m.apply(t, mustPlan(t, m.State, o), -1)
	if p := mustPlan(t, m.State, o); !p.Empty() {
		t.Errorf("the second run has steps %v", plantest.StepIDs(p))
	}
	o.AllowIPCLock = false
	p := mustPlan(t, m.State, o)
	want := []string{
		"SCC railhead-rdma allows nothing beyond restricted-v2. It is separate because clusters change restricted-v2.",
		"This plan does not set the locked-memory limit of the nodes. If the limit is small, RDMA also needs " +
			"--allow-ipc-lock.",
		"SCC railhead-rdma no longer allows IPC_LOCK: " +
			"pods that add it are refused from now on. Use --allow-ipc-lock to keep it.",
	}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestSCCPriority: the printed SCC has no null, which the client side of kubectl apply omits, and an SCC that an
// earlier version created with a null stays as it is.
func TestSCCPriority(t *testing.T) {
	for key, value := range sccObject(openshift(), Options{}).Object {
		if value == nil {
			t.Errorf("%s is null", key)
		}
	}
	m := simulate(openshift())
	o := Options{NoIOMMU: true, NoMemlock: true}
	m.apply(t, mustPlan(t, m.State, o), -1)
	for _, live := range m.Objects {
		if live.Kind == "SecurityContextConstraints" {
			live.Fields["priority"] = nil
		}
	}
	if p := mustPlan(t, m.State, o); !p.Empty() {
		t.Errorf("priority null: the plan has steps %v", plantest.StepIDs(p))
	}
	for _, live := range m.Objects {
		if live.Kind == "SecurityContextConstraints" {
			live.Fields["priority"] = int64(10)
		}
	}
	if diff := cmp.Diff([]string{"scc"}, plantest.StepIDs(mustPlan(t, m.State, o))); diff != "" {
		t.Errorf("priority 10: steps (-want +got):\n%s", diff)
	}
}

// TestSCCByName: the SCC that setup made is kept up when it is named, one of somebody else is used as it is.
func TestSCCByName(t *testing.T) {
	o := Options{NoIOMMU: true, NoMemlock: true, SCC: plan.SCCName}
	m := simulate(openshift())
	if diff := cmp.Diff([]string{"scc"}, plantest.StepIDs(mustPlan(t, m.State, o))); diff != "" {
		t.Errorf("not there: steps (-want +got):\n%s", diff)
	}
	m.apply(t, mustPlan(t, m.State, o), -1)
	if p := mustPlan(t, m.State, o); !p.Empty() {
		t.Errorf("the second run has steps %v", plantest.StepIDs(p))
	}
	foreign := openshift()
	foreign.SCCs = append(foreign.SCCs, cluster.SCC{Name: plan.SCCName, Volumes: []string{"downwardAPI"}})
	if p := mustPlan(t, foreign, o); !p.Empty() {
		t.Errorf("somebody else's: steps %v", plantest.StepIDs(p))
	}
}
