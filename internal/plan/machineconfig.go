package plan

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// roleLabel is the label by which pools select MachineConfigs.
const roleLabel = "machineconfiguration.openshift.io/role"

const (
	machineConfigVersion = cluster.MachineConfigGroup + "/v1"
	ignitionVersion      = "3.2.0"                                 // every supported OpenShift 4 reads it
	dataURL              = "data:text/plain;charset=utf-8;base64," // RFC 2397
)

// programName and ComponentSetup are the values of LabelName and LabelComponent of what `setup cluster` makes; rollback goes by
// them.
const (
	programName    = "railhead"
	ComponentSetup = "setup"
)

func setupLabels() map[string]any {
	return map[string]any{LabelManagedBy: ManagedBy, LabelName: programName, LabelComponent: ComponentSetup}
}

// madeBySetup reports whether labels are those of an object that `setup cluster` made.
func madeBySetup(labels map[string]string) bool {
	return labels[LabelManagedBy] == ManagedBy && labels[LabelComponent] == ComponentSetup
}

// iommuName and memlockName are the names of the two MachineConfigs of a pool.
func iommuName(pool string) string   { return "99-" + pool + "-iommu-passthrough" }
func memlockName(pool string) string { return "99-" + pool + "-rdma-memlock" }

// machineConfigObject is the manifest of a MachineConfig for the nodes of a role.
func machineConfigObject(m cluster.MachineConfig) unstructured.Unstructured {
	labels := setupLabels()
	labels[roleLabel] = m.Labels[roleLabel]
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
		spec["kernelArguments"] = listOf(m.KernelArguments)
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machineConfigVersion, "kind": "MachineConfig",
		"metadata": map[string]any{"name": m.Name, "labels": labels},
		"spec":     spec,
	}}
}

// listOf is a list as unstructured objects hold it.
func listOf(values []string) []any {
	list := make([]any, 0, len(values))
	for _, v := range values {
		list = append(list, v)
	}
	return list
}

// passthrough are the kernel arguments by which the IOMMU of these nodes passes DMA through. `iommu=pt` is x86's, and Intel's
// IOMMU must also be switched on (AMD's is on by default, and `amd_iommu=on` is no kernel option); arm64 has
// `iommu.passthrough=1` (Linux Documentation/admin-guide/kernel-parameters.txt). An argument of another vendor is ignored, so
// a mixed pool gets all.
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

// lacking are the wanted kernel arguments that are not there. `iommu.passthrough=1` does on x86 what `iommu=pt` does.
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
