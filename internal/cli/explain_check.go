package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/docs"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/explain/causes"
	"github.com/railhead/railhead/internal/words"
)

func newExplainCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain-check [ID]",
		Short: "Print what a check means, how to see it by hand, and the fix",
		Long: `explain-check prints the page of a check, or of a cause that 'railhead explain' names. Every finding
ends with the ID of its check in brackets. Without an ID, explain-check lists all checks and causes.`,
		Example: `  railhead explain-check memlock-limit
  railhead explain-check                     list all checks and causes`,
		Args: takes(0, "ID"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explained(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listChecks(a.Out)
			}
			id := strings.ToLower(strings.Trim(args[0], "[]"))
			page, err := docs.CheckPage(id)
			if cause := causes.Page(id); err != nil && cause != "" {
				page, err = cause, nil
			} else if err == nil {
				page += inLogs(check.ID(id))
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
				near := nearest(id)
				if len(near) == 0 {
					return fmt.Errorf("there is no check or cause %q; 'railhead explain-check' lists all", id)
				}
				return fmt.Errorf("there is no check or cause %q; did you mean %s?", id, strings.Join(near, ", "))
			}
			if err == nil {
				_, err = io.WriteString(a.Out, page)
			}
			return err
		},
	}
}

// inLogs says which causes of logs the check shows.
func inLogs(id check.ID) string {
	shown := causes.ShownBy(id)
	if len(shown) == 0 {
		return ""
	}
	names := make([]string, len(shown))
	for i, cause := range shown {
		names[i] = string(cause)
	}
	return "\n## In logs\n\n`railhead explain` names it as " + words.And(names) +
		"; with `--with`, it asks this check.\n"
}

// explained returns the IDs of the checks, and then of the causes.
func explained() []string {
	return slices.Concat(docs.Checks(), slices.Sorted(maps.Keys(causes.Titles())))
}

// nearest returns the checks and causes with a similar ID, and those whose ID contains the word.
func nearest(id string) []string {
	near := words.Nearest(id, explained())
	for _, other := range explained() {
		if len(id) > 2 && strings.Contains(other, id) && !slices.Contains(near, other) {
			near = append(near, other)
		}
	}
	return near
}

// listChecks prints a line for each check, with what is true if it passes, and for each cause.
func listChecks(w io.Writer) error {
	var all strings.Builder
	for _, id := range docs.Checks() {
		page, err := docs.CheckPage(id)
		if err != nil {
			return err
		}
		_, fact, _ := strings.Cut(page, "**Healthy:** ")
		fact, _, _ = strings.Cut(fact, "\n")
		fmt.Fprintf(&all, "%-24s %s\n", id, fact)
	}
	all.WriteString("\nCauses that 'railhead explain' finds in logs:\n")
	causes := causes.Titles()
	for _, id := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&all, "%-24s %s\n", id, causes[id])
	}
	_, err := io.WriteString(w, all.String())
	return err
}
