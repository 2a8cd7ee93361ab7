package cluster

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// TestErasedFrom: a manifest is compared with the live object, or with what a TrainJob made of its runtime.
func TestErasedFrom(t *testing.T) {
	s := rulestest.Training(t)
	inject(&s)
	manifest := s.Workloads[0]
	runtime := manifest
	runtime.Kind, runtime.Name = "TrainingRuntime", "torch"
	cron := manifest
	cron.Kind, cron.Name = "CronJob", "nightly"
	started := func(s *cluster.State) { s.Workloads[0].Owner = "CronJob/nightly" }
	trained := func(s *cluster.State) {
		rulestest.TrainJob(s, nil)
		s.Workloads[0].Owner = "TrainJob/h-kim"
		s.Workloads = append(s.Workloads, cluster.Workload{Kind: "TrainJob", Namespace: "train", Name: "h-kim"})
	}
	erase := func(s *cluster.State) {
		live := s.Workloads[0].Templates[1]
		live.Containers = []cluster.Container{live.Containers[0], {Name: "train", Injected: []string{"variable RAILHEAD_MODE"}}}
		live.Annotations = nil
		s.Workloads[0].Templates = []cluster.Pod{s.Workloads[0].Templates[0], live}
	}
	var resources []string
	for _, name := range slices.Sorted(maps.Keys(manifest.Templates[1].Requests)) {
		resources = append(resources, cluster.InjectedResource+name)
	}
	unrequested := func(s *cluster.State) {
		live := s.Workloads[0].Templates[1]
		live.Requests = nil
		s.Workloads[0].Templates = []cluster.Pod{s.Workloads[0].Templates[0], live}
	}
	notByPods := func(s *cluster.State) {
		s.Workloads[1].Templates = s.Workloads[0].Templates[1:]
		rulestest.Pod(s, "h-kim-0").Requests, rulestest.Pod(s, "h-kim-1").Requests = nil, nil
	}
	none := func(s *cluster.State) { s.Workloads = nil }
	for name, c := range map[string]struct {
		manifest cluster.Workload
		change   []func(*cluster.State)
		want     []string // the evidence and the fix of one finding
	}{
		"as the manifest":                   {manifest, nil, nil},
		"as the runtime":                    {runtime, []func(*cluster.State){trained}, nil},
		"an object that was applied before": {manifest, []func(*cluster.State){erase}, []string{"without annotation " + networksAnnotation + ", command of container train", setInstead[""]}},
		"fields of the TrainJob":            {runtime, []func(*cluster.State){trained, erase}, []string{"without annotation " + networksAnnotation + ", command of container train", trainerFields}},
		"resources that the pods have":      {runtime, []func(*cluster.State){trained, unrequested}, nil},
		"resources that no pod has":         {runtime, []func(*cluster.State){trained, unrequested, notByPods}, []string{"without " + strings.Join(resources, ", "), trainerFields}},
		"a Job of the CronJob":              {cron, []func(*cluster.State){started}, nil},
		"fields of the Job":                 {cron, []func(*cluster.State){started, erase}, []string{"without annotation " + networksAnnotation + ", command of container train", setInstead[""]}},
		"nothing was applied":               {manifest, []func(*cluster.State){none}, []string{"0 workloads", "Apply the output of inject first. You need the right to list it and its pods."}},
		"no TrainJob has the runtime":       {runtime, nil, []string{"0 workloads", "Apply the output of inject first. You need the right to list it and its pods."}},
	} {
		s := rulestest.Training(t)
		inject(&s)
		for _, change := range c.change {
			change(&s)
		}
		var got []string
		for _, f := range ErasedFrom(c.manifest, s) {
			got = append(got, f.Evidence[0].Got, f.Fix.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
