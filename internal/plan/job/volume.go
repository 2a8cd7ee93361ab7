package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Volume is a volume that the user gives to the pods.
type Volume struct {
	Name     string
	Kind     VolumeKind
	Source   string             // claim, secret, ConfigMap, or folder of the server or node
	Server   string             // of NFS
	Size     *resource.Quantity // of an empty folder; nil: no limit
	Path     string             // in the container that trains
	ReadOnly bool
}

// VolumeKind is a kind of volume, as --volume takes it.
type VolumeKind string

// The kinds of volumes.
const (
	ClaimVolume     VolumeKind = "pvc"
	SecretVolume    VolumeKind = "secret"
	ConfigMapVolume VolumeKind = "configmap"
	EmptyVolume     VolumeKind = "emptydir"
	NFSVolume       VolumeKind = "nfs"
	HostVolume      VolumeKind = "hostpath"
)

// sccKind returns the kind as security context constraints list it (openshift/api security/v1 FSType).
func (v Volume) sccKind() string {
	return map[VolumeKind]string{
		ClaimVolume:     "persistentVolumeClaim",
		SecretVolume:    "secret",
		ConfigMapVolume: "configMap",
		EmptyVolume:     "emptyDir",
		NFSVolume:       "nfs",
		HostVolume:      "hostPath",
	}[v.Kind]
}

// guarded reports whether pods need more than the usual rights for the volume.
func (v Volume) guarded() bool { return v.Kind == NFSVolume || v.Kind == HostVolume }

// VolumeForms shows how volumes are written.
const VolumeForms = "NAME=pvc:CLAIM:/PATH[:ro], NAME=secret:SECRET:/PATH, NAME=configmap:CONFIGMAP:/PATH, " +
	"NAME=emptydir[:SIZE]:/PATH, NAME=nfs:SERVER:/EXPORT:/PATH[:ro] or NAME=hostpath:/FOLDER:/PATH[:ro]"

// ParseVolume parses a volume in one of the VolumeForms.
func ParseVolume(text string) (Volume, error) {
	name, rest, named := strings.Cut(text, "=")
	kind, rest, typed := strings.Cut(rest, ":")
	rest, readOnly := strings.CutSuffix(rest, ":ro")
	at := strings.LastIndex(rest, ":")
	v := Volume{Name: name, Kind: VolumeKind(kind), Path: rest[at+1:], ReadOnly: readOnly}
	if at > 0 {
		v.Source = rest[:at]
	}
	errs := validation.IsDNS1123Label(name)
	switch {
	case !named || !typed:
		return v, fmt.Errorf("%q is not one of %s", text, VolumeForms)
	case len(errs) > 0 || strings.HasPrefix(name, "railhead-"):
		return v, fmt.Errorf("%q: the name must be lower-case letters, digits and -, and not begin with railhead-",
			text)
	case !cleanFolder(v.Path) || v.Path == "/":
		return v, fmt.Errorf("%q: /PATH, where the pods see the volume, must be a folder below /", text)
	}
	if err := v.parseSource(); err != nil {
		return v, fmt.Errorf("%q: %w", text, err)
	}
	return v, nil
}

// parseSource checks the part of the text between the kind and the path.
func (v *Volume) parseSource() error {
	switch v.Kind {
	case ClaimVolume, SecretVolume, ConfigMapVolume:
		if errs := validation.IsDNS1123Subdomain(v.Source); len(errs) > 0 {
			return fmt.Errorf("%q is not the name of an object", v.Source)
		}
	case EmptyVolume:
		size, err := resource.ParseQuantity(v.Source)
		if v.Source != "" && (err != nil || size.Sign() <= 0) {
			return fmt.Errorf("%q is not a size such as 100Gi", v.Source)
		}
		if v.Source != "" {
			v.Size = &size
		}
	case NFSVolume:
		at := strings.LastIndex(v.Source, ":") // an IPv6 address has colons, too
		if at <= 0 || !cleanFolder(v.Source[at+1:]) {
			return fmt.Errorf("%q is not SERVER:/EXPORT", v.Source)
		}
		v.Server, v.Source = strings.Trim(v.Source[:at], "[]"), v.Source[at+1:]
	case HostVolume:
		if !cleanFolder(v.Source) {
			return fmt.Errorf("%q is not a folder of the node: it must begin with /", v.Source)
		}
	default:
		return fmt.Errorf("the kind must be one of pvc, secret, configmap, emptydir, nfs and hostpath, not %q", v.Kind)
	}
	return nil
}

func cleanFolder(folder string) bool { return path.IsAbs(folder) && path.Clean(folder) == folder }

// volume returns the volume of the pod.
func (v Volume) volume() corev1.Volume {
	volume := corev1.Volume{Name: v.Name}
	switch v.Kind {
	case ClaimVolume:
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: v.Source,
			ReadOnly:  v.ReadOnly,
		}
	case SecretVolume:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: v.Source}
	case ConfigMapVolume:
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{}
		volume.ConfigMap.Name = v.Source
	case EmptyVolume:
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: v.Size}
	case NFSVolume:
		volume.NFS = &corev1.NFSVolumeSource{Server: v.Server, Path: v.Source, ReadOnly: v.ReadOnly}
	case HostVolume:
		volume.HostPath = &corev1.HostPathVolumeSource{Path: v.Source}
	}
	return volume
}

func (v Volume) mount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: v.Name, MountPath: v.Path, ReadOnly: v.ReadOnly}
}

// validateVolumes refuses volumes that exclude each other.
func (j *request) validateVolumes() {
	var names, paths []string
	for _, v := range j.Volumes {
		if slices.Contains(names, v.Name) {
			j.wrong("--volume", v.Name, "a name that no other volume has", "Choose another name.")
		}
		if slices.Contains(paths, v.Path) || strings.HasPrefix(v.Path, "/railhead/") {
			j.wrong("--volume", v.Path, "a path that nothing else is mounted on", "Choose another path.")
		}
		names, paths = append(names, v.Name), append(paths, v.Path)
	}
}
