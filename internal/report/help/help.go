// Package help lays out the help texts of commands for a terminal.
package help

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Columns of a help text. A wider one is not easier to read, and a narrower one breaks examples in any case.
const (
	narrowest = 60
	widest    = 120
)

// Fit makes the help of all commands as wide as a terminal of so many columns; 0: unknown.
func Fit(root *cobra.Command, columns int) {
	width := min(max(cmp.Or(columns, widest), narrowest), widest)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages",
		".FlagUsagesWrapped "+strconv.Itoa(width)))
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = reflow(cmd.Long, width)
		show(cmd, args)
	})
}

// reflow breaks the lines of paragraphs to a width. An indented line, as of a list, is a paragraph of its own.
func reflow(text string, width int) string {
	var lines []string
	indent, open := "", false // of the paragraph that the next line may continue
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			lines, open = append(lines, ""), false
			continue
		}
		before, _, _ := strings.Cut(line, words[0])
		if !open || before != "" || indent != "" {
			lines, open = append(lines, before+words[0]), true
			words, indent = words[1:], hanging(before, words[0])
		}
		for _, word := range words {
			if last := &lines[len(lines)-1]; len(*last)+1+len(word) <= width {
				*last += " " + word
			} else {
				lines = append(lines, indent+word)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// hanging returns the indentation of the second line of a paragraph: the text of an item of a list is aligned.
func hanging(first, word string) string {
	if word == "-" {
		return first + "  "
	}
	return first
}
