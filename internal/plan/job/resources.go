package job

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/podspec"
)

// request sets the requests that the container needs but does not have.
func (p podShape) request(spec, main map[string]any) {
	ownGPU := podspec.RequestsGPU(main)
	for name, amount := range p.job.resources() {
		own := podspec.Amounts(main, "requests")[name] != nil || podspec.Amounts(main, "limits")[name] != nil
		if own || cluster.IsGPU(name) && ownGPU {
			continue
		}
		if name == "memory" {
			amount = sum(amount, p.shmOf(spec, main))
		}
		podspec.Set(main, name, amount)
	}
}

// sum adds two quantities; the second may be empty.
func sum(a, b string) string {
	total, err := resource.ParseQuantity(a)
	if more, second := resource.ParseQuantity(b); err == nil && second == nil {
		total.Add(more)
		return total.String()
	}
	return a
}

// shmOf returns the size of the container's /dev/shm, its own or the added one; "" if its own is on disk or unlimited.
func (p podShape) shmOf(spec, main map[string]any) string {
	name := ownShm(main)
	if name == "" {
		return shmSize(&p.job.Options)
	}
	dir, _ := podspec.Named(podspec.Items(spec["volumes"]), name)["emptyDir"].(map[string]any)
	if dir["medium"] != "Memory" || dir["sizeLimit"] == nil {
		return ""
	}
	return fmt.Sprint(dir["sizeLimit"])
}

// ownShm returns the volume that the container itself mounts on /dev/shm; "" if none.
func ownShm(container map[string]any) string {
	for _, m := range podspec.Items(container["volumeMounts"]) {
		path, _ := m["mountPath"].(string)
		if name, _ := m["name"].(string); strings.TrimSuffix(path, "/") == "/dev/shm" && name != shmVolume {
			return name
		}
	}
	return ""
}

// installResources gives the init container the cpu, memory and disk of the container that trains. Of containers that
// run one after the other the larger request counts, so this costs nothing, and what limit ranges and quotas ask of
// every container holds for both or for neither.
func installResources(install, main map[string]any) {
	delete(install, "resources")
	for _, kind := range []string{"requests", "limits"} {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
			if amount, set := podspec.Amounts(main, kind)[name]; set {
				podspec.Child(podspec.Child(install, "resources"), kind)[name] = amount
			}
		}
	}
}

const networksAnnotation = cluster.NetworksAnnotation

// attach lists the rails that are attachments in the annotation, and requests one device for each rail.
func (p podShape) attach(template, main map[string]any) error {
	if names := cluster.RailNames(p.job.rails); len(names) > 0 {
		listed, err := podspec.NetworksOf(template)
		if err != nil {
			return err
		}
		text, err := listed.With(p.job.Namespace, names...)
		if err != nil {
			return err
		}
		podspec.Child(podspec.Child(template, "metadata"), "annotations")[networksAnnotation] = text
	}
	for name, n := range perResource(p.job.rails) {
		for _, kind := range []string{"requests", "limits"} {
			have, err := resource.ParseQuantity(fmt.Sprint(podspec.Amounts(main, kind)[name]))
			if err == nil && have.Value() > n {
				n = have.Value()
			}
		}
		// Requests and limits of devices are equal (kubernetes pkg/apis/core/validation).
		podspec.Set(main, name, fmt.Sprint(n))
	}
	return nil
}

// perResource returns the devices of each resource that a pod needs: one for each rail.
func perResource(rails []cluster.Rail) map[string]int64 {
	devices := map[string]int64{}
	for _, r := range rails {
		if r.Driver == "" { // claimed rails are no resources
			devices[r.Resource]++
		}
	}
	return devices
}
