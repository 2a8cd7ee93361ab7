package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func TestStatus(t *testing.T) {
	type row struct {
		Pool, Text string
		Configs    []string
		Paused     bool
	}
	configs := []string{"99-worker-iommu-passthrough", "99-worker-rdma-memlock"}
	tests := map[string]struct {
		changes, ticks int // of a setup
		rows           []row
		scc            string
		done           bool
	}{
		"nothing made":     {0, 0, nil, "", true},
		"interrupted":      {5, 3, []row{{"worker", "paused, 0 of 13 nodes done", configs, true}}, plan.SCCName, false},
		"being rolled out": {6, 4, []row{{"worker", "3 of 13 nodes done", configs, false}}, plan.SCCName, false},
		"done":             {-1, 0, []row{{"worker", "all 13 nodes done", configs, false}}, plan.SCCName, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := simulate(openshift())
			m.apply(t, mustPlan(t, m.State, Options{}), test.changes)
			for range test.ticks {
				m.tick()
			}
			got := Status(m.State)
			var rows []row
			for _, p := range got.Pools {
				rows = append(rows, row{p.Pool, p.Progress.Text[len(p.Pool)+2:], p.MachineConfigs, p.Paused})
			}
			if diff := cmp.Diff(test.rows, rows); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
			if got.SCC != test.scc || got.Condition()(m.State).Done != test.done {
				t.Errorf("scc %q, followed %t", got.SCC, got.Condition()(m.State).Done)
			}
		})
	}
}

func TestStatusUsers(t *testing.T) {
	m := simulate(openshift())
	m.apply(t, mustPlan(t, m.State, Options{}), 6)
	for range 4 {
		m.tick()
	}
	mine := cluster.SCCGrant{
		SCC:       plan.SCCName,
		Subject:   "ServiceAccount/train/h-kim-sa",
		Namespace: "train",
		By:        "RoleBinding/railhead-rdma",
	}
	m.SCCGrants = []cluster.SCCGrant{{SCC: "*", Subject: "Group/system:masters"}, mine}
	got := Status(m.State)
	if diff := cmp.Diff([]cluster.SCCGrant{mine}, got.Users); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// TestStatusUnread: what a status lacks because a list could not be read.
func TestStatusUnread(t *testing.T) {
	for _, kind := range []cluster.Kind{
		cluster.Nodes, cluster.Pools, cluster.MachineConfigs, cluster.SCCs, cluster.SCCGrants,
	} {
		got := Status(plantest.Unread(openshift(), kind))
		if len(got.Unread) != 1 || got.Unread[0].Kind != kind {
			t.Errorf("%s: %+v", kind, got.Unread)
		}
	}
	if got := Status(openshift()); len(got.Unread) > 0 {
		t.Errorf("all was read: %+v", got.Unread)
	}
}
