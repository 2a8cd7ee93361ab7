package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// Objects of a manifest, as charts have them.
const (
	trainingPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: train}\nspec: {containers: [{name: train, image: i, " +
		"command: [x], resources: {limits: {nvidia.com/gpu: 8}}}]}\n"
	dashboard = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dashboard}\nspec:\n  template:\n    spec: {containers: " +
		"[{name: web, image: i, command: [y]}]}\n"
	service   = "apiVersion: v1\nkind: Service\nmetadata: {name: train}\n"
	inference = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: llm}\nspec: {predictor: {model: {}}}\n"
	trainJob  = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llama}\nspec: {runtimeRef: {name: torch}}\n"
	trainer   = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec: {template: {spec: " +
		"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: i, command: [x]}]}}}}}]}}}\n"
)

// TestInjectSeveral: the pods that train get rails, and a note or a finding names what does not and may have to.
func TestInjectSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		objects   []string
		container string
		rails     []string // objects
		notes     []string
		findings  string
	}{
		"a chart": {
			[]string{service, dashboard, trainingPod}, "", []string{"Pod train"},
			[]string{"Unchanged, because they request no GPU and other pods do: Deployment dashboard. --container chooses by name."}, "",
		},
		"no GPUs at all": {[]string{service, dashboard}, "", []string{"Deployment dashboard"}, nil, ""},
		"by name": {
			[]string{dashboard, trainingPod}, "web", []string{"Deployment dashboard"},
			[]string{"Unchanged, without a container web: Pod train."}, "",
		},
		"a custom object": {
			[]string{trainingPod, inference}, "", []string{"Pod train"},
			[]string{"Unchanged, because no pod template was found: InferenceService llm."}, "",
		},
		"a custom object alone": {[]string{inference}, "", nil, nil, "fail: railhead does not know where InferenceService has pod templates"},
		"a TrainJob alone":      {[]string{trainJob}, "", nil, nil, "fail: TrainJob llama has no pod template: its pods are made from that of ClusterTrainingRuntime torch"},
		"a TrainJob of another runtime": {
			[]string{trainJob, trainingPod}, "", []string{"Pod train"}, nil, "warn: TrainJob llama has no pod template",
		},
		"a TrainJob with its runtime": {
			[]string{trainer, trainJob}, "", []string{"ClusterTrainingRuntime torch"}, nil,
			"warn: pods of all namespaces are made from ClusterTrainingRuntime torch",
		},
	} {
		all, err := manifests.Read([]byte(strings.Join(c.objects, "---\n")))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Namespace: "train", Container: c.container, PodImage: "registry.example.com/railhead-pod:1"}
		out, draft := InjectAll(all, map[string]cluster.State{"train": plantest.Training()}, o)
		var rails []string
		for i, object := range out {
			if !cmp.Equal(object.Object, all[i].Object) {
				rails = append(rails, object.GetKind()+" "+object.GetName())
			}
		}
		var notes []string
		for _, note := range draft.Notes {
			if strings.HasPrefix(note, "Unchanged") {
				notes = append(notes, note)
			}
		}
		got := ""
		for _, f := range draft.Findings {
			if got == "" || f.Status == check.Fail {
				got = strings.ToLower(f.Status.String()) + ": " + f.Summary
			}
		}
		if !strings.HasPrefix(got, c.findings) || c.findings == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.findings)
		}
		if d := cmp.Diff(c.rails, rails) + cmp.Diff(c.notes, notes); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestInjectFixes: the commands of a fix are of inject, and the account that setup creates is not the pods' own.
func TestInjectFixes(t *testing.T) {
	m := manifest(t, strings.Replace(trainingPod, "name: train", "name: train, namespace: nowhere", 1))
	_, findings := Inject(m, plantest.Training(), Options{Programs: programs()})
	if len(findings) != 1 || findings[0].Fix == nil {
		t.Fatal(plantest.Wording(findings))
	}
	want := []string{"railhead setup namespace nowhere", "railhead inject -f FILE -n nowhere --mode tcp"}
	if d := cmp.Diff(want, findings[0].Fix.Commands); d != "" {
		t.Error(d)
	}
}

// TestFilesOnce: containers that railhead-pod does not start for the same reason are one finding.
func TestFilesOnce(t *testing.T) {
	head := strings.Replace(rayManifest, "name: ray-head,", "name: ray-head, resources: {limits: {nvidia.com/gpu: 8}},", 1)
	_, findings := Inject(manifest(t, head), plantest.Training(), Options{Programs: programs()})
	const want = "railhead-pod does not start the command of containers ray-head and ray-worker: the controller of " +
		"RayCluster objects writes its command. An init container writes its settings to files instead"
	if len(findings) != 1 || findings[0].Summary != want {
		t.Error(plantest.Wording(findings))
	}
}

// TestTemplatePaths: a path that leads nowhere is refused, one that is not needed is noted, and the advice for an unknown
// kind is a path that is then taken.
func TestTemplatePaths(t *testing.T) {
	const template = "{spec: {containers: [{name: c, image: i, command: [x], resources: {limits: {nvidia.com/gpu: 8}}}]}}"
	custom := func(spec string) string {
		return "apiVersion: example.com/v1\nkind: Train\nmetadata: {name: t}\nspec: " + spec + "\n"
	}
	for name, c := range map[string]struct{ text, path, note, finding string }{
		"of no object":         {trainingPod, "spec.nope.template", "", "no manifest has a pod template at spec.nope.template"},
		"of a known kind":      {dashboard, "spec.template", "--template-path spec.template is not used", ""},
		"of one object of two": {trainingPod + "---\n" + custom("{template: "+template+"}"), "spec.template", "", ""},
		"wrong": {
			custom("{template: " + template + "}"), "spec.nope", "", "railhead does not know where Train has pod templates",
		},
		"lists in lists":      {custom("{pools: [{groups: [{template: " + template + "}]}]}"), "spec.pools[].groups[].template", "", ""},
		"a name with a dot":   {custom("{roles: {a.b: {template: " + template + "}}}"), `spec.roles.a\.b.template`, "", ""},
		"a list of templates": {custom("{pods: [" + template + "]}"), "spec.pods[]", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := manifests.Read([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Namespace: "train", TemplatePaths: []string{c.path}, PodImage: "registry.example.com/railhead-pod:1"}
			out, draft := InjectAll(all, map[string]cluster.State{"train": plantest.Training()}, o)
			if c.finding == "" == draft.Failed() || c.finding != "" && !strings.Contains(draft.Findings[0].Summary, c.finding) {
				t.Fatalf("findings %v, want %q", draft.Findings, c.finding)
			}
			if noted := strings.Contains(strings.Join(draft.Notes, "\n"), "is not used"); noted != (c.note != "") {
				t.Errorf("notes %q, want %q", draft.Notes, c.note)
			}
			last := len(all) - 1
			if c.finding == "" && cmp.Equal(all[last].Object, out[len(out)-1].Object) {
				t.Error("it got no rails")
			}
		})
	}
}
