package setup

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

func TestPoolFindings(t *testing.T) {
	of := func(s *cluster.State, name string) *cluster.Pool {
		for i := range s.Pools {
			if s.Pools[i].Name == name {
				return &s.Pools[i]
			}
		}
		t.Fatalf("no pool %s", name)
		return nil
	}
	for name, test := range map[string]struct {
		change func(*cluster.State)
		want   []string // status and check
		says   string
	}{
		"healthy": {func(*cluster.State) {}, nil, ""},
		"paused by someone else, nothing to do": {
			func(s *cluster.State) { of(s, "worker").Paused = true },
			[]string{"warn pool-not-paused"},
			"paused, and not by Railhead",
		},
		"paused by someone else, with nodes that lack it": {func(s *cluster.State) {
			p := of(s, "worker")
			p.Paused, p.Target = true, "rendered-worker-next"
		}, []string{"fail pool-not-paused"}, "13 of 13 nodes lack rendered-worker-next"},
		"paused by an interrupted setup": {func(s *cluster.State) {
			p := of(s, "worker")
			p.Paused, p.Annotations = true, map[string]string{cluster.AnnotationPausedBy: cluster.PausedBySetup}
		}, []string{"warn pool-not-paused"}, "paused by 'railhead setup cluster'"},
		"half rolled out": {func(s *cluster.State) {
			p := of(s, "worker")
			p.Target = "rendered-worker-next"
			for i := range s.Nodes {
				if n := &s.Nodes[i]; strings.HasPrefix(n.Name, "w") {
					n.MachineConfig.Current, n.MachineConfig.Desired = p.Target, p.Target
					break
				}
			}
			for i := range s.Nodes { // one is on its way
				if n := &s.Nodes[i]; strings.HasPrefix(n.Name, "w") && n.MachineConfig.Current != p.Target {
					n.MachineConfig.Desired, n.MachineConfig.State = p.Target, "Working"
					break
				}
			}
		}, []string{"warn pool-idle"}, "half rolled out: 12 of 13 nodes lack rendered-worker-next"},
		"degraded": {func(s *cluster.State) {
			p := of(s, "worker")
			p.Conditions = []cluster.Condition{
				{Type: "NodeDegraded", Status: "True", Message: "node gpu-3 is reporting: disk full"},
			}
		}, []string{"fail pool-healthy"}, "disk full"},
		"masters have no RDMA": {func(s *cluster.State) { of(s, "master").Paused = true }, nil, ""},
		"pools that could not be read": {func(s *cluster.State) {
			of(s, "worker").Paused = true
			s.Problems = append(s.Problems, cluster.Problem{Kind: cluster.Pools, Err: "forbidden", Forbidden: true})
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			var got []string
			said := ""
			for _, f := range clusterrules.Judge(s, clusterrules.Options{}).Findings {
				if f.Subject.Kind != check.Pool {
					continue
				}
				got = append(got, f.Status.String()+" "+string(f.Check))
				said += f.Summary
			}
			if strings.Join(got, "; ") != strings.Join(test.want, "; ") || !strings.Contains(said, test.says) {
				t.Errorf("found %q, want %q: %s", got, test.want, said)
			}
		})
	}
}
