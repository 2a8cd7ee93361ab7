package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/podspec"
)

// noteFixedNames warns of variables that name devices: the same pod has other ones on another node.
func (j *request) noteFixedNames(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		general := strings.HasPrefix(env[name], "^") || strings.TrimPrefix(env[name], "=") == "eth0" // of every pod
		if general || !slices.Contains(nccl.NamesDevices, name) {
			continue
		}
		j.Report(check.Finding{
			Check: nccl.UserSetting, Status: check.Warn, Subject: check.EnvRef(name),
			Summary:  fmt.Sprintf("%s=%s is fixed for all pods, but devices differ from node to node", name, env[name]),
			Evidence: check.Observed("environment of the pods", name+"="+env[name], "not set"),
			Fix: check.ByUser("Remove it. railhead-pod sets it in every pod, and replaces a value that contradicts " +
				"the pod's devices; RAILHEAD_KEEP=true keeps it."),
		})
	}
}

// environmentOf returns the literal variables of a container.
func environmentOf(container map[string]any) map[string]string {
	env := map[string]string{}
	for _, variable := range podspec.Items(container["env"]) {
		name, _ := variable["name"].(string)
		if value, ok := variable["value"].(string); ok {
			env[name] = value
		}
	}
	return env
}
