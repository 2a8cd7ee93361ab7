package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

var options = job.Options{Programs: []delivery.Program{delivery.Packed("amd64", []byte("program"))}}

// training is a cluster whose namespace train has rails and railhead-pod, and whose namespace bare has neither.
func training() cluster.State {
	s := plantest.Training()
	s.Read = append(s.Read, cluster.ConfigMaps)
	s.Namespaces = append(s.Namespaces, cluster.Namespace{
		Name:   "bare",
		Labels: map[string]string{workload.WebhookLabel: workload.WebhookRequired},
	})
	d := delivery.Delivery{Programs: options.Programs}
	for _, o := range d.Missing(s, "train", delivery.Kept()) {
		s.ConfigMaps = append(s.ConfigMaps, cluster.ConfigMap{Namespace: "train", Name: o.GetName()})
	}
	return s
}

func pod(t *testing.T, annotation string, gpus int) unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"generateName": "llama-worker-", "annotations": {"railhead.dev/inject": %q}},
		"spec": {"containers": [{"name": "a", "image": "torch", "command": ["torchrun", "train.py"],
			"resources": {"limits": {"nvidia.com/gpu": "%d"}}}]}}`, annotation, gpus)
	if annotation == "" {
		text = strings.Replace(text, `, "annotations": {"railhead.dev/inject": ""}`, "", 1)
	}
	if gpus == 0 {
		text = strings.Replace(text, `"nvidia.com/gpu": "0"`, "", 1)
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDecide(t *testing.T) {
	s := training()
	railless := training()
	railless.Networks = nil
	claims := railless
	claims.Server.Groups = append(slices.Clone(claims.Server.Groups), cluster.ResourceGroup)
	for situation, c := range map[string]struct {
		annotation, namespace string
		gpus                  int
		s                     *cluster.State
		outcome               Outcome
		reason, warning       string
	}{
		"with GPUs":                       {"", "train", 8, &s, Injected, "", ""},
		"without GPUs":                    {"", "train", 0, &s, Skipped, NoGPUs, ""},
		"annotated":                       {"enabled", "train", 0, &s, Injected, "", ""},
		"disabled":                        {"disabled", "train", 8, &s, Skipped, Disabled, ""},
		"misspelt":                        {"no", "train", 8, &s, Failed, UnknownValue, `is "no", but must be one of enabled`},
		"misspelt, required by namespace": {"requird", "bare", 8, &s, Refused, UnknownValue, `is "requird"`},
		"misspelt before the first read":  {"requird", "bare", 8, nil, Failed, UnknownValue, `is "requird"`},
		"before the first read":           {"", "train", 8, nil, Failed, NotRead, "has not read the cluster yet"},
		"required, not read":              {"required", "train", 8, nil, Refused, NotRead, ""},
		"no rails":                        {"", "train", 8, &railless, Failed, "rails-attached", "has no network attachments"},
		"rails required":                  {"required", "train", 8, &railless, Refused, "rails-attached", ""},
		"claims are served": {
			"", "train", 8, &claims, Failed, NoAttachment, "the webhook adds no claims. If a DRA driver offers the rails: railhead inject --claims",
		},
		"required by namespace": {"", "bare", 8, &s, Refused, "rails-attached", "railhead setup namespace bare"},
		"required, but enabled": {"enabled", "bare", 8, &s, Failed, "rails-attached", ""},
	} {
		t.Run(situation, func(t *testing.T) {
			before := pod(t, c.annotation, c.gpus)
			d := Decide(before, c.namespace, c.s, options)
			warnings := strings.Join(d.Warnings, "\n")
			if d.Outcome != c.outcome || d.Reason != c.reason || !strings.Contains(warnings, c.warning) {
				t.Errorf("%s, %q, %q", d.Outcome, d.Reason, d.Warnings)
			}
			if changed := !cmp.Equal(before, d.Pod); changed != (c.outcome == Injected) {
				t.Errorf("changed is %v: %v", changed, d.Pod)
			}
			if c.outcome == Skipped && len(d.Warnings) > 0 {
				t.Errorf("warnings %q", d.Warnings)
			}
		})
	}
}

// TestZeroGPUs: a limit of 0, as charts write it for a pod without GPUs, requests none.
func TestZeroGPUs(t *testing.T) {
	s, zero := training(), pod(t, "", 8)
	items(zero.Object, "spec", "containers")[0]["resources"] = map[string]any{
		"limits": map[string]any{"nvidia.com/gpu": "0"},
	}
	if d := Decide(zero, "bare", &s, options); d.Outcome != Skipped || d.Reason != NoGPUs {
		t.Errorf("%s, %q, %q", d.Outcome, d.Reason, d.Warnings)
	}
}

// TestNoDelivery: a pod whose init container could not be mounted would hang, so it stays as it is.
func TestNoDelivery(t *testing.T) {
	s := training()
	s.ConfigMaps[0].Namespace = "default"
	d := Decide(pod(t, "", 8), "train", &s, options)
	if d.Outcome != Failed || d.Reason != NoDelivery || !strings.Contains(d.Warnings[0], s.ConfigMaps[0].Name) {
		t.Errorf("%s, %q, %q", d.Outcome, d.Reason, d.Warnings)
	}
	o := options
	o.PodImage = "registry.example/railhead-pod"
	if d := Decide(pod(t, "", 8), "train", &s, o); d.Outcome != Injected {
		t.Errorf("by image: %s, %q, %q", d.Outcome, d.Reason, d.Warnings)
	}
}

// TestNoPrivileges: the webhook makes no pod root, also where the nodes do not let containers lock memory.
func TestNoPrivileges(t *testing.T) {
	s := training()
	s.MachineConfigs, s.Pools[0].CurrentSources, s.Pools[0].TargetSources = nil, nil, nil
	d := Decide(pod(t, "", 8), "train", &s, options)
	text := fmt.Sprint(d.Pod.Object)
	if d.Outcome != Injected || strings.Contains(text, "IPC_LOCK") || strings.Contains(text, "runAsUser") {
		t.Errorf("%s: %s", d.Outcome, text)
	}
}

func reviewOf(t *testing.T, pod unstructured.Unstructured) []byte {
	t.Helper()
	text, err := json.Marshal(review{
		APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview",
		Request: &request{UID: "u-1", Namespace: "train", Object: pod},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReview: the answer has the patch, and the API server may ask about the same pod again.
func TestReview(t *testing.T) {
	s := training()
	body, d, err := Review(reviewOf(t, pod(t, "", 8)), &s, options)
	var r review
	if err != nil || json.Unmarshal(body, &r) != nil || r.Response == nil {
		t.Fatalf("%s, %v", body, err)
	}
	var patch []operation
	if err := json.Unmarshal(r.Response.Patch, &patch); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, op := range patch {
		paths = append(paths, op.Op+" "+op.Path)
	}
	want := []string{
		"add /metadata/annotations", "replace /spec/containers/0/command", "add /spec/containers/0/env",
		"add /spec/containers/0/resources/requests", "add /spec/initContainers", "add /spec/volumes",
	}
	for _, w := range want {
		if !slices.Contains(paths, w) {
			t.Errorf("no %s in %q", w, paths)
		}
	}
	if r.APIVersion != "admission.k8s.io/v1" || r.Response.UID != "u-1" || !r.Response.Allowed ||
		r.Response.PatchType != "JSONPatch" || r.Request != nil {
		t.Errorf("%s", body)
	}
	body, again, err := Review(reviewOf(t, d.Pod), &s, options)
	if err != nil || again.Outcome != Skipped || again.Reason != HasRails || strings.Contains(string(body), "patch") {
		t.Errorf("again: %v, %s", err, body)
	}
}

func TestReviewRefuses(t *testing.T) {
	s := training()
	s.Networks = nil
	body, _, err := Review(reviewOf(t, pod(t, "required", 8)), &s, options)
	var r review
	if err != nil || json.Unmarshal(body, &r) != nil || r.Response.Allowed || r.Response.Patch != nil ||
		r.Response.Status == nil || r.Response.Status.Code != forbidden {
		t.Errorf("%s, %v", body, err)
	}
	service := `{"request": {"object": {"kind": "Service", "apiVersion": "v1"}}}`
	for _, text := range []string{"", "{}", `{"request": {}}`, service} {
		if body, _, err := Review([]byte(text), &s, options); err == nil {
			t.Errorf("%q: %s", text, body)
		}
	}
}

func TestDifference(t *testing.T) {
	from := map[string]any{
		"same": []any{"x"}, "gone": int64(1), "off": true, "longer": []any{"x"},
		"list": []any{map[string]any{"a": "b"}},
	}
	to := map[string]any{
		"same": []any{"x"}, "off": false, "list": []any{map[string]any{"a": "c"}}, "longer": []any{"x", "y"},
		"a/b~c": map[string]any{},
	}
	want := []operation{
		{"remove", "/gone", nil}, {"add", "/a~1b~0c", map[string]any{}}, {"replace", "/list/0/a", "c"},
		{"replace", "/longer", []any{"x", "y"}}, {"replace", "/off", false},
	}
	got := difference("", from, to)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(got); !strings.Contains(string(text), `{"op":"replace","path":"/off","value":false}`) {
		t.Errorf("%s", text)
	}
}

// TestModes: without rails, pods of mode auto train over TCP, as with deploy.
func TestModes(t *testing.T) {
	s := training()
	s.Networks = nil
	o := options
	o.Mode = nccl.Auto
	if d := Decide(pod(t, "", 8), "train", &s, o); d.Outcome != Injected {
		t.Errorf("%s, %q", d.Outcome, d.Warnings)
	}
}

// TestReduce: equal nodes give one, and the answers stay the same, also where a namespace selects nodes.
func TestReduce(t *testing.T) {
	s := training()
	for i := range 100 {
		n := plantest.GPUNode(fmt.Sprintf("node-%d", i))
		n.Labels["kubernetes.io/hostname"] = n.Name
		s.Nodes = append(s.Nodes, n)
	}
	arm := plantest.GPUNode("arm")
	arm.Arch, arm.Labels["team"] = "arm64", "a"
	s.Nodes = append(s.Nodes, arm)
	r := Reduce(s)
	if len(r.Nodes) != 3 || len(s.Nodes) != 104 {
		t.Errorf("%d nodes of %d: %v", len(r.Nodes), len(s.Nodes), r.Nodes)
	}
	var teams cluster.State
	for _, selector := range []string{"", "team=a"} {
		s.Namespaces = slices.Clone(s.Namespaces)
		s.Namespaces[1].Annotations = map[string]string{job.ProjectSelector: selector}
		teams = Reduce(s)
		for _, namespace := range []string{"train", "bare"} {
			p := pod(t, "", 8)
			if diff := cmp.Diff(Decide(p, namespace, &s, options), Decide(p, namespace, &teams, options)); diff != "" {
				t.Errorf("selector %q, namespace %s: %s", selector, namespace, diff)
			}
		}
	}
	if len(teams.Nodes) != 3 || teams.Nodes[2].Labels["team"] != "a" {
		t.Errorf("with a selector: %v", teams.Nodes)
	}
}
