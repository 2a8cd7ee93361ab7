package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
)

// example is testdata/KIND.GROUP.yaml: an object, some of its pods, and the facts that the row of the kind finds in them.
type example struct {
	Object map[string]any `json:"object"`
	Pods   []cluster.Pod  `json:"pods"`
	Want   facts          `json:"want"`
}

type facts struct {
	Containers []string `json:"containers,omitempty"` // the first of each pod template
	Roles      []string `json:"roles,omitempty"`      // of the templates, unless all are workers
	Size       int      `json:"pods,omitempty"`
	Ranks      []int    `json:"ranks,omitempty"`   // of the pods
	Helpers    []string `json:"helpers,omitempty"` // the pods that do not train
	RankPath   string   `json:"rankPath,omitempty"`
	Leader     string   `json:"leader,omitempty"`

	// of the first pod
	Gang      string `json:"gang,omitempty"`
	Alike     string `json:"alike,omitempty"`
	Recreated bool   `json:"recreated,omitempty"`
}

func TestKinds(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(Kinds) {
		t.Errorf("%d examples of %d kinds", len(files), len(Kinds))
	}
	for _, k := range Kinds {
		t.Run(k.GVK.GroupKind().String(), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", k.GVK.GroupKind().String()+".yaml"))
			if err != nil {
				t.Fatalf("every kind needs an example: %v", err)
			}
			var e example
			if err := yaml.UnmarshalStrict(data, &e); err != nil {
				t.Fatal(err)
			}
			object := unstructured.Unstructured{Object: e.Object}
			if object.GroupVersionKind() != k.GVK {
				t.Errorf("the example is of %s", object.GroupVersionKind())
			}
			got := factsOf(k, e, object.GetName())
			if diff := cmp.Diff(e.Want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func factsOf(k Kind, e example, name string) facts {
	f := Family{Workload: k.Describe(e.Object), Pods: e.Pods}
	got := facts{Size: f.Size, Ranks: f.Ranks()}
	if len(e.Pods) > 0 {
		got.Gang, got.Alike, got.Recreated = GangOf(e.Pods[0]), AlikeOf(e.Pods[0]), Recreated(e.Pods[0])
	}
	for _, p := range e.Pods {
		if !f.Trains(p) {
			got.Helpers = append(got.Helpers, p.Name)
		}
	}
	workers := true
	for _, part := range k.Parts(e.Object) {
		workers = workers && part.Role == Worker
		got.Roles = append(got.Roles, []string{"worker", "leader", "launcher", "helper"}[part.Role])
		containers, _ := Field(part.Template, "spec.containers").([]any)
		for _, c := range containers {
			first, _ := c.(map[string]any)
			container, _ := first["name"].(string)
			got.Containers = append(got.Containers, container)
			break
		}
	}
	if workers {
		got.Roles = nil
	}
	if k.Rank != (Source{}) {
		got.RankPath = k.Rank.FieldPath()
	}
	if k.Deployed {
		got.Leader = k.LeaderOf(name)
	}
	return got
}

// TestDeployed: a kind that deploy writes needs all facts that its pods get.
func TestDeployed(t *testing.T) {
	for _, k := range Kinds {
		complete := k.Leader != "" && k.Suffix != "" && len(k.Makers) > 0 && k.Rank != (Source{}) && len(k.Templates) > 0
		if k.Deployed && !complete {
			t.Errorf("%s: the row lacks a template, the rank, the leader, the suffix or the makers", k.GVK.Kind)
		}
	}
	if got := strings.Join(Flags(), " "); got != "statefulset job jobset" {
		t.Errorf("--kind takes %s", got)
	}
}
