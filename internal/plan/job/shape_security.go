package job

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/plan"
)

// identity are the fields of a security context that say as whom a container runs, and how it is confined.
var identity = []string{"runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile", "seLinuxOptions"}

// installSecurity is the init container's, which writes one file: it runs as the container that trains does, so that it
// is admitted and starts where that one is and does, and has no capability.
func installSecurity(main map[string]any) map[string]any {
	security := plan.Fields(unprivileged())
	given, _ := main["securityContext"].(map[string]any)
	for _, field := range identity {
		if value, said := given[field]; said {
			security[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	return security
}

// lockMemory lets the container lock memory without limit. The capability works for root only: Kubernetes drops ambient
// capabilities, and execve by another user clears the rest (capabilities(7)). A manifest that forbids root was refused
// before.
func lockMemory(container map[string]any) {
	security := child(container, "securityContext")
	setMissing(security, map[string]any{"runAsUser": int64(0), "runAsNonRoot": false})
	capabilities := child(security, "capabilities")
	added, _ := capabilities["add"].([]any)
	if !slices.Contains(added, any(plan.CapIPCLock)) && security["privileged"] != true {
		capabilities["add"] = append(slices.Clone(added), any(plan.CapIPCLock))
	}
}
