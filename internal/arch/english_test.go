package arch

import (
	"fmt"
	"regexp"
	"strings"
)

// clumsy matches words that stand for a noun which the reader has to look for.
var clumsy = regexp.MustCompile(`\b(that of|those of|of which)\b`)

// mostClumsy is their share of the lines of comments, in parts of a thousand. In age, stern, procfs and ethtool it is
// below 0.4.
const mostClumsy = 3

// english asserts that comments name what they speak of.
func english(packages []pkg) []string {
	lines := 0
	var found []string
	for _, p := range packages {
		for _, f := range p.files {
			for _, group := range f.tree.Comments {
				for _, c := range group.List {
					lines++
					if clumsy.MatchString(c.Text) {
						found = append(found, fmt.Sprintf("%s: %s", f.set.Position(c.Pos()), strings.TrimSpace(c.Text)))
					}
				}
			}
		}
	}
	if 1000*len(found) <= mostClumsy*lines {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d lines of comments have \"that of\", \"those of\" or \"of which\": "+
		"repeat the noun, or say it another way\n%s", len(found), lines, strings.Join(found, "\n"))}
}
