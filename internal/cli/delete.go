package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
)

func newDelete(a *app) *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete exactly the objects that deploy created for a job",
		Example: `  railhead delete h-kim -n train
  railhead delete h-kim -n train --dry-run=client`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, _, err := a.flags.Namespace()
			if err != nil {
				return exit.Failed(err)
			}
			want := kube.Want{Namespace: ns, Job: args[0]}
			all := want
			all.Kinds = []cluster.Kind{cluster.Objects, cluster.Pods}
			client, s, err := a.read(cmd.Context(), all)
			if err != nil {
				return err
			}
			p, findings := job.Delete(s, args[0], ns)
			if err := a.refuse(findings); err != nil {
				return err
			}
			resume := "railhead status " + args[0] + " -n " + ns
			apply := applier{app: a, client: client, plan: p, flags: flags, want: want, resume: resume}
			return apply.apply(cmd.Context())
		},
	}
	flags.flags(cmd, 5*time.Minute)
	return cmd
}

// completeJobs completes the name of a job.
func (a *app) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	_, s, err := a.read(cmd.Context(), kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: ns})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return job.Names(s, ns), cobra.ShellCompDirectiveNoFileComp
}
