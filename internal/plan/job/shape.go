package job

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/rules/pods"
)

const (
	shmVolume    = "railhead-shm"
	scriptVolume = "railhead-script"
)

// podShape holds the additions to a pod of deploy, or of a user's manifest.
type podShape struct {
	job       *job
	delivery  delivery.Delivery
	container string // as in podspec.Main
	start     start
	script    string // ConfigMap with the script; "": none
	env       []corev1.EnvVar
	own       []corev1.EnvVar         // of the user, which replace the container's
	pod       corev1.PodSpec          // defaults of the pod
	security  *corev1.SecurityContext // defaults of the container

	tolerations []map[string]any // besides the pod's
	annotations map[string]any   // defaults of the pod
}

// add adds everything to a pod template. Existing fields are kept, so adding twice has no further effect.
func (p podShape) add(template map[string]any) error {
	spec := podspec.Child(template, "spec")
	main := podspec.Main(spec, p.container)
	if main == nil {
		return fmt.Errorf("no container %s", cmp.Or(p.container, "in the pod"))
	}
	obstacle := p.start.obstacle(spec, main)
	switch {
	case obstacle == "":
		main["command"] = wrapped(main)
	case p.start.wrap == WrapAlways:
		return fmt.Errorf("container %v has no command; railhead-pod cannot start the command of the image, "+
			"which is unknown", main["name"])
	}
	if len(p.job.claim.Rails) > 0 {
		template := p.job.claim.Template(targetOf(&p.job.Options))
		claims.Add(spec, main, template.GetName())
	} else if err := p.attach(template, main); err != nil {
		return err
	}
	p.request(spec, main)
	podspec.SetMissing(spec, plan.Fields(&p.pod))
	for _, t := range p.tolerations {
		spec["tolerations"] = podspec.WithEqual(spec["tolerations"], t)
	}
	if len(p.annotations) > 0 {
		podspec.SetMissing(podspec.Child(podspec.Child(template, "metadata"), "annotations"), p.annotations)
	}
	podspec.ReplaceEnvironment(main, p.own...)
	podspec.AddEnvironment(main, slices.Concat(p.env, p.own)...)
	p.volumes(spec, main)
	podspec.SetMissing(main, map[string]any{"terminationMessagePolicy": "FallbackToLogsOnError"})
	if p.security != nil {
		podspec.SetMissing(podspec.Child(main, "securityContext"), plan.Fields(p.security))
	}
	if p.job.access.IPCLock {
		lockMemory(main)
	}
	p.install(spec, main)
	if obstacle != "" {
		return writeFiles(spec, main)
	}
	return nil
}

// install adds the init container that copies railhead-pod. If the delivery needs none, install removes the init
// container that an earlier injection added.
func (p podShape) install(spec, main map[string]any) {
	image, _ := main["image"].(string)
	c := p.delivery.InitContainer(image)
	if c == nil {
		podspec.Remove(spec, "initContainers", pods.InstallContainer)
		return
	}
	install := plan.Fields(c)
	install["securityContext"] = installSecurity(main)
	installResources(install, main)
	spec["initContainers"] = podspec.With(spec["initContainers"], "name", install)
}

// wrapped returns the command of a container behind railhead-pod run.
func wrapped(container map[string]any) []any {
	command, _ := container["command"].([]any)
	if command[0] == delivery.Path {
		return command
	}
	return append([]any{delivery.Path, "run", "--"}, command...)
}

func (p podShape) volumes(spec, main map[string]any) {
	mounts := []corev1.VolumeMount{delivery.Mount()}
	volumes := p.delivery.Volumes()
	if p.script != "" {
		script := corev1.Volume{Name: scriptVolume}
		script.ConfigMap = &corev1.ConfigMapVolumeSource{}
		script.ConfigMap.Name = p.script
		volumes = append(volumes, script)
		mounts = append(mounts, corev1.VolumeMount{Name: scriptVolume, MountPath: scriptFolder, ReadOnly: true})
	}
	if ownShm(main) == "" {
		shm := corev1.Volume{Name: shmVolume}
		shm.EmptyDir = &corev1.EmptyDirVolumeSource{
			Medium:    corev1.StorageMediumMemory,
			SizeLimit: new(resource.MustParse(shmSize(&p.job.Options))),
		}
		volumes = append(volumes, shm)
		mounts = append(mounts, corev1.VolumeMount{Name: shmVolume, MountPath: "/dev/shm"})
	}
	for _, name := range delivery.VolumeNames() { // an earlier injection may have delivered it in another way
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			podspec.Remove(spec, "volumes", name)
		}
	}
	for _, v := range volumes {
		spec["volumes"] = podspec.With(spec["volumes"], "name", plan.Fields(&v))
	}
	for _, m := range mounts {
		main["volumeMounts"] = podspec.With(main["volumeMounts"], "mountPath", plan.Fields(&m))
	}
}

// identity lists the fields of a security context that set the user of a container and its confinement.
var identity = []string{"runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile", "seLinuxOptions"}

// installSecurity returns the security context of the init container. It has no capabilities; the user and the
// confinement are copied from the container that trains, so that the init container is admitted and starts with that
// container.
func installSecurity(main map[string]any) map[string]any {
	security := plan.Fields(access.Unprivileged())
	own, _ := main["securityContext"].(map[string]any)
	for _, field := range identity {
		if value, set := own[field]; set {
			security[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	return security
}

// lockMemory lets the container lock memory without limit. The capability works for root only: Kubernetes drops ambient
// capabilities, and execve by another user clears the rest (capabilities(7)). requireRoot refuses a manifest that
// forbids root.
func lockMemory(container map[string]any) {
	security := podspec.Child(container, "securityContext")
	podspec.SetMissing(security, map[string]any{"runAsUser": int64(0), "runAsNonRoot": false})
	capabilities := podspec.Child(security, "capabilities")
	added, _ := capabilities["add"].([]any)
	if !slices.Contains(added, any(plan.CapIPCLock)) && security["privileged"] != true {
		capabilities["add"] = append(slices.Clone(added), any(plan.CapIPCLock))
	}
}
