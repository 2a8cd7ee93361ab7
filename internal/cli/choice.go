package cli

import (
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/choice"
)

// choiceFlag adds a flag with a fixed set of values and its completion. target holds the default.
func choiceFlag(cmd *cobra.Command, target *string, name, short, usage string, values ...string) {
	cmd.Flags().VarP(choice.New(target, values...), name, short, usage)
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag exists
}
