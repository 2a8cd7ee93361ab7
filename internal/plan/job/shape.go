package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// networksAnnotation lists the attachments of a pod (k8snetworkplumbingwg multi-net-spec).
const networksAnnotation = "k8s.v1.cni.cncf.io/networks"

const (
	shmVolume    = "railhead-shm"
	scriptVolume = "railhead-script"
)

// podShape holds the additions to a pod, of a job that Railhead deploys or of a user's manifest.
type podShape struct {
	container string // the one that trains; "": the first that asks for GPUs, else the first
	namespace string // of the pod
	networks  []cluster.Rail
	resources map[string]string // of the container, requested and limited where it says nothing
	shm       string            // size of /dev/shm, which comes on top of the memory in resources
	delivery  delivery
	script    string // ConfigMap with the script; "": none
	env       []corev1.EnvVar
	pod       corev1.PodSpec          // fields for those that the pod leaves out
	security  *corev1.SecurityContext // fields for those that the container leaves out
	ipcLock   bool                    // the container locks memory by IPC_LOCK, as root
}

// add adds everything to a pod template. Existing fields are kept, so adding twice has no further effect.
func (p podShape) add(template map[string]any) error {
	spec := child(template, "spec")
	main := p.main(spec)
	if main == nil {
		return fmt.Errorf("no container %s", cmp.Or(p.container, "in the pod"))
	}
	command, err := wrapped(main)
	if err != nil {
		return err
	}
	main["command"] = command
	if err := p.attach(template, main); err != nil {
		return err
	}
	p.request(spec, main)
	setMissing(spec, plan.Fields(&p.pod))
	p.environment(main)
	p.volumes(spec, main)
	setMissing(main, map[string]any{"terminationMessagePolicy": "FallbackToLogsOnError"})
	if p.security != nil {
		setMissing(child(main, "securityContext"), plan.Fields(p.security))
	}
	if p.ipcLock {
		lockMemory(main)
	}
	image, _ := main["image"].(string)
	if c := p.delivery.initContainer(image); c != nil {
		install := plan.Fields(c)
		install["securityContext"] = installSecurity(main)
		spec["initContainers"] = withNamed(spec["initContainers"], install)
	}
	return nil
}

// main is the container that trains.
func (p podShape) main(spec map[string]any) map[string]any {
	containers, _ := spec["containers"].([]any)
	var first map[string]any
	for _, item := range containers {
		c, ok := item.(map[string]any)
		switch {
		case !ok:
			continue
		case p.container != "":
			if c["name"] == p.container {
				return c
			}
			continue
		case asksForGPU(c):
			return c
		case first == nil:
			first = c
		}
	}
	return first
}

func asksForGPU(container map[string]any) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(amounts(container, "limits"))), cluster.IsGPU)
}

// wrapped is a container's command behind railhead-pod run.
func wrapped(container map[string]any) ([]any, error) {
	command, _ := container["command"].([]any)
	if len(command) == 0 {
		return nil, fmt.Errorf(
			"container %v says no command: the image's own is not known here, so it cannot be started by railhead-pod",
			container["name"],
		)
	}
	if command[0] == podProgram {
		return command, nil
	}
	return append(plan.List([]string{podProgram, "run", "--"}), command...), nil
}

// attach names the rails in the annotation and asks for one device for each.
func (p podShape) attach(template, main map[string]any) error {
	if len(p.networks) > 0 {
		annotations := child(child(template, "metadata"), "annotations")
		text, _ := annotations[networksAnnotation].(string)
		text, err := withNetworks(text, p.namespace, p.networks)
		if err != nil {
			return err
		}
		annotations[networksAnnotation] = text
	}
	for name, n := range perResource(p.networks) {
		for _, kind := range []string{"requests", "limits"} {
			have, err := resource.ParseQuantity(fmt.Sprint(amounts(main, kind)[name]))
			if err == nil && have.Value() > n {
				n = have.Value()
			}
		}
		set(main, name, fmt.Sprint(n)) // requests and limits of devices are equal (kubernetes pkg/apis/core/validation)
	}
	return nil
}

// amounts returns the requests or the limits of a container.
func amounts(container map[string]any, kind string) map[string]any {
	resources, _ := container["resources"].(map[string]any)
	list, _ := resources[kind].(map[string]any)
	return list
}

func set(container map[string]any, name, amount string) {
	for _, kind := range []string{"requests", "limits"} {
		child(child(container, "resources"), kind)[name] = amount
	}
}

// perResource counts how many devices of each resource a pod needs for its rails: one for each.
func perResource(rails []cluster.Rail) map[string]int64 {
	devices := map[string]int64{}
	for _, r := range rails {
		devices[r.Resource]++
	}
	return devices
}

// withNetworks adds attachments to an annotation, which is a list of names or JSON.
func withNetworks(text, namespace string, rails []cluster.Rail) (string, error) {
	var entries []map[string]any
	var have []string
	trimmed := strings.TrimSpace(text)
	isJSON := strings.HasPrefix(trimmed, "[")
	if isJSON {
		if err := json.Unmarshal([]byte(trimmed), &entries); err != nil {
			return "", fmt.Errorf("read annotation %s: %w", networksAnnotation, err)
		}
		for _, e := range entries {
			name := fmt.Sprint(e["name"])
			if ns, ok := e["namespace"].(string); ok && ns != "" {
				name = ns + "/" + name
			}
			have = append(have, name)
		}
	} else if trimmed != "" {
		have = strings.FieldsFunc(trimmed, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	}
	there := func(name string) bool {
		return slices.ContainsFunc(have, func(h string) bool {
			h, _, _ = strings.Cut(h, "@") // name@interface
			return h == name || h == namespace+"/"+name
		})
	}
	names := slices.Clone(have)
	for _, r := range rails {
		if !there(r.Network) {
			names = append(names, r.Network)
			entries = append(entries, map[string]any{"name": r.Network})
		}
	}
	if !isJSON {
		return strings.Join(names, ","), nil
	}
	if len(names) == len(have) {
		return text, nil
	}
	data, err := json.Marshal(entries)
	return string(data), err
}

// environment adds variables before those of the container, so that its own may refer to them.
func (p podShape) environment(main map[string]any) {
	own, _ := main["env"].([]any)
	var added []any
	for _, v := range p.env {
		if !hasNamed(own, v.Name) {
			added = append(added, plan.Fields(&v))
		}
	}
	if len(added) > 0 {
		main["env"] = append(added, own...)
	}
}

func (p podShape) volumes(spec, main map[string]any) {
	mounts := []corev1.VolumeMount{{Name: binVolume, MountPath: binFolder, ReadOnly: true}}
	volumes := p.delivery.volumes()
	if p.script != "" {
		source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: p.script}}
		volumes = append(volumes, corev1.Volume{
			Name:         scriptVolume,
			VolumeSource: corev1.VolumeSource{ConfigMap: source},
		})
		mounts = append(mounts, corev1.VolumeMount{Name: scriptVolume, MountPath: scriptFolder, ReadOnly: true})
	}
	if p.shm != "" && ownShm(main) == "" {
		source := &corev1.EmptyDirVolumeSource{
			Medium:    corev1.StorageMediumMemory,
			SizeLimit: new(resource.MustParse(p.shm)),
		}
		volumes = append(volumes, corev1.Volume{Name: shmVolume, VolumeSource: corev1.VolumeSource{EmptyDir: source}})
		mounts = append(mounts, corev1.VolumeMount{Name: shmVolume, MountPath: "/dev/shm"})
	}
	for _, v := range volumes {
		spec["volumes"] = withNamed(spec["volumes"], plan.Fields(&v))
	}
	for _, m := range mounts {
		main["volumeMounts"] = withNamed(main["volumeMounts"], plan.Fields(&m))
	}
}

// child returns a map of a map, made where it is not there.
func child(parent map[string]any, key string) map[string]any {
	c, ok := parent[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		parent[key] = c
	}
	return c
}

// setMissing sets the fields that are not there, those of maps one by one.
func setMissing(have, want map[string]any) {
	for key, w := range want {
		h, there := have[key]
		inner, isMap := w.(map[string]any)
		switch {
		case !there:
			have[key] = runtime.DeepCopyJSONValue(w)
		case isMap:
			if hm, ok := h.(map[string]any); ok {
				setMissing(hm, inner)
			}
		}
	}
}

// withNamed is a list of named items with one added, or put in the place of that of the same name.
func withNamed(list any, item map[string]any) []any {
	items, _ := list.([]any)
	items = slices.Clone(items)
	for i, have := range items {
		if m, ok := have.(map[string]any); ok && m["name"] == item["name"] {
			items[i] = item
			return items
		}
	}
	return append(items, item)
}

func hasNamed(list []any, name any) bool {
	return slices.ContainsFunc(list, func(item any) bool {
		m, ok := item.(map[string]any)
		return ok && m["name"] == name
	})
}
