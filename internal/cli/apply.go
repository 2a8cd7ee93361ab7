package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/apply"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report/text"
)

// applyFlags are the flags of every command that changes the cluster.
type applyFlags struct {
	yes     bool
	dryRun  string
	output  string
	options apply.Options
}

// add adds the flags to a command. An interrupted command says that it wrote nothing, unless it has said more.
func (f *applyFlags) add(cmd *cobra.Command, timeout time.Duration) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil && cmd.Context().Err() != nil && !errors.Is(err, apply.ErrInterrupted) {
			fmt.Fprintln(cmd.ErrOrStderr(), "Interrupted: nothing was written")
		}
		return err
	}
	f.dryRun = "none"
	flags := cmd.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "apply the plan without asking")
	choiceFlag(cmd, &f.dryRun, "dry-run", "",
		"client: print the plan and stop; server: let the API server validate every object without saving it",
		"none", "client", "server")
	choiceFlag(cmd, &f.output, "output", "o", "yaml: print the objects for GitOps and change nothing", "yaml")
	o := &f.options
	flags.BoolVar(&o.NoWait, "no-wait", false, "do not wait for the last step: return when everything is written")
	flags.DurationVar(&o.Limit, "timeout", timeout, "how long to wait until the change is complete; 0 waits forever")
	patienceFlag(cmd, &o.Patience)
}

// patienceFlag adds --patience: how long a transient error may last before the command gives up.
func patienceFlag(cmd *cobra.Command, limit **time.Duration) {
	cmd.Flags().Func("patience", "`duration` to wait for errors that Kubernetes retries; "+
		"0 fails immediately (default: 2m for pods, 10m for nodes)", func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		if d < 0 {
			return errors.New("must be 0 or more")
		}
		*limit = &d
		return nil
	})
}

// applier shows a plan, asks and carries it out.
type applier struct {
	app    *app
	client *kube.Client
	flags  applyFlags
	want   kube.Want // where to look; each step adds the kinds
	resume string    // the command that continues the wait
	// skipRights does not ask the server for every right beforehand: a job has few objects, and those written before
	// a forbidden one do no harm.
	skipRights bool
}

// apply carries out a plan, unless a finding about it is a failure.
func (a applier) apply(ctx context.Context, p plan.Plan, findings []check.Finding) error {
	if err := a.app.refuse(findings); err != nil {
		return err
	}
	if a.flags.output == "yaml" {
		a.app.showNotes(p.Notes)
		return writeManifests(a.app.Out, p)
	}
	text.Plan(a.app.Err, p)
	if p.Empty() || a.flags.dryRun == "client" {
		return nil
	}
	o := a.flags.options
	o.Want, o.Resume, o.Live, o.DryRun = a.want, a.resume, a.app.live(), a.flags.dryRun == "server"
	if !a.skipRights {
		if err := apply.CheckRights(ctx, a.client, p, o); err != nil {
			return exit.Failed(err)
		}
	}
	if writes := len(p.Changes()) > 0; writes && !o.DryRun {
		if err := a.app.agree(ctx, a.flags.yes); err != nil {
			return err
		}
	}
	err := apply.Plan(ctx, a.client, p, o)
	switch {
	case errors.Is(err, apply.ErrInconclusive):
		return unknown(err)
	case err != nil:
		return exit.Failed(err)
	}
	return nil
}
