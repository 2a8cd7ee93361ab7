package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag with a fixed set of values.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return strings.Join(c.words, "|") }
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	*c.value = s
	return nil
}

// choiceFlag adds a flag with a fixed set of values and its completion. target has the default.
func choiceFlag(cmd *cobra.Command, target *string, name, short, usage string, words ...string) {
	cmd.Flags().VarP(choice{target, words}, name, short, usage)
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag exists
}
