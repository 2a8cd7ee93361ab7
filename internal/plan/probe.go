package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// ComponentProbe is the value of LabelComponent of the pod that looks at a node.
const ComponentProbe = "probe"

// ProbeOptions is what looking at a node takes.
type ProbeOptions struct {
	Node, Namespace string
	Image           string // with sh and cat
	Arch            string // of the node
	Programs        []Program
	Host            bool // with the rights of an administrator of the node, and all of its files and networks
	// Watch is the time after which it is read again, for what its ports count in it; 0: once.
	Watch time.Duration
}

// Probe is the plan that runs a pod without privileges on one node. Its log is the Snapshot that railhead-pod takes there:
// the kernel command line, the IOMMU groups and the limits that the runtime gives containers are seen from any pod.
func Probe(o ProbeOptions) Plan {
	programs := slices.DeleteFunc(slices.Clone(o.Programs), func(p Program) bool { return p.Arch != o.Arch })
	d := delivery{by: ByConfigMaps, programs: programs}
	step := Step{
		ID: "probe", Title: "Look at node " + o.Node, Watch: []cluster.Kind{cluster.Pods, cluster.Events},
		Done: probed(ProbeName(o.Node), o.Namespace),
	}
	for _, object := range d.configMaps(o.Namespace) {
		step.Changes = append(step.Changes, Change{Verb: Apply, Object: object, Why: "carries railhead-pod into the pod"})
	}
	why, pod := "takes a snapshot of the node, without privileges", probePod(o, d)
	if o.Host {
		why = "takes a snapshot of the node, privileged, with its files read-only"
		onHost(pod)
	}
	if o.Watch > 0 {
		container := pod.Object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		container["command"] = append(container["command"].([]any), "--watch="+o.Watch.String())
	}
	step.Changes = append(step.Changes, Change{Verb: Apply, Object: pod, Why: why})
	return Plan{Title: step.Title, Steps: []Step{step}}
}

// ProbeName is the name of the pod that looks at a node, and of its instance: a value of a label, which is at most 63 long.
func ProbeName(node string) string {
	const prefix, most, hash = "railhead-probe-", 63, 8
	if len(prefix+node) <= most {
		return prefix + node
	}
	sum := sha256.Sum256([]byte(node))
	return strings.TrimRight(prefix+node[:most-len(prefix)-hash-1], "-.") + "-" + hex.EncodeToString(sum[:])[:hash]
}

// probeUser is nobody: an image whose own user is root, as those of OpenShift's release are, does not start where no user is
// said.
const probeUser = 65534

// probePull takes an image that the node has already: a node without a way to a registry can be looked at, too.
const probePull = "IfNotPresent"

// Undo is the change that removes what a change made.
func (c Change) Undo() Change {
	return Change{Verb: Delete, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.Object.GetAPIVersion(), "kind": c.Object.GetKind(),
		"metadata": map[string]any{"name": c.Object.GetName(), "namespace": c.Object.GetNamespace()},
	}}}
}

func probePod(o ProbeOptions, d delivery) unstructured.Unstructured {
	security := map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}
	install := d.initContainer(o.Image, security)
	install["imagePullPolicy"] = probePull
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": ProbeName(o.Node), "namespace": o.Namespace,
			"labels": map[string]any{
				LabelManagedBy: ManagedBy, LabelName: programName, LabelComponent: ComponentProbe, LabelInstance: ProbeName(o.Node),
			},
		},
		"spec": map[string]any{
			"nodeName": o.Node, "restartPolicy": "Never", "automountServiceAccountToken": false,
			"tolerations":     []any{map[string]any{"operator": "Exists"}},
			"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": int64(probeUser), "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
			"initContainers":  []any{install},
			"containers": []any{map[string]any{
				"name": "snapshot", "image": o.Image, "imagePullPolicy": probePull, "command": listOf([]string{podProgram, "snapshot"}),
				"env":             []any{map[string]any{"name": "NODE_NAME", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "spec.nodeName"}}}},
				"resources":       map[string]any{"requests": installResources(), "limits": probeLimits()},
				"securityContext": security, "volumeMounts": []any{map[string]any{"name": binVolume, "mountPath": binFolder, "readOnly": true}},
			}},
			"volumes": d.volumes(),
		},
	}}
}

// probeLimits let the snapshot have a processor: it opens some ten thousand small files, component by component, which with
// a tenth of one takes ten times as long.
func probeLimits() map[string]any {
	limits := installResources()
	limits["cpu"] = "1"
	return limits
}

// hostFolder is where the node's files are in a pod with Host.
const hostFolder = "/host"

// onHost gives a probe what `oc debug node` gives: the node's files, its networks and processes, and all capabilities. Without
// them no pod sees the extended configuration of PCI devices, nor the physical functions (drivers/pci/pci-sysfs.c, network
// namespaces).
func onHost(pod unstructured.Unstructured) {
	spec := pod.Object["spec"].(map[string]any)
	spec["hostNetwork"], spec["hostPID"] = true, true
	spec["securityContext"] = map[string]any{"runAsUser": int64(0)}
	spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "host", "hostPath": map[string]any{"path": "/"}})
	container := spec["containers"].([]any)[0].(map[string]any)
	container["command"] = listOf([]string{podProgram, "snapshot", "--root", hostFolder})
	container["securityContext"] = map[string]any{"privileged": true}
	container["volumeMounts"] = append(container["volumeMounts"].([]any), map[string]any{"name": "host", "mountPath": hostFolder, "readOnly": true})
}

// probed is done when the pod has ended well.
func probed(name, namespace string) Condition {
	return func(s cluster.State) Progress {
		i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == name && p.Namespace == namespace })
		if i < 0 {
			return Progress{Text: "pod " + name + " is not there yet"}
		}
		pod := s.Pods[i]
		progress := Progress{Done: pod.Phase == "Succeeded", Text: "pod " + name + " is " + orDefault(pod.Phase, "Pending")}
		finding, wrong := ExplainPod(s, pod)
		if progress.Done || !wrong {
			return progress
		}
		if slices.Contains(imageFaults, finding.Check) {
			finding.Fix = &check.Fix{
				Text: "Name an image with a shell that the node has or can pull.", Who: check.Admin,
				Commands: []string{"railhead setup cluster --verify-first --verify-image IMAGE"},
			}
		}
		if finding.Status == check.Fail {
			progress.Stuck = &finding
			return progress
		}
		progress.Text += ": " + finding.Summary
		if finding.Check == cluster.ImagePull {
			progress.Text += "; --verify-image names another"
		}
		return progress
	}
}

// imageFaults are what another image may mend. What mends it in a job is said of the job's flags.
var imageFaults = []check.ID{cluster.ImagePull, cluster.ImageArchitecture, cluster.InstallFailed, cluster.ContainerStart}
