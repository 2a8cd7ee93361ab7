package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
)

const detachHelp = `
For runs of days, --detach leaves the command running in the pods, --attach shows its output from anywhere and exits as
launch does, and --stop stops it. Each pod keeps the last 24 to 32 MiB of its output and the exit code in /dev/shm until
the next launch. Ctrl-C in --attach only detaches. Without an attached launch, the other ranks continue when one fails,
until NCCL's timeout ends them; an attached launch stops them.
`

type detachFlags struct {
	detach, attach bool
	how            launch.Attached
}

func (f *detachFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.detach, "detach", false, "start the command and leave it running in the pods")
	flags.BoolVar(&f.attach, "attach", false, "show the detached run of the job until it ends")
	flags.BoolVar(&f.how.Stop, "stop", false, "stop the detached run of the job")
	flags.DurationVar(&f.how.Since, "since", 0, "with --attach: begin with output of this `age` (default: all)")
	flags.IntVar(&f.how.Tail, "tail", -1,
		"with --attach: begin with this `number` of last lines of each rank; -1 for all")
	cmd.MarkFlagsMutuallyExclusive("detach", "attach", "stop")
	for _, name := range []string{"detach", "stop"} {
		cmd.MarkFlagsMutuallyExclusive(name, "since")
		cmd.MarkFlagsMutuallyExclusive(name, "tail")
	}
	for _, name := range []string{"copy", "env", "force", "timeout"} { // a new run's
		cmd.MarkFlagsMutuallyExclusive(name, "attach")
		cmd.MarkFlagsMutuallyExclusive(name, "stop")
	}
	cmd.MarkFlagsMutuallyExclusive("detach", "timeout") // without a client nothing could stop it
	cmd.MarkFlagsMutuallyExclusive("detach", "log-dir")
}

// existing reports whether the command is about a run that was started before.
func (f detachFlags) existing() bool { return f.attach || f.how.Stop }

// attach shows or stops the detached run of a job.
func (a *app) attach(ctx context.Context, name string, f launchFlags) error {
	logs, err := launch.NewFolder(f.logDir)
	if err != nil {
		return usage(err)
	}
	j, err := a.readJob(ctx, name, cluster.Pods)
	if err != nil {
		return err
	}
	all, err := j.pods()
	if err != nil {
		return err
	}
	targets := slices.DeleteFunc(all, func(t launch.Target) bool { return !j.Trains(t.Pod) })
	return a.showRun(ctx, j.client, targets, f, logs, jobArguments(name, j.ns))
}

func (a *app) showRun(
	ctx context.Context, client *kube.Client, targets []launch.Target, f launchFlags, logs *launch.Folder, job string,
) error {
	runs, err := launch.Runs(ctx, client, targets)
	streams := launch.Streams{Out: a.Out, Err: a.Err, Color: a.Color}
	l, none := launch.Attach(client, streams, targets, runs, f.how)
	switch {
	case none != nil && err != nil:
		return unknown(fmt.Errorf("whether a detached run is in the pods could not be read: %w", err))
	case errors.Is(none, launch.ErrNoRun):
		return exit.Failed(fmt.Errorf("%w in the pods of this job; "+
			"start one with 'railhead launch %s --detach -- COMMAND'", none, job))
	case err != nil:
		a.say("Not every pod could be read: %v", err)
	}
	l.Job, l.Logs, l.Patience = job, logs, launch.NewPatience(f.grace)
	return endOf(l, l.Show(ctx))
}

// endOf reports the end of a launch.
func endOf(l *launch.Session, o launch.Outcome) error {
	l.Report(o)
	if code := o.Code(); code != 0 {
		return exit.Error{Code: code} // Report has printed why
	}
	return nil
}

// detach starts the command of a launch and leaves it running. A command that ends at once is shown.
func (a *app) detach(
	ctx context.Context, l *launch.Session, client *kube.Client, targets []launch.Target, f launchFlags,
) error {
	if err := l.Detach(ctx); err != nil {
		return a.notStarted(ctx, err)
	}
	a.say("Each pod keeps the last 24 MiB of its output.\n"+
		"  railhead launch %s --attach    show it\n  railhead launch %s --stop      stop it", l.Job, l.Job)
	const soon = 2 * time.Second // a mistake on the command line shows by then
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(soon):
	}
	runs, err := launch.Runs(ctx, client, targets)
	if err != nil {
		a.say("Not every pod could be read: %v", err)
	}
	if s := launch.Summarize(runs, targets); s == nil || len(s.Ended) == 0 {
		return nil
	}
	f.how.Tail = -1
	return a.showRun(ctx, client, targets, f, nil, l.Job)
}

// detachedRun returns the detached run in the pods that wait for launches; nil if there is none. What could not be read
// is printed.
func (a *app) detachedRun(ctx context.Context, client *kube.Client, all []launch.Target) *launch.Summary {
	var ready []launch.Target
	for _, t := range all {
		if t.Pod.Ready && !t.Pod.Deleted && t.Waits() {
			ready = append(ready, t)
		}
	}
	const limit = time.Minute // as long as doctor waits for a pod
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	runs, err := launch.Runs(ctx, client, ready)
	if err != nil {
		a.say("Whether a detached run is in the pods could not be read: %v", err)
	}
	return launch.Summarize(runs, ready)
}

// jobArguments names a job on a command line.
func jobArguments(name, ns string) string { return name + " -n " + ns }
