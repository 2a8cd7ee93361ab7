package setup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// nicOf is a NIC of a node.
func nicOf(s *cluster.State, node, name string) *cluster.SriovInterface {
	for i, state := range s.SriovNodes {
		for k, nic := range state.Interfaces {
			if state.Node == node && nic.Name == name {
				interfaces := append([]cluster.SriovInterface(nil), state.Interfaces...) // not the fixture's
				s.SriovNodes[i].Interfaces = interfaces
				return &s.SriovNodes[i].Interfaces[k]
			}
		}
	}
	return nil
}

func only(pfs ...string) Options {
	return Options{NoIOMMU: true, NoMemlock: true, SCC: "restricted-v2", Sriov: true, PFs: pfs}
}

// spec returns the spec of the plan's only policy.
func spec(t *testing.T, p plan.Plan) map[string]any {
	t.Helper()
	changes := p.Changes()
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	s, _, _ := unstructured.NestedMap(changes[0].Object.Object, "spec")
	return s
}

func TestSriov(t *testing.T) {
	existing := cluster.SriovPolicy{
		Namespace:    "openshift-sriov-network-operator",
		Name:         "rails",
		ResourceName: "eno5np0rdma",
		NodeSelector: map[string]string{role("worker"): ""},
		VFs:          4,
		PFs:          []string{"eno5np0#0-3"},
		RDMA:         true,
	}
	tests := map[string]struct {
		change   func(*cluster.State)
		o        Options
		policies []string
		findings []string
	}{
		"four rails; the management NIC and another vendor's are left": {
			func(*cluster.State) {},
			only(),
			[]string{"railhead-eno5np0", "railhead-eno6np0", "railhead-eno7np0", "railhead-eno8np0"},
			nil,
		},
		"one is named": {func(*cluster.State) {}, only("eno6np0"), []string{"railhead-eno6np0"}, nil},
		"one is named that is not there": {func(*cluster.State) {}, only("eno9np0"), nil,
			[]string{
				"fail sriov-nics nic/eno9np0: no node has an RDMA NIC eno9np0: " +
					"there are eno1np0, eno5np0, eno6np0, eno7np0 and eno8np0",
			}},
		"the management NIC is named": {func(*cluster.State) {}, only("eno1np0"), nil, []string{
			"fail sriov-nics node/w12: NIC eno1np0 (0000:05:00.0) of node w12 gets no policy: " +
				"it carries the node's default network",
			"fail sriov-nics node/w13: NIC eno1np0 (0000:05:00.0) of node w13 gets no policy: " +
				"it carries the node's default network",
		}},
		"a policy covers one": {
			func(s *cluster.State) { s.SriovPolicies = append(s.SriovPolicies, existing) },
			only("eno5np0", "eno6np0"),
			[]string{"railhead-eno6np0"},
			nil,
		},
		"the operator's own empty policy covers nothing": {func(s *cluster.State) {
			s.SriovPolicies = append(s.SriovPolicies, cluster.SriovPolicy{
				Name:         "default",
				NodeSelector: map[string]string{role("worker"): ""},
			})
		}, only("eno5np0"), []string{"railhead-eno5np0"}, nil},
		"a policy of other nodes covers nothing": {func(s *cluster.State) {
			p := existing
			p.NodeSelector = map[string]string{role("infra"): ""}
			s.SriovPolicies = append(s.SriovPolicies, p)
		}, only("eno5np0"), []string{"railhead-eno5np0"}, nil},
		"a policy without RDMA": {func(s *cluster.State) {
			p := existing
			p.RDMA = false
			s.SriovPolicies = append(s.SriovPolicies, p)
		}, only("eno5np0"), nil, []string{
			"warn sriov-nics node/w12: NIC eno5np0 (0000:18:00.0) of node w12 gets no policy: " +
				"policy rails creates its virtual functions without RDMA",
			"warn sriov-nics node/w13: NIC eno5np0 (0000:18:00.0) of node w13 gets no policy: " +
				"policy rails creates its virtual functions without RDMA",
		}},
		"a policy by vendor and device": {func(s *cluster.State) {
			p := existing
			p.PFs, p.Vendor, p.DeviceID = nil, "15b3", "1021"
			s.SriovPolicies = append(s.SriovPolicies, p)
		}, only(), nil, nil},
		"virtual functions made by hand": {
			func(s *cluster.State) { nicOf(s, "w13", "eno5np0").VFs = 4 },
			only("eno5np0"),
			[]string{"railhead-eno5np0"},
			[]string{
				"warn sriov-nics node/w13: NIC eno5np0 (0000:18:00.0) of node w13 gets no policy: " +
					"it has 4 virtual functions that no policy created",
			},
		},
		"the link of one is down": {func(s *cluster.State) {
			nicOf(s, "w12", "eno5np0").LinkState = "down"
			nicOf(s, "w13", "eno5np0").LinkState = "down"
		},
			only(), []string{"railhead-eno6np0", "railhead-eno7np0", "railhead-eno8np0"}, []string{
				"warn sriov-nics node/w12: NIC eno5np0 (0000:18:00.0) of node w12 gets no policy: its link is down",
				"warn sriov-nics node/w13: NIC eno5np0 (0000:18:00.0) of node w13 gets no policy: its link is down",
			}},
		"which NIC carries the default network is not known": {
			func(s *cluster.State) { nodeOf(s, "w12").GatewayMAC = "" },
			only(),
			[]string{"railhead-eno5np0", "railhead-eno6np0", "railhead-eno7np0", "railhead-eno8np0"},
			[]string{
				"unknown sriov-nics nodes: the NIC that carries the default network of 1 node is unknown: " +
					"make sure that it is none of eno5np0, eno6np0, eno7np0 and eno8np0",
			},
		},
		"the same name is the management NIC elsewhere": {func(s *cluster.State) {
			nodeOf(s, "w13").GatewayMAC = nicOf(s, "w13", "eno5np0").MAC
			nodeOf(s, "w12").Labels["kubernetes.io/hostname"] = "w13"
		}, only(), []string{"railhead-eno6np0", "railhead-eno7np0", "railhead-eno8np0"},
			[]string{
				"warn sriov-nics nic/eno5np0: NIC eno5np0 gets no policy: " +
					"no label separates w12, where it needs one, from w13, where it must be left alone",
			}},
		"more virtual functions than there can be": {
			func(*cluster.State) {},
			Options{
				NoIOMMU:   true,
				NoMemlock: true,
				SCC:       "restricted-v2",
				Sriov:     true,
				VFs:       20,
				PFs:       []string{"eno5np0"},
			},
			nil,
			[]string{"fail sriov-nics nic/eno5np0: NIC eno5np0 supports 16 virtual functions, and 20 are requested"},
		},
		"no NICs": {
			func(s *cluster.State) { s.SriovNodes = nil },
			only(),
			nil,
			[]string{"warn sriov-nics cluster: the SR-IOV operator sees no RDMA NIC on 0 nodes"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := withNICs(openshift())
			test.change(&s)
			p, findings := Cluster(s, test.o)
			if diff := cmp.Diff(test.findings, plantest.Lines(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			var names []string
			for _, c := range p.Changes() {
				names = append(names, c.Object.GetName())
			}
			if diff := cmp.Diff(test.policies, names); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
		})
	}
}

// leaveOneRail makes all RDMA NICs but eno5np0 those of another vendor, so that there is one policy.
func leaveOneRail(s *cluster.State) {
	for i := range s.SriovNodes {
		s.SriovNodes[i].Interfaces = append([]cluster.SriovInterface(nil), s.SriovNodes[i].Interfaces...)
		for k := range s.SriovNodes[i].Interfaces {
			if nic := &s.SriovNodes[i].Interfaces[k]; nic.Name != "eno5np0" {
				nic.Vendor = "8086"
			}
		}
	}
}

func TestPolicy(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.State)
		o      Options
		fields map[string]any
	}{
		"one virtual function per GPU": {func(*cluster.State) {}, Options{}, map[string]any{
			"numVfs": int64(8), "mtu": int64(9000), "linkType": nil, "resourceName": "eno5np0rdma",
			"nodeSelector": map[string]any{sriovCapable: "true"},
		}},
		"as many as are asked for": {func(*cluster.State) {}, Options{VFs: 2}, map[string]any{"numVfs": int64(2)}},
		"no more than the least NIC can have": {
			func(s *cluster.State) { nicOf(s, "w13", "eno5np0").TotalVFs = 4 },
			Options{},
			map[string]any{"numVfs": int64(4)},
		},
		"no GPUs": {func(s *cluster.State) {
			delete(nodeOf(s, "w12").Allocatable, "nvidia.com/gpu")
			delete(nodeOf(s, "w13").Allocatable, "nvidia.com/gpu")
		}, Options{}, map[string]any{"numVfs": int64(8)}},
		"InfiniBand": {func(s *cluster.State) {
			for _, node := range []string{"w12", "w13"} {
				nicOf(s, node, "eno5np0").LinkType = "IB"
				nicOf(s, node, "eno5np0").MTU = 0
			}
		}, Options{}, map[string]any{"linkType": "IB", "mtu": nil}},
		"InfiniBand has no use for the MTU that is asked for": {func(s *cluster.State) {
			for _, node := range []string{"w12", "w13"} {
				nicOf(s, node, "eno5np0").LinkType = "IB"
				nicOf(s, node, "eno5np0").MTU = 2044
			}
		}, Options{MTU: 9000}, map[string]any{"mtu": int64(2044)}},
		"MTU that is asked for": {func(*cluster.State) {}, Options{MTU: 4200}, map[string]any{"mtu": int64(4200)}},
		"MTUs differ": {
			func(s *cluster.State) { nicOf(s, "w13", "eno5np0").MTU = 1500 },
			Options{},
			map[string]any{"mtu": nil},
		},
		"no feature discovery": {func(s *cluster.State) { delete(nodeOf(s, "w13").Labels, sriovCapable) }, Options{},
			map[string]any{"nodeSelector": map[string]any{role("worker"): ""}}},
		"the pool of the nodes": {func(s *cluster.State) {
			delete(nodeOf(s, "w13").Labels, sriovCapable)
			*s = withGPUPool(*s)
			s.SriovNodes = append(s.SriovNodes, cluster.SriovNode{
				Node:       "w01",
				Interfaces: []cluster.SriovInterface{{Name: "eno5np0", Vendor: "15b3", MAC: "02:00", LinkState: "up"}},
			})
			nodeOf(s, "w01").GatewayMAC = "02:00"
		}, Options{}, map[string]any{"nodeSelector": map[string]any{role("gpu"): ""}}},
		"one node alone": {func(s *cluster.State) { nodeOf(s, "w13").GatewayMAC = nicOf(s, "w13", "eno5np0").MAC }, Options{},
			map[string]any{"nodeSelector": map[string]any{"kubernetes.io/hostname": "w12"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := withNICs(openshift())
			test.change(&s)
			leaveOneRail(&s)
			o := only()
			o.VFs, o.MTU = test.o.VFs, test.o.MTU
			got := spec(t, mustPlan(t, s, o))
			for field, want := range test.fields {
				if diff := cmp.Diff(want, got[field]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", field, diff)
				}
			}
		})
	}
}

func TestMTUNotes(t *testing.T) {
	nics := func(change func(*cluster.SriovInterface)) cluster.State {
		s := withNICs(openshift())
		for _, node := range []string{"w12", "w13"} {
			for _, name := range []string{"eno5np0", "eno6np0"} {
				change(nicOf(&s, node, name))
			}
		}
		return s
	}
	small := nics(func(i *cluster.SriovInterface) { i.MTU = 1500 })
	theirs := nics(func(*cluster.SriovInterface) {})
	for _, name := range []string{"eno5np0", "eno6np0"} {
		theirs.SriovPolicies = append(theirs.SriovPolicies, cluster.SriovPolicy{
			Name: "rails", ResourceName: name, NodeSelector: map[string]string{role("worker"): ""},
			VFs: 4, PFs: []string{name}, RDMA: true,
		})
	}
	const costs = "The virtual functions of eno5np0 and eno6np0 get an MTU of %s of the rate. " +
		"If the switches carry more, use --mtu 9000."
	tests := map[string]struct {
		s    cluster.State
		mtu  int
		want []string
	}{
		"the NICs have 9000":              {nics(func(*cluster.SriovInterface) {}), 0, nil},
		"the NICs have 1500":              {small, 0, []string{fmt.Sprintf(costs, "1500, which costs RDMA 5.6 %")}},
		"a policy of others, and no wish": {theirs, 0, nil},
		"2200 is asked for": {
			nics(func(*cluster.SriovInterface) {}), 2200,
			[]string{fmt.Sprintf(costs, "2200, which costs RDMA 1.9 %")},
		},
		"9000 is asked for": {small, 9000, []string{
			"The SR-IOV operator raises the MTU of eno5np0 and eno6np0 to 9000. " +
				"The switch ports must carry it, or large packets are lost.",
		}},
		"InfiniBand": {
			nics(func(i *cluster.SriovInterface) { i.LinkType, i.MTU = "IB", 2044 }), 9000, nil,
		},
		"a policy of others decides": {theirs, 9000, []string{
			"NIC eno5np0 of 2 nodes gets no policy: policy rails sets its MTU, which is 1500.",
			"NIC eno6np0 of 2 nodes gets no policy: policy rails sets its MTU, which is 1500.",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := only("eno5np0", "eno6np0")
			o.MTU = test.mtu
			notes := slices.DeleteFunc(mustPlan(t, test.s, o).Notes, func(n string) bool {
				return !strings.Contains(n, "MTU")
			})
			if diff := cmp.Diff(test.want, notes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	for _, mtu := range []int{-1, 1279, 9979} {
		if p, findings := Cluster(small, Options{Sriov: true, MTU: mtu}); check.Worst(findings) != check.Fail || !p.Empty() {
			t.Errorf("MTU %d: %v", mtu, plantest.Lines(findings))
		}
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ pf, policy, resource string }{
		{"eno5np0", "railhead-eno5np0", "eno5np0rdma"}, {"ens1f0np0", "railhead-ens1f0np0", "ens1f0np0rdma"},
		{"ibP2p1s0", "railhead-ibp2p1s0", "ibP2p1s0rdma"}, {"eth-1.5_", "railhead-eth-1-5", "eth_1_5_rdma"},
	}
	for _, test := range tests {
		if policyName(test.pf) != test.policy || resourceName(test.pf) != test.resource {
			t.Errorf("%s: %s, %s", test.pf, policyName(test.pf), resourceName(test.pf))
		}
	}
}

// TestSriovAgain: a second run has nothing to do, also after the operator has created the virtual functions; another
// number of them changes the policy.
func TestSriovAgain(t *testing.T) {
	m := simulate(withNICs(openshift()))
	for _, c := range mustPlan(t, m.State, only()).Changes() {
		m.change(t, c)
	}
	if p := mustPlan(t, m.State, only()); !p.Empty() {
		t.Errorf("the second run has steps %v", plantest.StepIDs(p))
	}
	for _, node := range []string{"w12", "w13"} {
		nicOf(&m.State, node, "eno5np0").VFs = 8
	}
	if p := mustPlan(t, m.State, only()); !p.Empty() {
		t.Errorf("the third run has steps %v", plantest.StepIDs(p))
	}
	o := only("eno5np0")
	o.MTU = 4200
	if got := spec(t, mustPlan(t, m.State, o)); got["mtu"] != int64(4200) {
		t.Errorf("mtu %v", got["mtu"])
	}
	o = only("eno5np0")
	o.VFs = 4
	if got := spec(t, mustPlan(t, m.State, o)); got["numVfs"] != int64(4) {
		t.Errorf("numVfs %v", got["numVfs"])
	}
}

// TestSriovMoreNodes: a node that gets a NIC later leaves the others their virtual functions, their number and their MTU.
func TestSriovMoreNodes(t *testing.T) {
	m := simulate(withNICs(openshift()))
	leaveOneRail(&m.State)
	nicOf(&m.State, "w13", "eno5np0").LinkState = "down"
	o := only()
	o.VFs, o.MTU = 4, 4200
	first := mustPlan(t, m.State, o)
	if got := spec(t, first)["nodeSelector"]; !cmp.Equal(got, any(map[string]any{"kubernetes.io/hostname": "w12"})) {
		t.Fatalf("the first policy selects %v", got)
	}
	for _, c := range first.Changes() {
		m.change(t, c)
	}
	nicOf(&m.State, "w12", "eno5np0").VFs = 4
	nicOf(&m.State, "w13", "eno5np0").LinkState = "up"

	again := mustPlan(t, m.State, only())
	got := spec(t, again)
	want := map[string]any{
		"nodeSelector": map[string]any{sriovCapable: "true"}, "numVfs": int64(4), "mtu": int64(4200),
	}
	for field, value := range want {
		if !cmp.Equal(got[field], value) {
			t.Errorf("%s is %v, want %v", field, got[field], value)
		}
	}
	if got := again.Steps[0].Title; got != "Write 1 SriovNetworkNodePolicy: 1 node is drained" {
		t.Errorf("title %q", got)
	}

	o = only()
	o.MTU = 9000
	if got := spec(t, mustPlan(t, m.State, o)); got["numVfs"] != int64(4) || got["mtu"] != int64(9000) {
		t.Errorf("with another MTU: %v VFs, MTU %v", got["numVfs"], got["mtu"])
	}
}

func TestSriovDone(t *testing.T) {
	offer := func(s *cluster.State, nodes ...string) {
		for _, n := range nodes {
			nodeOf(s, n).Allocatable["openshift.io/eno5np0rdma"] = 8
			nicOf(s, n, "eno5np0").VFs = 8
		}
	}
	tests := map[string]struct {
		change func(*cluster.State)
		done   bool
		text   string
		stuck  check.ID
	}{
		"just written: the operator's status is the old one": {
			func(*cluster.State) {},
			false,
			"0 of 2 nodes offer the new resources",
			"",
		},
		"one node done": {
			func(s *cluster.State) { offer(s, "w12"); s.SriovNodes[1].SyncStatus = "InProgress" },
			false,
			"1 of 2 nodes offer the new resources",
			"",
		},
		"all done": {
			func(s *cluster.State) { offer(s, "w12", "w13") },
			true,
			"2 of 2 nodes offer the new resources",
			"",
		},
		"changed: one node still has another number of virtual functions": {
			func(s *cluster.State) { offer(s, "w12", "w13"); nicOf(s, "w13", "eno5np0").VFs = 4 },
			false,
			"1 of 2 nodes offer the new resources",
			"",
		},
		"changed: one node still has a smaller MTU": {
			func(s *cluster.State) { offer(s, "w12", "w13"); nicOf(s, "w13", "eno5np0").MTU = 1500 },
			false,
			"1 of 2 nodes offer the new resources",
			"",
		},
		"one node failed": {
			func(s *cluster.State) { s.SriovNodes[0].SyncStatus = "Failed" },
			false,
			"0 of 2 nodes offer the new resources",
			clusterrules.SriovNodeState,
		},
		"one failed before, and the operator has begun": {func(s *cluster.State) {
			s.SriovNodes[0].SyncStatus, s.SriovNodes[0].SyncError = "InProgress", "no VFs left"
		}, false, "0 of 2 nodes offer the new resources", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := withNICs(openshift())
			steps := mustPlan(t, s, only("eno5np0")).Steps
			test.change(&s)
			got := steps[0].Done(s)
			if got.Done != test.done || got.Text != test.text {
				t.Errorf("%t %s", got.Done, got.Text)
			}
			if (got.Stuck != nil) != (test.stuck != "") || (got.Stuck != nil && got.Stuck.Check != test.stuck) {
				t.Errorf("stuck %+v", got.Stuck)
			}
			if got.Stuck != nil && got.Stuck.Patience != 10*time.Minute {
				t.Errorf("patience of %v with what may be left over from before", got.Stuck.Patience)
			}
		})
	}
}

// TestSriovGone: the policies are deleted after the rollout, whose pool the operator pauses. That is done when their
// devices are gone and the operator is done with the nodes.
func TestSriovGone(t *testing.T) {
	m := simulate(withNICs(openshift()))
	for _, c := range mustPlan(t, m.State, only("eno5np0", "eno6np0")).Changes() {
		m.change(t, c)
	}
	for _, name := range []string{"w12", "w13"} {
		nodeOf(&m.State, name).Allocatable["openshift.io/eno5np0rdma"] = 8
		nodeOf(&m.State, name).Allocatable["openshift.io/eno6np0rdma"] = 8
	}
	other := m.SriovPolicies[1] // somebody else makes the same resource of other functions of the NIC
	other.Name = "theirs"
	m.SriovPolicies = append(m.SriovPolicies, other)
	back, findings := Rollback(m.State)
	if len(findings) > 0 || len(back.Steps) != 1 {
		t.Fatalf("steps %v, %v", plantest.StepIDs(back), plantest.Lines(findings))
	}
	gone := func(s *cluster.State, nodes ...string) {
		for _, name := range nodes {
			delete(nodeOf(s, name).Allocatable, "openshift.io/eno5np0rdma")
		}
	}
	for name, test := range map[string]struct {
		change func(*cluster.State)
		done   bool
		text   string
		stuck  bool
	}{
		"just deleted: the operator's status is the old one": {
			func(*cluster.State) {},
			false,
			"0 of 2 nodes no longer offer the old resources",
			false,
		},
		"one node is drained": {
			func(s *cluster.State) { gone(s, "w12"); s.SriovNodes[1].SyncStatus = "InProgress" },
			false,
			"1 of 2 nodes no longer offer the old resources",
			false,
		},
		"both are without, and one is still worked on": {
			func(s *cluster.State) { gone(s, "w12", "w13"); s.SriovNodes[1].SyncStatus = "InProgress" },
			false,
			"1 of 2 nodes no longer offer the old resources",
			false,
		},
		"one failed": {
			func(s *cluster.State) { gone(s, "w12"); s.SriovNodes[1].SyncStatus = "Failed" },
			false,
			"1 of 2 nodes no longer offer the old resources",
			true,
		},
		"gone, and the rest stays": {
			func(s *cluster.State) { gone(s, "w12", "w13") },
			true,
			"2 of 2 nodes no longer offer the old resources",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := clone(m.State)
			test.change(&s)
			got := back.Steps[0].Done(s)
			if got.Done != test.done || got.Text != test.text || (got.Stuck != nil) != test.stuck {
				t.Errorf("%t %s, stuck %+v", got.Done, got.Text, got.Stuck)
			}
		})
	}
	t.Run("node states are not read", func(t *testing.T) {
		s := plantest.Unread(m.State, cluster.SriovNodes)
		if _, findings := Rollback(s); check.Worst(findings) != check.Fail {
			t.Errorf("%v", plantest.Lines(findings))
		}
	})
}

// TestSriovNamespace: policies are created in the operator's namespace.
func TestSriovNamespace(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.State)
		want   string
	}{
		"the operator's node states": {
			func(s *cluster.State) { s.SriovNodes[0].Namespace = "nvidia-network-operator" },
			"nvidia-network-operator",
		},
		"its policies": {func(s *cluster.State) {
			s.SriovNodes[0].Namespace, s.SriovNodes[1].Namespace = "", ""
			s.SriovPolicies = []cluster.SriovPolicy{{Namespace: "sriov-network-operator", Name: "x"}}
		}, "sriov-network-operator"},
		"nothing says": {
			func(s *cluster.State) { s.SriovNodes[0].Namespace, s.SriovNodes[1].Namespace = "", "" },
			"openshift-sriov-network-operator",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := withNICs(openshift())
			test.change(&s)
			if got := mustPlan(t, s, only("eno5np0")).Changes()[0].Object.GetNamespace(); got != test.want {
				t.Errorf("namespace %s", got)
			}
		})
	}
}

// TestSriovGoneUnread: the operator's status may be the old one, so without the nodes nothing shows that they no longer
// offer the resource.
func TestSriovGoneUnread(t *testing.T) {
	s := cluster.State{
		Read:       []cluster.Kind{cluster.Nodes, cluster.SriovNodes},
		Nodes:      []cluster.Node{{Name: "w01", Allocatable: cluster.Resources{"openshift.io/ens1rdma": 8}}},
		SriovNodes: []cluster.SriovNode{{Node: "w01", SyncStatus: "Succeeded"}},
	}
	gone := sriovGone([]string{"w01"}, map[string][]string{"w01": {"ens1rdma"}})
	if p := gone(s); p.Done {
		t.Fatalf("the node offers it: %+v", p)
	}
	unread := plantest.Unread(s, cluster.Nodes)
	unread.Nodes = nil
	if p := gone(unread); p.Done {
		t.Errorf("the nodes were not read: %+v", p)
	}
	s.Nodes = nil
	if p := gone(s); !p.Done {
		t.Errorf("the node was removed from the cluster: %+v", p)
	}
}
