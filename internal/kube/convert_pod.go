package kube

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/workload"
)

// convertPod keeps a pod's node and resources. A large cluster has ten thousand pods, so it drops their labels,
// annotations and containers.
func convertPod(p *corev1.Pod) cluster.Pod {
	pod := cluster.Pod{
		Namespace:      p.Namespace,
		Name:           p.Name,
		UID:            string(p.UID),
		Owner:          owner(p.OwnerReferences),
		Node:           p.Spec.NodeName,
		Phase:          string(p.Status.Phase),
		Reason:         p.Status.Reason,
		Message:        p.Status.Message,
		Deleted:        p.DeletionTimestamp != nil,
		Requests:       podRequests(&p.Spec),
		ServiceAccount: p.Spec.ServiceAccountName,
		IP:             p.Status.PodIP,
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			pod.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			pod.Unscheduled = c.Message
		}
	}
	return pod
}

// convertJobPod also keeps the containers, whose status shows why a pod does not run.
func convertJobPod(p *corev1.Pod) cluster.Pod {
	pod := convertPod(p)
	pod.Labels, pod.Annotations, pod.Limits = p.Labels, p.Annotations, podLimits(&p.Spec)
	pod.Writer, pod.NodeSelector = writer(p.ManagedFields), p.Spec.NodeSelector
	pod.Containers = append(containers(p.Spec.InitContainers, p.Status.InitContainerStatuses),
		containers(p.Spec.Containers, p.Status.ContainerStatuses)...)
	for i := range p.Spec.InitContainers {
		pod.Containers[i].Init = true
	}
	for _, c := range p.Spec.ResourceClaims {
		pod.Claims = append(pod.Claims, c.Name)
	}
	return pod
}

// podOf returns the conversion for pods. It converts the pods of the wanted job, or of the namespace if Detail is set,
// with convertJobPod, and all others with convertPod.
func podOf(w Want) func(*corev1.Pod) cluster.Pod {
	return func(p *corev1.Pod) cluster.Pod {
		here := w.Namespace == "" || p.Namespace == w.Namespace
		ofJob := w.Job != "" && p.Labels[plan.LabelInstance] == w.Job
		if here && (ofJob || w.Detail && w.Job == "") {
			return convertJobPod(p)
		}
		return convertPod(p)
	}
}

// owner returns the controller that made an object: StatefulSet/h-kim.
func owner(references []metav1.OwnerReference) string {
	for _, r := range references {
		if r.Controller != nil && *r.Controller {
			return workload.KindName(r.APIVersion, r.Kind) + "/" + r.Name
		}
	}
	return ""
}

// writer returns the field manager that owns fields of the spec of an object, of several the last one. If a controller
// made the object, it is the controller. A mutating admission webhook has none of its own: what it changes is part of
// the request of a client. Nor has a client that only removes fields.
func writer(entries []metav1.ManagedFieldsEntry) string {
	var last metav1.ManagedFieldsEntry
	for _, e := range entries {
		if e.Subresource == "" && e.FieldsV1 != nil && strings.Contains(e.FieldsV1.GetRawString(), `"f:spec":`) &&
			(last.Manager == "" || last.Time.Before(e.Time)) {
			last = e
		}
	}
	return last.Manager
}

func containers(specs []corev1.Container, statuses []corev1.ContainerStatus) []cluster.Container {
	state := make(map[string]corev1.ContainerStatus, len(statuses))
	for _, s := range statuses {
		state[s.Name] = s
	}
	all := make([]cluster.Container, 0, len(specs))
	for _, spec := range specs {
		all = append(all, container(spec, state[spec.Name]))
	}
	return all
}

func container(spec corev1.Container, s corev1.ContainerStatus) cluster.Container {
	c := cluster.Container{
		Name:     spec.Name,
		Image:    spec.Image,
		Command:  append(slices.Clone(spec.Command), spec.Args...),
		GPUs:     requestsGPUs(spec.Resources.Limits),
		Ready:    s.Ready,
		Running:  s.State.Running != nil,
		Restarts: int(s.RestartCount),
		Injected: injected(spec),
	}
	ended := s.State.Terminated
	if ended == nil {
		ended = s.LastTerminationState.Terminated
	}
	if ended != nil {
		code := int(ended.ExitCode)
		c.ExitCode, c.Ended, c.Message = &code, ended.Reason, ended.Message
	}
	if w := s.State.Waiting; w != nil {
		c.Waiting = w.Reason
		if backOff := w.Reason == "CrashLoopBackOff" && c.Message != ""; w.Message != "" && !backOff {
			c.Message = w.Message // of a back-off it says how long; the message of the ended container says why
		}
	}
	return c
}

func requestsGPUs(limits corev1.ResourceList) bool {
	for name := range limits {
		if cluster.IsGPU(string(name)) {
			return true
		}
	}
	return false
}

// injected lists what plan/job adds to containers.
func injected(spec corev1.Container) []string {
	var all []string
	if len(spec.Command) > 0 && spec.Command[0] == delivery.Path {
		all = append(all, "command")
	}
	for _, v := range spec.Env {
		if strings.HasPrefix(v.Name, "RAILHEAD_") || v.Name == "NCCL_CONF_FILE" {
			all = append(all, "variable "+v.Name)
		}
	}
	for _, m := range spec.VolumeMounts {
		if strings.HasPrefix(m.Name, "railhead-") {
			all = append(all, "mount "+m.MountPath)
		}
	}
	if s := spec.SecurityContext; s != nil && s.Capabilities != nil &&
		slices.Contains(s.Capabilities.Add, plan.CapIPCLock) {
		all = append(all, "capability "+plan.CapIPCLock)
	}
	for name := range spec.Resources.Limits { // the pod's sum may have it from an init container alone
		if resource := string(name); len(all) > 0 && strings.Contains(resource, "/") && !cluster.IsGPU(resource) {
			all = append(all, cluster.InjectedResource+resource)
		}
	}
	slices.Sort(all)
	return all
}

// podRequests returns a pod's requests as the scheduler counts them, with the overhead of its runtime class
// (kubernetes pkg: k8s.io/component-helpers/resource/helpers.go, PodRequests).
func podRequests(spec *corev1.PodSpec) cluster.Resources {
	total := podAmounts(spec, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests })
	total.Add(resources(spec.Overhead))
	return nonEmpty(total)
}

// podLimits returns a pod's limits as quotas count them, with the overhead added to existing limits (the same file,
// PodLimits).
func podLimits(spec *corev1.PodSpec) cluster.Resources {
	total := podAmounts(spec, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits })
	for name, n := range resources(spec.Overhead) {
		if _, limited := total[name]; limited {
			total[name] += n
		}
	}
	return nonEmpty(total)
}

func nonEmpty(r cluster.Resources) cluster.Resources {
	if len(r) == 0 {
		return nil
	}
	return r
}

// podAmounts adds up requests or limits. The result is the larger of two sums: all containers and sidecars, or an init
// container and the sidecars that start before it. A sidecar is an init container that always restarts. Values of the
// pod as a whole replace both.
func podAmounts(spec *corev1.PodSpec, of func(corev1.ResourceRequirements) corev1.ResourceList) cluster.Resources {
	total, sidecars, peak := cluster.Resources{}, cluster.Resources{}, cluster.Resources{}
	for _, c := range spec.Containers {
		total.Add(resources(of(c.Resources)))
	}
	for _, c := range spec.InitContainers {
		has := cluster.Resources{}
		has.Add(resources(of(c.Resources)))
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			total.Add(has)
			sidecars.Add(has)
			raise(peak, sidecars)
			continue
		}
		has.Add(sidecars)
		raise(peak, has)
	}
	raise(total, peak)
	if spec.Resources != nil {
		maps.Copy(total, resources(of(*spec.Resources)))
	}
	return total
}

// raise raises each number of r to at least the number in least.
func raise(r, least cluster.Resources) {
	for name, n := range least {
		r[name] = max(r[name], n)
	}
}
