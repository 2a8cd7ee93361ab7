package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// ComponentProbe is the value of LabelComponent of the pod that looks at a node.
const ComponentProbe = "probe"

// ProbeOptions describe the pod that looks at a node.
type ProbeOptions struct {
	Node, Namespace string
	Image           string // with sh and cat
	Arch            string // of the node
	Programs        []Program
	Host            bool // with the rights of an administrator of the node, and all of its files and networks
	// Watch is the time after which it is read again, to compare port counters; 0: once.
	Watch time.Duration
	// ID of the command is in the names of everything that the plan creates: it belongs to this command alone.
	ID string
	// Limit ends the pod also if nobody deletes it, because the command was killed.
	Limit time.Duration
}

// Probe is the plan that runs a pod without privileges on one node. Its log is the Snapshot that railhead-pod takes
// there: the kernel command line, the IOMMU groups and the limits that the runtime gives containers are seen from any
// pod.
func Probe(o ProbeOptions) plan.Plan {
	programs := slices.DeleteFunc(slices.Clone(o.Programs), func(p Program) bool { return p.Arch != o.Arch })
	d := delivery{by: ByConfigMaps, programs: programs, suffix: "-" + o.ID}
	step := plan.Step{
		ID:    "probe",
		Title: "Look at node " + o.Node,
		Watch: []cluster.Kind{cluster.Pods, cluster.Events},
		Done:  probed(ProbeName(o.Node, o.ID), o.Namespace),
	}
	for _, object := range d.configMaps(o.Namespace) {
		step.Changes = append(step.Changes, plan.Change{
			Verb:   plan.Apply,
			Object: object,
			Why:    "carries railhead-pod into the pod",
		})
	}
	why, pod := "takes a snapshot of the node, without privileges", probePod(o, d)
	if o.Host {
		why = "takes a snapshot of the node, privileged, with its files read-only"
		onHost(&pod.Spec)
	}
	if container := &pod.Spec.Containers[0]; o.Watch > 0 {
		container.Command = append(container.Command, "--watch="+o.Watch.String())
	}
	object := plan.Typed(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	step.Changes = append(step.Changes, plan.Change{Verb: plan.Apply, Object: object, Why: why})
	return plan.Plan{Title: step.Title, Steps: []plan.Step{step}}
}

// ProbeName returns the name of the pod that looks at a node for the command with the ID. It is also the value of its
// instance label, which has at most 63 characters.
func ProbeName(node, id string) string {
	const prefix, most, hash = "railhead-probe-", 63, 8
	suffix := "-" + id
	if len(prefix+node+suffix) <= most {
		return prefix + node + suffix
	}
	sum := sha256.Sum256([]byte(node))
	suffix = "-" + hex.EncodeToString(sum[:])[:hash] + suffix
	return strings.TrimRight(prefix+node[:most-len(prefix)-len(suffix)], "-.") + suffix
}

// probeUser is nobody: an image whose own user is root, as those of OpenShift's release are, does not start where no
// user is said.
const probeUser = 65534

// probeGrace is short: a snapshot has nothing to finish.
const probeGrace = time.Second

// probePull takes an image that the node has already: a node without a way to a registry can be looked at, too.
const probePull = "IfNotPresent"

func probePod(o ProbeOptions, d delivery) *corev1.Pod {
	install := d.initContainer(o.Image)
	install.ImagePullPolicy = probePull
	install.SecurityContext = unprivileged()
	snapshot := corev1.Container{
		Name:            "snapshot",
		Image:           o.Image,
		ImagePullPolicy: probePull,
		Command:         []string{podProgram, "snapshot"},
		Env:             []corev1.EnvVar{fieldVar("NODE_NAME", "spec.nodeName")},
		Resources:       corev1.ResourceRequirements{Requests: installResources(), Limits: probeLimits()},
		SecurityContext: unprivileged(),
		VolumeMounts:    []corev1.VolumeMount{{Name: binVolume, MountPath: binFolder, ReadOnly: true}},
	}
	name := ProbeName(o.Node, o.ID)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: objectLabels(ComponentProbe, name)},
		Spec: corev1.PodSpec{
			NodeName:                      o.Node,
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  new(false),
			ActiveDeadlineSeconds:         new(int64(o.Limit / time.Second)),
			TerminationGracePeriodSeconds: new(int64(probeGrace / time.Second)),
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(probeUser)),
				SeccompProfile: runtimeDefault(),
			},
			InitContainers: []corev1.Container{*install},
			Containers:     []corev1.Container{snapshot},
			Volumes:        d.volumes(),
		},
	}
}

// probeLimits let the snapshot have a processor: it opens some ten thousand small files, component by component, which
// with a tenth of one takes ten times as long.
func probeLimits() corev1.ResourceList {
	limits := installResources()
	limits[corev1.ResourceCPU] = resource.MustParse("1")
	return limits
}

// hostFolder holds the node's files in a pod with Host.
const hostFolder = "/host"

// onHost gives a probe the same access as `oc debug node`: the node's files, its networks and processes, and all
// capabilities. Without them no pod sees the extended configuration of PCI devices, nor the physical functions
// (drivers/pci/pci-sysfs.c, network namespaces).
func onHost(spec *corev1.PodSpec) {
	const volume = "host"
	spec.HostNetwork, spec.HostPID = true, true
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	root := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: root})
	container := &spec.Containers[0]
	container.Command = []string{podProgram, "snapshot", "--root", hostFolder}
	container.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	mount := corev1.VolumeMount{Name: volume, MountPath: hostFolder, ReadOnly: true}
	container.VolumeMounts = append(container.VolumeMounts, mount)
}

// probed is done when the pod has ended well.
func probed(name, namespace string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == name && p.Namespace == namespace })
		if i < 0 {
			return plan.Progress{Text: "pod " + name + " is not there yet"}
		}
		pod := s.Pods[i]
		progress := plan.Progress{
			Done: pod.Phase == "Succeeded",
			Text: "pod " + name + " is " + cmp.Or(pod.Phase, "Pending"),
		}
		finding, wrong := plan.ExplainPod(s, pod)
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
		if finding.Check == pods.ImagePull {
			progress.Text += "; --verify-image names another"
		}
		return progress
	}
}

// imageFaults may be fixed by another image. Their usual fixes name flags of a job.
var imageFaults = []check.ID{pods.ImagePull, pods.ImageArchitecture, pods.InstallFailed, pods.ContainerStart}
