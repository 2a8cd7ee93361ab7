package cluster

import (
	"reflect"
	"testing"
)

// A list that Join forgot would be read and empty.
func TestJoinHasEveryList(t *testing.T) {
	typ := reflect.TypeFor[State]()
	for i := range typ.NumField() {
		field := typ.Field(i)
		if field.Type.Kind() != reflect.Slice {
			continue
		}
		var later State
		reflect.ValueOf(&later).Elem().Field(i).Set(reflect.MakeSlice(field.Type, 1, 1))
		joined := State{}.Join(later)
		if n := reflect.ValueOf(joined).Field(i).Len(); n != 1 {
			t.Errorf("%s: %d of 1 are left", field.Name, n)
		}
	}
}
