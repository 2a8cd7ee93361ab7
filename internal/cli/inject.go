package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

func (a *app) newInject() *cobra.Command {
	var j jobFlags
	var file string
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Print a manifest of your own with rails, /dev/shm and railhead-pod in it",
		Long: `inject gives the pods of a Pod, StatefulSet, Deployment, Job or JobSet what deploy gives its own, and prints the manifest with
the ConfigMaps that carry railhead-pod. It writes nothing. What the manifest says already is kept; injecting twice is
injecting once. A manifest that names its namespace gets the rails of that one.`,
		Example: `  railhead inject -f job.yaml -n train | kubectl apply -f -
  kubectl create job x --image IMAGE --dry-run=client -o yaml -- torchrun train.py | railhead inject -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := j.options(cmd, nil)
			if err != nil {
				return exitError{exitUsage, err}
			}
			manifests, err := a.manifests(file, &o)
			if err != nil {
				return err
			}
			client, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			states := map[string]cluster.State{}
			for _, ns := range manifests.Namespaces(o.Namespace) {
				there := o
				there.Namespace = ns
				if states[ns], err = a.readForJob(cmd.Context(), client, there); err != nil {
					return err
				}
			}
			out, findings := plan.InjectAll(manifests, states, o)
			if err := a.refuse(findings); err != nil {
				return err
			}
			for _, object := range out {
				fmt.Fprintln(a.streams.Out, "---")
				if err := report.Encode(a.streams.Out, "yaml", object.Object); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "manifest, or - for standard input")
	cmd.Flags().StringVar(&j.Container, "container", "", "container that trains (default the only one, or the one with GPUs)")
	_ = cmd.MarkFlagRequired("filename") // the flag exists
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	j.flags(cmd)
	return cmd
}

// manifests reads the file, and settles the namespace of those that name none.
func (a *app) manifests(file string, o *plan.JobOptions) (plan.Manifests, error) {
	text, err := a.manifest(file)
	if err != nil {
		return nil, exitError{exitUsage, fmt.Errorf("-f: %w", err)}
	}
	manifests, err := plan.ReadManifests(text)
	if err != nil {
		return nil, exitError{exitUsage, fmt.Errorf("-f %s: %w", file, err)}
	}
	var explicit bool
	if o.Namespace, explicit, err = a.flags.Namespace(); err != nil {
		return nil, fault(err)
	}
	if explicit {
		if err := manifests.In(o.Namespace); err != nil {
			return nil, exitError{exitUsage, fmt.Errorf("-f %s: %w", file, err)}
		}
	}
	return manifests, nil
}

func (a *app) manifest(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(a.streams.In)
	}
	return os.ReadFile(file)
}
