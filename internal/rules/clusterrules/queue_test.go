package clusterrules

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// TestSuspended: a job that Kueue holds has no pods, and is not healthy.
func TestSuspended(t *testing.T) {
	held := asking("JobSet", func(w *cluster.Workload) {
		w.Wanted, w.Conditions = 0, []cluster.Condition{{Type: "Suspended", Status: "True"}}
	})
	waits := func(object, message string) []cluster.Event {
		return []cluster.Event{{
			Namespace: "train", Object: object, Type: "Normal", Reason: "Pending", Message: message,
		}}
	}
	const full = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor " +
		"h100, 8 more needed"
	for name, c := range map[string]struct {
		workload cluster.Workload
		events   []cluster.Event
		job      string
		says     string // "" if nothing is reported
		status   check.Status
	}{
		"the quota is used up": {held, waits("Workload/jobset-llm-3f2a1", full), "",
			"the queue of JobSet llm has not admitted it: " + full[:40], check.Warn},
		"the quota is too small": {held, waits("Workload/jobset-llm-3f2a1", "insufficient quota for nvidia.com/gpu in "+
			"flavor h100, request > maximum capacity (16 > 8)"), "", "the queue of JobSet llm can never admit it",
			check.Fail},
		"of another job":                     {held, waits("Workload/jobset-llm2-3f2a1", full), "", "", check.Pass},
		"nothing says why":                   {workload: held},
		"nothing says why, and it was asked": {held, nil, "llm", "JobSet llm is suspended", check.Warn},
		"it is not suspended, and has its pods": {workload: asking("JobSet", func(w *cluster.Workload) {
			w.Wanted = 0
		}), events: waits("Workload/jobset-llm-3f2a1", full)},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.State{
				Taken: noon, Events: c.events, Workloads: []cluster.Workload{c.workload},
				Read: []cluster.Kind{cluster.Workloads, cluster.Pods, cluster.Events, cluster.Nodes},
			}
			found := missingPods(s, Options{Namespace: "train", Job: workload.Ref{Name: c.job}}, nil)
			if c.says == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Check != pods.QueueAdmission || found[0].Status != c.status ||
				!strings.Contains(found[0].Summary, c.says) {
				t.Errorf("found %+v, want %s %q", found, c.status, c.says)
			}
		})
	}
}
