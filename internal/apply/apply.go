// Package apply carries out a plan and follows each step until it is done.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/words"
)

// Cluster is the API server; *kube.Client implements it.
type Cluster interface {
	Read(ctx context.Context, w kube.Want) (cluster.State, error)
	May(ctx context.Context, rights []plan.Right) (denied []plan.Right, err error)
	User() string
	collect.Creator
	collect.LogReader
	collect.ImageSource
}

// Options are the options of carrying out a plan.
type Options struct {
	Wait             // for each step; the step names the kinds to watch
	DryRun bool      // the server validates every change and stores none
	NoWait bool      // return when all is written: a step is waited for only if later ones write
	Check  NodeCheck // for plans with setup.StepVerifyFirst
}

// ErrInterrupted is returned after an interrupt, when the user has been told how to go on.
var ErrInterrupted = errors.New("interrupted")

// CheckRights returns an error if a part of a plan is forbidden. It writes nothing.
func CheckRights(ctx context.Context, c Cluster, p plan.Plan, o Options) error {
	denied, err := c.May(ctx, p.Rights())
	if err != nil {
		return err
	}
	for _, r := range denied {
		o.say("forbidden: %s", r)
	}
	if len(denied) > 0 {
		by := ""
		if o.Want.Setup {
			by = " with " + plan.AdministratorRoles
		}
		return fmt.Errorf("nothing was written: %s lacks the rights for %s of this plan; "+
			"a cluster administrator can apply it, or grant them%s",
			cmp.Or(c.User(), "this user"), words.Count(len(denied), "part"), by)
	}
	return checkGrants(ctx, c, p)
}

// checkGrants lets the server validate the role bindings. Writing one takes the rights that it grants, and
// no access review shows that (kubernetes pkg/registry/rbac/validation ConfirmNoEscalation).
func checkGrants(ctx context.Context, c Cluster, p plan.Plan) error {
	for _, change := range p.Changes() {
		grants := change.Verb == plan.Apply && change.Object.GetKind() == "RoleBinding"
		if !grants || createsNamespaceOf(p, change) {
			continue
		}
		if _, err := c.Carry(ctx, change, true); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	return nil
}

func createsNamespaceOf(p plan.Plan, change plan.Change) bool {
	return slices.ContainsFunc(p.Changes(), func(c plan.Change) bool {
		return c.Verb == plan.Apply && c.Object.GetKind() == "Namespace" &&
			c.Object.GetName() == change.Object.GetNamespace()
	})
}

// Plan makes the changes of each step of a plan and waits for their effect. It returns ErrInterrupted if ctx ends after
// the first change.
func Plan(ctx context.Context, c Cluster, p plan.Plan, o Options) error {
	r := run{cluster: c, plan: p, Options: o}
	err := r.steps(ctx)
	if err != nil && ctx.Err() != nil && r.wrote && !errors.Is(err, ErrInterrupted) {
		r.say("Interrupted: objects written so far stay; the same command again completes the plan")
		return ErrInterrupted
	}
	return err
}

// run is one run of a plan.
type run struct {
	cluster Cluster
	plan    plan.Plan
	Options
	wrote bool // the server was asked to write
}

func (r *run) steps(ctx context.Context) error {
	for i, step := range r.plan.Steps {
		wait := r.Wait
		wait.Want.Kinds = step.Watch
		rest := r.plan.Steps[i+1:]
		if len(rest) > 0 {
			wait.Resume = "the same command again, which continues with: " + titles(rest)
		}
		if r.NoWait && !slices.ContainsFunc(rest, writes) {
			step.Done = nil
		}
		if err := r.step(ctx, step, wait); err != nil {
			return err
		}
	}
	if r.plan.Closing != "" && !r.DryRun {
		r.Live.Say(r.plan.Closing)
	}
	return nil
}

func writes(s plan.Step) bool { return len(s.Changes) > 0 }

func titles(steps []plan.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Title)
	}
	return strings.Join(all, "; ")
}

func (r *run) step(ctx context.Context, step plan.Step, wait Wait) error {
	r.Live.Say(step.Title)
	if step.ID == setup.StepVerifyFirst && !r.DryRun {
		return r.checkFirstNodes(ctx)
	}
	for _, change := range step.Changes {
		if r.DryRun && createsNamespaceOf(r.plan, change) { // the server cannot validate it
			r.say("  Skipped, because its namespace does not exist yet: %s %s",
				change.Object.GetKind(), change.Object.GetName())
			continue
		}
		if err := r.change(ctx, change); err != nil {
			return err
		}
	}
	if step.Done == nil || r.DryRun {
		return nil
	}
	return Follow(ctx, r.cluster, step.Done, wait)
}

func (r *run) change(ctx context.Context, change plan.Change) error {
	note := " (dry run)"
	if !r.DryRun {
		note, r.wrote = "", true
	}
	outcome, err := r.cluster.Carry(ctx, change, kube.DryRun(r.DryRun))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && r.DryRun:
		return err
	case err != nil:
		return fmt.Errorf("%w\nObjects written so far stay; the same command again completes the plan", err)
	}
	r.say("  %s %s %s%s", outcome, change.Object.GetKind(), change.Object.GetName(), note)
	return nil
}
