package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertLocalQueue(t *testing.T) {
	const queue = `{"metadata": {"namespace": "train", "name": "team-a"}, "spec": {"clusterQueue": "research"}, "status": `
	for name, test := range map[string]struct{ status, inactive string }{
		"active":      {`{"conditions": [{"type": "Active", "status": "True", "message": "Can submit"}]}`, ""},
		"not yet set": {`{}`, ""},
		"unknown":     {`{"conditions": [{"type": "Active", "status": "Unknown"}]}`, ""},
		"inactive": {
			`{"conditions": [{"type": "Active", "status": "False", "reason": "ClusterQueueIsInactive", "message": "Can't submit"}]}`,
			"Can't submit",
		},
		"without a message": {`{"conditions": [{"type": "Active", "status": "False", "reason": "Stopped"}]}`, "Stopped"},
	} {
		var q localQueue
		if err := unmarshal([]byte(queue+test.status+"}"), inJSON, &q); err != nil {
			t.Fatal(err)
		}
		want := cluster.LocalQueue{Namespace: "train", Name: "team-a", ClusterQueue: "research", Inactive: test.inactive}
		if diff := cmp.Diff(want, convertLocalQueue(&q)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
