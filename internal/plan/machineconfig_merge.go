package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// selectedConfigs are the MachineConfigs that a pool's next rendered configuration is made of, in the order in which they are
// merged: those of role worker by name, then all others by name, so that a custom pool overrides worker
// (machine-config-operator pkg/controller/common/helpers.go MergeMachineConfigs).
func selectedConfigs(p cluster.Pool, configs []cluster.MachineConfig) []cluster.MachineConfig {
	var selected []cluster.MachineConfig
	for _, m := range configs {
		if !m.Rendered && selects(p.ConfigSelector.MatchLabels, p.ConfigSelector.MatchExpressions, m.Labels) {
			selected = append(selected, m)
		}
	}
	slices.SortFunc(selected, mergeOrder)
	return selected
}

func mergeOrder(a, b cluster.MachineConfig) int {
	if aw, bw := a.Labels[roleLabel] == workerPool, b.Labels[roleLabel] == workerPool; aw != bw {
		if aw {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
}

// kernelArguments are the arguments of all MachineConfigs: they are appended, never replaced.
func kernelArguments(configs []cluster.MachineConfig) []string {
	var arguments []string
	for _, m := range configs {
		arguments = append(arguments, m.KernelArguments...)
	}
	return arguments
}

// with returns the MachineConfigs with one added, or replaced by its name.
func with(configs []cluster.MachineConfig, m cluster.MachineConfig) []cluster.MachineConfig {
	return append(without(configs, m.Name), m)
}

// without returns the MachineConfigs without one.
func without(configs []cluster.MachineConfig, name string) []cluster.MachineConfig {
	return slices.DeleteFunc(slices.Clone(configs), func(m cluster.MachineConfig) bool { return m.Name == name })
}

// dropIn is one file of CRI-O's configuration with the MachineConfig that it comes from.
type dropIn struct {
	cluster.File
	Config string
}

const (
	crioConfig  = "/etc/crio/crio.conf"
	crioDropIns = "/etc/crio/crio.conf.d/"
)

// crioFiles are CRI-O's configuration files as these MachineConfigs leave them on a node, in the order in which CRI-O reads
// them: crio.conf, then the folder by name (cri-o pkg/config/config.go UpdateFromPath: filepath.Walk). Of two files with one
// path the MachineConfig that is merged last wins.
func crioFiles(configs []cluster.MachineConfig) []dropIn {
	byPath := map[string]dropIn{}
	for _, m := range configs {
		for _, f := range m.Files {
			if f.Path == crioConfig || strings.HasPrefix(f.Path, crioDropIns) {
				byPath[f.Path] = dropIn{File: f, Config: m.Name}
			}
		}
	}
	files := make([]dropIn, 0, len(byPath))
	for _, f := range byPath {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b dropIn) int { return readOrder(a.Path, b.Path) })
	return files
}

// readOrder compares paths name by name, as a walk of folders meets them.
func readOrder(a, b string) int {
	if (a == crioConfig) != (b == crioConfig) {
		if a == crioConfig {
			return -1
		}
		return 1
	}
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}
