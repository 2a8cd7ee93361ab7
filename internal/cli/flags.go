package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/choice"
)

// takes checks the number of arguments. The first ones are required; names are those of the usage line.
func takes(required int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < required:
			return fmt.Errorf("%s is missing: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// nameAndCommand requires a name, and the command after --.
func nameAndCommand(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return fmt.Errorf("the name of the job is missing: %s NAME", cmd.CommandPath())
	case dash < 0 && len(args) > 1 || dash > 1:
		return fmt.Errorf("unexpected argument %q: the command goes after --: %s NAME [flags] -- COMMAND",
			args[1], cmd.CommandPath())
	}
	return nil
}

// choiceFlag adds a flag with a fixed set of values and its completion. target has the default.
func choiceFlag(cmd *cobra.Command, target *string, name, short, usage string, values ...string) {
	cmd.Flags().VarP(choice.New(target, values...), name, short, usage)
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag exists
}

// outputFlag adds --output. target has the default.
func outputFlag(cmd *cobra.Command, target *string, formats ...string) {
	choiceFlag(cmd, target, "output", "o", "output format", formats...)
}

// mapFlag adds a flag of pairs. pflag would show [] as its default.
func mapFlag(cmd *cobra.Command, target *map[string]string, name, usage string) {
	cmd.Flags().StringToStringVar(target, name, nil, usage)
	cmd.Flags().Lookup(name).DefValue = ""
}

// binaryFlag adds --pod-binary. condition is a prefix of its help.
func binaryFlag(cmd *cobra.Command, files *map[string]string, condition string) {
	mapFlag(cmd, files, "pod-binary",
		condition+"railhead-pod for an architecture, `ARCH=FILE`; repeatable (default: the one inside railhead)")
}
