package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// setLike lists the fields whose order has no meaning. The API server may sort them.
var setLike = []string{
	"allowedCapabilities", "defaultAddCapabilities", "requiredDropCapabilities", "seccompProfiles", "volumes",
	"users", "groups", "apiGroups", "resources", "resourceNames", "verbs", "pfNames", "rootDevices",
}

// zeroIfUnset lists the fields whose null means 0: an SCC sorts so (openshift/apiserver-library-go
// pkg/securitycontextconstraints/util/sort/bypriority.go getPriority).
var zeroIfUnset = []string{"priority"}

// Covers reports whether a live object has all wanted fields, so that writing them would change nothing. Lists are
// compared item by item, or as sets if they have no order; those named by growing may have more items. An empty field
// may be absent.
func Covers(live, want map[string]any, growing ...string) bool {
	for key, w := range want {
		if !coversValue(key, live[key], w, growing) {
			return false
		}
	}
	return true
}

func coversValue(key string, live, want any, growing []string) bool {
	if isEmpty(want) && isEmpty(live) {
		return true
	}
	switch w := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		return ok && Covers(l, w, growing...)
	case []any:
		l, ok := live.([]any)
		return ok && coversList(key, l, w, growing)
	}
	l, liveNumber := number(live)
	w, wantNumber := number(want)
	if live == nil && slices.Contains(zeroIfUnset, key) {
		liveNumber = true
	}
	if liveNumber && wantNumber {
		return l == w
	}
	return reflect.DeepEqual(live, want)
}

func coversList(key string, live, want []any, growing []string) bool {
	if slices.Contains(growing, key) {
		return !slices.ContainsFunc(want, func(w any) bool {
			return !slices.ContainsFunc(live, func(l any) bool { return coversValue("", l, w, growing) })
		})
	}
	if slices.Contains(setLike, key) {
		live, want = sortedValues(live), sortedValues(want)
	}
	return slices.EqualFunc(live, want, func(l, w any) bool { return coversValue("", l, w, growing) })
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil
}

func sortedValues(list []any) []any {
	return slices.SortedFunc(
		slices.Values(list), func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) },
	)
}

// number returns a number of any decoder: int64 and float64 of an unstructured object, json.Number.
func number(v any) (n float64, ok bool) {
	switch v.(type) {
	case int, int32, int64, float64, json.Number:
		n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		return n, err == nil
	}
	return 0, false
}
