package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// RoleLabel is the label by which pools select MachineConfigs.
const RoleLabel = "machineconfiguration.openshift.io/role"

// MemlockConfig returns the name of the MachineConfig that lifts the locked-memory limit in a pool.
func MemlockConfig(pool string) string { return "99-" + pool + "-rdma-memlock" }

// SelectedConfigs returns the MachineConfigs of a pool's next rendered configuration in merge order: first the configs
// of role worker by name, then all others by name, so that a custom pool overrides worker (machine-config-operator
// pkg/controller/common/helpers.go MergeMachineConfigs).
func SelectedConfigs(p cluster.Pool, configs []cluster.MachineConfig) []cluster.MachineConfig {
	var selected []cluster.MachineConfig
	for _, m := range configs {
		if !m.Rendered && cluster.Selects(p.ConfigSelector.MatchLabels, p.ConfigSelector.MatchExpressions, m.Labels) {
			selected = append(selected, m)
		}
	}
	slices.SortFunc(selected, func(a, b cluster.MachineConfig) int {
		worker := func(m cluster.MachineConfig) bool { return m.Labels[RoleLabel] == cluster.WorkerPool }
		return cmp.Or(TrueFirst(worker(a), worker(b)), cmp.Compare(a.Name, b.Name))
	})
	return selected
}

// TrueFirst orders true before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// DropIn is one file of CRI-O's configuration, and the MachineConfig that writes it.
type DropIn struct {
	cluster.File
	Config string
}

// Paths of CRI-O's configuration: a file, and a folder of drop-ins that it reads next.
const (
	CRIOConfig  = "/etc/crio/crio.conf"
	CRIODropIns = "/etc/crio/crio.conf.d/"
)

// CRIOFiles returns the CRI-O configuration files that MachineConfigs write, in the order in which CRI-O reads them:
// crio.conf, then the folder by name (cri-o pkg/config/config.go UpdateFromPath: filepath.Walk). A file of several
// MachineConfigs is merged.
func CRIOFiles(configs []cluster.MachineConfig) []DropIn {
	byPath := map[string]DropIn{}
	for _, m := range configs {
		for _, f := range m.Files {
			if f.Path == CRIOConfig || strings.HasPrefix(f.Path, CRIODropIns) {
				if lower, exists := byPath[f.Path]; exists {
					f = f.Over(lower.File, lower.Config)
				}
				byPath[f.Path] = DropIn{File: f, Config: m.Name}
			}
		}
	}
	return slices.SortedFunc(maps.Values(byPath), func(a, b DropIn) int { return ReadOrder(a.Path, b.Path) })
}

// ReadOrder compares two paths of CRI-O's configuration by the order in which CRI-O reads them.
func ReadOrder(a, b string) int {
	byName := slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	return cmp.Or(TrueFirst(a == CRIOConfig, b == CRIOConfig), byName)
}
