package fault

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
)

// podFaults are faults of a pod that is created with the fault: first pods that run, then pods that do not start.
func podFaults() []Fault {
	return append(runningPods(), stuckPods()...)
}

func runningPods() []Fault {
	runs := func(name, title string, change func(*corev1.Pod)) Fault {
		return onPod(name, title, func(ns, node string) []client.Object {
			p := trainer(ns, node)
			change(p)
			return []client.Object{p}
		}, isReady)
	}
	return []Fault{
		runs("verbs-not-permitted", "a container has the node's verbs nodes by a mount, and may open none of them",
			mountVerbs),
		runs("verbs-elsewhere",
			"another container of the pod was given its devices, so there is no /dev/infiniband in the one that trains",
			giveSidecar),
		runs(
			"ipc-lock-inert",
			"a container that does not run as root was given IPC_LOCK, which has no effect there",
			func(p *corev1.Pod) {
				train(p).SecurityContext.RunAsUser = new(int64(1000))
			},
		),
		runs(
			"privileged",
			"a privileged container sees and may open the devices of all pods of the node",
			func(p *corev1.Pod) {
				train(p).SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
			},
		),
		runs("shm-small", "/dev/shm has the 64 MiB of the container runtime", func(p *corev1.Pod) {
			train(p).VolumeMounts = slices.DeleteFunc(train(p).VolumeMounts,
				func(m corev1.VolumeMount) bool { return m.MountPath == sharedMemory })
		}),
		runs(
			"gid-index",
			"NCCL_IB_GID_INDEX is 3 in the container, which is right on other machines",
			func(p *corev1.Pod) {
				train(p).Env = []corev1.EnvVar{{Name: "NCCL_IB_GID_INDEX", Value: "3"}}
			},
		),
	}
}

// mountVerbs has the pod take the verbs nodes from its node instead of asking for devices. Who may open a character
// device is a matter of its cgroup, which the device plugin's answer opens, and no mount.
func mountVerbs(p *corev1.Pod) {
	p.Annotations, train(p).Resources = nil, corev1.ResourceRequirements{}
	const verbs = "/dev/infiniband"
	mount(p, "verbs", verbs, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: verbs}})
}

// giveSidecar gives the devices to the first container, as the network-resources-injector does, and has the second
// train.
func giveSidecar(p *corev1.Pod) {
	sidecar := train(p).DeepCopy()
	sidecar.Name = "sidecar"
	train(p).Resources = corev1.ResourceRequirements{}
	p.Annotations["kubectl.kubernetes.io/default-container"] = Pod
	p.Spec.Containers = append([]corev1.Container{*sidecar}, p.Spec.Containers...)
}

func stuckPods() []Fault {
	first := fabric.Rails()[0]
	return []Fault{
		onPod(
			"resource-unknown",
			"a network attachment names a resource that no node offers",
			func(ns, node string) []client.Object {
				const lost = "openshift.io/nowhererdma"
				p := trainer(ns, node)
				train(p).Resources = corev1.ResourceRequirements{}
				ask(p, lost, "1")
				attach(p, "nowhere")
				return []client.Object{network(ns, "nowhere", lost, `"range":"192.168.7.0/24"`), p}
			},
			isUnschedulable,
		),
		onPod(
			"resource-exhausted",
			"other pods hold all virtual functions of a rail",
			func(ns, node string) []client.Object {
				holder := trainer(ns, node)
				holder.Name, holder.Labels, holder.Annotations = "holder", nil, nil
				train(holder).Resources = corev1.ResourceRequirements{}
				ask(holder, fabric.Resource(first), fmt.Sprint(fabric.VirtualFunctions))
				return []client.Object{holder, trainer(ns, node)}
			},
			isUnschedulable,
		),
		onPod(
			"addresses-exhausted",
			"the range of a network attachment has no address left, so the CNI plugin fails",
			func(ns, node string) []client.Object {
				only := fabric.Subnet(0).Addr().As4()
				only[3] = 240
				address := netip.AddrFrom4(only)
				ipam := fmt.Sprintf(`"range":%q,"range_start":%q,"range_end":%q,"exclude":["%s/32"]`,
					fabric.Subnet(0), address, address, address)
				p := trainer(ns, node)
				train(p).Resources = corev1.ResourceRequirements{}
				ask(p, fabric.Resource(first), "1")
				attach(p, first)
				return []client.Object{network(ns, first, fabric.Resource(first), ipam), p}
			},
			hasNoSandbox,
		),
	}
}

// network is a network attachment of a namespace's own.
func network(ns, name, resource, ipam string) *networksv1.NetworkAttachmentDefinition {
	const config = `{"cniVersion":"0.4.0","name":%q,"type":"sriov",` +
		`"ipam":{"type":"whereabouts",%s,"kubernetes":{"kubeconfig":%q}}}`
	return &networksv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, Annotations: map[string]string{"k8s.v1.cni.cncf.io/resourceName": resource},
		},
		Spec: networksv1.NetworkAttachmentDefinitionSpec{
			Config: fmt.Sprintf(config, name, ipam, guest.OwnFolder+"/cni.kubeconfig"),
		},
	}
}

func isReady(p podSeen) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func isUnschedulable(p podSeen) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable &&
			strings.Contains(c.Message, "Insufficient")
	})
}

func hasNoSandbox(p podSeen) bool {
	return slices.ContainsFunc(p.events, func(e corev1.Event) bool { return e.Reason == "FailedCreatePodSandBox" })
}

// networkPluginFaults are faults of a node's network plugins. Existing pods keep their networks.
func networkPluginFaults() []Fault {
	return []Fault{{
		Name:  "multus-timeout",
		Title: "Multus gets no answer from the API server in time, so no pod of the node gets a network",
		Nodes: true,
		make: script("test -e "+keptKubeconfig+" || cp "+multusKubeconfig+" "+keptKubeconfig,
			"sed -i 's#server: https://[^:]*:#server: https://"+nobody+":#' "+multusKubeconfig),
		heal: script("test ! -e " + keptKubeconfig + " || mv " + keptKubeconfig + " " + multusKubeconfig),
	}}
}

const (
	multusKubeconfig = "/etc/cni/net.d/multus.d/multus.kubeconfig"
	keptKubeconfig   = "/run/multus.kubeconfig"
	nobody           = "10.0.8.254" // of the network between the nodes: Multus gives up before the kernel does
)
