package job

import (
	"fmt"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// BenchmarkInject reads, injects and edits the text of a manifest, given the State of a cluster of 1,000 nodes. It should
// take less than 20 ms.
func BenchmarkInject(b *testing.B) {
	s := plantest.Training()
	for i := len(s.Nodes); i < 1000; i++ {
		node := s.Nodes[0]
		node.Name = fmt.Sprintf("gpu-%d", i)
		s.Nodes = append(s.Nodes, node)
	}
	states := map[string]cluster.State{"train": s}
	text := []byte(rayManifest)
	for b.Loop() {
		before, err := manifests.Read(text)
		if err != nil {
			b.Fatal(err)
		}
		out, _ := InjectAll(before, states, Options{Namespace: "train", Programs: programs()})
		if _, ok := manifests.Edit(text, before, out[len(out)-len(before):]); !ok {
			b.Fatal("not edited")
		}
	}
}
