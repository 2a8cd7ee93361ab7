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
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
)

func (a *app) newExplainCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "explain-check ID",
		Short: "Print what a check means, how to see it by hand, and the fix",
		Long: `explain-check prints the page of a check, or of a cause that 'railhead explain' names. Findings of all commands end with the ID
of theirs in brackets. Without an ID it lists all checks.`,
		Example: `  railhead explain-check memlock-limit
  railhead explain-check                     all there are`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("explain-check takes one ID")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return docs.Checks(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listChecks(a.streams.Out)
			}
			id := strings.ToLower(strings.Trim(args[0], "[]"))
			page, err := docs.CheckPage(id)
			if cause := rules.CausePage(id); err != nil && cause != "" {
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
				_, err = io.WriteString(a.streams.Out, page)
			}
			return err
		},
	}
}

// nearest are the checks that somebody may mean: those spelt alike, or else those with the word in their ID.
func nearest(id string) []string {
	near := cluster.Nearest(id, docs.Checks())
	if len(near) == 0 && len(id) > 2 {
		near = slices.DeleteFunc(slices.Clone(docs.Checks()), func(other string) bool { return !strings.Contains(other, id) })
	}
	return near
}

// listChecks writes every check with its healthy fact.
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
