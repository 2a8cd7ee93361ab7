package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/lab/machines/guest"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the machines of a lab", Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.running()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(a.out, 0, 8, 3, ' ', 0)
			fmt.Fprintln(w, "MACHINE\tSTATE\tUP AFTER\tCONSOLE")
			for _, m := range s.Machines {
				how, after := describe(cmd.Context(), m)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, how, after, m.Console)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			a.say("%s", s.RunBy)
			if s.Kubeconfig != "" {
				fmt.Fprintf(a.out, "export KUBECONFIG=%s\n", s.Kubeconfig)
			}
			return nil
		},
	}
}

// describe says how a machine is, and how long after its kernel's start it was ready.
func describe(ctx context.Context, m machineState) (how, after string) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := guest.NewClient(m.Agent, m.Token).Status(ctx)
	switch {
	case err != nil:
		return "does not answer: " + err.Error(), "-"
	case s.Failed != "":
		return "failed: " + s.Failed, "-"
	case !s.Ready || len(s.Stages) == 0:
		return "on its way", "-"
	}
	return "ready", s.Stages[len(s.Stages)-1].At.Round(100 * time.Millisecond).String()
}

func (a *app) exec() *cobra.Command {
	return &cobra.Command{
		Use: "exec MACHINE -- COMMAND...", Short: "Run a command in a machine, as root",
		Example: "  lab exec node-a -- rdma link\n  lab exec node-b -- sh -c 'dmesg | tail'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError{errors.New("exec takes a machine and a command")}
			}
			s, err := a.running()
			if err != nil {
				return err
			}
			m, err := s.machine(args[0])
			if err != nil {
				return err
			}
			code, err := guest.NewClient(m.Agent, m.Token).Exec(cmd.Context(), guest.Exec{Argv: args[1:]}, a.out, a.err)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			if code != 0 {
				return exitError{code}
			}
			return nil
		},
	}
}

func (a *app) down() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End a lab: nothing of it stays", Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := a.folder()
			if err != nil {
				return err
			}
			pid, err := f.pid()
			if errors.Is(err, errNone) {
				a.say("Nothing to do: %v", err)
				return nil
			}
			if err == nil {
				err = end(cmd.Context(), f, pid)
			}
			if err == nil {
				a.say("The lab is down")
			}
			return err
		},
	}
}

// end asks the lab's process to end, and kills it when it does not.
func end(ctx context.Context, f folder, pid int) error {
	const patience = 20 * time.Second
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the lab's process %d: %w", pid, err)
	}
	late := time.After(patience)
	for tick := time.NewTicker(50 * time.Millisecond); f.runs() || f.exists(); {
		select {
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		case <-late:
			if !f.runs() {
				return fmt.Errorf("the lab has ended, and its folder %s is still there", f)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return err
			}
		case <-tick.C:
		}
	}
	return nil
}

// running is the state of the lab that runs.
func (a *app) running() (state, error) {
	f, err := a.folder()
	if err != nil {
		return state{}, err
	}
	return f.state()
}
