package cli

import (
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/plan/job"
)

// addPods adds the flags of deploy alone: a manifest has these settings itself.
func (j *jobFlags) addPods(cmd *cobra.Command) {
	j.Type = job.Multi
	choiceFlag(cmd, &j.Type, "type", "",
		"multi: one pod on each of several nodes; single: one pod", job.Multi, job.Single)
	choiceFlag(cmd, &j.Kind, "kind", "",
		"workload that runs the pods (default: job, which runs a command or a script once; "+
			"statefulset for pods that wait for 'launch'; for a job that exists, its kind)",
		job.StatefulSet, job.IndexedJob, job.JobSet)
	f := cmd.Flags()
	f.IntVar(&j.Nodes, "nodes", 2, "`number` of pods of --type multi, one per node")
	f.StringVar(&j.Image, "image", "", "`image` of the pods")
	f.StringVar(&j.PullPolicy, "image-pull-policy", "", "pull `policy`: Always, IfNotPresent or Never")
	f.StringSliceVar(&j.PullSecrets, "image-pull-secret", nil, "`secret` of the image's registry; repeatable")
	mapFlag(cmd, &j.NodeSelector, "node-selector", "label that the nodes must have, `KEY=VALUE`; repeatable")
	f.Int64Var(&j.runAsUser, "run-as-user", 0,
		"user `id` of the pods (default: one of the namespace's range on OpenShift, otherwise that of the image)")
	f.StringArrayVar(&j.volumes, "volume", nil, "`volume` to mount; repeatable: "+job.VolumeForms)
}
