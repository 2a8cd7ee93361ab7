package words

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Nearest returns the names that a typing error may have turned into name, at most three, the most similar first.
func Nearest(name string, among []string) []string {
	_, base, _ := strings.Cut(name, "/")
	distance := func(other string) int {
		_, otherBase, _ := strings.Cut(other, "/")
		if base == "" || otherBase == "" {
			return edits(name, other)
		}
		return min(edits(name, other), edits(base, otherBase)) // openshift.io/x for nvidia.com/x
	}
	near := slices.DeleteFunc(slices.Clone(among), func(other string) bool {
		return other == name || distance(other) > max(2, len(cmp.Or(base, name))/3)
	})
	sort.SliceStable(near, func(i, k int) bool { return distance(near[i]) < distance(near[k]) })
	return near[:min(len(near), 3)]
}

// edits returns the Levenshtein distance of two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// DidYouMean suggests the existing names that are similar to a name, or else the text.
func DidYouMean(name string, existing []string, text string) string {
	if near := Nearest(name, existing); len(near) > 0 {
		return "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return text
}
