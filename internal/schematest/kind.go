package schematest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// standard has the JSON forms of types that encode themselves.
func standard() map[reflect.Type]*jsonschema.Schema {
	least := 0.0
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[netip.Addr]():      {Type: "string", Pattern: `^([0-9a-fA-F.:]+(%.+)?)?$`},
		reflect.TypeFor[netip.Prefix]():    {Type: "string", Pattern: `^([0-9a-fA-F.:]+/[0-9]+)?$`},
		reflect.TypeFor[check.Status]():    {Type: "string", Enum: statuses()},
		reflect.TypeFor[host.Caps]():       {Type: "string", Pattern: "^[0-9a-f]{16}$"},
		reflect.TypeFor[host.PCIAddress](): {Type: "string", Pattern: `^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`},
		reflect.TypeFor[host.Rate]():       {Type: "string", Pattern: `^[0-9.]+ Gb/sec( \([0-9]+X .*\))?$`},
		reflect.TypeFor[host.Limit](): {AnyOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: &least}, {Type: "string", Enum: []any{"unlimited"}},
		}},
	}
}

func statuses() (all []any) {
	for s := check.Pass; s <= check.Fail; s++ {
		all = append(all, s.String())
	}
	return all
}

// open reports whether a string type has values other than its constants: each package has checks of its own, and a
// manifest any kind.
func open(t reflect.Type) bool {
	return t == reflect.TypeFor[check.ID]() || t == reflect.TypeFor[check.Kind]()
}

// special returns the schema of a Fact. Other types that encode themselves must be in the table above.
func (g *generator) special(t reflect.Type) (*jsonschema.Schema, error) {
	if t.PkgPath() == reflect.TypeFor[host.Limit]().PkgPath() && strings.HasPrefix(t.Name(), "Fact[") {
		return g.fact(t), nil
	}
	for _, encoder := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	} {
		if t.Implements(encoder) || reflect.PointerTo(t).Implements(encoder) {
			return nil, fmt.Errorf("%v encodes itself: give its JSON form in kind.go", t)
		}
	}
	return nil, nil
}

// fact is a value, null, or the reason why it could not be read.
func (g *generator) fact(t reflect.Type) *jsonschema.Schema {
	const unreadable = "unreadable"
	field, _ := t.FieldByName("Value")
	if g.defs[unreadable] == nil {
		g.defs[unreadable] = &jsonschema.Schema{
			Type:        "object",
			Description: "A fact that could not be read, and why. It is neither present nor absent.",
			Properties:  map[string]*jsonschema.Schema{unreadable: {Type: "string"}},
			Required:    []string{unreadable},
		}
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		notNull(g.of(field.Type)), {Ref: "#/$defs/" + unreadable}, {Type: "null"},
	}}
}
