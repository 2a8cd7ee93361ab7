package podspec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Main returns the named container, or else the one that trains; nil if there is none.
func Main(spec map[string]any, name string) map[string]any {
	containers := Items(spec["containers"])
	var known []cluster.Container
	for _, c := range containers {
		own := cluster.Container{Name: fmt.Sprint(c["name"]), GPUs: RequestsGPU(c)}
		if command, _ := c["command"].([]any); len(command) > 0 {
			own.Command = []string{fmt.Sprint(command[0])}
		}
		known = append(known, own)
	}
	return Named(containers, cmp.Or(name, workload.Trainer(known)))
}

// RequestsGPU reports whether a container names GPUs in its limits.
func RequestsGPU(container map[string]any) bool {
	for name := range Amounts(container, "limits") {
		if cluster.IsGPU(name) {
			return true
		}
	}
	return false
}

// GPUs returns the number of GPUs that a container requests, and their resource: the first of several.
func GPUs(container map[string]any) (resource string, sum int) {
	limits := Amounts(container, "limits")
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if n, err := strconv.Atoi(fmt.Sprint(limits[name])); err == nil && n > 0 && cluster.IsGPU(name) {
			resource, sum = cmp.Or(resource, name), sum+n
		}
	}
	return resource, sum
}

// Security returns the security context of a container together with its pod's. The fields of the container take
// precedence.
func Security(spec, main map[string]any) map[string]any {
	security := map[string]any{}
	for _, level := range []map[string]any{spec, main} {
		own, _ := level["securityContext"].(map[string]any)
		maps.Copy(security, own)
	}
	return security
}

// AddEnvironment adds variables before the container's own variables, which may refer to them.
func AddEnvironment(main map[string]any, vars ...corev1.EnvVar) {
	own, _ := main["env"].([]any)
	var added []any
	for _, v := range vars {
		if Named(Items(own), v.Name) == nil {
			added = append(added, plan.Fields(&v))
		}
	}
	if len(added) > 0 {
		main["env"] = append(added, own...)
	}
}

// ReplaceEnvironment sets the variables that the container has already.
func ReplaceEnvironment(main map[string]any, vars ...corev1.EnvVar) {
	for _, v := range vars {
		if Named(Items(main["env"]), v.Name) != nil {
			main["env"] = With(main["env"], "name", plan.Fields(&v))
		}
	}
}

// sccKinds has the kinds of volumes that SCCs spell in another way than pods (openshift/api security/v1 FSType).
var sccKinds = map[string]string{
	"cephfs":        "cephFS",
	"vsphereVolume": "vsphere",
}

// VolumeKinds returns the kinds of the volumes that pod templates have, as SCCs list them.
func VolumeKinds(templates []map[string]any) []string {
	var kinds []string
	for _, template := range templates {
		for _, volume := range Items(workload.Field(template, "spec.volumes")) {
			for kind := range volume {
				if kind != "name" {
					kinds = append(kinds, cmp.Or(sccKinds[kind], kind))
				}
			}
		}
	}
	return kinds
}
