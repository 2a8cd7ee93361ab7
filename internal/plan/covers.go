package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// setLike are the fields whose order means nothing. The API server may return them sorted.
var setLike = []string{
	"allowedCapabilities", "defaultAddCapabilities", "requiredDropCapabilities", "seccompProfiles", "volumes",
	"users", "groups", "apiGroups", "resources", "resourceNames", "verbs", "pfNames", "rootDevices",
}

// Covers reports whether a live object has everything that is wanted of it, so that writing it would change nothing.
// Fields that are not wanted are not looked at. Lists are compared item by item, those without an order as sets; what
// is wanted empty may be absent.
func Covers(live, want map[string]any) bool {
	for key, w := range want {
		if !coversValue(key, live[key], w) {
			return false
		}
	}
	return true
}

func coversValue(key string, live, want any) bool {
	if isEmpty(want) && isEmpty(live) {
		return true
	}
	switch w := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		return ok && Covers(l, w)
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(w) {
			return false
		}
		if slices.Contains(setLike, key) {
			l, w = sortedValues(l), sortedValues(w)
		}
		for i := range w {
			if !coversValue("", l[i], w[i]) {
				return false
			}
		}
		return true
	}
	if l, w := number(live), number(want); l != nil && w != nil {
		return *l == *w
	}
	return reflect.DeepEqual(live, want)
}

// isEmpty reports whether a value says nothing: null, or a list or map without content.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func sortedValues(list []any) []any {
	return slices.SortedFunc(
		slices.Values(list), func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) },
	)
}

// number gives one form to the numbers of JSON decoders: int64 and float64 of an unstructured object, json.Number.
func number(v any) *float64 {
	var f float64
	switch v := v.(type) {
	case int:
		f = float64(v)
	case int32:
		f = float64(v)
	case int64:
		f = float64(v)
	case float64:
		f = v
	case json.Number:
		parsed, err := v.Float64()
		if err != nil {
			return nil
		}
		f = parsed
	default:
		return nil
	}
	return &f
}
