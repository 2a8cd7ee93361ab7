package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// TestDeleteOfAnotherKind: a kind on the command line that contradicts that of the job deletes nothing.
func TestDeleteOfAnotherKind(t *testing.T) {
	missing := errors.New("there is no such job")
	set := cluster.Object{Kind: "StatefulSet", Namespace: "train", Name: "h-kim"}
	script := cluster.Object{Kind: "ConfigMap", Namespace: "train", Name: "h-kim-script"}
	for name, c := range map[string]struct {
		kind    string
		objects []cluster.Object
		want    string // "": it is deleted
	}{
		"a Job, and deploy wrote a StatefulSet": {"Job", []cluster.Object{set, script}, "railhead delete statefulset/h-kim -n train"},
		"a kind that deploy does not write":     {"Deployment", []cluster.Object{script}, "there is no such job"},
		"objects that are left of a Job":        {"Job", []cluster.Object{script}, ""},
		"objects of a job without its kind":     {"", []cluster.Object{script}, ""},
	} {
		j := jobState{ref: workload.Ref{Kind: c.kind, Name: "h-kim"}, ns: "train", state: cluster.State{Objects: c.objects}}
		got := ""
		if err := j.refuseOthers(missing); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
