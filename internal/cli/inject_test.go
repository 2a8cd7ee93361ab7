package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/manifests"
)

// TestInjectTellsOfTCP: mode auto without rails tells that the pods get none, and why; stdout has only the manifest.
func TestInjectTellsOfTCP(t *testing.T) {
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\n" +
		"spec: {containers: [{name: c, image: i, command: [x]}]}\n"
	served := cluster.State{Server: cluster.Server{Groups: []string{cluster.NetworkGroup}}}
	for name, c := range map[string]struct {
		state cluster.State
		want  []string
	}{
		"attachments are not read": {served, []string{
			"Note: Mode auto uses TCP: the network attachments of namespace train could not be read.",
			"whether namespace train has rails is unknown: its network attachments could not be read",
		}},
		"no Multus": {cluster.State{}, []string{
			"Note: Mode auto uses TCP: the cluster has no network attachments",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			both := []byte(text + "---\n" + strings.Replace(text, "name: a", "name: b", 1))
			before, err := manifests.Read(both)
			if err != nil {
				t.Fatal(err)
			}
			var out, told bytes.Buffer
			a := &app{Streams: Streams{Out: &out, Err: &told}}
			options := job.Options{Mode: nccl.Auto, PodImage: "registry.example.com/railhead-pod:1"}
			i, err := a.injected(injection{text: both, before: before, options: options},
				map[string]cluster.State{"train": c.state})
			if err == nil {
				err = a.writeInjected(i)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, told.String())
			}
			for _, want := range c.want {
				if strings.Count(told.String(), want) != 1 {
					t.Errorf("%q is not there once:\n%s", want, told.String())
				}
			}
			if strings.Count(told.String(), "Note: ") != 1 || strings.Contains(out.String(), "Note") {
				t.Errorf("stdout:\n%s\nstderr:\n%s", out.String(), told.String())
			}
		})
	}
}
