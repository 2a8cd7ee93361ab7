package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeafOf(t *testing.T) {
	for name, c := range map[string]struct {
		labels map[string]string
		named  string
		want   string
	}{
		"none":                  {map[string]string{"topology.kubernetes.io/zone": "a"}, "", ""},
		"Topograph":             {map[string]string{"fabric.topograph.run/tier-0": "s1", "fabric.topograph.run/tier-1": "s9"}, "", "s1"},
		"an older Topograph":    {map[string]string{"network.topology.nvidia.com/leaf": "s2", "network.topology.nvidia.com/spine": "s9"}, "", "s2"},
		"GKE":                   {map[string]string{"cloud.google.com/gce-topology-block": "b", "cloud.google.com/gce-topology-subblock": "r4"}, "", "r4"},
		"OKE":                   {map[string]string{"oci.oraclecloud.com/rdma.local_block_id": "4tjxbt4s6ua"}, "", "4tjxbt4s6ua"},
		"one that is named":     {map[string]string{"fabric.topograph.run/tier-0": "s1", "example.com/rack": "12"}, "example.com/rack", "12"},
		"named, and not there":  {map[string]string{"fabric.topograph.run/tier-0": "s1"}, "example.com/rack", ""},
		"an empty one is none":  {map[string]string{"fabric.topograph.run/tier-0": "", "network.topology.nvidia.com/leaf": "s2"}, "", "s2"},
		"a node without labels": {nil, "", ""},
	} {
		if got := LeafOf(c.labels, c.named); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSurveyLeaves(t *testing.T) {
	rails := []PodRail{{Name: "a"}, {Name: "b"}}
	for name, c := range map[string]struct{ leaves, want []string }{
		"known of all": {[]string{"s1", "s2"}, []string{"s1", "s1", "s2", "s2"}},
		"of one":       {[]string{"", "s2"}, []string{"", "", "s2", "s2"}},
		"of none":      {[]string{"", ""}, nil},
	} {
		var f Fleet
		for _, leaf := range c.leaves {
			f.Pods = append(f.Pods, Pod{Leaf: leaf, Rails: rails})
		}
		m := f.NewSurvey().Matrix()
		if d := cmp.Diff(c.want, m.Leaves); d != "" || !m.Whole() {
			t.Errorf("%s: %s", name, d)
		}
	}
}
