package delivery

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// Component is the value of LabelComponent of the ConfigMaps that the jobs of a namespace share, and that `delete`
// deletes after the last of them.
const Component = "railhead-pod"

// LabelKeep is a label of ConfigMaps that stay when the jobs of the namespace are deleted.
const LabelKeep = "railhead.dev/keep"

// Kept returns the labels of ConfigMaps that stay.
func Kept() map[string]string {
	labels := plan.Labels(Component, "")
	labels[LabelKeep] = "true"
	return labels
}

const partKey = "part"

// PartSize is the size of the data in one ConfigMap. `kubectl apply` copies the object, with its data in base64, into
// an annotation, and annotations have at most 256 KiB together (apimachinery pkg/api/validation,
// TotalAnnotationSizeLimitB).
const PartSize = 180 << 10

// Program is railhead-pod for one architecture, compressed, in parts that fit into ConfigMaps.
type Program struct {
	Arch   string // amd64, arm64
	SHA256 string // of all parts, hexadecimal
	Parts  [][]byte
}

// Packed splits a program that gzip compressed into parts.
func Packed(arch string, packed []byte) Program {
	sum := sha256.Sum256(packed)
	return Program{
		Arch:   arch,
		SHA256: hex.EncodeToString(sum[:]),
		Parts:  slices.Collect(slices.Chunk(packed, PartSize)),
	}
}

// Pack compresses a program.
func Pack(arch string, binary []byte) Program {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level
	_, _ = w.Write(binary)                                     // a buffer takes everything
	_ = w.Close()
	return Packed(arch, packed.Bytes())
}

// Needed returns the programs for the architectures of the nodes, and the architectures without one. Without nodes,
// which may be unreadable, it returns all.
func Needed(programs []Program, nodes []cluster.Node) (needed []Program, without []string) {
	if len(nodes) == 0 {
		return programs, nil
	}
	for _, n := range nodes {
		without = append(without, n.Arch)
	}
	slices.Sort(without)
	without = slices.Compact(without)
	for _, p := range programs {
		if i := slices.Index(without, p.Arch); i >= 0 {
			needed = append(needed, p)
			without = slices.Delete(without, i, i+1)
		}
	}
	return needed, without
}

// configMap returns the name of one part. It contains the content's hash, so that versions can exist together.
func (p Program) configMap(part int) string {
	return fmt.Sprintf("railhead-pod-%s-%s-%d", p.Arch, p.SHA256[:min(12, len(p.SHA256))], part)
}

// projections put the parts into the folder of their architecture.
func (p Program) projections(suffix string) []corev1.VolumeProjection {
	var sources []corev1.VolumeProjection
	for i := range p.Parts {
		source := &corev1.ConfigMapProjection{
			Items: []corev1.KeyToPath{{Key: partKey, Path: fmt.Sprintf("%s/%03d", p.Arch, i)}},
		}
		source.Name = p.configMap(i) + suffix
		sources = append(sources, corev1.VolumeProjection{ConfigMap: source})
	}
	return sources
}

// configMaps returns the parts of all programs as objects with the labels.
func (d Delivery) configMaps(namespace string, labels map[string]string) []unstructured.Unstructured {
	var objects []unstructured.Unstructured
	for _, p := range d.Programs {
		for i, part := range p.Parts {
			objects = append(objects, plan.Typed(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: p.configMap(i) + d.Suffix, Namespace: namespace, Labels: labels},
				Immutable:  new(true),
				BinaryData: map[string][]byte{partKey: part},
			}))
		}
	}
	return objects
}

// Missing returns the ConfigMaps that the namespace does not have, or does not keep for as long as those with the
// labels. Their names contain the hash of their content, so that one of the same name is the same.
func (d Delivery) Missing(s cluster.State, namespace string, labels map[string]string) []unstructured.Unstructured {
	return slices.DeleteFunc(d.configMaps(namespace, labels), func(o unstructured.Unstructured) bool {
		return slices.ContainsFunc(s.ConfigMaps, func(c cluster.ConfigMap) bool {
			return c.Namespace == namespace && c.Name == o.GetName() && kept(c.Labels, labels)
		})
	})
}

// kept reports whether a ConfigMap with the labels is kept for as long as one with the wanted labels. A namespace keeps
// its ConfigMaps for ever, a manifest until it is deleted; all others are kept until the last job is deleted.
func kept(have, want map[string]string) bool {
	instance := want[plan.LabelInstance]
	return have[LabelKeep] != "" || want[LabelKeep] == "" && (instance == "" || instance == have[plan.LabelInstance])
}

// stepID is the ID of the step that creates the ConfigMaps.
const stepID = "delivery"

// Step creates the missing ConfigMaps.
func (d Delivery) Step(s cluster.State, namespace string, labels map[string]string) plan.Step {
	step := plan.Step{ID: stepID}
	for _, object := range d.Missing(s, namespace, labels) {
		step.Changes = append(step.Changes, plan.Change{Verb: plan.Apply, Object: object, Why: "contains railhead-pod"})
	}
	step.Title = "Create " + words.Count(len(step.Changes), "ConfigMap") + " with railhead-pod"
	return step
}

// Parts returns how many ConfigMaps a plan creates.
func Parts(p plan.Plan) int {
	n := 0
	for _, step := range p.Steps {
		if step.ID == stepID {
			n += len(step.Changes)
		}
	}
	return n
}
