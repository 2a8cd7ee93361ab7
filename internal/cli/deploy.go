package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/podbinary"
)

// jobFlags describe a job's pods, for deploy and inject.
type jobFlags struct {
	job.Options
	script      string
	imageVolume bool
	binaries    map[string]string // architecture -> file
	tolerations []string
	environment []string // values may hold commas
	runAsUser   int64
}

func (j *jobFlags) add(cmd *cobra.Command) {
	j.Mode = nccl.RDMA
	f := cmd.Flags()
	choiceFlag(cmd, (*string)(&j.Mode), "mode", "",
		"rdma: require RDMA; auto: RDMA if nodes and rails allow it, otherwise TCP; tcp: no rails",
		string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	f.IntVar(&j.GPUs, "gpus", 0, "`number` of GPUs of each pod; 0 for none (default: all GPUs of a node)")
	f.StringVar(&j.GPUResource, "gpu-resource", "", "`resource` of the GPUs (default: the one that most nodes offer)")
	f.StringSliceVar(&j.Networks, "network", nil,
		"network `attachment` to use as a rail; repeatable (default: all rails of the namespace)")
	f.BoolVar(&j.Claims, "claims", false,
		"claim the rails from a DRA driver, without attachments (default: if the namespace has no attachment)")
	f.StringVar(&j.script, "script", "",
		"`file` for the pods to run, stored in a ConfigMap: .py files with torchrun, others with a shell")
	f.StringVar(&j.ServiceAccount, "service-account", "",
		"service `account` of the pods (default: NAME-sa or railhead-sa if it exists)")
	f.StringVar(&j.SCC, "scc", "",
		"`name` of the security context constraint that must admit the pods (default: none, unless the pods need one)")
	f.BoolVar(&j.Privileged, "privileged", false,
		"make the pods privileged; RDMA does not need it, and the pods see every HCA of the node")
	choiceFlag(cmd, &j.Memlock, "memlock", "",
		"node: the nodes let containers lock memory; ipc-lock: the pods add the capability and run as root "+
			"(default: as the nodes need)",
		job.MemlockByNode, job.MemlockByIPCLock)
	f.StringVar(&j.PodImage, "pod-image", "",
		"`image` with /railhead-pod, for an init container (default: ConfigMaps, without a registry)")
	f.BoolVar(&j.imageVolume, "image-volume", false, "mount --pod-image as a volume (Kubernetes 1.33)")
	binaryFlag(cmd, &j.binaries, "")
	f.StringVar(&j.Shm, "shm", "", "`size` of /dev/shm (default: 8Gi for each GPU)")
	f.StringVar(&j.CPU, "cpu", "", "`number` of CPUs of each pod")
	f.StringVar(&j.Memory, "memory", "", "`size` of each pod's memory, without /dev/shm")
	f.StringVar(&j.EphemeralStorage, "ephemeral-storage", "", "`size` of each pod's scratch disk")
	f.StringSliceVar(&j.tolerations, "toleration", nil, "taint that the pods tolerate, `KEY[=VALUE]`; repeatable")
	f.StringArrayVarP(&j.environment, "env", "e", nil, "environment variable of the pods, `NAME=VALUE`; repeatable")
	f.StringVar(&j.RuntimeClass, "runtime-class", "", "runtime `class` of the pods")
	_ = cmd.MarkFlagFilename("script") // the flag exists
}

// options returns the options of the plan, with the contents of the files.
func (j *jobFlags) options(cmd *cobra.Command, command []string) (job.Options, error) {
	o := j.Options
	o.Command = command
	if o.GPUs == 0 && cmd.Flags().Changed("gpus") {
		o.GPUs = job.NoGPUs
	}
	if cmd.Flags().Changed("run-as-user") {
		o.RunAsUser = &j.runAsUser
	}
	for _, e := range j.environment {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return o, fmt.Errorf("-e %q is not NAME=VALUE", e)
		}
		if o.Env == nil {
			o.Env = map[string]string{}
		}
		o.Env[name] = value
	}
	for _, t := range j.tolerations {
		key, value, _ := strings.Cut(t, "=")
		o.Tolerations = append(o.Tolerations, cluster.Taint{Key: key, Value: value})
	}
	if j.script != "" {
		content, err := os.ReadFile(j.script)
		if err != nil {
			return o, fmt.Errorf("--script: %w", err)
		}
		o.Script = &job.Script{Name: filepath.Base(j.script), Content: content}
	}
	if j.imageVolume {
		if o.PodImage == "" {
			return o, errors.New("--image-volume needs --pod-image")
		}
		o.Delivery = delivery.ByImageVolume
	}
	if o.PodImage != "" {
		return o, nil
	}
	var err error
	o.Programs, err = programs(j.binaries)
	return o, err
}

// programs returns railhead-pod for every available architecture.
func programs(files map[string]string) ([]delivery.Program, error) {
	for arch := range files {
		if known := podbinary.Architectures(); !slices.Contains(known, arch) {
			return nil, fmt.Errorf("--pod-binary %s: the architecture must be %s", arch, strings.Join(known, " or "))
		}
	}
	var all []delivery.Program
	for _, arch := range podbinary.Architectures() {
		if file, named := files[arch]; named {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--pod-binary: %w", err)
			}
			all = append(all, delivery.Pack(arch, data))
			continue
		}
		if packed, err := podbinary.Packed(arch); err == nil {
			all = append(all, delivery.Packed(arch, packed))
		} else if len(files) == 0 {
			return nil, err
		}
	}
	return all, nil
}

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
  railhead deploy h-kim -n train --claims --image IMAGE            rails by claims of a DRA driver
  railhead deploy h-kim -n train --mode tcp --image IMAGE          without rails, for comparison
  railhead deploy h-kim -n train --image IMAGE -o yaml > job.yaml`,
		Args: nameAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return a.deploy(cmd, &j, flags, args) },
	}
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
	j.add(cmd)
	flags.add(cmd, 10*time.Minute)
	return cmd
}

func (a *app) deploy(cmd *cobra.Command, j *jobFlags, flags applyFlags, args []string) error {
	o, err := j.options(cmd, args[1:])
	if err != nil {
		return usage(err)
	}
	if o.Name = args[0]; o.Type == job.Single && cmd.Flags().Changed("nodes") && o.Nodes != 1 {
		return usage(fmt.Errorf("--nodes %d needs --type multi: --type single creates one pod", o.Nodes))
	}
	client, ns, err := a.connect(cmd.Context())
	if err != nil {
		return err
	}
	o.Namespace = ns
	s, err := a.readForJob(cmd.Context(), client, o)
	if err != nil {
		return err
	}
	apply := applier{
		app:        a,
		client:     client,
		flags:      flags,
		want:       kube.Want{Namespace: o.Namespace, Job: o.Name},
		resume:     statusCommand(o.Name, o.Namespace),
		skipRights: true,
	}
	apply.plan, apply.findings = job.Deploy(s, o)
	if err := apply.apply(cmd.Context()); err != nil {
		return err
	}
	if flags.output == "yaml" {
		a.noteParts(delivery.Parts(apply.plan), o.Namespace)
	}
	running := flags.dryRun == "none" && flags.output == "" && !flags.noWait
	if running && len(o.Command) == 0 && o.Script == nil {
		a.say("Start the training with: railhead launch %s -n %s -- COMMAND", o.Name, o.Namespace)
	}
	return nil
}
