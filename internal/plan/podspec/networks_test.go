package podspec

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

func TestNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a,b",
		"b":                            "b,a",
		"train/a, other/b@net7":        "train/a,other/b@net7,b",
		"c@net2":                       "c@net2,a@net4,b",
		"c,d@net3":                     "c,d@net3,a@net5,b",
		"c@net3,d@net4":                "c@net3,d@net4,a@net5,b@net6",
		"c.d":                          `[{"name":"c.d"},{"name":"a"},{"name":"b"}]`,
		"other/c.d@rail0":              `[{"interface":"rail0","name":"c.d","namespace":"other"},{"name":"a"},{"name":"b"}]`,
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
	for text, want := range map[string]string{
		"c@net2,d": "c and d would both get the interface net2",
		"c@eth0":   "the cluster's network and c would both get the interface eth0",
		`[{"name":"c","interface":"x"},{"name":"d","interface":"x"}]`: "c and d would both get the interface x",
	} {
		annotations := map[string]any{cluster.NetworksAnnotation: text}
		n, err := NetworksOf(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		if _, failed := n.With("train", "a"); err != nil || failed == nil || !strings.Contains(failed.Error(), want) {
			t.Errorf("%q: %v, want %q", text, failed, want)
		}
	}
	annotations := map[string]any{cluster.NetworksAnnotation: "[{"}
	if n, err := NetworksOf(map[string]any{"metadata": map[string]any{"annotations": annotations}}); err == nil {
		t.Errorf("invalid JSON: %v", n)
	}
}
