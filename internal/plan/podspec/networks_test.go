package podspec

import (
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

func TestNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a,b",
		"b":                            "b,a",
		"train/a, other/b@net7":        "train/a,other/b@net7,b",
		"a@net1 b":                     "a@net1,b",
		"[]":                           `[{"name":"a"},{"name":"b"}]`,
		` [{"name":"a"},{"name":"b"}]`: ` [{"name":"a"},{"name":"b"}]`,
		`[{"name":"a","namespace":"other"},{"name":"b","namespace":"train"}]`: `[{"name":"a","namespace":"other"},` +
			`{"name":"b","namespace":"train"},{"name":"a"}]`,
	} {
		annotations := map[string]any{cluster.NetworksAnnotation: text}
		n, err := NetworksOf(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		got, failed := n.With("train", "a", "b")
		if err != nil || failed != nil || got != want {
			t.Errorf("%q: %q, want %q; %v, %v", text, got, want, err, failed)
		}
	}
	annotations := map[string]any{cluster.NetworksAnnotation: "[{"}
	if n, err := NetworksOf(map[string]any{"metadata": map[string]any{"annotations": annotations}}); err == nil {
		t.Errorf("invalid JSON: %v", n)
	}
}
