package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// Delivery is how railhead-pod gets into a pod.
type Delivery string

// ConfigMaps need no registry. An image is used by an init container, or mounted as a volume.
const (
	ByConfigMaps  Delivery = "configmap"
	ByImage       Delivery = "image"
	ByImageVolume Delivery = "image-volume"
)

// ComponentPod is the value of LabelComponent of the objects that carry railhead-pod; jobs of a namespace share it.
const ComponentPod = "railhead-pod"

// Paths in a pod.
const (
	binFolder    = "/railhead/bin"
	partsFolder  = "/railhead/parts"
	scriptFolder = "/railhead/script"
	podProgram   = binFolder + "/railhead-pod"
	imageProgram = "/railhead-pod" // in the image of railhead-pod
)

const (
	binVolume   = "railhead-bin"
	partsVolume = "railhead-parts"
	partKey     = "part"
)

// partSize is the size of a part in one ConfigMap, whose data has at most 1 MiB (kubernetes pkg/apis/core/validation
// ValidateConfigMap), and whose base64 must stay below the 1.5 MiB of an etcd request.
const partSize = 900 << 10

// Program is railhead-pod for one architecture, in parts that fit into ConfigMaps.
type Program struct {
	Arch   string // amd64, arm64
	SHA256 string // hexadecimal
	Parts  [][]byte
}

// NewProgram splits a binary into parts.
func NewProgram(arch string, binary []byte) Program {
	sum := sha256.Sum256(binary)
	return Program{
		Arch:   arch,
		SHA256: hex.EncodeToString(sum[:]),
		Parts:  slices.Collect(slices.Chunk(binary, partSize)),
	}
}

// configMap returns the name of one part. It contains the content's hash, so that versions can exist together.
func (p Program) configMap(part int) string {
	return fmt.Sprintf("railhead-pod-%s-%s-%d", p.Arch, p.SHA256[:min(12, len(p.SHA256))], part)
}

// delivery is how railhead-pod gets into the pods of one job.
type delivery struct {
	by       Delivery
	image    string    // contains railhead-pod
	programs []Program // of ByConfigMaps: one for each architecture of the nodes
	suffix   string    // of the names of ConfigMaps that other jobs do not share
}

// volumes returns the volumes with railhead-pod.
func (d delivery) volumes() []corev1.Volume {
	bin := corev1.Volume{Name: binVolume}
	if d.by == ByImageVolume {
		bin.Image = &corev1.ImageVolumeSource{Reference: d.image, PullPolicy: corev1.PullIfNotPresent}
		return []corev1.Volume{bin}
	}
	bin.EmptyDir = &corev1.EmptyDirVolumeSource{}
	if d.by == ByImage {
		return []corev1.Volume{bin}
	}
	parts := corev1.Volume{Name: partsVolume}
	parts.Projected = &corev1.ProjectedVolumeSource{}
	for _, p := range d.programs {
		for i := range p.Parts {
			source := &corev1.ConfigMapProjection{
				Items: []corev1.KeyToPath{{Key: partKey, Path: fmt.Sprintf("%s/%03d", p.Arch, i)}},
			}
			source.Name = p.configMap(i) + d.suffix
			parts.Projected.Sources = append(parts.Projected.Sources, corev1.VolumeProjection{ConfigMap: source})
		}
	}
	return []corev1.Volume{bin, parts}
}

// kinds returns the kinds of volumes, as security context constraints list them.
func (d delivery) kinds() []string {
	switch d.by {
	case ByImageVolume:
		return []string{"image"}
	case ByImage:
		return []string{"emptyDir"}
	case ByConfigMaps:
	}
	return []string{"emptyDir", "projected"}
}

// initContainer copies railhead-pod into the pod; nil if the volume already contains it. image is that of the job.
func (d delivery) initContainer(image string) *corev1.Container {
	container := corev1.Container{
		Name:                     pods.InstallContainer,
		Image:                    image,
		Command:                  []string{"sh", "-c", d.script()},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                corev1.ResourceRequirements{Requests: installResources(), Limits: installResources()},
		VolumeMounts:             []corev1.VolumeMount{{Name: binVolume, MountPath: binFolder}},
	}
	switch d.by {
	case ByImageVolume:
		return nil
	case ByImage:
		container.Image = d.image
		container.Command = []string{imageProgram, "install", binFolder}
	case ByConfigMaps:
		parts := corev1.VolumeMount{Name: partsVolume, MountPath: partsFolder, ReadOnly: true}
		container.VolumeMounts = append(container.VolumeMounts, parts)
	}
	return &container
}

// installResources are set because quotas may require them of every container.
func installResources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100m"),
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
}

// script joins the parts in any image that has sh, cat, chmod and uname, and checks the hash if it has sha256sum.
func (d delivery) script() string {
	var b strings.Builder
	b.WriteString("set -e\ncase $(uname -m) in\n")
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64|arm64"} // as uname -m names them
	for _, p := range d.programs {
		fmt.Fprintf(&b, "%s) arch=%s sum=%s ;;\n", cmp.Or(machines[p.Arch], p.Arch), p.Arch, p.SHA256)
	}
	fmt.Fprintf(&b, `*) echo "railhead-pod was not delivered for $(uname -m)" >&2; exit 1 ;;
esac
cat %[1]s/$arch/* > %[2]s
chmod 0755 %[2]s
if command -v sha256sum > /dev/null; then
  echo "$sum  %[2]s" | sha256sum -c - > /dev/null ||
    { echo "railhead-pod is damaged: its SHA-256 is not $sum" >&2; exit 1; }
fi
`, partsFolder, podProgram)
	return b.String()
}

// configMaps returns the ConfigMaps of all programs.
func (d delivery) configMaps(namespace string) []unstructured.Unstructured {
	var objects []unstructured.Unstructured
	for _, p := range d.programs {
		for i, part := range p.Parts {
			objects = append(objects, plan.Typed(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Name:      p.configMap(i) + d.suffix,
					Namespace: namespace,
					Labels:    objectLabels(ComponentPod, ""),
				},
				Immutable:  new(true),
				BinaryData: map[string][]byte{partKey: part},
			}))
		}
	}
	return objects
}

// changes creates the ConfigMaps that do not exist; their names contain the hash of their content.
func (d delivery) changes(s cluster.State, namespace string) []plan.Change {
	var changes []plan.Change
	for _, object := range d.configMaps(namespace) {
		if _, exists := plan.LiveObject(s, object); !exists {
			changes = append(changes, plan.Change{Verb: plan.Apply, Object: object, Why: "contains railhead-pod"})
		}
	}
	return changes
}
