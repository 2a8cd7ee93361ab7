package plan

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/cluster"
)

// Delivery is the way in which railhead-pod comes into a pod.
type Delivery string

// Without a registry it comes in ConfigMaps; else an image brings it, by an init container or as a volume.
const (
	ByConfigMaps  Delivery = "configmap"
	ByImage       Delivery = "image"
	ByImageVolume Delivery = "image-volume"
)

// ComponentPod is the value of LabelComponent of what carries railhead-pod; jobs of a namespace share it.
const ComponentPod = "railhead-pod"

// Where things lie in a pod.
const (
	binFolder    = "/railhead/bin"
	partsFolder  = "/railhead/parts"
	scriptFolder = "/railhead/script"
	podProgram   = binFolder + "/railhead-pod"
	imageProgram = "/railhead-pod" // in the image that carries it
)

const (
	binVolume   = "railhead-bin"
	partsVolume = "railhead-parts"
	partKey     = "part"
)

// partSize is what one ConfigMap holds: 1 MiB is the most that data may have in all (kubernetes pkg/apis/core/validation
// ValidateConfigMap), and base64 of it must stay below etcd's 1.5 MiB for a request.
const partSize = 900 << 10

// Program is railhead-pod for one architecture, in parts that fit into ConfigMaps.
type Program struct {
	Arch   string // amd64, arm64
	SHA256 string // hexadecimal
	Parts  [][]byte
}

// NewProgram cuts a binary into parts.
func NewProgram(arch string, binary []byte) Program {
	sum := sha256.Sum256(binary)
	return Program{Arch: arch, SHA256: hex.EncodeToString(sum[:]), Parts: slices.Collect(slices.Chunk(binary, partSize))}
}

// configMap is the name of one part: the content's hash is in it, so that versions lie beside each other.
func (p Program) configMap(part int) string {
	return fmt.Sprintf("railhead-pod-%s-%s-%d", p.Arch, p.SHA256[:min(12, len(p.SHA256))], part)
}

// configMaps are the objects that carry the program in a namespace.
func (p Program) configMaps(namespace string) []unstructured.Unstructured {
	var objects []unstructured.Unstructured
	for i, part := range p.Parts {
		objects = append(objects, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
			"metadata": map[string]any{
				"name": p.configMap(i), "namespace": namespace,
				"labels": map[string]any{LabelManagedBy: ManagedBy, LabelName: programName, LabelComponent: ComponentPod},
			},
			"binaryData": map[string]any{partKey: base64.StdEncoding.EncodeToString(part)},
		}})
	}
	return objects
}

// delivery is how railhead-pod comes into a job's pods.
type delivery struct {
	by       Delivery
	image    string    // that carries railhead-pod
	programs []Program // those for the architectures of the nodes
}

// volumes are what the delivery adds to a pod, by name.
func (d delivery) volumes() []any {
	if d.by == ByImageVolume {
		return []any{map[string]any{"name": binVolume, "image": map[string]any{"reference": d.image, "pullPolicy": "IfNotPresent"}}}
	}
	volumes := []any{map[string]any{"name": binVolume, "emptyDir": map[string]any{}}}
	if d.by == ByImage {
		return volumes
	}
	var sources []any
	for _, p := range d.programs {
		for i := range p.Parts {
			sources = append(sources, map[string]any{"configMap": map[string]any{
				"name":  p.configMap(i),
				"items": []any{map[string]any{"key": partKey, "path": fmt.Sprintf("%s/%03d", p.Arch, i)}},
			}})
		}
	}
	return append(volumes, map[string]any{"name": partsVolume, "projected": map[string]any{"sources": sources}})
}

// kinds are the kinds of volumes, as security context constraints list them.
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

// initContainer puts railhead-pod into the pod; nil where the volume has it already. image is the job's own.
func (d delivery) initContainer(image string, security map[string]any) map[string]any {
	container := map[string]any{
		"name": cluster.InstallContainer, "terminationMessagePolicy": "FallbackToLogsOnError",
		"resources": map[string]any{"requests": installResources(), "limits": installResources()},
	}
	container["securityContext"] = runtime.DeepCopyJSON(security)
	bin := map[string]any{"name": binVolume, "mountPath": binFolder}
	switch d.by {
	case ByImageVolume:
		return nil
	case ByImage:
		container["image"] = d.image
		container["command"] = listOf([]string{imageProgram, "install", binFolder})
		container["volumeMounts"] = []any{bin}
	default:
		container["image"] = image
		container["command"] = listOf([]string{"sh", "-c", d.script()})
		container["volumeMounts"] = []any{bin, map[string]any{"name": partsVolume, "mountPath": partsFolder, "readOnly": true}}
	}
	return container
}

// installResources are little, and said because quotas may want every container to say them.
func installResources() map[string]any { return map[string]any{"cpu": "100m", "memory": "64Mi"} }

// script puts the parts together in any image that has sh, cat, chmod and uname. The hash is checked where sha256sum is there.
func (d delivery) script() string {
	var b strings.Builder
	b.WriteString("set -e\ncase $(uname -m) in\n")
	for _, p := range d.programs {
		machine := p.Arch
		switch p.Arch {
		case "amd64":
			machine = "x86_64"
		case "arm64":
			machine = "aarch64|arm64"
		}
		fmt.Fprintf(&b, "%s) arch=%s sum=%s ;;\n", machine, p.Arch, p.SHA256)
	}
	fmt.Fprintf(&b, `*) echo "railhead-pod was not delivered for $(uname -m)" >&2; exit 1 ;;
esac
cat %[1]s/$arch/* > %[2]s
chmod 0755 %[2]s
if command -v sha256sum > /dev/null; then
  echo "$sum  %[2]s" | sha256sum -c - > /dev/null || { echo "railhead-pod is damaged: its SHA-256 is not $sum" >&2; exit 1; }
fi
`, partsFolder, podProgram)
	return b.String()
}

// configMaps are the objects of all programs that are delivered by ConfigMaps.
func (d delivery) configMaps(namespace string) []unstructured.Unstructured {
	if d.by != ByConfigMaps {
		return nil
	}
	var objects []unstructured.Unstructured
	for _, p := range d.programs {
		objects = append(objects, p.configMaps(namespace)...)
	}
	return objects
}
