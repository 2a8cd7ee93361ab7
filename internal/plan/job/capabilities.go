package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/podspec"
)

// capabilityFaults reports containers that spell IPC_LOCK in another way, and if the pods need it a container that
// drops it, too.
func capabilityFaults(o *Options, s cluster.Server, templates []map[string]any, needed bool) (d plan.Draft) {
	for _, template := range templates {
		spec, _ := template["spec"].(map[string]any)
		main := podspec.Main(spec, o.Container)
		for _, c := range slices.Concat(podspec.Items(spec["containers"]), podspec.Items(spec["initContainers"])) {
			misspelt(&d, o, s, c)
			if needed && main != nil && c["name"] == main["name"] {
				dropsIPCLock(&d, o, c)
			}
		}
	}
	return d
}

// capabilitiesOf returns the entries of a list, add or drop, of a container.
func capabilitiesOf(c map[string]any, list string) []string {
	security, _ := c["securityContext"].(map[string]any)
	capabilities, _ := security["capabilities"].(map[string]any)
	var all []string
	entries, _ := capabilities[list].([]any)
	for _, e := range entries {
		all = append(all, fmt.Sprint(e))
	}
	return all
}

// isIPCLock reports whether CRI-O reads an entry as IPC_LOCK: it takes lower case and CAP_, too (cri-o 1.34
// internal/factory/container setupCapabilities).
func isIPCLock(entry string) bool {
	return strings.TrimPrefix(strings.ToUpper(entry), "CAP_") == plan.CapIPCLock
}

// misspelt reports an added capability that is IPC_LOCK by another name. An SCC compares names as they are written
// (openshift/apiserver-library-go pkg/securitycontextconstraints/capabilities), and containerd puts CAP_ before each
// (internal/cri/opts).
func misspelt(d *plan.Draft, o *Options, s cluster.Server, c map[string]any) {
	for _, entry := range capabilitiesOf(c, "add") {
		switch {
		case !isIPCLock(entry) || entry == plan.CapIPCLock:
		case s.OpenShift():
			d.Report(plan.Failure(access.PodMemlock, targetOf(o).Ref(),
				fmt.Sprintf("container %v adds the capability %s: an SCC that allows %s refuses that spelling",
					c["name"], entry, plan.CapIPCLock),
				check.Observed("securityContext.capabilities.add", entry, plan.CapIPCLock),
				check.ByUser("Write IPC_LOCK.")))
		case strings.HasPrefix(strings.ToUpper(entry), "CAP_"):
			d.Note("Container %v adds the capability %s, which containerd does not know: write %s.", c["name"], entry,
				plan.CapIPCLock)
		}
	}
}

// dropsIPCLock reports the capability that the pods need and a container drops: the runtime drops after it adds.
func dropsIPCLock(d *plan.Draft, o *Options, c map[string]any) {
	for _, entry := range capabilitiesOf(c, "drop") {
		if isIPCLock(entry) {
			d.Report(plan.Failure(access.PodMemlock, targetOf(o).Ref(),
				fmt.Sprintf("container %v drops the capability %s, which it needs to lock the memory that RDMA "+
					"registers: the container runtime drops it after it adds it", c["name"], entry),
				check.Observed("securityContext.capabilities.drop", entry, "without it"),
				check.ByUser("Remove it from drop; ALL may stay there. Or lift the memlock limit on the nodes, and "+
					"use --memlock node.")))
		}
	}
}
