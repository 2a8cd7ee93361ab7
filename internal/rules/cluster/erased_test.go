package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

// TestErasedFrom: a manifest is compared with the live object, or with what a TrainJob made of its runtime.
func TestErasedFrom(t *testing.T) {
	s := rulestest.Training(t)
	inject(&s)
	f, _ := workload.Lookup(s, workload.Ref{Name: "h-kim"}, "train")
	manifest := f.Workload
	if found := ErasedFrom(manifest, f); len(found) > 0 {
		t.Errorf("unchanged: %v", found)
	}
	trainJob := workload.Family{
		Workload: cluster.Workload{Kind: "TrainJob", Namespace: "train", Name: "h-kim"},
		Made:     f.Members(),
		Pods:     f.Pods,
	}
	trainJob.Made[0].Owner = "TrainJob/h-kim"
	runtime := manifest
	runtime.Kind = "TrainingRuntime"
	if found := ErasedFrom(runtime, trainJob); len(found) > 0 {
		t.Errorf("runtime unchanged: %v", found)
	}
	live := f.Templates[1]
	live.Containers = []cluster.Container{live.Containers[0], {Name: "train", Injected: []string{"variable RAILHEAD_MODE"}}}
	live.Annotations = nil
	trainJob.Made[0].Templates = []cluster.Pod{f.Templates[0], live}
	f.Templates = trainJob.Made[0].Templates
	for name, c := range map[string]struct {
		manifest cluster.Workload
		family   workload.Family
		want     string
	}{
		"an object that was applied before": {manifest, f, setInstead[""]},
		"fields of the TrainJob":            {runtime, trainJob, trainerFields},
	} {
		found := ErasedFrom(c.manifest, c.family)
		if len(found) != 1 || found[0].Evidence[0].Got != "without annotation "+networksAnnotation+", command of container train" {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if diff := cmp.Diff(c.want, found[0].Fix.Text); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
