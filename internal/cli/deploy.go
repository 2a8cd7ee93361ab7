package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/podbinary"
)

// jobFlags are the flags that describe a job's pods, for deploy and inject.
type jobFlags struct {
	plan.JobOptions
	mode        string
	script      string
	imageVolume bool
	binaries    map[string]string // architecture -> file
	tolerations []string
	environment []string // values may hold commas
	runAsUser   int64
}

func (j *jobFlags) flags(cmd *cobra.Command) {
	j.mode = string(nccl.RDMA)
	f := cmd.Flags()
	choiceFlag(cmd, &j.mode, "mode", "", "rdma: RDMA or nothing; auto: RDMA where nodes and rails allow it, else TCP; tcp: no rails",
		string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	f.IntVar(&j.GPUs, "gpus", 0, "GPUs of each pod; 0 for none (default all of a node)")
	f.StringVar(&j.GPUResource, "gpu-resource", "", "resource of the GPUs (default the one that most nodes offer)")
	f.StringSliceVar(&j.Networks, "network", nil, "network attachment to use as a rail; may be given several times (default all rails of the namespace)")
	f.StringVar(&j.script, "script", "", "file that the pods run, put into a ConfigMap: .py under torchrun, others by their shell")
	f.StringVar(&j.ServiceAccount, "service-account", "", "account of the pods (default NAME-sa or railhead-sa, where there is one)")
	f.StringVar(&j.SCC, "scc", "", "security context constraint that the pods must be admitted by (default none is named, unless the pods need one)")
	f.BoolVar(&j.Privileged, "privileged", false, "make the pods privileged; RDMA does not need it, and they see every HCA of the node")
	choiceFlag(cmd, &j.Memlock, "memlock", "", "node: the nodes let containers lock memory; ipc-lock: the pods add that capability and run as root (default what is known of the nodes)",
		plan.MemlockByNode, plan.MemlockByIPCLock)
	f.StringVar(&j.PodImage, "pod-image", "", "image that carries /railhead-pod, for an init container (default: ConfigMaps, without a registry)")
	f.BoolVar(&j.imageVolume, "image-volume", false, "mount --pod-image as a volume (Kubernetes 1.33)")
	f.StringToStringVar(&j.binaries, "pod-binary", nil, "railhead-pod to put into the pods, by architecture: amd64=FILE (default the one that railhead carries)")
	f.StringVar(&j.Shm, "shm", "", "size of /dev/shm (default 8Gi for each GPU)")
	f.StringVar(&j.CPU, "cpu", "", "CPUs of each pod")
	f.StringVar(&j.Memory, "memory", "", "memory of each pod; /dev/shm comes on top")
	f.StringVar(&j.EphemeralStorage, "ephemeral-storage", "", "scratch disk of each pod")
	f.StringSliceVar(&j.tolerations, "toleration", nil, "taint that the pods tolerate: KEY or KEY=VALUE; may be given several times")
	f.StringArrayVarP(&j.environment, "env", "e", nil, "environment variable of the pods: NAME=VALUE; may be given several times")
	f.StringVar(&j.RuntimeClass, "runtime-class", "", "runtime class of the pods")
	_ = cmd.MarkFlagFilename("script") // the flag exists
}

// options completes the flags with what the files hold.
func (j *jobFlags) options(cmd *cobra.Command, command []string) (plan.JobOptions, error) {
	o := j.JobOptions
	o.Mode, o.Command = nccl.Mode(j.mode), command
	if o.GPUs == 0 && cmd.Flags().Changed("gpus") {
		o.GPUs = plan.NoGPUs
	}
	if cmd.Flags().Changed("run-as-user") {
		o.RunAsUser = &j.runAsUser
	}
	for _, e := range j.environment {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return o, fmt.Errorf("-e %s: must be NAME=VALUE", e)
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
		o.Script = &plan.Script{Name: filepath.Base(j.script), Content: content}
	}
	if j.imageVolume {
		if o.PodImage == "" {
			return o, fmt.Errorf("--image-volume mounts an image: name it with --pod-image")
		}
		o.Delivery = plan.ByImageVolume
	}
	if o.PodImage != "" {
		return o, nil
	}
	var err error
	o.Programs, err = programs(j.binaries)
	return o, err
}

// programs are railhead-pod for every architecture that is at hand.
func programs(files map[string]string) ([]plan.Program, error) {
	var all []plan.Program
	for _, arch := range podbinary.Architectures() {
		if file, named := files[arch]; named {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--pod-binary: %w", err)
			}
			all = append(all, plan.NewProgram(arch, data))
			continue
		}
		if data, err := podbinary.For(arch); err == nil {
			all = append(all, plan.NewProgram(arch, data))
		} else if len(files) == 0 {
			return nil, err
		}
	}
	return all, nil
}

func (a *app) newDeploy() *cobra.Command {
	var j jobFlags
	var c consent
	cmd := &cobra.Command{
		Use:   "deploy NAME [flags] [-- COMMAND [ARG...]]",
		Short: "Make the pods of a training job, one per node, with every rail of the namespace",
		Long: `deploy looks for free nodes, shows a plan, asks, makes the pods and waits until they run. Each pod gets all GPUs of its node
and every rail of the namespace, no privileges, and railhead-pod in front of its command. Without a command the pods wait
for 'railhead launch'.

Of a pod that does not come it says why, and what to do.`,
		Example: `  railhead deploy h-kim -n train --type multi --nodes 2 --image IMAGE
  railhead deploy h-kim -n train --nodes 2 --image IMAGE -- torchrun train.py
  railhead deploy h-kim -n train --nodes 2 --image IMAGE --script train.py
  railhead deploy h-kim -n train --mode tcp --image IMAGE          no rails, to compare
  railhead deploy h-kim -n train --image IMAGE -o yaml > job.yaml`,
		Args: nameAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := j.options(cmd, args[1:])
			if err != nil {
				return exitError{exitUsage, err}
			}
			if o.Namespace, _, err = a.flags.Namespace(); err != nil {
				return fault(err)
			}
			if o.Name = args[0]; o.Type == plan.Single && cmd.Flags().Changed("nodes") && o.Nodes != 1 {
				return exitError{exitUsage, fmt.Errorf("--nodes %d is for --type multi: --type single is one pod", o.Nodes)}
			}
			client, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			s, err := a.readForJob(cmd.Context(), client, o)
			if err != nil {
				return err
			}
			p, findings := plan.Job(s, o)
			if err := a.refuse(findings); err != nil {
				return err
			}
			want := kube.Want{Namespace: o.Namespace, Job: o.Name}
			back := fmt.Sprintf("railhead status %s -n %s", o.Name, o.Namespace)
			if err := a.carry(cmd.Context(), client, p, c, waitFor{want: want, back: back, unasked: true}); err != nil {
				return err
			}
			if c.dryRun == "none" && c.output == "" && !c.noWait && len(o.Command) == 0 && o.Script == nil {
				a.say("Start the training with: railhead launch %s -n %s -- COMMAND", o.Name, o.Namespace)
			}
			return nil
		},
	}
	j.Type, j.Kind = plan.Multi, plan.StatefulSet
	choiceFlag(cmd, &j.Type, "type", "", "multi: one pod on each of several nodes; single: one pod", plan.Multi, plan.Single)
	choiceFlag(cmd, &j.Kind, "kind", "", "what runs the pods", plan.StatefulSet, plan.JobSet)
	f := cmd.Flags()
	f.IntVar(&j.Nodes, "nodes", 2, "pods of --type multi, each on a node of its own")
	f.StringVar(&j.Image, "image", "", "image of the training")
	f.StringVar(&j.PullPolicy, "image-pull-policy", "", "Always, IfNotPresent or Never")
	f.StringSliceVar(&j.PullSecrets, "image-pull-secret", nil, "secret of the image's registry; may be given several times")
	f.StringToStringVar(&j.NodeSelector, "node-selector", nil, "label of the nodes: KEY=VALUE")
	f.Int64Var(&j.runAsUser, "run-as-user", 0, "user id of the pods (default OpenShift's range, or the image's)")
	j.flags(cmd)
	c.flags(cmd, 10*time.Minute)
	return cmd
}

// nameAndCommand wants a name, and everything else behind --.
func nameAndCommand(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return fmt.Errorf("the name of the job is missing: %s NAME", cmd.CommandPath())
	case dash < 0 && len(args) > 1 || dash > 1:
		return fmt.Errorf("%q is neither a flag nor behind --: %s NAME [flags] -- COMMAND", args[1], cmd.CommandPath())
	}
	return nil
}

// readForJob reads what the plan of a job looks at, in two turns: what is rarely needed is read when the first turn shows
// that it is.
func (a *app) readForJob(ctx context.Context, client *kube.Client, o plan.JobOptions) (cluster.State, error) {
	want := kube.Want{Kinds: plan.JobKinds(client.Server(), o), Namespace: o.Namespace, Job: o.Name, Everywhere: []cluster.Kind{cluster.Pods}}
	s, err := client.Read(ctx, want)
	if err != nil {
		return s, fault(err)
	}
	if want.Kinds = plan.JobNeeds(s, o); len(want.Kinds) > 0 {
		more, err := client.Read(ctx, want)
		if err != nil {
			return s, fault(err)
		}
		s = s.Join(more)
	}
	return s, nil
}
