package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// TestEdit: everything that was in the text stays, in its order.
func TestEdit(t *testing.T) {
	const commented = `# The job of the vision team.
apiVersion: v1
kind: Service   # headless
metadata: {name: svc, namespace: train}
---
apiVersion: batch/v1
kind: Job
metadata:
  namespace: train
  name: "j"  # quoted

spec:
  template:
    spec:
      restartPolicy: Never

      # one container
      containers:
        # it trains
        - name: train
          image: torch
          command: [torchrun, "train.py"] # flow
          env:
            # keep this one
            - name: A
              value: "1"
          resources:
            limits: {nvidia.com/gpu: 8}
          volumeMounts:
          - mountPath: /data
            name: data
      volumes:
      - name: data
        configMap: {name: data}   # the data
  # the end
`
	texts := map[string]string{"commented": commented, "JSON": `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "train"},
 "spec": {"containers": [{"name": "c", "image": "i", "command": ["x"], "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}`}
	for name, c := range injections() {
		if !strings.Contains(c.manifest, "'[{") {
			texts[name] = c.manifest
		}
	}
	for name, text := range texts {
		before, err := manifests.Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]cluster.State{"train": plantest.Training()}
		out, _ := InjectAll(before, states, Options{Namespace: "train", Programs: programs()})
		after := out[len(out)-len(before):]
		edited, rewritten := manifests.Edit([]byte(text), before, after)
		if len(rewritten) > 0 {
			t.Errorf("%s: not edited:\n%s", name, edited)
			continue
		}
		if name == "commented" {
			got := string(edited)
			for line := range strings.Lines(text) {
				if _, rest, found := strings.Cut(got, line); found {
					got = rest
				} else if !strings.Contains(line, "command:") && !strings.Contains(line, "limits:") {
					t.Errorf("line %q was changed or moved:\n%s", line, edited)
				}
			}
		}
		if (text[0] == '{') != (edited[0] == '{') {
			t.Errorf("%s: another format:\n%s", name, edited)
		}
		again, rewritten := manifests.Edit(edited, after, after)
		if diff := cmp.Diff(string(edited), string(again)); diff != "" || len(rewritten) > 0 {
			t.Errorf("%s: twice: %s", name, diff)
		}
	}
}
