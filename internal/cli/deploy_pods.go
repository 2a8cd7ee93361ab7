package cli

import (
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/volume"
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
	f.StringVar(&j.script, "script", "",
		"`file` for the pods to run, stored in a ConfigMap: .py files with torchrun, others with a shell")
	_ = cmd.MarkFlagFilename("script") // the flag exists
	f.StringVar(&j.PullPolicy, "image-pull-policy", "", "pull `policy`: Always, IfNotPresent or Never")
	f.StringSliceVar(&j.PullSecrets, "image-pull-secret", nil, "`secret` of the image's registry; repeatable")
	f.Int64Var(&j.runAsUser, "run-as-user", 0,
		"user `id` of the pods (default: one of the namespace's range on OpenShift, otherwise that of the image)")
	f.StringArrayVar(&j.volumes, "volume", nil, "`volume` to mount; repeatable: "+volume.Forms)
	f.BoolVar(&j.Guaranteed, "guaranteed", false,
		"refuse to make pods that are not of the quality-of-service class Guaranteed; needs --cpu and --memory")
	f.BoolVar(&j.Startup.StartupProbe, "startup-probe", false,
		"a pod is ready when 'railhead-pod check' finds that its rails work; after 5 minutes it is stopped")
	j.addScheduling(cmd)
}

// addScheduling adds the flags of where and when the pods run, and of what may end them.
func (j *jobFlags) addScheduling(cmd *cobra.Command) {
	f := cmd.Flags()
	mapFlag(cmd, &j.Scheduling.NodeSelector, "node-selector", "label that the nodes must have, `KEY=VALUE`; repeatable")
	choiceFlag(cmd, &j.Scheduling.Leaf, "leaf", "",
		"one leaf switch for all pods, if labels of the nodes name it (default: prefer)",
		job.LeafPrefer, job.LeafRequire, job.LeafAny)
	f.StringVar(&j.Scheduling.LeafLabel, "leaf-label", "",
		"node `label` whose value names the leaf switch (default: the labels of Topograph, GKE and OKE)")
	f.StringArrayVar(&j.labels, "label", nil, "label of the workload and its pods, `KEY=VALUE`; repeatable")
	f.StringArrayVar(&j.annotations, "annotation", nil,
		"annotation of the workload and its pods, `KEY=VALUE`; repeatable")
	f.StringVar(&j.Scheduling.Queue, "queue", "", "`queue` of Kueue that starts the job")
	f.StringVar(&j.Scheduling.PriorityClass, "priority-class", "", "priority `class` of the pods")
	f.StringVar(&j.Scheduling.Scheduler, "scheduler", "", "`name` of the scheduler (default: that of the cluster)")
	f.DurationVar(&j.Scheduling.GracePeriod, "grace-period", 0,
		"`time` that a pod has to write a checkpoint after SIGTERM (default: 30s)")
	f.BoolVar(&j.Scheduling.DisruptionBudget, "disruption-budget", false,
		"keep drains of nodes from evicting the pods; updates of the nodes then wait for the job")
}
