package access_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/volume"
)

// level returns a State whose namespace train enforces a level of Pod Security.
func level(s cluster.State, level string) cluster.State {
	s.Namespaces = []cluster.Namespace{{Name: "train", Labels: map[string]string{plan.EnforceLabel: level}}}
	return s
}

// locked returns a State of OpenShift whose nodes limit memlock.
func locked() cluster.State {
	s := plantest.Training()
	for i := range s.Pools {
		s.Pools[i].CurrentSources, s.Pools[i].TargetSources = nil, nil
	}
	s.MachineConfigs = nil
	return s
}

// without returns a State in which no account may use the SCC of setup.
func without(s cluster.State) cluster.State {
	s.SCCGrants = nil
	return s
}

// TestLeastRights: the pods get the least rights with which they can lock memory, and what cannot be admitted, or is
// not known to be, is a finding.
func TestLeastRights(t *testing.T) {
	user := int64(1000)
	rdma := access.Pods{RDMA: true, Account: "h-kim-sa"}
	with := func(p access.Pods, change func(*access.Pods)) access.Pods {
		change(&p)
		return p
	}
	for name, test := range map[string]struct {
		s        cluster.State
		pods     access.Pods
		scc      string
		ipcLock  bool
		findings string // check and status of each
	}{
		"TCP needs nothing":                       {locked(), access.Pods{Account: "h-kim-sa"}, "", false, ""},
		"nodes that setup prepared":               {plantest.Training(), rdma, "", false, ""},
		"the SCC of setup, on nodes with a limit": {locked(), rdma, plan.SCCName, true, ""},
		"no SCC": {without(locked()), rdma, "", false, "pod-memlock fail"},
		"grants that were not read": {
			without(plantest.Unread(locked(), cluster.SCCGrants)), rdma, "", false, "pod-memlock unknown",
		},
		"the user says that the nodes lift it": {
			without(locked()), with(rdma, func(p *access.Pods) { p.Memlock = access.MemlockByNode }), "", false, "",
		},
		"a namespace that forbids the capability": {level(locked(), "baseline"), rdma, "", false, "pod-memlock fail"},
		"the capability, although the namespace forbids it": {
			level(plantest.Vanilla(), "baseline"),
			with(rdma, func(p *access.Pods) { p.Memlock = access.MemlockByIPCLock }), "", true, "pod-security fail",
		},
		"the capability and a user": {
			locked(), with(rdma, func(p *access.Pods) { p.Memlock, p.RunAsUser = access.MemlockByIPCLock, &user }),
			plan.SCCName, true, "pod-memlock fail",
		},
		"Kubernetes": {plantest.Vanilla(), rdma, "", true, ""},
		"Kubernetes, a restricted namespace": {
			level(plantest.Vanilla(), "restricted"), rdma, "", false, "pod-memlock unknown",
		},
		"privileged, without an SCC for it": {
			locked(), with(rdma, func(p *access.Pods) { p.Privileged = true }), "", false, "scc-usable fail",
		},
		"a folder of the node, without an SCC for it": {
			locked(), with(rdma, func(p *access.Pods) { p.Volumes = []volume.Volume{{Kind: volume.Host}} }),
			plan.SCCName, true, "scc-usable fail",
		},
		"an SCC that does not exist": {
			plantest.Training(), with(rdma, func(p *access.Pods) { p.SCC = "ours" }), "ours", false, "scc-usable fail",
		},
		"an SCC that may not exist": {
			plantest.Unread(plantest.Training(), cluster.SCCs, cluster.SCCGrants),
			with(rdma, func(p *access.Pods) { p.SCC = "ours" }), "ours", false,
			"scc-usable unknown, scc-usable unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.pods.Job, test.pods.Nodes = plan.Target{Name: "h-kim", Namespace: "train"}, test.s.Nodes[:2]
			got, draft := access.Choose(test.s, test.pods)
			if got.SCC != test.scc || got.IPCLock != test.ipcLock {
				t.Errorf("SCC %q, IPC_LOCK %t; want %q, %t", got.SCC, got.IPCLock, test.scc, test.ipcLock)
			}
			if findings := statuses(draft.Findings); findings != test.findings {
				t.Errorf("findings %q, want %q:\n%s", findings, test.findings, plantest.Wording(draft.Findings))
			}
			if !test.pods.Privileged && !unprivileged(got.Container) {
				t.Errorf("the container has %+v", got.Container)
			}
			if got.NonRoot && got.IPCLock && test.findings == "" {
				t.Error("IPC_LOCK, which works for root only, and pods that are not root")
			}
		})
	}
}

func unprivileged(c *corev1.SecurityContext) bool {
	return c != nil && c.Privileged == nil && !*c.AllowPrivilegeEscalation && len(c.Capabilities.Add) == 0
}

func statuses(findings []check.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, string(f.Check)+" "+f.Status.String())
	}
	return strings.Join(all, ", ")
}
