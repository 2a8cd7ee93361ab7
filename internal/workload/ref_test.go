package workload

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestParseRef(t *testing.T) {
	for text, want := range map[string]string{
		"h-kim":                        "h-kim",
		"statefulset/h-kim":            "statefulset/h-kim",
		"StatefulSets/h-kim":           "statefulset/h-kim",
		"sts/h-kim":                    "statefulset/h-kim",
		"sts.apps/h-kim":               "statefulset/h-kim",
		"trainjobs/llama":              "trainjob/llama",
		"job/x":                        "job/x",
		"job.batch/x":                  "job/x",
		"job.batch.volcano.sh/x":       "job.batch.volcano.sh/x",
		"vcjob/x":                      "job.batch.volcano.sh/x",
		"po/x":                         "pod/x",
		"":                             "error",
		"/x":                           "error",
		"job/":                         "error",
		"job/x/y":                      "error",
		"jib/x":                        "jib/x",
		"sts.batch/x":                  "sts.batch/x",
		"clustertrainingruntime/llama": "error",
		"cronjob/nightly":              "error",
	} {
		ref, err := ParseRef(text)
		if got := ref.String(); got != want && (err == nil || want != "error") {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestRefWithoutPods: the message leads to the objects whose pods are examined.
func TestRefWithoutPods(t *testing.T) {
	const want = "cronjob/nightly: a CronJob has no pods of its own: name the Job or TrainJob whose pods are made from it"
	if _, err := ParseRef("cronjob/nightly"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestLookup has two Jobs of one name, a TrainJob with its JobSet, and a job that railhead deployed.
func TestLookup(t *testing.T) {
	labels := map[string]string{LabelInstance: "h-kim", LabelComponent: ComponentJob}
	in := func(kind, name, owner string) cluster.Workload {
		return cluster.Workload{Kind: kind, Namespace: "train", Name: name, Owner: owner, Size: 1, Wanted: 1}
	}
	ours := in("StatefulSet", "h-kim", "")
	ours.Templates = []cluster.Pod{{Namespace: "train", Labels: labels}}
	s := cluster.State{
		Read: []cluster.Kind{cluster.Workloads},
		Workloads: []cluster.Workload{
			in("Job", "bert", ""), in("Job.batch.volcano.sh", "bert", ""),
			in("StatefulSet", "made", "RoleSet/roles"), in("TrainJob", "llama", ""), in("JobSet", "llama", "TrainJob/llama"), in("Job", "llama-node-0", "JobSet/llama"),
			ours, in("Deployment", "h-kim", ""), in("Job", "alone", ""), in("Service", "other", ""),
		},
		Pods: []cluster.Pod{
			{Namespace: "train", Name: "bert-0-x", Owner: "Job/bert"},
			{Namespace: "train", Name: "bert-worker-0", Owner: "Job.batch.volcano.sh/bert"},
			{Namespace: "train", Name: "llama-node-0-0-x", Owner: "Job/llama-node-0"},
			{Namespace: "train", Name: "h-kim-0", Owner: "StatefulSet/h-kim", Labels: labels},
			{Namespace: "train", Name: "t-0", Owner: "Train/t"}, {Namespace: "train", Name: "t-1", Owner: "Train/t"},
			{Namespace: "other", Name: "t-2", Owner: "Train/t"}, {Namespace: "train", Name: "made-0", Owner: "StatefulSet/made"},
			{Namespace: "train", Name: "static-node", Owner: "Node/node"},
			{Namespace: "train", Name: "old-0", Labels: map[string]string{LabelInstance: "old", LabelComponent: ComponentJob}},
		},
	}
	for text, want := range map[string]string{
		"job/bert":                  "job/bert bert-0-x",
		"job.batch.volcano.sh/bert": "job.batch.volcano.sh/bert bert-worker-0",
		"bert":                      "bert is the name of 2 workloads in namespace train: use job/bert or job.batch.volcano.sh/bert",
		"t":                         "train/t t-0 t-1",
		"train/t":                   "train/t t-0 t-1",
		"Trains.example.com/t":      "train/t t-0 t-1",
		"train/u":                   "there is no such workload",
		"other/t":                   "there is no such workload",
		"rolesets/roles":            "statefulset/made made-0",
		"node/node":                 "there is no such workload",
		"static-node":               "pod/static-node static-node",
		"llama":                     "trainjob/llama llama-node-0-0-x",
		"jobset/llama":              "trainjob/llama llama-node-0-0-x",
		"llama-node-0":              "trainjob/llama llama-node-0-0-x",
		"h-kim":                     "statefulset/h-kim h-kim-0",
		"deploy/h-kim":              "deployment/h-kim",
		"alone":                     "job/alone",
		"pod/h-kim-0":               "pod/h-kim-0 h-kim-0",
		"old":                       "old old-0",
		"trainjob/h-kim":            ErrNotFound.Error(),
		"nothing":                   ErrNotFound.Error(),
	} {
		ref, err := ParseRef(text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Lookup(s, ref, "train")
		got := RefOf(f.Workload).String()
		for _, p := range f.Pods {
			got += " " + p.Name
		}
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if _, err := Lookup(s, Ref{Name: "h-kim"}, "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("in another namespace: %v", err)
	}
}

// TestRanks has the pods of controllers that number them in part.
func TestRanks(t *testing.T) {
	pod := func(name, owner, index string) cluster.Pod {
		p := cluster.Pod{Name: name, Owner: owner, Annotations: map[string]string{}}
		if index != "" {
			p.Annotations[indexAnnotation] = index
		}
		return p
	}
	for name, c := range map[string]struct {
		pods []cluster.Pod
		want []int
	}{
		"a pod is missing":                        {[]cluster.Pod{pod("a-2-x", "Job/a", "2"), pod("a-0-y", "Job/a", "0")}, []int{2, 0}},
		"a pod replaces another":                  {[]cluster.Pod{pod("a-1-x", "Job/a", "1"), pod("a-1-y", "Job/a", "1")}, []int{1, 1}},
		"a Job without indices":                   {[]cluster.Pod{pod("a-zz", "Job/a", ""), pod("a-54789", "Job/a", "")}, []int{1, 0}},
		"a StatefulSet before Kubernetes 1.28":    {[]cluster.Pod{pod("a-10", "StatefulSet/a", ""), pod("a-2", "StatefulSet/a", "")}, []int{10, 2}},
		"a Deployment, in the order of its names": {[]cluster.Pod{pod("a-10", "ReplicaSet/a", ""), pod("a-2", "ReplicaSet/a", "")}, []int{1, 0}},
	} {
		if diff := cmp.Diff(c.want, Family{Pods: c.pods}.Ranks()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTrainer(t *testing.T) {
	for want, containers := range map[string][]cluster.Container{
		"":             {{Name: "install", Init: true}},
		"first":        {{Name: "install", Init: true, GPUs: true}, {Name: "first"}, {Name: "second"}},
		"runs":         {{Name: "done"}, {Name: "runs", Running: true}},
		"gpus":         {{Name: "proxy", Running: true}, {Name: "gpus", GPUs: true}},
		TrainContainer: {{Name: "sidecar", Running: true}, {Name: TrainContainer, Running: true}},
		"wraps":        {{Name: "gpus", GPUs: true}, {Name: "wraps", Command: []string{"/railhead/bin/railhead-pod", "run"}}},
	} {
		if got := Trainer(containers); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestFamilyOfUnknownKind: its pods are one workload, which asks for what they ask.
func TestFamilyOfUnknownKind(t *testing.T) {
	s := cluster.State{Read: []cluster.Kind{cluster.Workloads}, Pods: []cluster.Pod{
		{Namespace: "train", Name: "t-0", Owner: "Train/t", Phase: "Running"},
		{Namespace: "train", Name: "t-1", Owner: "Train/t", Phase: "Succeeded"},
	}}
	families := Families(s)
	if len(families) != 1 || families[0].Size != 2 || families[0].WantedPods() != 1 || len(families[0].PodTemplates()) != 2 {
		t.Fatalf("%+v", families)
	}
	if got := RefOf(families[0].Workload).String(); got != "train/t" {
		t.Errorf("it is called %s", got)
	}
}
