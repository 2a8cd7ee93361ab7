package job

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// Values of --wrap: whether railhead-pod starts the command of a container, or writes files that its processes read.
const (
	WrapAuto   = "auto"
	WrapAlways = "always"
	WrapNever  = "never"
)

// start says how the processes of a container are started.
type start struct {
	wrap       string // WrapAuto
	controller string // kind of workload whose controller writes the command; "": none
}

// obstacle returns why railhead-pod does not start the command of a container of a pod; "" if it does.
func (s start) obstacle(spec, container map[string]any) string {
	command, _ := container["command"].([]any)
	args, _ := container["args"].([]any)
	sshd := func(word any) bool {
		text, _ := word.(string)
		return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return path.Base(w) == "sshd" })
	}
	switch {
	case starts(container):
		return ""
	case s.wrap == WrapNever:
		return "--wrap never"
	case s.controller != "" && s.wrap != WrapAlways:
		return "the controller of " + s.controller + " objects writes its command"
	case len(command) == 0:
		return "the manifest gives it no command, and that of the image is unknown"
	case s.wrap == WrapAlways:
		return ""
	case slices.ContainsFunc(slices.Concat(command, args), sshd):
		return "sshd starts its processes, without the environment of the container"
	case writesFiles(spec):
		return "an earlier injection gave it files"
	}
	return ""
}

// starts reports whether railhead-pod starts the command of a container.
func starts(container map[string]any) bool {
	command, _ := container["command"].([]any)
	return len(command) > 0 && command[0] == delivery.Path
}

// writesFiles reports whether an init container of a pod writes the environment to files.
func writesFiles(spec map[string]any) bool {
	return podspec.Named(podspec.Items(spec["initContainers"]), pods.FilesContainer) != nil
}

// Places of the files in the pod.
const (
	confVolume = "railhead-conf"
	confFolder = "/railhead/conf"
	confFile   = "nccl.conf"
	systemConf = "/etc/nccl.conf" // read by every NCCL, also in processes without the environment of the container
	confVar    = "NCCL_CONF_FILE" // read since NCCL 2.23, before systemConf (src/misc/param.cc)
)

// writeFiles adds an init container that writes the environment to files, and mounts them in the container that trains.
// The init container resembles that one, so that it has the same devices, limits and settings. The kubelet passes the
// devices of an init container on to the containers of its pod (kubernetes pkg/kubelet/cm/devicemanager/manager.go,
// Allocate, devicesToReuse), and the scheduler counts the larger request of the two, not their sum.
func writeFiles(spec, main map[string]any) error {
	mount := podspec.Item(podspec.Items(main["volumeMounts"]), "mountPath", systemConf)
	variable := podspec.Named(podspec.Items(main["env"]), confVar)
	if mount != nil && mount["name"] != confVolume && variable != nil && variable["value"] != confFolder+"/"+confFile {
		return fmt.Errorf("container %v has a %s and a %s of its own, so that NCCL would not read another file",
			main["name"], confVar, systemConf)
	}
	conf := corev1.VolumeMount{Name: confVolume, MountPath: confFolder}
	writer := plan.Fields(&corev1.Container{
		Name:                     pods.FilesContainer,
		Command:                  []string{delivery.Path, "run", "--write", confFolder},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{delivery.Mount(), conf},
	})
	for _, field := range []string{"image", "imagePullPolicy", "env", "envFrom", "resources", "securityContext"} {
		if value, set := main[field]; set {
			writer[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	env, _ := writer["env"].([]any)
	writer["env"] = slices.DeleteFunc(env, func(v any) bool { // added by an earlier injection
		variable, _ := v.(map[string]any)
		return variable["name"] == confVar && variable["value"] == confFolder+"/"+confFile
	})
	spec["initContainers"] = podspec.With(spec["initContainers"], "name", writer)

	volume := corev1.Volume{Name: confVolume}
	volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	spec["volumes"] = podspec.With(spec["volumes"], "name", plan.Fields(&volume))
	conf.ReadOnly = true
	system := conf
	system.MountPath, system.SubPath = systemConf, confFile
	for _, m := range []corev1.VolumeMount{conf, system} {
		if mounted := podspec.Item(podspec.Items(main["volumeMounts"]), "mountPath", m.MountPath); mounted == nil {
			main["volumeMounts"] = podspec.With(main["volumeMounts"], "mountPath", plan.Fields(&m))
		}
	}
	podspec.AddEnvironment(main, corev1.EnvVar{Name: confVar, Value: confFolder + "/" + confFile})
	return nil
}

// insteadOfCommand warns of what files cannot do for containers, one finding for all with the same obstacle.
func insteadOfCommand(object check.Ref, containers map[string][]string) []check.Finding {
	var all []check.Finding
	for _, obstacle := range slices.Sorted(maps.Keys(containers)) {
		names := slices.Compact(slices.Sorted(slices.Values(containers[obstacle])))
		noun := "container " + names[0]
		if len(names) > 1 {
			noun = "containers " + words.And(names)
		}
		all = append(all, check.Finding{
			Check: ManifestSuitable, Status: check.Warn, Subject: object,
			Summary: "railhead-pod does not start the command of " + noun + ": " + obstacle +
				". An init container writes its settings to files instead",
			Evidence: check.Observed(noun, "files "+systemConf+" and "+confFolder+"/env.sh",
				"the command behind railhead-pod run"),
			Fix: check.ByUser("NCCL needs nothing else. Programs that read UCX_* or NVSHMEM_* variables must source " +
				confFolder + "/env.sh. Rails and locked memory are tested when the pod starts, not when the " +
				"container restarts, and nothing raises the container's soft limit of locked memory. " +
				"--wrap never accepts this; --wrap always starts a command that the manifest has."),
		})
	}
	return all
}
