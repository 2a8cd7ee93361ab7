package schematest

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// generator makes the schema of one type. Named structs and sets of words become definitions, each once: the library
// repeats them wherever they are used, and refuses types that contain themselves.
type generator struct {
	source *source
	top    reflect.Type
	known  map[reflect.Type]*jsonschema.Schema // what the library puts in place of a type
	defs   map[string]*jsonschema.Schema
	errs   []error
}

func newGenerator(s *source, t reflect.Type) *generator {
	return &generator{source: s, top: t, known: standard(), defs: map[string]*jsonschema.Schema{}}
}

// root returns the schema of the top type.
func (g *generator) root() (*jsonschema.Schema, error) {
	var s *jsonschema.Schema
	if g.top.Kind() == reflect.Struct {
		g.known[g.top] = &jsonschema.Schema{Ref: "#"}
		s = g.object(g.top)
	} else {
		s = notNull(g.of(g.top))
	}
	s.Defs = g.defs
	return s, errors.Join(g.errs...)
}

// of returns the schema of a type, as a reference if it has a name.
func (g *generator) of(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		return orNull(g.of(t.Elem()))
	}
	g.visit(t)
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: g.known})
	if err != nil {
		g.errs = append(g.errs, err)
		return &jsonschema.Schema{}
	}
	return s
}

// visit puts into known the schemas of t and of every type that t contains, where the library's own will not do. list,
// words and define do so themselves.
func (g *generator) visit(t reflect.Type) {
	if g.known[t] != nil {
		return
	}
	s, err := g.special(t)
	switch {
	case err != nil:
		g.errs = append(g.errs, err)
		return
	case s != nil:
		g.known[t] = s
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		g.visit(t.Elem())
	case reflect.Slice, reflect.Array:
		g.list(t)
	case reflect.Map:
		g.known[t] = g.mapping(t)
	case reflect.String:
		g.words(t)
	case reflect.Struct:
		name := g.define(t) // first: t may contain itself
		g.defs[name] = g.object(t)
	}
}

// list makes the items of a list known. The library takes no references in lists of pointers, and bytes for numbers.
func (g *generator) list(t reflect.Type) {
	switch t.Elem().Kind() {
	case reflect.Pointer:
		g.known[t] = &jsonschema.Schema{Types: []string{"null", "array"}, Items: g.of(t.Elem())}
	case reflect.Uint8:
		g.errs = append(g.errs, fmt.Errorf("%v: bytes are written in base64: give the form in kind.go", t))
	default:
		g.visit(t.Elem())
	}
}

// mapping returns the schema of a map; encoding/json writes numbers as strings, and a nil map as null.
func (g *generator) mapping(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Types: []string{"null", "object"}, AdditionalProperties: g.of(t.Elem())}
	switch key := t.Key(); key.Kind() {
	case reflect.String:
		if names := g.of(key); names.Ref != "" {
			s.PropertyNames = names
		}
	case reflect.Int:
		s.PropertyNames = &jsonschema.Schema{Pattern: "^-?[0-9]+$"}
	default:
		g.errs = append(g.errs, fmt.Errorf("%v: the form of its keys is not known", t))
	}
	return s
}

// define makes a type known by a reference, and returns the name of its definition.
func (g *generator) define(t reflect.Type) string {
	name := path.Base(t.PkgPath()) + "." + t.Name()
	if _, taken := g.defs[name]; taken || t.Name() == "" {
		g.errs = append(g.errs, fmt.Errorf("%v has no name of its own", t))
	}
	g.known[t] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	g.defs[name] = nil
	return name
}

// words defines a string type that has constants.
func (g *generator) words(t reflect.Type) {
	if t.PkgPath() == "" || open(t) {
		return
	}
	s, err := g.source.of(t)
	if err != nil {
		g.errs = append(g.errs, err)
		return
	}
	if len(s.values) == 0 {
		return
	}
	name := g.define(t)
	def := &jsonschema.Schema{Type: "string", Description: s.doc}
	for _, v := range s.values {
		def.Enum = append(def.Enum, v)
	}
	g.defs[name] = def
}

// object returns the schema of a struct. Fields of embedded structs are its own, as in encoding/json.
func (g *generator) object(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if from, err := g.source.of(t); err != nil {
		g.errs = append(g.errs, err)
	} else {
		s.Description = from.doc
	}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			g.errs = append(g.errs, fmt.Errorf("%v.%s has no name in JSON", t, f.Name))
			continue
		}
		property := g.of(f.Type)
		property.Description = g.comment(t, f)
		if strings.Contains(options, "omit") {
			property = notNull(property)
		} else {
			s.Required = append(s.Required, name)
		}
		s.Properties[name] = property
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	return s
}

// comment returns the comment of a field, of the struct that it is promoted from.
func (g *generator) comment(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	from, err := g.source.of(t)
	if err != nil {
		g.errs = append(g.errs, err)
		return ""
	}
	return from.fields[f.Name]
}

// orNull allows null in place of a value.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	null := &jsonschema.Schema{Type: "null"}
	switch {
	case s.Type != "" && s.Enum == nil:
		s.Types, s.Type = []string{"null", s.Type}, ""
	case s.AnyOf != nil:
		s.AnyOf = append(s.AnyOf, null)
	default:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, null}}
	}
	return s
}

// notNull forbids null: a property that is left out when it is empty is never null.
func notNull(s *jsonschema.Schema) *jsonschema.Schema {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	s.AnyOf = slices.DeleteFunc(s.AnyOf, func(s *jsonschema.Schema) bool { return s.Type == "null" })
	if len(s.AnyOf) == 1 {
		only := s.AnyOf[0]
		only.Description = s.Description
		return only
	}
	return s
}
