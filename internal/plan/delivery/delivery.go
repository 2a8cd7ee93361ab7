// Package delivery plans how railhead-pod gets into pods.
package delivery

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/rules/pods"
)

// Method is a way of railhead-pod into a pod.
type Method string

// ConfigMaps need no registry. An image is used by an init container, or mounted as a volume.
const (
	ByConfigMaps  Method = "configmap"
	ByImage       Method = "image"
	ByImageVolume Method = "image-volume"
)

// Paths in a pod.
const (
	folder       = "/railhead/bin"
	partsFolder  = "/railhead/parts"
	Path         = folder + "/railhead-pod"
	imageProgram = "/railhead-pod" // in the image of railhead-pod
	imageFolder  = "/opt/railhead" // of the volume in that image, where /railhead is a file
)

const (
	volume      = "railhead-bin"
	partsVolume = "railhead-parts"
)

// Delivery brings railhead-pod into the pods of one job.
type Delivery struct {
	By       Method
	Image    string    // contains railhead-pod
	Programs []Program // of ByConfigMaps: one for each architecture of the nodes
	Suffix   string    // of the names of ConfigMaps that others do not share
}

// Mount returns the mount of railhead-pod in the containers that run it.
func Mount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: folder, ReadOnly: true}
}

// Volumes returns the volumes with railhead-pod.
func (d Delivery) Volumes() []corev1.Volume {
	bin := corev1.Volume{Name: volume}
	if d.By == ByImageVolume {
		bin.Image = &corev1.ImageVolumeSource{Reference: d.Image, PullPolicy: corev1.PullIfNotPresent}
		return []corev1.Volume{bin}
	}
	bin.EmptyDir = &corev1.EmptyDirVolumeSource{}
	if d.By == ByImage {
		return []corev1.Volume{bin}
	}
	parts := corev1.Volume{Name: partsVolume}
	parts.Projected = &corev1.ProjectedVolumeSource{}
	for _, p := range d.Programs {
		parts.Projected.Sources = append(parts.Projected.Sources, p.projections(d.Suffix)...)
	}
	return []corev1.Volume{bin, parts}
}

// VolumeNames returns the names of the volumes of all methods.
func VolumeNames() []string { return []string{volume, partsVolume} }

// VolumeKinds returns the kinds of volumes, as security context constraints list them.
func (d Delivery) VolumeKinds() []string {
	switch d.By {
	case ByImageVolume:
		return []string{"image"}
	case ByImage:
		return []string{"emptyDir"}
	case ByConfigMaps:
	}
	return []string{"emptyDir", "projected"}
}

// InitContainer returns the init container that copies railhead-pod into the pod, or nil if the volume already contains
// it. image is the job's image.
func (d Delivery) InitContainer(image string) *corev1.Container {
	container := corev1.Container{
		Name:                     pods.InstallContainer,
		Image:                    image,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: volume, MountPath: folder}},
	}
	switch d.By {
	case ByImageVolume:
		return nil
	case ByImage:
		container.Image = d.Image
		container.Command = []string{imageProgram, "install", imageFolder}
		container.VolumeMounts[0].MountPath = imageFolder
	case ByConfigMaps:
		container.Command = []string{"sh", "-c", script(d.Programs)}
		parts := corev1.VolumeMount{Name: partsVolume, MountPath: partsFolder, ReadOnly: true}
		container.VolumeMounts = append(container.VolumeMounts, parts)
	}
	return &container
}
