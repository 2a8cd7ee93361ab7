package job

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
)

// request adds requests that the container needs but does not have.
func (p podShape) request(spec, main map[string]any) {
	asksGPU := asksForGPU(main)
	for name, n := range p.resources {
		if cluster.IsGPU(name) && asksGPU || amounts(main, "requests")[name] != nil || amounts(
			main, "limits",
		)[name] != nil {
			continue
		}
		if name == "memory" {
			n = together(n, p.shmOf(spec, main))
		}
		set(main, name, n)
	}
}

// together is the sum of two quantities; "" is none.
func together(a, b string) string {
	sum, err := resource.ParseQuantity(a)
	if more, second := resource.ParseQuantity(b); err == nil && second == nil {
		sum.Add(more)
		return sum.String()
	}
	return a
}

// shmOf is the size of the container's /dev/shm, its own or the one that it gets; "" where its own has no size or is on
// disk.
func (p podShape) shmOf(spec, main map[string]any) string {
	name := ownShm(main)
	if name == "" {
		return p.shm
	}
	volumes, _ := spec["volumes"].([]any)
	for _, item := range volumes {
		v, _ := item.(map[string]any)
		if dir, ok := v["emptyDir"].(map[string]any); ok && v["name"] == name && dir["medium"] == "Memory" && dir["sizeLimit"] != nil {
			return fmt.Sprint(dir["sizeLimit"])
		}
	}
	return ""
}

// ownShm is the name of the volume that a container has mounted on /dev/shm by itself; "" without one.
func ownShm(container map[string]any) string {
	mounts, _ := container["volumeMounts"].([]any)
	for _, item := range mounts {
		m, _ := item.(map[string]any)
		path, _ := m["mountPath"].(string)
		if name, _ := m["name"].(string); strings.TrimSuffix(path, "/") == "/dev/shm" && name != shmVolume {
			return name
		}
	}
	return ""
}
