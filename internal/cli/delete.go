package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

func (a *app) newDelete() *cobra.Command {
	var c consent
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete exactly what deploy made for a job",
		Example: `  railhead delete h-kim -n train
  railhead delete h-kim -n train --dry-run=client`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, _, err := a.flags.Namespace()
			if err != nil {
				return fault(err)
			}
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: []cluster.Kind{cluster.Objects, cluster.Pods}, Namespace: ns, Job: args[0]})
			if err != nil {
				return err
			}
			p, findings := plan.DeleteJob(s, args[0], ns)
			if err := a.refuse(findings); err != nil {
				return err
			}
			want := kube.Want{Namespace: ns, Job: args[0]}
			return a.carry(cmd.Context(), client, p, c, waitFor{want: want, back: "railhead status " + args[0] + " -n " + ns})
		},
	}
	c.flags(cmd, 5*time.Minute)
	return cmd
}

// completeJobs completes NAME with the jobs of the namespace.
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
	return plan.Jobs(s, ns), cobra.ShellCompDirectiveNoFileComp
}
