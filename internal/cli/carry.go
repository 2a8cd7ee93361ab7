package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// consent is the flags of every command that writes.
type consent struct {
	yes      bool
	dryRun   string
	output   string
	noWait   bool
	timeout  time.Duration
	patience tolerance
}

func (c *consent) flags(cmd *cobra.Command, timeout time.Duration) {
	c.dryRun = "none"
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "agree to the plan without being asked")
	choiceFlag(cmd, &c.dryRun, "dry-run", "", "client: print the plan and stop; server: let the API server judge every object, and write none", "none", "client", "server")
	choiceFlag(cmd, &c.output, "output", "o", "yaml: print the objects and write none, for GitOps", "yaml")
	cmd.Flags().BoolVar(&c.noWait, "no-wait", false, "do not wait until it is done")
	cmd.Flags().DurationVar(&c.timeout, "timeout", timeout, "how long to wait until it is done; 0 waits for ever")
	c.patience.flag(cmd)
}

// waitFor is what a plan is waited for with.
type waitFor struct {
	want  kube.Want                       // where to look; a step says at which kinds
	back  string                          // the command by which the user comes back to the wait
	check func(ctx context.Context) error // carries out the step that writes nothing but checks
	// unasked skips asking the server for every right beforehand: a job's objects are few, and one that is forbidden
	// leaves nothing behind that matters.
	unasked bool
}

// carry shows a plan, asks, writes it and waits for it.
func (a *app) carry(ctx context.Context, client *kube.Client, p plan.Plan, c consent, w waitFor) error {
	if c.output == "yaml" {
		return writeManifests(a.streams.Out, p)
	}
	showPlan(a.streams.Err, p)
	if p.Empty() || c.dryRun == "client" {
		return nil
	}
	if !w.unasked {
		if err := a.mayCarry(ctx, client, p); err != nil {
			return err
		}
	}
	if c.dryRun == "none" {
		if err := a.agree(c.yes); err != nil {
			return err
		}
	}
	steps := p.Steps
	if c.dryRun == "server" {
		steps = a.judgeable(p)
	}
	for i, step := range steps {
		now := w
		if rest := titles(steps[i+1:]); rest != "" {
			now.back = "the same command again, which does the rest: " + rest
		}
		if err := a.carryStep(ctx, client, step, c, now); err != nil {
			return err
		}
	}
	return nil
}

// judgeable are the steps without what lies in a namespace that the plan itself makes: the server judges nothing there.
func (a *app) judgeable(p plan.Plan) []plan.Step {
	fresh := unborn(p)
	steps := slices.Clone(p.Steps)
	for i, step := range steps {
		steps[i].Changes = slices.DeleteFunc(slices.Clone(step.Changes), func(c plan.Change) bool {
			if fresh[c.Object.GetNamespace()] {
				a.say("Not judged, because its namespace is not there yet: %s %s", c.Object.GetKind(), c.Object.GetName())
			}
			return fresh[c.Object.GetNamespace()]
		})
	}
	return steps
}

// unborn are the namespaces that the plan itself makes.
func unborn(p plan.Plan) map[string]bool {
	fresh := map[string]bool{}
	for _, c := range p.Changes() {
		if c.Verb == plan.Apply && c.Object.GetKind() == "Namespace" {
			fresh[c.Object.GetName()] = true
		}
	}
	return fresh
}

// titles says what steps do.
func titles(steps []plan.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Title)
	}
	return strings.Join(all, "; ")
}

// mayCarry refuses a plan of which a part would be forbidden, before anything is written.
func (a *app) mayCarry(ctx context.Context, client *kube.Client, p plan.Plan) error {
	denied, err := client.May(ctx, p.Rights())
	if err != nil {
		return fault(err)
	}
	for _, r := range denied {
		a.say("forbidden: %s", r)
	}
	if len(denied) > 0 {
		return fault(fmt.Errorf("nothing was written: %s may not do %s of this plan; a cluster administrator can, or can grant it",
			orDash(client.User()), count(len(denied), "part")))
	}
	return mayGrant(ctx, client, p)
}

// mayGrant lets the server judge the role bindings, which nobody may write who lacks the rights that they give: no review of
// access tells that (kubernetes pkg/registry/rbac/validation ConfirmNoEscalation).
func mayGrant(ctx context.Context, client *kube.Client, p plan.Plan) error {
	fresh := unborn(p)
	for _, change := range p.Changes() {
		if change.Verb != plan.Apply || change.Object.GetKind() != "RoleBinding" || fresh[change.Object.GetNamespace()] {
			continue
		}
		if _, err := client.Carry(ctx, change, true); err != nil {
			return fault(fmt.Errorf("nothing was written: %w", err))
		}
	}
	return nil
}

func (a *app) carryStep(ctx context.Context, client *kube.Client, step plan.Step, c consent, w waitFor) error {
	a.say("%s", step.Title)
	if step.ID == plan.StepVerifyFirst && c.dryRun != "server" {
		err := w.check(ctx)
		if ctx.Err() != nil {
			a.say("Interrupted: the rollout stays paused; the same command checks again, and 'railhead setup rollback' takes it back")
			return ctx.Err()
		}
		return err
	}
	for _, change := range step.Changes {
		outcome, err := client.Carry(ctx, change, kube.DryRun(c.dryRun == "server"))
		switch {
		case ctx.Err() != nil:
			a.say("Interrupted: what was written before stays; the same command again completes it")
			return ctx.Err()
		case err != nil && c.dryRun == "server":
			return fault(err)
		case err != nil:
			return fault(fmt.Errorf("%w\nWhat was written before stays; the same command again completes it", err))
		}
		kept := ""
		if c.dryRun == "server" {
			kept = " (dry run)"
		}
		a.say("  %s %s %s%s", outcome, change.Object.GetKind(), change.Object.GetName(), kept)
	}
	if step.Done == nil || c.dryRun == "server" || c.noWait {
		return nil
	}
	w.want.Kinds = step.Watch
	return a.follow(ctx, client, step.Done, following{want: w.want, limit: c.timeout, patience: c.patience, back: w.back})
}
