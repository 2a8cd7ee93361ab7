package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/workload"
)

func newDelete(a *app) *cobra.Command {
	var flags applyFlags
	var ignoreNotFound bool
	cmd := &cobra.Command{
		Use:   "delete [KIND/]NAME",
		Short: "Delete exactly the objects that deploy created for a job",
		Example: `  railhead delete h-kim -n train
  railhead delete h-kim -n train --dry-run=client`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := a.readJob(cmd.Context(), args[0], cluster.Objects, cluster.Pods)
			if err != nil && !errors.Is(err, workload.ErrNotFound) {
				return err
			}
			if err := j.refuseOthers(err); err != nil {
				return exit.Failed(err)
			}
			p, findings := job.Delete(j.state, j.ref.Name, j.ns)
			if ignoreNotFound && slices.ContainsFunc(findings, isNotFound) {
				a.say("Nothing to do: there is no job %q in namespace %s", j.ref.Name, j.ns)
				return nil
			}
			return applier{
				app: a, client: j.client, flags: flags, want: j.want, resume: j.statusCommand(),
			}.apply(cmd.Context(), p, findings)
		},
	}
	flags.add(cmd, 5*time.Minute)
	cmd.Flags().BoolVar(&ignoreNotFound, "ignore-not-found", false, "exit with 0 if the namespace has no such job")
	return cmd
}

func isNotFound(f check.Finding) bool { return f.Check == job.JobFound }

// refuseOthers returns an error for a workload that railhead did not deploy, unless objects of a deleted job are left.
// If there is no workload of the reference, missing says so.
func (j *jobState) refuseOthers(missing error) error {
	if missing != nil && j.ref.Kind != "" {
		return j.refuseKind(missing)
	}
	left := j.ref.Kind == "" && slices.Contains(job.Names(j.state, j.ns), j.ref.Name)
	if j.Name == "" || j.Kind == "" || j.Deployed() || left {
		return nil
	}
	own := workload.RefOf(j.Workload)
	return fmt.Errorf("%s in namespace %s was not created by 'railhead deploy', so railhead does not delete it.\n"+
		"To delete it: kubectl -n %s delete %s", own, j.ns, j.ns, own)
}

// refuseKind returns an error if a job has another kind than the reference, or if deploy does not write that kind. The
// object of a kind that it writes may be deleted, and others of the job left.
func (j *jobState) refuseKind(missing error) error {
	named, _ := workload.Of(j.ref.Kind)
	deployed, _, found := workload.Find(j.state, j.ref.Name, j.ns)
	switch {
	case found:
		return fmt.Errorf("%w.\nTo delete the job of 'railhead deploy': railhead delete %s -n %s",
			missing, workload.Ref{Kind: deployed.Name(), Name: j.ref.Name}, j.ns)
	case !named.Deployed:
		return missing
	}
	return nil
}
