package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
)

func newDeploy(a *app) *cobra.Command {
	var j jobFlags
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "deploy NAME [flags] [-- COMMAND [ARG...]]",
		Short: "Create the pods of a training job, one per node, with every rail of the namespace",
		Long: `deploy looks for free nodes, shows a plan, asks, creates the pods and waits until they run. Each pod
gets all GPUs of its node, every rail of the namespace, no privileges, and runs its command under railhead-pod. Without
a command the pods wait for 'railhead launch'. With one they are a Job, which runs it once; its logs stay until the job
is deleted.

If a pod does not start, deploy reports the reason and the fix.`,
		Example: `  railhead deploy h-kim -n train --type multi --nodes 2 --image IMAGE
  railhead deploy h-kim -n train --nodes 2 --image IMAGE -- torchrun train.py
  railhead deploy h-kim -n train --nodes 2 --image IMAGE --script train.py
  railhead deploy h-kim -n train --image IMAGE --volume data=pvc:imagenet:/data:ro -- torchrun train.py
  railhead deploy h-kim -n train --claims --image IMAGE            rails by claims of a DRA driver
  railhead deploy h-kim -n train --mode tcp --image IMAGE          without rails, for comparison
  railhead deploy h-kim -n train --image IMAGE -o yaml > job.yaml`,
		Args: nameAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return a.deploy(cmd, &j, flags, args) },
	}
	j.addPods(cmd)
	j.add(cmd)
	flags.add(cmd, 10*time.Minute)
	return cmd
}

func (a *app) deploy(cmd *cobra.Command, j *jobFlags, flags applyFlags, args []string) error {
	o, err := j.options(cmd, args[1:])
	if err != nil {
		return wrongInput(err)
	}
	if o.Name = args[0]; o.Type == job.Single && cmd.Flags().Changed("nodes") && o.Nodes != 1 {
		return usage(fmt.Errorf("--nodes %d needs --type multi: --type single creates one pod", o.Nodes))
	}
	client, ns, err := a.connect(cmd.Context())
	if err != nil {
		return err
	}
	o.Namespace = ns
	s, err := readForJob(cmd.Context(), client, o)
	if err != nil {
		return err
	}
	p, findings := job.Deploy(s, o)
	err = applier{
		app:        a,
		client:     client,
		flags:      flags,
		want:       kube.Want{Namespace: o.Namespace, Job: o.Name},
		resume:     statusCommand(o.Name, o.Namespace),
		skipRights: true,
	}.apply(cmd.Context(), p, findings)
	if err != nil {
		return err
	}
	if flags.output == "yaml" {
		a.noteParts(delivery.Parts(p), o.Namespace)
	}
	running := flags.dryRun == "none" && flags.output == "" && !flags.options.NoWait
	if running && len(o.Command) == 0 && o.Script == nil {
		a.say("Start the training with: railhead launch %s -n %s -- COMMAND", o.Name, o.Namespace)
	}
	return nil
}
