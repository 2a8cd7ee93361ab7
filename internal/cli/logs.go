package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch"
)

func newLogs(a *app) *cobra.Command {
	var f launch.LogFlags
	cmd := &cobra.Command{
		Use:   "logs [KIND/]NAME",
		Short: "Show the logs of a job's pods, with the rank in front of every line",
		Long: `logs shows the output of a job's pods: of railhead-pod and of the command that the job was deployed
with. The job may be any workload, as in 'railhead status'. If a pod has not started its command, logs shows the init
container. With --follow it continues, also with pods that are replaced, until the job has ended or Ctrl-C.

These logs do not contain the output of 'railhead launch', which launch shows itself.

Exit status: 1 if a log is missing; 3 if the pods could not be read.`,
		Example: `  railhead logs h-kim -n train
  railhead logs h-kim -n train -f --tail 20
  railhead logs h-kim -n train --rank 1 --previous       why the container of rank 1 restarted`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.Follow && f.Previous:
				return errors.New("--follow and --previous exclude each other: the previous run has ended")
			case f.Tail < 0:
				return errors.New("--tail cannot be negative")
			}
			return a.logs(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.Follow, "follow", "f", false, "continue while the pods run")
	flags.BoolVarP(&f.Previous, "previous", "p", false, "show each container's previous run")
	flags.IntVar(&f.Tail, "tail", 0, "`number` of last lines to show of each pod (default: all)")
	flags.IntVar(&f.Rank, "rank", -1, "show only the pod of this `rank`; -1 for all")
	return cmd
}

func (a *app) logs(ctx context.Context, name string, f launch.LogFlags) error {
	j, err := a.readJob(ctx, name, cluster.Pods)
	if err != nil {
		return readError(err)
	}
	all, err := j.pods()
	if err != nil {
		return err
	}
	r := launch.LogReader{
		Source: j.client,
		Screen: launch.NewConsole(a.Out, a.Err),
		Color:  a.Color,
		Flags:  f,
	}
	if len(r.Chosen(all)) == 0 {
		last := all[len(all)-1].Rank
		return exit.Failed(fmt.Errorf("job %s has no rank %d: its ranks are 0 to %d", name, f.Rank, last))
	}
	if f.Follow {
		err = r.Follow(ctx, j.want, j.ref)
	} else {
		err = r.Show(ctx, r.Chosen(all))
	}
	switch {
	case errors.Is(err, launch.ErrMissing):
		return exit.Error{Code: exit.Fault} // the reader has printed why
	case err == nil || ctx.Err() != nil:
		return err
	}
	return exit.Failed(err)
}
