package plan

import "strings"

// Resource is the resource name of a kind: pods of Pod.
func Resource(kind string) string {
	if r, ok := resources[kind]; ok {
		return r
	}
	lower := strings.ToLower(kind)
	if strings.HasSuffix(lower, "y") {
		return strings.TrimSuffix(lower, "y") + "ies"
	}
	return lower + "s"
}
