package clusterrules

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
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

// TestErasedByTrainJob: the mark of a template tells what a TrainJob replaced, although its runtime is not read.
func TestErasedByTrainJob(t *testing.T) {
	const variable, files = "variable RAILHEAD_MODE", "mount /etc/nccl.conf"
	for name, c := range map[string]struct {
		mark, field string
		want        string
	}{
		"the command is kept":     {workload.ByCommand, "command", ""},
		"the command is replaced": {workload.ByCommand, variable, "no container has its command"},
		"the files are kept":      {workload.ByFiles, files, ""},
		"the mount is replaced":   {workload.ByFiles, "command", "no container has its mount /etc/nccl.conf"},
		"not injected":            {"", variable, ""},
	} {
		made := cluster.Workload{Kind: "JobSet", Name: "llama", Owner: "TrainJob/llama", Templates: []cluster.Pod{{
			Annotations: map[string]string{workload.Injected: c.mark},
			Containers: []cluster.Container{
				{Name: "railhead-pod-files", Init: true, Injected: []string{"command"}},
				{Name: "node", Injected: []string{c.field}},
			},
		}}}
		f := workload.Family{
			Workload: cluster.Workload{Kind: "TrainJob", Namespace: "train", Name: "llama"}, Made: []cluster.Workload{made},
		}
		findings := Erased(f)
		if c.want == "" && len(findings) == 0 {
			continue
		}
		if len(findings) != 1 || c.want == "" || !strings.Contains(findings[0].Summary, c.want) ||
			!strings.Contains(findings[0].Fix.Text, "spec.trainer of the TrainJob") {
			t.Errorf("%s: %+v", name, findings)
		}
	}
}

// TestErasedFromUnknownKind: an object of a kind that railhead does not know runs the pods and the workloads that it
// owns.
func TestErasedFromUnknownKind(t *testing.T) {
	s := rulestest.Training(t)
	inject(&s)
	manifest := s.Workloads[0]
	manifest.Kind, manifest.Name = "Train", "t"
	s.Workloads = nil
	for i := range s.Pods {
		if strings.HasPrefix(s.Pods[i].Name, "h-kim-") {
			s.Pods[i].Owner = "Train/t"
		}
	}
	if findings := ErasedFrom(manifest, s); len(findings) > 0 {
		t.Errorf("pods as the manifest: %v", findings)
	}
	rulestest.Pod(&s, "h-kim-0").Annotations, rulestest.Pod(&s, "h-kim-0").Writer = nil, "train-operator"
	findings := ErasedFrom(manifest, s)
	if len(findings) == 1 && findings[0].Evidence[1].String() != "field manager of pod h-kim-0: train-operator" {
		t.Errorf("evidence %v", findings[0].Evidence)
	}
	if len(findings) != 1 || findings[0].Status != check.Fail || !cmp.Equal(findings[0].About, []check.Ref{check.PodRef("train", "h-kim-0")}) {
		t.Errorf("a pod without attachments: %v", findings)
	}
	s.Workloads = []cluster.Workload{manifest}
	s.Workloads[0].Kind, s.Workloads[0].Name, s.Workloads[0].Owner, s.Pods = "Job", "t-0", "Train/t", nil
	if findings := ErasedFrom(manifest, s); len(findings) > 0 {
		t.Errorf("a Job as the manifest: %v", findings)
	}
	s.Workloads = nil
	if findings := ErasedFrom(manifest, s); check.Worst(findings) != check.Unknown {
		t.Errorf("nothing runs: %v", findings)
	}
}
