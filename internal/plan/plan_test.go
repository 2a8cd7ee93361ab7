package plan

import (
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

// TestDeletion: the server deletes only the object that was read, if the State has its UID.
func TestDeletion(t *testing.T) {
	for uid, fields := range map[string]map[string]any{
		"":  nil,
		"7": {"metadata": map[string]any{"uid": "7"}},
	} {
		c := Deletion(cluster.Object{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "h-kim", Fields: fields}, "")
		if got := string(c.Object.GetUID()); got != uid {
			t.Errorf("UID %q, want %q", got, uid)
		}
	}
}
