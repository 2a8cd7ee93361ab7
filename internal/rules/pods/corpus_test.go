package pods

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// TestCorpus explains messages of real clusters, which are next to a developer's checkout, not in the project.
func TestCorpus(t *testing.T) {
	const folder = "../../../../shared/corpus/pods"
	index, err := os.ReadFile(filepath.Join(folder, "index.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no corpus next to the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")[1:]
	for _, line := range lines {
		columns := strings.Split(line, "\t")
		file, family := columns[0], check.ID(columns[2])
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, file))
			if err != nil {
				t.Fatal(err)
			}
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
			f, ok := Explain(pod, []cluster.Event{{Message: string(text)}}, s)
			if !ok || f.Check != family || f.Summary == "" || f.Fix == nil {
				t.Errorf("want %s, got %s (%t): %s", family, f.Check, ok, f.Summary)
			}
			t.Log(f.Summary)
		})
	}
	if len(lines) == 0 {
		t.Error("the index is empty")
	}
}
