// Package schematest derives the JSON schemas in docs/schemas from the Go types that commands print, and holds outputs
// against them.
package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// Output is the JSON that one command prints.
type Output struct {
	Command string // "railhead bench diff -o json", "railhead wire --save FILE"
	Type    reflect.Type
	Version int // schemaVersion of the output; 0: it has none
}

// Name is the name of the schema: railhead-bench-diff.
func (o Output) Name() string {
	command := strings.NewReplacer(" -o json", "", " FILE", "", "--", "").Replace(o.Command)
	return strings.ReplaceAll(command, " ", "-")
}

func file(t testing.TB, name string) string {
	return filepath.Join(root(t), "docs", "schemas", name+".json")
}

// published is the folder of the schemas. The address need not be reachable: it identifies a schema.
const published = "https://github.com/railhead/railhead/raw/main/docs/schemas/"

// Generate returns the schema of the output.
func (o Output) Generate(t testing.TB) *jsonschema.Schema {
	t.Helper()
	g := newGenerator(newSource(root(t)), o.Type)
	s, err := g.root()
	if err != nil {
		t.Fatalf("%s: %v", o.Command, err)
	}
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", published+o.Name()+".json"
	s.Title = o.Command
	s.Description = "The output of '" + o.Command + "'. Accept unknown properties: a later release may add some."
	if version := s.Properties["schemaVersion"]; version != nil {
		now := any(o.Version)
		version.Const = &now
	}
	if (s.Properties["schemaVersion"] == nil) != (o.Version == 0) {
		t.Errorf("%s: the version of its schema is %d", o.Command, o.Version)
	}
	return s
}

// Compare compares the schema with its file, or writes the file.
func (o Output) Compare(t testing.TB, update bool) {
	t.Helper()
	text, err := json.MarshalIndent(o.Generate(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := file(t, o.Name())
	if update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(was), string(text)); diff != "" {
		t.Errorf("%s differs from the Go types; run the test with -update (-file +types):\n%s", file, diff)
	}
}

// Open reads a published schema.
func Open(t testing.TB, name string) *Published {
	t.Helper()
	file := file(t, name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	p, err := newPublished(name, &s)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

func newPublished(name string, s *jsonschema.Schema) (*Published, error) {
	open, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		return nil, err
	}
	closed(s)
	for _, def := range s.Defs {
		closed(def)
	}
	strict, err := s.Resolve(nil)
	return &Published{name: name, open: open, strict: strict}, err
}

// closed refuses unknown properties. Objects with properties are the root and the definitions.
func closed(s *jsonschema.Schema) {
	if s.Properties != nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
}

// Published is a schema in docs/schemas.
type Published struct {
	name         string
	open, strict *jsonschema.Resolved
	count        int
}

// Count is the number of values that were held against the schema.
func (p *Published) Count() int { return p.count }

// Holds validates all JSON values of an output; it has at least one. Unlike for readers, unknown properties are an
// error: the schema would lack them.
func (p *Published) Holds(t testing.TB, what string, output []byte) {
	t.Helper()
	p.validate(t, p.strict, what, output)
}

// HoldsValue validates a value as the commands encode it.
func (p *Published) HoldsValue(t testing.TB, what string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	p.Holds(t, what, text)
}

// HoldsForReaders validates the output of another release, as readers do.
func (p *Published) HoldsForReaders(t testing.TB, what string, output []byte) {
	t.Helper()
	p.validate(t, p.open, what, output)
}

func (p *Published) validate(t testing.TB, schema *jsonschema.Resolved, what string, output []byte) {
	t.Helper()
	values, err := decode(output)
	if err != nil || len(values) == 0 {
		t.Errorf("%s: %d JSON values, %v", what, len(values), err)
	}
	for _, v := range values {
		p.count++
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s is not as in docs/schemas/%s.json: %v", what, p.name, err)
		}
	}
}

func decode(text []byte) (all []any, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
		all = append(all, v)
	}
}

// root returns the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			err = fmt.Errorf("no go.mod above the test")
		}
	}
	t.Fatal(err)
	return ""
}
