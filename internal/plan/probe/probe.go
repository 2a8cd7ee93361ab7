// Package probe plans the pod that examines a node.
package probe

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
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/rules/pods"
)

// Component is the value of plan.LabelComponent of probe pods.
const Component = "probe"

// Options describe a probe pod.
type Options struct {
	Node, Namespace string
	Image           string // with sh and cat
	Arch            string // of the node
	Programs        []delivery.Program
	Host            bool          // privileged, with the files and networks of the node
	Watch           time.Duration // until the second reading, to compare port counters; 0: only one
	ID              string        // of the command; all created objects have it in their names
	Limit           time.Duration // after which the pod ends, even if the command was killed
}

// Plan returns the plan that runs a probe pod on one node. Its log is the Snapshot that railhead-pod takes. Any pod
// sees the kernel command line, the IOMMU groups and the container limits of the runtime.
func Plan(o Options) plan.Plan {
	programs := slices.DeleteFunc(slices.Clone(o.Programs), func(p delivery.Program) bool { return p.Arch != o.Arch })
	d := delivery.Delivery{By: delivery.ByConfigMaps, Programs: programs, Suffix: "-" + o.ID}
	why, pod := "takes a snapshot of the node, without privileges", podOf(o, d)
	if o.Host {
		why = "takes a snapshot of the node, privileged, with its files read-only"
		onHost(&pod.Spec)
	}
	if container := &pod.Spec.Containers[0]; o.Watch > 0 {
		container.Command = append(container.Command, "--watch="+o.Watch.String())
	}
	title, object := "Examine node "+o.Node, plan.Typed(corev1.SchemeGroupVersion.WithKind("Pod"), pod)
	parts := d.Step(cluster.State{}, o.Namespace, plan.Labels(delivery.Component, ""))
	return plan.Plan{Title: title, Steps: []plan.Step{{
		ID:      "probe",
		Title:   title,
		Changes: append(parts.Changes, plan.Change{Verb: plan.Apply, Object: object, Why: why}),
		Done:    probed(pod.Name, o.Namespace),
		Watch:   []cluster.Kind{cluster.Pods, cluster.Events},
	}}}
}

// Name returns the name of the probe pod of a command for a node. It is also the value of the instance label,
// which has at most 63 characters.
func Name(node, id string) string {
	const prefix, most, hash = "railhead-probe-", 63, 8
	suffix := "-" + id
	if len(prefix+node+suffix) <= most {
		return prefix + node + suffix
	}
	sum := sha256.Sum256([]byte(node))
	suffix = "-" + hex.EncodeToString(sum[:])[:hash] + suffix
	return strings.TrimRight(prefix+node[:most-len(prefix)-len(suffix)], "-.") + suffix
}

// nobody is the user of the pod: images of the OpenShift release run as root, and runAsNonRoot would refuse them.
const nobody = 65534

// grace is short: a snapshot has nothing to finish.
const grace = time.Second

// pullPolicy lets nodes without access to a registry use an image that they already have.
const pullPolicy = "IfNotPresent"

func podOf(o Options, d delivery.Delivery) *corev1.Pod {
	install := d.InitContainer(o.Image)
	install.ImagePullPolicy = pullPolicy
	install.SecurityContext = unprivileged()
	install.Resources = corev1.ResourceRequirements{Requests: resources("100m"), Limits: resources("100m")}
	snapshot := corev1.Container{
		Name:            "snapshot",
		Image:           o.Image,
		ImagePullPolicy: pullPolicy,
		Command:         []string{delivery.Path, "snapshot"},
		Env:             []corev1.EnvVar{nodeName()},
		Resources:       corev1.ResourceRequirements{Requests: resources("100m"), Limits: resources("1")},
		SecurityContext: unprivileged(),
		VolumeMounts:    []corev1.VolumeMount{delivery.Mount()},
	}
	name := Name(o.Node, o.ID)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: plan.Labels(Component, name)},
		Spec: corev1.PodSpec{
			NodeName:                      o.Node,
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  new(false),
			ActiveDeadlineSeconds:         new(int64(o.Limit / time.Second)),
			TerminationGracePeriodSeconds: new(int64(grace / time.Second)),
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(nobody)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{*install},
			Containers:     []corev1.Container{snapshot},
			Volumes:        d.Volumes(),
		},
	}
}

// resources are small, because quotas may count them. The limit is a whole CPU: the snapshot opens about ten
// thousand small files, which a tenth of a CPU slows down ten times.
func resources(cpu string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
}

func nodeName() corev1.EnvVar {
	field := &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}
	return corev1.EnvVar{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: field}}
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// hostFolder holds the node's files in a pod with Host.
const hostFolder = "/host"

// onHost gives a probe the access of `oc debug node`: the files, networks and processes of the node, and all
// capabilities. Otherwise the pod sees neither the extended configuration of PCI devices (drivers/pci/pci-sysfs.c)
// nor the physical functions (network namespaces).
func onHost(spec *corev1.PodSpec) {
	spec.HostNetwork, spec.HostPID = true, true
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	host := corev1.Volume{Name: "host"}
	host.HostPath = &corev1.HostPathVolumeSource{Path: "/"}
	spec.Volumes = append(spec.Volumes, host)
	container := &spec.Containers[0]
	container.Command = []string{delivery.Path, "snapshot", "--root", hostFolder}
	container.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	mount := corev1.VolumeMount{Name: host.Name, MountPath: hostFolder, ReadOnly: true}
	container.VolumeMounts = append(container.VolumeMounts, mount)
}

// probed is done when the pod has succeeded.
func probed(name, namespace string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == name && p.Namespace == namespace })
		if i < 0 {
			return plan.Progress{Text: "pod " + name + " does not exist yet"}
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
			finding.Fix = check.ByAdmin("Choose an image with a shell that the node has or can pull.",
				"railhead setup cluster --verify-first --verify-image IMAGE")
		}
		if finding.Status == check.Fail {
			progress.Stuck = &finding
			return progress
		}
		progress.Text += ": " + finding.Summary
		if finding.Check == pods.ImagePull {
			progress.Text += "; use --verify-image for another image"
		}
		return progress
	}
}

// imageFaults may be fixed by another image; their usual fixes name flags of a job.
var imageFaults = []check.ID{pods.ImagePull, pods.ImageArchitecture, pods.InstallFailed, pods.ContainerStart}
