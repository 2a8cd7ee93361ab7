package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/podbinary"
)

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
	if err := j.parse(&o); err != nil {
		return o, err
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

// parse parses the flags with a text of several parts.
func (j *jobFlags) parse(o *job.Options) (err error) {
	if o.Env, err = pairs("-e", "NAME", j.environment); err != nil {
		return err
	}
	if o.Scheduling.Labels, err = pairs("--label", "KEY", j.labels); err != nil {
		return err
	}
	if o.Scheduling.Annotations, err = pairs("--annotation", "KEY", j.annotations); err != nil {
		return err
	}
	for _, text := range j.volumes {
		volume, err := volume.Parse(text)
		if err != nil {
			return fmt.Errorf("--volume %w", err)
		}
		o.Storage.Volumes = append(o.Storage.Volumes, volume)
	}
	for _, t := range j.tolerations {
		key, value, _ := strings.Cut(t, "=")
		o.Scheduling.Tolerations = append(o.Scheduling.Tolerations, cluster.Taint{Key: key, Value: value})
	}
	return nil
}

// pairs parses the values of a flag, each a name and a value, which may hold commas.
func pairs(flag, name string, texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%s %q is not %s=VALUE", flag, text, name)
		}
		all[key] = value
	}
	return all, nil
}

// programs returns railhead-pod for every available architecture.
func programs(files map[string]string) ([]delivery.Program, error) {
	for arch := range files {
		if known := podbinary.Architectures(); !slices.Contains(known, arch) {
			return nil, fmt.Errorf("--pod-binary %s: the architecture must be %s", arch, strings.Join(known, " or "))
		}
	}
	var all []delivery.Program
	var missing error
	for _, arch := range podbinary.Architectures() {
		if file, named := files[arch]; named {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--pod-binary: %w", err)
			}
			all = append(all, delivery.Pack(arch, data))
			continue
		}
		packed, err := podbinary.Packed(arch)
		if err != nil {
			missing = err // the plan refuses nodes without a program
			continue
		}
		all = append(all, delivery.Packed(arch, packed))
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}
