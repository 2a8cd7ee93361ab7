package plan

import (
	"encoding/json"
	"slices"
	"strings"
)

// Drops reports whether a server-side apply of an object would remove fields that an earlier one has set. applied has
// the earlier fields in the form FieldsV1 of managedFields (sigs.k8s.io/structured-merge-diff fieldpath/serialize.go):
// f:NAME is a field, k:{KEYS} the item of a list with these keys, v:VALUE the item of a set.
func Drops(applied map[string]any, want any) bool {
	for key, of := range applied {
		kind, name, _ := strings.Cut(key, ":")
		inner, _ := of.(map[string]any)
		switch kind {
		case "f":
			fields, _ := want.(map[string]any)
			if value, ok := fields[name]; !ok || Drops(inner, value) {
				return true
			}
		case "k":
			item, ok := itemWith(name, want)
			if !ok || Drops(inner, item) {
				return true
			}
		case "v":
			if !hasValue(name, want) {
				return true
			}
		}
	}
	return false
}

// itemWith returns the item of a list that has some keys. The server sets keys that an item lacks to their defaults.
func itemWith(text string, list any) (any, bool) {
	var keys map[string]any
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil, false
	}
	items, _ := list.([]any)
	at := slices.IndexFunc(items, func(item any) bool {
		fields, _ := item.(map[string]any)
		for key, value := range keys {
			if own, ok := fields[key]; ok && !coversValue(key, own, value, nil) {
				return false
			}
		}
		return true
	})
	if at < 0 {
		return nil, false
	}
	return items[at], true
}

func hasValue(text string, list any) bool {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	items, _ := list.([]any)
	return slices.ContainsFunc(items, func(item any) bool { return coversValue("", item, value, nil) })
}
