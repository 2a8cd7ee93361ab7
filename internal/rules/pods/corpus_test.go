package pods

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/corpustest"
)

// TestCorpus explains messages of other people's clusters.
func TestCorpus(t *testing.T) {
	for _, folder := range corpustest.Folders(t, "pods") {
		for _, row := range corpustest.Index(t, folder) {
			t.Run(row["file"], func(t *testing.T) {
				text, err := os.ReadFile(filepath.Join(folder, row["file"]))
				if err != nil {
					t.Fatal(err)
				}
				explains(t, string(text), check.ID(row["family"]))
			})
		}
	}
}

func explains(t *testing.T, text string, family check.ID) {
	t.Helper()
	var s cluster.State
	if family == ResourceNameMismatch { // what the index says of that cluster
		s = cluster.State{
			Read: []cluster.Kind{cluster.Nodes},
			Nodes: []cluster.Node{
				{Name: "a", Ready: true, Allocatable: cluster.Resources{"nvidia.com/mlx5_0": 4}},
			},
		}
	}
	pod := cluster.Pod{Namespace: "train", Name: "h-kim-0"}
	f, ok := Explain(pod, []cluster.Event{{Message: text}}, s)
	if !ok || f.Check != family || f.Summary == "" || f.Fix == nil {
		t.Errorf("want %s, got %s (%t): %s", family, f.Check, ok, f.Summary)
	}
	t.Log(f.Summary)
}
