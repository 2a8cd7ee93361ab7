package podcli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// choice is a flag that takes one of a few words.
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

// choiceFlag adds a flag of a few words, with completion. target holds the default.
func choiceFlag(cmd *cobra.Command, target *string, name, short, usage string, words ...string) {
	cmd.Flags().VarP(choice{target, words}, name, short, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// noArguments is cobra.NoArgs in words that fit a command without subcommands.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument: %q", cmd.Name(), args[0])
	}
	return nil
}

// envPrefix is that of the variables that stand for flags: RAILHEAD_MODE for --mode.
const envPrefix = "RAILHEAD_"

// fromEnvironment gives every flag that the command line leaves out the value of its variable.
func fromEnvironment(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, set := os.LookupEnv(name)
		if !set || f.Changed || err != nil || f.Name == "help" {
			return
		}
		if e := cmd.Flags().Set(f.Name, value); e != nil {
			err = fmt.Errorf("%s=%s: %w", name, value, wrongValue(f, e))
		}
	})
	return err
}

// wrongValue is why a flag does not take a value, without the flag's name, which the user of a variable did not write.
func wrongValue(f *pflag.Flag, err error) error {
	var invalid *pflag.InvalidValueError
	switch {
	case f.Value.Type() == "bool":
		return errors.New("must be true or false")
	case errors.As(err, &invalid):
		return invalid.Unwrap()
	}
	return err
}

// machine is the one that a command looks at.
type machine struct{ root, scope string }

func (m *machine) scopeFlag(cmd *cobra.Command) {
	m.scope = string(rail.Pod)
	choiceFlag(cmd, &m.scope, "scope", "", "whose devices: what this pod was given, or the host's physical functions (bare metal, host network)",
		string(rail.Pod), string(rail.Host))
}

func (m *machine) rootFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.root, "root", "", "judge a captured machine instead of this one: a folder with its /sys and /proc, or a recording of 'snapshot --raw'")
	_ = cmd.MarkFlagFilename("root") // the flag exists
}

func (m *machine) open() (host.Machine, error) {
	opened, err := host.Open(m.root)
	if err != nil {
		return opened, exitError{exitUsage, fmt.Errorf("--root: %w", err)}
	}
	return opened, nil
}

// wishes are the flags of nccl.Policy.
type wishes struct {
	mode, gdrLevel, socketIfname string
	override                     bool
}

func (w *wishes) flags(cmd *cobra.Command) {
	w.mode = string(nccl.RDMA)
	choiceFlag(cmd, &w.mode, "mode", "", "rdma: RDMA or nothing; auto: RDMA if the pod has a rail, else TCP; tcp: sockets only",
		string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	cmd.Flags().BoolVar(&w.override, "override", false, "replace what the environment and NCCL's configuration files set already")
	cmd.Flags().StringVar(&w.gdrLevel, "gdr-level", "", "how far a GPU and its NIC may be apart for GPUDirect RDMA: LOC, PIX, PXB, PHB or SYS (default NCCL's own, PXB)")
	cmd.Flags().StringVar(&w.socketIfname, "socket-ifname", "", "interface for bootstrap and connection set-up (default that of the default route)")
}

func (w *wishes) policy() (nccl.Policy, error) {
	if w.gdrLevel != "" {
		if err := nccl.GDRLevel(w.gdrLevel); err != nil {
			return nccl.Policy{}, fmt.Errorf("--gdr-level: %w", err)
		}
	}
	return nccl.Policy{Mode: nccl.Mode(w.mode), Override: w.override, GDRLevel: w.gdrLevel, SocketIfname: w.socketIfname}, nil
}
