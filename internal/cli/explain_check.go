package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/docs"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

func newExplainCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain-check [ID]",
		Short: "Print what a check means, how to see it by hand, and the fix",
		Long: `explain-check prints the page of a check, or of a cause that 'railhead explain' names. Every finding
ends with the ID of its check in brackets. Without an ID, explain-check lists all checks.`,
		Example: `  railhead explain-check memlock-limit
  railhead explain-check                     list all checks`,
		Args: takes(0, "ID"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return docs.Checks(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listChecks(a.Out)
			}
			id := strings.ToLower(strings.Trim(args[0], "[]"))
			page, err := docs.CheckPage(id)
			if cause := story.CausePage(id); err != nil && cause != "" {
				page, err = cause, nil
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
				near := nearest(id)
				if len(near) == 0 {
					return fmt.Errorf("there is no check %q; 'railhead explain-check' lists all", id)
				}
				return fmt.Errorf("there is no check %q; did you mean %s?", id, strings.Join(near, ", "))
			}
			if err == nil {
				_, err = io.WriteString(a.Out, page)
			}
			return err
		},
	}
}

// nearest returns the checks with a similar ID, or those whose ID contains the word.
func nearest(id string) []string {
	near := words.Nearest(id, docs.Checks())
	if len(near) == 0 && len(id) > 2 {
		without := func(other string) bool { return !strings.Contains(other, id) }
		near = slices.DeleteFunc(slices.Clone(docs.Checks()), without)
	}
	return near
}

func listChecks(w io.Writer) error {
	for _, id := range docs.Checks() {
		page, err := docs.CheckPage(id)
		if err != nil {
			return err
		}
		_, fact, _ := strings.Cut(page, "**Healthy:** ")
		fact, _, _ = strings.Cut(fact, "\n")
		if _, err := fmt.Fprintf(w, "%-24s %s\n", id, fact); err != nil {
			return err
		}
	}
	return nil
}
