package standin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ignition holds the parts of an Ignition configuration (specification 3.4) that MachineConfigController merges.
type ignition struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []map[string]any `json:"files,omitempty"`
	} `json:"storage"`
	Systemd struct {
		Units []map[string]any `json:"units,omitempty"`
	} `json:"systemd"`
}

// merge returns the configuration that MachineConfigs make, and their references. Of two files of one path, and of two
// units of one name, that of the last configuration counts.
func merge(
	pool *machineconfigv1.MachineConfigPool, configs []machineconfigv1.MachineConfig,
) (*machineconfigv1.MachineConfig, []corev1.ObjectReference, error) {
	slices.SortFunc(configs, func(a, b machineconfigv1.MachineConfig) int { return cmp.Compare(a.Name, b.Name) })
	var sources []corev1.ObjectReference
	var whole ignition
	files, units := map[string]map[string]any{}, map[string]map[string]any{}
	rendered := &machineconfigv1.MachineConfig{}
	for _, c := range configs {
		sources = append(sources, corev1.ObjectReference{
			APIVersion: machineconfigv1.GroupVersion.String(), Kind: "MachineConfig", Name: c.Name,
		})
		rendered.Spec.KernelArguments = append(rendered.Spec.KernelArguments, c.Spec.KernelArguments...)
		if len(c.Spec.Config.Raw) == 0 {
			continue
		}
		var one ignition
		if err := json.Unmarshal(c.Spec.Config.Raw, &one); err != nil {
			return nil, nil, fmt.Errorf("MachineConfig %s: %w", c.Name, err)
		}
		whole.Ignition.Version = max(whole.Ignition.Version, one.Ignition.Version)
		for _, f := range one.Storage.Files {
			files[fmt.Sprint(f["path"])] = f
		}
		for _, u := range one.Systemd.Units {
			units[fmt.Sprint(u["name"])] = u
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		whole.Storage.Files = append(whole.Storage.Files, files[path])
	}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		whole.Systemd.Units = append(whole.Systemd.Units, units[name])
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, nil, err
	}
	rendered.Spec.Config.Raw = raw
	sum := sha256.Sum256(fmt.Appendf(raw, "%q", rendered.Spec.KernelArguments))
	rendered.Name = "rendered-" + pool.Name + "-" + hex.EncodeToString(sum[:16])
	rendered.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(pool, machineconfigv1.GroupVersion.WithKind("MachineConfigPool")),
	}
	return rendered, sources, nil
}
