package schematest

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Samples returns two values of the type: one that has as little as possible, and one with a value in every field,
// which no recorded machine has.
func (o Output) Samples(t testing.TB) (all []any) {
	t.Helper()
	source := newSource(root(t))
	for _, full := range []bool{false, true} {
		v := reflect.New(o.Type).Elem()
		if o.Type.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(o.Type, 0, 0)) // no command prints null
		}
		filler{source, o.Version, full, map[reflect.Type]int{}}.fill(v)
		all = append(all, v.Interface())
	}
	return all
}

// filler sets fields: all, or only those that are never empty. A type that contains itself is filled once more inside
// itself.
type filler struct {
	source  *source
	version int
	full    bool
	inside  map[reflect.Type]int
}

func (f filler) fill(v reflect.Value) {
	t := v.Type()
	if f.inside[t] > 1 || !v.CanSet() {
		return
	}
	f.inside[t]++
	defer func() { f.inside[t]-- }()
	switch k := v.Kind(); {
	case k == reflect.String:
		v.SetString(f.word(t))
	case k == reflect.Struct:
		f.structure(v)
	case f.full && v.CanInt():
		v.SetInt(1)
	case f.full && v.CanUint():
		v.SetUint(1)
	case f.full && v.CanFloat():
		v.SetFloat(0.5)
	case f.full && k == reflect.Bool:
		v.SetBool(true)
	case f.full:
		f.compound(v)
	}
}

func (f filler) structure(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case *netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("fe80::1%net1")))
		return
	case *netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("10.0.0.1/24")))
		return
	}
	for i := range v.NumField() {
		if f.fill(v.Field(i)); v.Type().Field(i).Name == "SchemaVersion" {
			v.Field(i).SetInt(int64(f.version))
		}
	}
}

func (f filler) compound(v reflect.Value) {
	t := v.Type()
	switch v.Kind() {
	case reflect.Pointer:
		if f.inside[t.Elem()] < 2 {
			v.Set(reflect.New(t.Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		f.fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(key, value)
	}
}

// word is the first constant of a type; other texts are empty in the least sample.
func (f filler) word(t reflect.Type) string {
	if strings.HasPrefix(t.PkgPath(), module) && !open(t) {
		if from, err := f.source.of(t); err == nil && len(from.values) > 0 {
			return from.values[0]
		}
	}
	if !f.full {
		return ""
	}
	return "word"
}
