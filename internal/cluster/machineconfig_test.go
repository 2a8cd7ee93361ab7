package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A field that a later MachineConfig does not set keeps the value of the earlier one, as in Ignition 2.15.0.
func TestOver(t *testing.T) {
	const undecodable = "it is not compressed, but MachineConfig 50-x says gzip, which holds: nodes cannot decode it"
	plain, packed := File{Content: "a"}, File{Content: "a", Compression: "gzip"}
	for name, c := range map[string]struct{ upper, lower, want File }{
		"plain over plain": {File{Content: "b"}, plain, File{Content: "b"}},
		"plain over gzip":  {File{Content: "b"}, packed, File{Unread: undecodable, Compression: "gzip"}},
		"none over gzip":   {File{Content: "b", Compression: "none"}, packed, File{Content: "b", Compression: "none"}},
		"gzip over plain":  {File{Content: "b", Compression: "gzip"}, plain, File{Content: "b", Compression: "gzip"}},
		"mode alone":       {File{Inherits: true}, packed, packed},
		"compression alone": {
			File{Inherits: true, Compression: "gzip"}, plain,
			File{Unread: "it changes the compression of the content of MachineConfig 50-x", Compression: "gzip"},
		},
	} {
		if diff := cmp.Diff(c.want, c.upper.Over(c.lower, "50-x")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
