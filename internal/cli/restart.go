package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

func newRestart(a *app) *cobra.Command {
	var flags applyFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "restart [KIND/]NAME",
		Short: "Replace all pods of a job, after a rollout or when they are outdated",
		Long: `restart deletes all pods of a job and waits until the new ones are ready: after a rollout, or for
pods that are outdated. It refuses while a training runs in them. It restarts the pods of
` + words.And(workload.Recreating()) + `.
Jobs of other kinds count a deleted pod as failed, or start again as a whole: delete and create such a job again.`,
		Example: `  railhead restart h-kim -n train
  railhead restart h-kim -n train --force --yes      also while a training runs`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := a.readJob(cmd.Context(), args[0], cluster.Objects, cluster.Pods)
			if err != nil {
				return err
			}
			p, findings := job.Restart(j.Family)
			if !force && len(findings) == 0 {
				if err := j.notTraining(cmd.Context()); err != nil {
					return err
				}
			}
			return applier{
				app: a, client: j.client, flags: flags, want: j.want, resume: j.statusCommand(),
			}.apply(cmd.Context(), p, findings)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "restart the pods even if a training runs in them")
	flags.add(cmd, 15*time.Minute)
	return cmd
}

// notTraining returns an error if a training runs in the pods, or if that could not be read.
func (j *jobState) notTraining(ctx context.Context) error {
	pods := slices.DeleteFunc(launch.Targets(j.Family), func(t launch.Target) bool {
		return t.Pod.Phase != "Running" || !j.Trains(t.Pod)
	})
	if err := launch.Busy(pods, j.ref.String(), j.ns); err != nil {
		return exit.Failed(err)
	}
	runs, err := launch.Runs(ctx, j.client, pods)
	if i := slices.IndexFunc(runs, func(r launch.Run) bool { return r.Running }); i >= 0 {
		return exit.Failed(fmt.Errorf("nothing was restarted: a launched command runs in %s; stop it, or use --force",
			runs[i]))
	}
	if err != nil {
		return unknown(fmt.Errorf("nothing was restarted: whether a training runs could not be read: %w; "+
			"use --force to restart the pods anyway", err))
	}
	return nil
}
