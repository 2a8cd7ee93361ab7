// Package reference writes the pages of docs/reference from the commands of a program.
package reference

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// Command is a command with all that its help shows.
type Command struct {
	Path                        string // "railhead bench diff"
	Usage, Short, Long, Example string
	Flags, Global               *pflag.FlagSet // Global: also flags of all other commands
	Commands                    []Command      // its own commands
}

// Pages returns the pages of a program and its commands, by the name of the file.
func Pages(program Command) map[string]string {
	pages := map[string]string{}
	add(pages, program)
	return pages
}

func add(pages map[string]string, c Command) {
	pages[file(c.Path)] = page(c)
	for _, sub := range c.Commands {
		add(pages, sub)
	}
}

// file returns the name of a command's page: README.md, which GitHub shows with the folder, for the program itself.
func file(path string) string {
	words := strings.Fields(path)
	if len(words) == 1 {
		return "README.md"
	}
	return strings.Join(words[1:], "-") + ".md"
}

func page(c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n```text\n%s\n```\n", c.Path, strings.TrimSuffix(prose(c.Short), "."), c.Usage)
	if c.Long != "" && c.Long != c.Short {
		long := text(c.Long)
		name := c.Path[strings.Index(c.Path, " ")+1:]
		if rest, ok := strings.CutPrefix(long, name+" "); ok {
			long = "`" + name + "` " + rest
		}
		fmt.Fprintf(&b, "\n%s\n", long)
	}
	if len(c.Commands) > 0 {
		b.WriteString("\n## Commands\n\n| command | purpose |\n|---|---|\n")
		for _, sub := range c.Commands {
			fmt.Fprintf(&b, "| [%s](%s) | %s |\n", sub.Path, file(sub.Path), prose(sub.Short))
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```sh\n%s\n```\n", examples(c.Example))
	}
	if rows := flags(c.Flags); rows != "" {
		b.WriteString("\n## Flags\n\n" + rows)
	}
	rows := flags(c.Global)
	switch {
	case rows != "" && strings.Contains(c.Path, " "):
		b.WriteString("\nAnd the [flags of all commands](README.md#flags-of-all-commands).\n")
	case rows != "":
		b.WriteString("\n## Flags of all commands\n\n" + rows)
	}
	if !strings.Contains(c.Long, exitStatus) {
		b.WriteString("\n" + linked + ": as for all commands.\n")
	}
	return b.String()
}

const (
	exitStatus = "Exit status"
	linked     = "[" + exitStatus + "](../../exit-codes.md)"
)

// text returns a help text as Markdown. Its indented paragraphs are lists or code.
func text(help string) string {
	var paragraphs []string
	for p := range strings.SplitSeq(strings.TrimSpace(help), "\n\n") {
		switch {
		case strings.HasPrefix(p, "  - "):
			paragraphs = append(paragraphs, prose(strings.ReplaceAll(p, "\n  ", "\n")[2:]))
		case strings.HasPrefix(p, "  "), strings.HasPrefix(p, "\t"):
			paragraphs = append(paragraphs, "```text\n"+dedent(p)+"\n```")
		case strings.HasPrefix(p, "#"):
			paragraphs = append(paragraphs, strings.TrimLeft(p, "# "))
		default:
			p = prose(p)
			if rest, ok := strings.CutPrefix(p, exitStatus); ok {
				p = linked + rest
			}
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

var (
	// code matches code in a help text: 'railhead launch', --mode, NCCL_DEBUG=INFO, ib_write_bw, /dev/shm.
	code = regexp.MustCompile(`\B'([^']+)'\B|(--[a-z][a-z-]*\w|\b[A-Z]+=\S*[\w\]/]|\b\w+_[\w*]+(?:=[\w,]*\w)?|` +
		`(?:^|\s)~?/[\w/.~*-]*\w)`)
	special = regexp.MustCompile("[*_<`\\[]")
)

// prose returns a sentence as Markdown.
func prose(s string) string {
	var b strings.Builder
	end := 0
	for _, m := range code.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(special.ReplaceAllString(s[end:m[0]], `\$0`))
		from, to := m[2], m[3]
		if from < 0 {
			from, to = m[4], m[5]
		}
		word := strings.TrimLeft(s[from:to], " \n")
		b.WriteString(s[from:to-len(word)] + "`" + word + "`")
		end = m[1]
	}
	return b.String() + special.ReplaceAllString(s[end:], `\$0`)
}

var comment = regexp.MustCompile(`(?m)^(\S.*?\S {2,}) (\S.*)$`)

// examples returns examples with their explanations as comments of the shell.
func examples(help string) string {
	return comment.ReplaceAllString(dedent(help), "$1# $2")
}

// dedent removes the indentation of the first line from all lines.
func dedent(s string) string {
	s = strings.Trim(s, "\n")
	indentation := s[:len(s)-len(strings.TrimLeft(s, " \t"))]
	return strings.TrimPrefix(strings.ReplaceAll(s, "\n"+indentation, "\n"), indentation)
}

// flags returns a table of all flags but --help, as pflag shows them with their defaults.
func flags(set *pflag.FlagSet) string {
	if set == nil {
		return ""
	}
	var b strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		one := pflag.NewFlagSet(f.Name, pflag.ContinueOnError)
		one.AddFlag(f)
		name, meaning, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		name = strings.ReplaceAll(name, "|", `\|`)
		meaning = strings.ReplaceAll(prose(strings.TrimSpace(meaning)), "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, meaning)
	})
	if b.Len() == 0 {
		return ""
	}
	return "| flag | meaning |\n|---|---|\n" + b.String()
}
