package delivery

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

func TestPartsFit(t *testing.T) {
	packed := make([]byte, 1_700_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(packed)
	p := Packed("arm64", packed)
	if !bytes.Equal(bytes.Join(p.Parts, nil), packed) || len(p.Parts) != 10 || len(p.SHA256) != 64 {
		t.Errorf("%d parts, SHA-256 %s", len(p.Parts), p.SHA256)
	}
	objects := Delivery{Programs: []Program{p}}.configMaps("train", plan.Labels(Component, "a-job"))
	names := map[string]bool{}
	for _, o := range objects {
		names[o.GetName()] = true
		const annotations = 256 << 10 // apimachinery pkg/api/validation TotalAnnotationSizeLimitB
		if text, err := json.Marshal(o.Object); err != nil || len(text) > annotations-1000 {
			t.Errorf("%s has %d bytes, which kubectl apply cannot annotate (%v)", o.GetName(), len(text), err)
		}
	}
	if !names["railhead-pod-arm64-"+p.SHA256[:12]+"-9"] || len(names) != 10 {
		t.Errorf("names: %v", names)
	}
}

// TestMissing: a ConfigMap is not created twice, unless the one that exists will be deleted with a job that does not
// need it.
func TestMissing(t *testing.T) {
	program := Delivery{Programs: []Program{Packed("amd64", []byte("program"))}}
	name := program.configMaps("train", nil)[0].GetName()
	ofNamespace, ofJobs := Kept(), plan.Labels(Component, "")
	ofManifest := plan.Labels(Component, "llama")
	for situation, c := range map[string]struct {
		have, want map[string]string
		namespace  string
		missing    int
	}{
		"nothing":                           {nil, ofJobs, "train", 1},
		"in another namespace":              {ofNamespace, ofJobs, "default", 1},
		"job uses that of jobs":             {ofJobs, ofJobs, "train", 0},
		"job uses that of a manifest":       {ofManifest, ofJobs, "train", 0},
		"manifest uses its own":             {ofManifest, ofManifest, "train", 0},
		"manifest keeps that of jobs":       {ofJobs, ofManifest, "train", 1},
		"manifest uses that of namespace":   {ofNamespace, ofManifest, "train", 0},
		"namespace keeps that of jobs":      {ofJobs, ofNamespace, "train", 1},
		"namespace has it":                  {ofNamespace, ofNamespace, "train", 0},
		"manifest keeps that of another":    {plan.Labels(Component, "other"), ofManifest, "train", 1},
		"namespace keeps that of manifests": {ofManifest, ofNamespace, "train", 1},
	} {
		var s cluster.State
		if c.have != nil {
			s.ConfigMaps = []cluster.ConfigMap{{Namespace: c.namespace, Name: name, Labels: c.have}}
		}
		if got := program.Missing(s, "train", c.want); len(got) != c.missing {
			t.Errorf("%s: %d missing, want %d", situation, len(got), c.missing)
		}
	}
}
