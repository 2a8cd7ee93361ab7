package job

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// TestJobNeedsSCCs: SCCs are read if a node with rails keeps the memlock limit.
func TestJobNeedsSCCs(t *testing.T) {
	bare := func(s cluster.State) cluster.State {
		for i := range s.Nodes {
			delete(s.Nodes[i].Allocatable, "nvidia.com/gpu")
		}
		return s
	}
	tcp := jobOptions()
	tcp.Mode = "tcp"
	asUser := jobOptions()
	asUser.RunAsUser = new(int64(0))
	for name, test := range map[string]struct {
		s    cluster.State
		o    Options
		want bool
	}{
		"nodes keep the limit":              {memlockLimited(), jobOptions(), true},
		"nodes without GPUs keep the limit": {bare(memlockLimited()), jobOptions(), true},
		"setup lifted the limit":            {plantest.Training(), jobOptions(), false},
		"nodes keep the limit, over TCP":    {memlockLimited(), tcp, false},
		"a user is chosen":                  {plantest.Training(), asUser, true},
		"plain Kubernetes":                  {plantest.Vanilla(), jobOptions(), false},
	} {
		if got := slices.Contains(Needs(test.s, test.o), cluster.SCCGrants); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
