package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/workload"
)

func newInject(a *app) *cobra.Command {
	var j jobFlags
	var file string
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add rails, /dev/shm and railhead-pod to a manifest of your own",
		Long: `inject adds to the pods of a manifest what deploy gives its own pods. It prints the manifest,
and first the ConfigMaps that carry railhead-pod if the namespace lacks them ('railhead setup namespace' creates them).
It changes nothing in the cluster. Settings of the manifest are kept;
injecting twice has no further effect. A manifest that names a namespace gets the rails of that namespace.
railhead-pod starts the command of the containers that train. Where it cannot, because the manifest has no command, or
Ray or sshd starts the processes, an init container writes /etc/nccl.conf; --wrap chooses.
If some pods of an object request GPUs, its other pods stay as they are, such as the head of a Ray cluster or the
launcher of an MPIJob; --container adds rails to all pods with a container of that name.

Kinds: ` + strings.Join(workload.WithTemplates(), ", ") + `; any other with --template-path.`,
		Example: `  railhead inject -f job.yaml -n train | kubectl apply -n train -f -
  kubectl create job x --image IMAGE --dry-run=client -o yaml -- torchrun train.py | railhead inject -f -
  railhead inject -f job.yaml --claims                        rails by claims of a DRA driver
  railhead inject -f train.yaml --template-path spec.worker.template   a kind that railhead does not know`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.inject(cmd, &j, file) },
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "manifest `file`; - for standard input")
	cmd.Flags().StringVar(&j.Container, "container", "",
		"`name` of the container that trains, in all pods that have it (default: the one with GPUs, or the first)")
	cmd.Flags().StringArrayVar(&j.TemplatePaths, "template-path", nil,
		"`path` of the pod template in objects of other kinds, such as spec.template or spec.groups[].template; "+
			"repeatable")
	_ = cmd.MarkFlagRequired("filename") // the flag exists
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	choiceFlag(cmd, &j.Wrap, "wrap", "",
		"auto: railhead-pod starts the command where it can, else an init container writes /etc/nccl.conf; "+
			"always: refuse where it cannot; never: files only",
		job.WrapAuto, job.WrapAlways, job.WrapNever)
	j.add(cmd)
	return cmd
}

func (a *app) inject(cmd *cobra.Command, j *jobFlags, file string) error {
	o, err := j.options(cmd, nil)
	if err != nil {
		return usage(err)
	}
	manifests, err := a.readManifests(file, &o)
	if err != nil {
		return err
	}
	client, _, err := a.connect(cmd.Context())
	if err != nil {
		return err
	}
	states := map[string]cluster.State{}
	for _, ns := range manifests.Namespaces(o) {
		there := o
		there.Namespace = ns
		if states[ns], err = a.readForJob(cmd.Context(), client, there); err != nil {
			return err
		}
	}
	out, findings := job.InjectAll(manifests, states, o)
	if err := a.refuse(findings); err != nil {
		return err
	}
	for _, object := range out {
		if err := writeManifest(a.streams.Out, object.Object); err != nil {
			return err
		}
	}
	parts := 0
	for _, object := range out[:len(out)-len(manifests)] {
		if object.GetKind() == "ConfigMap" {
			parts++
		}
	}
	a.noteParts(parts, out[0].GetNamespace())
	return nil
}

// readManifests reads the file and sets the namespace of objects without one.
func (a *app) readManifests(file string, o *job.Options) (job.Manifests, error) {
	read := os.ReadFile
	if file == "-" {
		read = func(string) ([]byte, error) { return io.ReadAll(a.streams.In) }
	}
	text, err := read(file)
	if err != nil {
		return nil, usage(fmt.Errorf("-f: %w", err))
	}
	manifests, err := job.ReadManifests(text)
	if err != nil {
		return nil, usage(fmt.Errorf("-f %s: %w", file, err))
	}
	var explicit bool
	if o.Namespace, explicit, err = a.flags.Namespace(); err != nil {
		return nil, exit.Failed(err)
	}
	if explicit {
		if err := manifests.In(o.Namespace); err != nil {
			return nil, usage(fmt.Errorf("-f %s: %w", file, err))
		}
	}
	return manifests, nil
}
