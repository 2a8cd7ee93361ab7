// Package volume has the volumes that users give to pods.
package volume

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
	Kind     Kind
	Source   string             // claim, secret, ConfigMap, or folder of the server or node
	Server   string             // of NFS
	Size     *resource.Quantity // of an empty folder; nil: no limit
	Path     string             // in the container that trains
	ReadOnly bool
}

// Kind is a kind of volume, as --volume takes it.
type Kind string

// The kinds of volumes.
const (
	Claim     Kind = "pvc"
	Secret    Kind = "secret"
	ConfigMap Kind = "configmap"
	Empty     Kind = "emptydir"
	NFS       Kind = "nfs"
	Host      Kind = "hostpath"
)

// SCCKind returns the kind as security context constraints list it (openshift/api security/v1 FSType).
func (v Volume) SCCKind() string {
	return map[Kind]string{
		Claim:     "persistentVolumeClaim",
		Secret:    "secret",
		ConfigMap: "configMap",
		Empty:     "emptyDir",
		NFS:       "nfs",
		Host:      "hostPath",
	}[v.Kind]
}

// Guarded reports whether pods need more than the usual rights for the volume.
func (v Volume) Guarded() bool { return v.Kind == NFS || v.Kind == Host }

// Forms shows how volumes are written.
const Forms = "NAME=pvc:CLAIM:/PATH[:ro], NAME=secret:SECRET:/PATH, NAME=configmap:CONFIGMAP:/PATH, " +
	"NAME=emptydir[:SIZE]:/PATH, NAME=nfs:SERVER:/EXPORT:/PATH[:ro] or NAME=hostpath:/FOLDER:/PATH[:ro]"

// Parse parses a volume in one of the Forms.
func Parse(text string) (Volume, error) {
	name, rest, named := strings.Cut(text, "=")
	kind, rest, typed := strings.Cut(rest, ":")
	rest, readOnly := strings.CutSuffix(rest, ":ro")
	at := strings.LastIndex(rest, ":")
	v := Volume{Name: name, Kind: Kind(kind), Path: rest[at+1:], ReadOnly: readOnly}
	if at > 0 {
		v.Source = rest[:at]
	}
	errs := validation.IsDNS1123Label(name)
	switch {
	case !named || !typed:
		return v, fmt.Errorf("%q is not one of %s", text, Forms)
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
	case Claim, Secret, ConfigMap:
		if errs := validation.IsDNS1123Subdomain(v.Source); len(errs) > 0 {
			return fmt.Errorf("%q is not the name of an object", v.Source)
		}
	case Empty:
		size, err := resource.ParseQuantity(v.Source)
		if v.Source != "" && (err != nil || size.Sign() <= 0) {
			return fmt.Errorf("%q is not a size such as 100Gi", v.Source)
		}
		if v.Source != "" {
			v.Size = &size
		}
	case NFS:
		at := strings.LastIndex(v.Source, ":") // an IPv6 address has colons, too
		if at <= 0 || !cleanFolder(v.Source[at+1:]) {
			return fmt.Errorf("%q is not SERVER:/EXPORT", v.Source)
		}
		v.Server, v.Source = strings.Trim(v.Source[:at], "[]"), v.Source[at+1:]
	case Host:
		if !cleanFolder(v.Source) {
			return fmt.Errorf("%q is not a folder of the node: it must begin with /", v.Source)
		}
	default:
		return fmt.Errorf("the kind must be one of pvc, secret, configmap, emptydir, nfs and hostpath, not %q", v.Kind)
	}
	return nil
}

func cleanFolder(folder string) bool { return path.IsAbs(folder) && path.Clean(folder) == folder }

// Pod returns the volume of the pod.
func (v Volume) Pod() corev1.Volume {
	volume := corev1.Volume{Name: v.Name}
	switch v.Kind {
	case Claim:
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: v.Source,
			ReadOnly:  v.ReadOnly,
		}
	case Secret:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: v.Source}
	case ConfigMap:
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{}
		volume.ConfigMap.Name = v.Source
	case Empty:
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: v.Size}
	case NFS:
		volume.NFS = &corev1.NFSVolumeSource{Server: v.Server, Path: v.Source, ReadOnly: v.ReadOnly}
	case Host:
		volume.HostPath = &corev1.HostPathVolumeSource{Path: v.Source}
	}
	return volume
}

// Mount returns the mount of the container that trains.
func (v Volume) Mount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: v.Name, MountPath: v.Path, ReadOnly: v.ReadOnly}
}

// Mountable reports whether that many pods on separate nodes can mount a volume with the access modes (k8s.io/api
// core/v1 PersistentVolumeAccessMode).
func (v Volume) Mountable(modes []string, pods int) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		switch corev1.PersistentVolumeAccessMode(mode) {
		case corev1.ReadWriteMany:
			return true
		case corev1.ReadOnlyMany:
			return v.ReadOnly
		case corev1.ReadWriteOnce, corev1.ReadWriteOncePod:
			return pods == 1
		}
		return false
	})
}
