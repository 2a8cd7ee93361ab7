package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// SelectedConfigs are the MachineConfigs that a pool's next rendered configuration is made of, in the order in which
// they are merged: those of role worker by name, then all others by name, so that a custom pool overrides worker
// (machine-config-operator pkg/controller/common/helpers.go MergeMachineConfigs).
func SelectedConfigs(p cluster.Pool, configs []cluster.MachineConfig) []cluster.MachineConfig {
	var selected []cluster.MachineConfig
	for _, m := range configs {
		if !m.Rendered && cluster.Selects(p.ConfigSelector.MatchLabels, p.ConfigSelector.MatchExpressions, m.Labels) {
			selected = append(selected, m)
		}
	}
	slices.SortFunc(selected, mergeOrder)
	return selected
}

func mergeOrder(a, b cluster.MachineConfig) int {
	if aw, bw := a.Labels[RoleLabel] == cluster.WorkerPool, b.Labels[RoleLabel] == cluster.WorkerPool; aw != bw {
		if aw {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
}

// DropIn is one file of CRI-O's configuration with the MachineConfig that it comes from.
type DropIn struct {
	cluster.File
	Config string
}

// CRI-O reads its configuration file, then the drop-ins of the folder.
const (
	CRIOConfig  = "/etc/crio/crio.conf"
	CRIODropIns = "/etc/crio/crio.conf.d/"
)

// CRIOFiles are CRI-O's configuration files as these MachineConfigs leave them on a node, in the order in which CRI-O
// reads them: crio.conf, then the folder by name (cri-o pkg/config/config.go UpdateFromPath: filepath.Walk). Of two
// files with one path the MachineConfig that is merged last wins.
func CRIOFiles(configs []cluster.MachineConfig) []DropIn {
	byPath := map[string]DropIn{}
	for _, m := range configs {
		for _, f := range m.Files {
			if f.Path == CRIOConfig || strings.HasPrefix(f.Path, CRIODropIns) {
				byPath[f.Path] = DropIn{File: f, Config: m.Name}
			}
		}
	}
	files := make([]DropIn, 0, len(byPath))
	for _, f := range byPath {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b DropIn) int { return ReadOrder(a.Path, b.Path) })
	return files
}

// ReadOrder compares paths name by name, as a walk of folders meets them.
func ReadOrder(a, b string) int {
	if (a == CRIOConfig) != (b == CRIOConfig) {
		if a == CRIOConfig {
			return -1
		}
		return 1
	}
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}
