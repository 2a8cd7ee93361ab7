package setup

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// Ignition keeps the compression and the hash of another MachineConfig's file with the same path, unless both are set.
// Without such a file they are not: a MachineConfig that changes restarts the nodes of its pool.
func TestPathOfTwoConfigs(t *testing.T) {
	packed := cluster.File{Path: defaultDropIn, Content: "# limits\n", Compression: "gzip"}
	for name, c := range map[string]struct {
		files []cluster.File
		set   bool
	}{
		"a file of its own":                   {nil, false},
		"another one says gzip for this path": {[]cluster.File{packed}, true},
	} {
		s := openshift()
		s.MachineConfigs = append(s.MachineConfigs, config("50-x", "worker", c.files...))
		p, _ := Cluster(s, Options{NoIOMMU: true})
		found := false
		for _, change := range p.Changes() {
			files, _, _ := unstructured.NestedSlice(change.Object.Object, "spec", "config", "storage", "files")
			if len(files) == 0 {
				continue
			}
			found = true
			compression, set, _ := unstructured.NestedString(files[0].(map[string]any), "contents", "compression")
			hash, _, _ := unstructured.NestedString(files[0].(map[string]any), "contents", "verification", "hash")
			if set != c.set || compression != "" || (hash != "") != c.set {
				t.Errorf("%s: %v", name, files[0])
			}
		}
		if !found {
			t.Errorf("%s: no file is written", name)
		}
	}
}
