package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/job"
)

func newDelete(a *app) *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete exactly the objects that deploy created for a job",
		Example: `  railhead delete h-kim -n train
  railhead delete h-kim -n train --dry-run=client`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := a.readJob(cmd.Context(), args[0], cluster.Objects, cluster.Pods)
			if err != nil {
				return err
			}
			apply := applier{app: a, client: j.client, flags: flags, want: j.want(), resume: j.statusCommand()}
			apply.plan, apply.findings = job.Delete(j.state, j.name, j.ns)
			return apply.apply(cmd.Context())
		},
	}
	flags.add(cmd, 5*time.Minute)
	return cmd
}
