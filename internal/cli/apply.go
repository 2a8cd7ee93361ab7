package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/words"
)

// errInterrupted is returned by an interrupted command that has said how to go on.
var errInterrupted = errors.New("interrupted")

// applyFlags are the flags of every command that changes the cluster.
type applyFlags struct {
	yes     bool
	dryRun  string
	output  string
	noWait  bool
	timeout time.Duration
	retry   *time.Duration
	wrote   *bool // the server was asked to write
}

// add adds the flags to a command. An interrupted command says what it leaves, unless it has said more.
func (f *applyFlags) add(cmd *cobra.Command, timeout time.Duration) {
	f.wrote = new(bool)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err != nil && cmd.Context().Err() != nil && !errors.Is(err, errInterrupted) {
			left := "nothing was written"
			if *f.wrote {
				left = "objects written so far stay; the same command again completes the plan"
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "Interrupted: "+left)
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
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait until the change is complete")
	flags.DurationVar(&f.timeout, "timeout", timeout, "how long to wait until the change is complete; 0 waits forever")
	retryFlag(cmd, &f.retry)
}

// applier shows a plan, asks, applies it and waits for it.
type applier struct {
	*app
	client *kube.Client
	plan   plan.Plan
	flags  applyFlags

	findings []check.Finding // about the plan; a failure prevents it

	want   kube.Want                       // where to look; each step adds the kinds
	resume string                          // the command that continues the wait
	verify func(ctx context.Context) error // runs the step that checks nodes and writes nothing
	// skipRights does not ask the server for every right beforehand: a job has few objects, and those written before
	// a forbidden one do no harm.
	skipRights bool
}

func (a applier) apply(ctx context.Context) error {
	if err := a.refuse(a.findings); err != nil {
		return err
	}
	if a.flags.output == "yaml" {
		a.showNotes(a.plan.Notes)
		return writeManifests(a.Out, a.plan)
	}
	text.Plan(a.Err, a.plan)
	if a.plan.Empty() || a.flags.dryRun == "client" {
		return nil
	}
	if !a.skipRights {
		if err := a.checkRights(ctx); err != nil {
			return err
		}
	}
	if writes := len(a.plan.Changes()) > 0; writes && a.flags.dryRun != "server" {
		if err := a.agree(ctx, a.flags.yes); err != nil {
			return err
		}
	}
	for i, step := range a.plan.Steps {
		resume := a.resume
		if rest := a.plan.Steps[i+1:]; len(rest) > 0 {
			resume = "the same command again, which continues with: " + titles(rest)
		}
		if err := a.applyStep(ctx, step, resume); err != nil {
			return err
		}
	}
	if a.plan.Closing != "" && a.flags.dryRun != "server" {
		a.sayLine(a.plan.Closing)
	}
	return nil
}

func (a applier) createsNamespaceOf(change plan.Change) bool {
	return slices.ContainsFunc(a.plan.Changes(), func(c plan.Change) bool {
		return c.Verb == plan.Apply && c.Object.GetKind() == "Namespace" &&
			c.Object.GetName() == change.Object.GetNamespace()
	})
}

func titles(steps []plan.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Title)
	}
	return strings.Join(all, "; ")
}

// checkRights returns an error if a part of the plan is forbidden, before anything is written.
func (a applier) checkRights(ctx context.Context) error {
	denied, err := a.client.May(ctx, a.plan.Rights())
	if err != nil {
		return exit.Failed(err)
	}
	for _, r := range denied {
		a.say("forbidden: %s", r)
	}
	if len(denied) > 0 {
		by := ""
		if a.want.Setup {
			by = " with " + plan.AdministratorRoles
		}
		return exit.Failed(fmt.Errorf("nothing was written: %s lacks the rights for %s of this plan; "+
			"a cluster administrator can apply it, or grant them%s",
			cmp.Or(a.client.User(), "this user"), words.Count(len(denied), "part"), by))
	}
	return a.checkGrants(ctx)
}

// checkGrants lets the server validate the role bindings. Writing one takes the rights that it grants, and
// no access review shows that (kubernetes pkg/registry/rbac/validation ConfirmNoEscalation).
func (a applier) checkGrants(ctx context.Context) error {
	for _, change := range a.plan.Changes() {
		grants := change.Verb == plan.Apply && change.Object.GetKind() == "RoleBinding"
		if !grants || a.createsNamespaceOf(change) {
			continue
		}
		if _, err := a.client.Carry(ctx, change, true); err != nil {
			return exit.Failed(fmt.Errorf("nothing was written: %w", err))
		}
	}
	return nil
}

func (a applier) applyStep(ctx context.Context, step plan.Step, resume string) error {
	a.sayLine(step.Title)
	dryRun := a.flags.dryRun == "server"
	if step.ID == setup.StepVerifyFirst && !dryRun {
		err := a.verify(ctx)
		if ctx.Err() != nil {
			a.say("Interrupted: the rollout stays paused. " +
				"The same command checks again; 'railhead setup rollback' undoes it")
			return errInterrupted
		}
		return err
	}
	for _, change := range step.Changes {
		if dryRun && a.createsNamespaceOf(change) { // the server cannot validate it
			a.say("  Skipped, because its namespace does not exist yet: %s %s",
				change.Object.GetKind(), change.Object.GetName())
			continue
		}
		if err := a.applyChange(ctx, change, kube.DryRun(dryRun)); err != nil {
			return err
		}
	}
	if step.Done == nil || dryRun || a.flags.noWait {
		return nil
	}
	a.want.Kinds = step.Watch
	return a.follow(ctx, a.client, step.Done,
		waitOptions{want: a.want, limit: a.flags.timeout, retry: a.flags.retry, resume: resume})
}

func (a applier) applyChange(ctx context.Context, change plan.Change, dryRun kube.DryRun) error {
	if !dryRun {
		*a.flags.wrote = true
	}
	outcome, err := a.client.Carry(ctx, change, dryRun)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && bool(dryRun):
		return exit.Failed(err)
	case err != nil:
		return exit.Failed(
			fmt.Errorf("%w\nObjects written so far stay; the same command again completes the plan", err))
	}
	note := ""
	if dryRun {
		note = " (dry run)"
	}
	a.say("  %s %s %s%s", outcome, change.Object.GetKind(), change.Object.GetName(), note)
	return nil
}
