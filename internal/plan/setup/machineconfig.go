package setup

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

const (
	machineConfigVersion = cluster.MachineConfigGroup + "/v1"
	ignitionVersion      = "3.2.0"                                 // every supported OpenShift 4 reads it
	dataURL              = "data:text/plain;charset=utf-8;base64," // RFC 2397
)

// ComponentSetup is the value of LabelComponent of the objects of `setup cluster`; rollback uses it.
const ComponentSetup = "setup"

func setupLabels() map[string]any {
	return map[string]any{
		plan.LabelManagedBy: plan.ManagedBy,
		plan.LabelName:      plan.ProgramName,
		plan.LabelComponent: ComponentSetup,
	}
}

// madeBySetup reports whether labels are those of an object that `setup cluster` made.
func madeBySetup(labels map[string]string) bool {
	return labels[plan.LabelManagedBy] == plan.ManagedBy && labels[plan.LabelComponent] == ComponentSetup
}

// iommuName and memlockName are the names of the two MachineConfigs of a pool.
func iommuName(pool string) string { return "99-" + pool + "-iommu-passthrough" }

// machineConfigObject is the manifest of a MachineConfig for the nodes of a role.
func machineConfigObject(m cluster.MachineConfig) unstructured.Unstructured {
	labels := setupLabels()
	labels[plan.RoleLabel] = m.Labels[plan.RoleLabel]
	ignition := map[string]any{"ignition": map[string]any{"version": ignitionVersion}}
	if len(m.Files) > 0 {
		var files []any
		for _, f := range m.Files {
			files = append(files, map[string]any{
				"path": f.Path, "mode": int64(0o644), "overwrite": true,
				"contents": map[string]any{"source": dataURL + base64.StdEncoding.EncodeToString([]byte(f.Content))},
			})
		}
		ignition["storage"] = map[string]any{"files": files}
	}
	spec := map[string]any{"config": ignition}
	if len(m.KernelArguments) > 0 {
		spec["kernelArguments"] = plan.List(m.KernelArguments)
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machineConfigVersion, "kind": "MachineConfig",
		"metadata": map[string]any{"name": m.Name, "labels": labels},
		"spec":     spec,
	}}
}

// passthrough are the kernel arguments by which the IOMMU of these nodes passes DMA through. `iommu=pt` is x86's, and
// Intel's IOMMU must also be switched on (AMD's is on by default, and `amd_iommu=on` is no kernel option); arm64 has
// `iommu.passthrough=1` (Linux Documentation/admin-guide/kernel-parameters.txt). An argument of another vendor is
// ignored, so a mixed pool gets all.
func passthrough(nodes []cluster.Node) (arguments, unknownVendor []string) {
	var x86, intel, arm bool
	for _, n := range nodes {
		switch {
		case n.Arch == "arm64":
			arm = true
			continue
		case n.Vendor() == "":
			unknownVendor = append(unknownVendor, n.Name)
		}
		x86 = true
		intel = intel || n.Vendor() == "Intel" || n.Vendor() == ""
	}
	if !arm && !x86 { // a pool without nodes: nodes that come later may be of either vendor
		x86, intel = true, true
	}
	if intel {
		arguments = append(arguments, "intel_iommu=on")
	}
	if x86 {
		arguments = append(arguments, "iommu=pt")
	}
	if arm {
		arguments = append(arguments, "iommu.passthrough=1")
	}
	return arguments, unknownVendor
}

// lacking returns the missing kernel arguments. On x86 `iommu.passthrough=1` equals `iommu=pt`.
func lacking(have, want []string) []string {
	var missing []string
	for _, w := range want {
		if !slices.Contains(have, w) && (w != "iommu=pt" || !slices.Contains(have, "iommu.passthrough=1")) {
			missing = append(missing, w)
		}
	}
	return missing
}

// translating are the kernel arguments that contradict passthrough.
var translating = []string{"iommu=nopt", "iommu=off", "iommu.passthrough=0", "intel_iommu=off", "amd_iommu=off"}

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

// memlockFile is the drop-in that sets unlimited locked memory and keeps the other limits of the one before it. Its
// name is such that CRI-O reads it after the file last.
func memlockFile(keep []string, last string) cluster.File {
	path := plan.CRIODropIns + "99-rdma-memlock.conf"
	for _, later := range []string{plan.CRIODropIns + "zz-rdma-memlock.conf", last + "-rdma-memlock.conf"} {
		if last == "" || plan.ReadOrder(path, last) > 0 {
			break
		}
		path = later
	}
	var text strings.Builder
	text.WriteString("# RDMA pins the memory that it registers. Written by `railhead setup cluster`.\n[crio.runtime]\ndefault_ulimits = [\n")
	for _, entry := range append(slices.Clone(keep), plan.UnlimitedMemlock) {
		fmt.Fprintf(&text, "  %q,\n", entry)
	}
	text.WriteString("]\n")
	return cluster.File{Path: path, Content: text.String()}
}
