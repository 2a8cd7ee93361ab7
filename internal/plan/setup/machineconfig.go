package setup

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
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
	defaultDropIn        = plan.CRIODropIns + "99-rdma-memlock.conf"
)

// ComponentSetup is the value of LabelComponent of the objects of `setup cluster`; rollback uses it.
const ComponentSetup = "setup"

// createdBySetup reports whether `setup cluster` created the object with the labels.
func createdBySetup(labels map[string]string) bool {
	return labels[plan.LabelManagedBy] == plan.ManagedBy && labels[plan.LabelComponent] == ComponentSetup
}

// object returns an object of setup whose kind has no Go type here.
func object(apiVersion, kind, name string, fields map[string]any) unstructured.Unstructured {
	o := unstructured.Unstructured{Object: fields}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	o.SetLabels(plan.Labels(ComponentSetup, ""))
	return o
}

// machineConfigObject sets the compression and the hash only of files that say NotCompressed, as another MachineConfig
// with the same path would otherwise decide them: a change of a MachineConfig restarts the nodes of its pool.
func machineConfigObject(m cluster.MachineConfig) unstructured.Unstructured {
	config := map[string]any{"ignition": map[string]any{"version": ignitionVersion}}
	var files []any
	for _, f := range m.Files {
		contents := map[string]any{"source": dataURL + base64.StdEncoding.EncodeToString([]byte(f.Content))}
		if f.Compression == cluster.NotCompressed {
			sum := sha512.Sum512([]byte(f.Content))
			contents["compression"] = ""
			contents["verification"] = map[string]any{"hash": "sha512-" + hex.EncodeToString(sum[:])}
		}
		files = append(files, map[string]any{
			"path":      f.Path,
			"mode":      int64(0o644),
			"overwrite": true,
			"contents":  contents,
		})
	}
	if len(files) > 0 {
		config["storage"] = map[string]any{"files": files}
	}
	spec := map[string]any{"config": config}
	if len(m.KernelArguments) > 0 {
		spec["kernelArguments"] = plan.List(m.KernelArguments)
	}
	o := object(machineConfigVersion, "MachineConfig", m.Name, map[string]any{"spec": spec})
	o.SetLabels(m.Labels)
	return o
}

// passthrough returns the kernel arguments with which the IOMMU of these nodes leaves DMA addresses untranslated.
// `iommu=pt` is for x86, where Intel's IOMMU must also be switched on (AMD's is on by default, and `amd_iommu=on` is no
// kernel option); arm64 has `iommu.passthrough=1` (Linux Documentation/admin-guide/kernel-parameters.txt). Kernels
// ignore the arguments of other vendors, so a mixed pool gets all.
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
	if !arm && !x86 { // a pool without nodes: those that join later may be of either vendor
		x86, intel = true, true
	}
	if intel {
		arguments = append(arguments, intelOn)
	}
	if x86 {
		arguments = append(arguments, "iommu=pt")
	}
	if arm {
		arguments = append(arguments, "iommu.passthrough=1")
	}
	return arguments, unknownVendor
}

// intelOn switches Intel's IOMMU on.
const intelOn = "intel_iommu=on"

// missingArguments returns the wanted kernel arguments that are not set. On x86 `iommu.passthrough=1` equals
// `iommu=pt`, and either is enough: an Intel IOMMU that is off by default, or that the firmware demands, translates for
// untrusted devices at most (Linux drivers/iommu/intel/iommu.c intel_iommu_init).
func missingArguments(have, want []string) []string {
	x86 := slices.ContainsFunc(passthroughTokens, func(t string) bool { return slices.Contains(have, t) })
	return slices.DeleteFunc(slices.Clone(want), func(w string) bool {
		return slices.Contains(have, w) || (x86 && (w == "iommu=pt" || w == intelOn))
	})
}

// translating are the kernel arguments that contradict passthrough.
var translating = []string{"iommu=nopt", "iommu=off", "iommu.passthrough=0", "intel_iommu=off", "amd_iommu=off"}

// memlockFile returns the drop-in that unlocks memory and keeps other limits. Its name makes CRI-O read it after the
// file last.
func memlockFile(keep []string, last string) cluster.File {
	path := defaultDropIn
	for _, later := range []string{plan.CRIODropIns + "zz-rdma-memlock.conf", last + "-rdma-memlock.conf"} {
		if last == "" || plan.ReadOrder(path, last) > 0 {
			break
		}
		path = later
	}
	var text strings.Builder
	text.WriteString("# RDMA pins the memory that it registers. Written by `railhead setup cluster`.\n" +
		"[crio.runtime]\ndefault_ulimits = [\n")
	for _, entry := range append(slices.Clone(keep), plan.UnlimitedMemlock) {
		fmt.Fprintf(&text, "  %q,\n", entry)
	}
	text.WriteString("]\n")
	return cluster.File{Path: path, Content: text.String()}
}
