package cli

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/plan"
)

// writeManifests writes the objects of a plan as YAML documents, for GitOps.
func writeManifests(w io.Writer, p plan.Plan) error {
	for _, c := range p.Changes() {
		if c.Verb != plan.Apply {
			fmt.Fprintf(w, "# left out: %s of %s %s\n", c.Verb, c.Object.GetKind(), c.Object.GetName())
			continue
		}
		if err := writeManifest(w, c.Object.Object); err != nil {
			return err
		}
	}
	return nil
}

// writeManifest writes an object as kubectl does, with text of several lines as a block.
func writeManifest(w io.Writer, object map[string]any) error {
	text, err := yaml.Marshal(object)
	if err == nil {
		_, err = fmt.Fprintf(w, "---\n%s", text)
	}
	return err
}
