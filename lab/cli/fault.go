package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/guest"
)

func (a *app) fault() *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:     "fault list|NAME",
		Short:   "Make a fault for real, on one machine or in a pod on it",
		Args:    arguments(1, "list, or the name of a fault"),
		Example: "  lab fault list\n  lab fault vf-down\n  lab fault mtu --node node-b\n  lab heal",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names := []string{"list"}
			for _, f := range fault.All() {
				names = append(names, f.Name+"\t"+f.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "list" {
				return a.listFaults()
			}
			known, err := fault.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			f, err := a.folder()
			if err != nil {
				return err
			}
			s, err := f.state()
			if err != nil {
				return err
			}
			if _, err := s.machine(node); err != nil {
				return err
			}
			return a.makeFault(cmd.Context(), f, known, node)
		},
	}
	cmd.Flags().StringVar(&node, "node", "node-a", "the machine that has the fault")
	return cmd
}

// makeFault makes a fault and says where it is.
func (a *app) makeFault(ctx context.Context, lab folder, f fault.Fault, node string) error {
	if f.Reboots {
		a.say("%s boots anew: about a minute", node)
	}
	if _, err := lab.ask(ctx, "fault", madeFault{f.Name, node}); err != nil {
		return err
	}
	where := "On " + node
	if f.Namespace != "" {
		where = fmt.Sprintf("In pod %s of namespace %s, on %s", fault.Pod, f.Namespace, node)
	}
	a.say("%s: %s\nundo it: %s", where, f.Title, a.typed("heal"))
	return nil
}

func (a *app) listFaults() error {
	w := tabwriter.NewWriter(a.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "FAULT\tOF\tWHAT IS WRONG\tBOOTS")
	for _, f := range fault.All() {
		of, boots := "machine", "-"
		switch {
		case f.Namespace != "":
			of = "pod"
		case f.Nodes:
			of = "node"
		}
		if f.Reboots {
			boots = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, of, f.Title, boots)
	}
	return w.Flush()
}

func (a *app) heal() *cobra.Command {
	return &cobra.Command{
		Use: "heal", Short: "Undo all faults that were made", Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := a.folder()
			if err != nil {
				return err
			}
			if _, err := f.state(); err != nil {
				return err
			}
			healed, err := f.ask(cmd.Context(), "heal", madeFault{})
			for _, h := range healed {
				a.say("healed %s on %s", h.Name, h.Machine)
			}
			if err == nil && len(healed) == 0 {
				a.say("no fault was made")
			}
			return err
		},
	}
}

// recorder is the command that records a machine.
var recorder = []string{guest.ProgramFolder + "/railhead-pod", "snapshot", "--raw"}

func (a *app) capture() *cobra.Command {
	return &cobra.Command{
		Use:     "capture FOLDER",
		Short:   "Record each machine, for railhead-pod --root and for tests",
		Args:    arguments(1, "a folder"),
		Example: "  lab capture machines\n  railhead-pod detect --root machines/node-a.txtar",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.running()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, m := range s.Machines {
				file := filepath.Join(args[0], m.Name+".txtar")
				if err := a.record(cmd, m, file); err != nil {
					return fmt.Errorf("record %s: %w", m.Name, err)
				}
				fmt.Fprintln(a.out, file)
			}
			return nil
		},
	}
}

func (a *app) record(cmd *cobra.Command, m machineState, file string) error {
	part := file + ".part"
	out, err := os.Create(part)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	defer out.Close()
	code, err := guest.NewClient(m.Agent, m.Token).
		Exec(cmd.Context(), guest.Exec{Argv: recorder, Env: m.Allocation}, out, a.err)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("%q ended with %d", recorder, code)
	}
	return errors.Join(out.Close(), os.Rename(part, file))
}
