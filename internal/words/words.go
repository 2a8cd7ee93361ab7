// Package words puts counts, lists and names into sentences for people.
package words

import (
	"cmp"
	"fmt"
	"strings"
)

// Count returns a number with its noun: "1 rank", "7 ranks".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	ending := "s"
	switch {
	case strings.HasSuffix(noun, "Constraints"): // SecurityContextConstraints: a kind in the plural
		ending = ""
	case strings.HasSuffix(noun, "s"): // processes
		ending = "es"
	}
	return fmt.Sprintf("%d %s%s", n, noun, ending)
}

// Few lists names, at most shown of them by name: "a, b, c, d and 7 more". One name more is listed rather than counted.
func Few(names []string, shown int) string {
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// And joins names as a sentence does: "a", "a and b", "a, b and c".
func And(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Clip shortens text to at most the given number of bytes, without cutting a rune in two, and marks the cut with "...".
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Natural compares names with the numbers in them by value: mlx5_7 comes before mlx5_10.
func Natural(a, b string) int {
	whole := strings.Compare(a, b)
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na == 0 || nb == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

// digits returns the number of digits that text starts with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

// Bytes writes a number of bytes in the largest binary unit: "256 MiB".
func Bytes(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, i := float64(bytes), 0
	for size >= 1024 && i < len(units)-1 {
		size, i = size/1024, i+1
	}
	return fmt.Sprintf("%.4g %s", size, units[i])
}
