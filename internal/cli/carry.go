package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// consent is the flags of every command that writes.
type consent struct {
	yes     bool
	dryRun  string
	output  string
	noWait  bool
	timeout time.Duration
}

func (c *consent) flags(cmd *cobra.Command, timeout time.Duration) {
	c.dryRun = "none"
	cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "agree to the plan without being asked")
	choiceFlag(cmd, &c.dryRun, "dry-run", "", "client: print the plan and stop; server: let the API server judge every object, and write none", "none", "client", "server")
	choiceFlag(cmd, &c.output, "output", "o", "yaml: print the objects and write none, for GitOps", "yaml")
	cmd.Flags().BoolVar(&c.noWait, "no-wait", false, "do not wait until it is done")
	cmd.Flags().DurationVar(&c.timeout, "timeout", timeout, "how long to wait until it is done; 0 waits for ever")
}

// errGaveUp ends a wait that will not come to its end by itself.
var errGaveUp = errors.New("it will not get there by itself")

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
		return w.check(ctx)
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
	return a.follow(ctx, client, step.Done, w.want, c.timeout, w.back)
}

// follow shows how far a condition is until it holds, is stuck, or time or the user's patience ends.
func (a *app) follow(ctx context.Context, client *kube.Client, done plan.Condition, want kube.Want, limit time.Duration, back string) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	live := &report.Live{W: a.streams.Err, TTY: a.streams.TTY, Width: a.streams.Width}
	clock := newPace(time.Now())
	last := "nothing was seen yet"
	for state, err := range client.Watch(waiting, want) {
		if err != nil {
			live.Show(report.Frame{Text: fmt.Sprintf("the API server does not answer, still trying: %v", err)})
			continue
		}
		progress := done(state)
		live.Show(frame(progress, clock, time.Now()))
		last = progress.Text
		if progress.Done {
			return nil
		}
		if progress.Stuck != nil {
			live.Leave()
			a.findings(*progress.Stuck)
			return exitError{exitFault, errGaveUp}
		}
	}
	live.Leave()
	if ctx.Err() != nil {
		a.say("Stopped watching; what was started goes on. Come back with: %s", back)
		return ctx.Err()
	}
	return fault(fmt.Errorf("not done after %v: %s; it goes on, come back with: %s", limit, last, back))
}

// frame renders progress; the time left of a bar is that which its parts took so far.
func frame(p plan.Progress, clock *pace, now time.Time) report.Frame {
	f := report.Frame{Text: p.Text}
	for _, b := range p.Bars {
		f.Bars = append(f.Bars, report.Bar{Name: b.Name, Count: b.Count, Total: b.Total, Note: clock.left(b, now)})
	}
	for _, i := range p.Items {
		f.Parts = append(f.Parts, report.Part{Name: i.Name, State: i.State, Note: i.Note, Quiet: i.State == plan.Waiting && i.Note == ""})
	}
	return f
}

// pace measures how fast bars move.
type pace struct {
	begun time.Time
	first map[string]int // count of each bar when it was seen first
}

func newPace(now time.Time) *pace { return &pace{now, map[string]int{}} }

// left says how long a bar needs at the pace so far; "" until something moved.
func (p *pace) left(b plan.Bar, now time.Time) string {
	first, seen := p.first[b.Name]
	if !seen {
		p.first[b.Name] = b.Count
	}
	if !seen || b.Count <= first || b.Count >= b.Total {
		return ""
	}
	each := now.Sub(p.begun) / time.Duration(b.Count-first)
	return "about " + (each * time.Duration(b.Total-b.Count)).Round(time.Second).String() + " left"
}
