package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/enumflag"
)

// takes checks the number of arguments. The first ones are required; names are the names in the usage line.
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
	cmd.Flags().VarP(enumflag.New(target, values...), name, short, usage)
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

// checkFlags does the checks of cobra's required and mutually exclusive flags before cobra does, and says what to type.
func checkFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 && !f.Changed && err == nil {
			name, _ := pflag.UnquoteUsage(f)
			err = fmt.Errorf("--%s is missing: %s --%s %s", f.Name, cmd.CommandPath(), f.Name, strings.ToUpper(name))
		}
	})
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusiveFlags] {
			for other := range strings.FieldsSeq(group) {
				if other > f.Name && cmd.Flags().Changed(other) && err == nil {
					err = fmt.Errorf("--%s and --%s cannot be used together", f.Name, other)
				}
			}
		}
	})
	return err
}

// exclusiveFlags annotates flags with groups. Only one flag of each group may be set (cobra flag_groups.go).
const exclusiveFlags = "cobra_annotation_mutually_exclusive"
