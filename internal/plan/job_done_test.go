package plan

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

func TestJobSize(t *testing.T) {
	set := func(kind string, spec map[string]any) []cluster.Object {
		return []cluster.Object{{Kind: kind, Namespace: "train", Name: "h-kim", Fields: map[string]any{"spec": spec}}}
	}
	workers := map[string]any{"template": map[string]any{"spec": map[string]any{"parallelism": int64(4)}}}
	for name, test := range map[string]struct {
		objects []cluster.Object
		want    int
	}{
		"StatefulSet":                 {set("StatefulSet", map[string]any{"replicas": int64(2)}), 2},
		"JobSet":                      {set("JobSet", map[string]any{"replicatedJobs": []any{workers}}), 4},
		"JobSet of another shape":     {set("JobSet", map[string]any{"replicatedJobs": []any{}}), 0},
		"of another name":             {set("Service", nil), 0},
		"StatefulSet without a count": {set("StatefulSet", map[string]any{}), 0},
	} {
		if got := JobSize(cluster.State{Objects: test.objects}, "h-kim", "train"); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestFormerPod: what was said of a pod that had the name before is not why the present one waits.
func TestFormerPod(t *testing.T) {
	refused := cluster.Event{
		Namespace: "train", Object: "Pod/h-kim-0", UID: "1", Type: "Warning", Reason: "FailedCreatePodSandBox",
		Message: `plugin type="multus" failed (add): cannot find a network-attachment-definition (eno5np0) in namespace (train)`,
	}
	s := cluster.State{Events: []cluster.Event{refused}}
	for uid, want := range map[string]check.ID{"1": cluster.NADMissing, "": cluster.NADMissing, "2": ""} {
		pod := cluster.Pod{Namespace: "train", Name: "h-kim-0", UID: uid, Phase: "Pending", Node: "gpu-0"}
		if f, _ := ExplainPod(s, pod); f.Check != want {
			t.Errorf("pod of uid %q: %q, want %q", uid, f.Check, want)
		}
	}
}

// TestJobNeedsJob: the job is read when its pods show that it is there.
func TestJobNeedsJob(t *testing.T) {
	o := JobOptions{Name: "h-kim", Namespace: "train"}
	s := cluster.State{}
	if kinds := JobNeeds(s, o); len(kinds) > 0 {
		t.Errorf("needs %v of a job that is not there", kinds)
	}
	labels := map[string]string{LabelInstance: "h-kim", LabelComponent: ComponentJob}
	s.Pods = []cluster.Pod{{Namespace: "train", Name: "h-kim-0", Labels: labels}}
	if kinds := JobNeeds(s, o); !slices.Equal(kinds, []cluster.Kind{cluster.Objects}) {
		t.Errorf("needs %v", kinds)
	}
}
