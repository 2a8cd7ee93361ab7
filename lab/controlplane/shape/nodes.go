package shape

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gpus is the number of GPUs of a GPU node.
const gpus = 8

// node returns a node with the labels and the annotation that every kubelet sets. Without any annotation the
// machine-config-operator's node controller panics, which no node of a real cluster makes it do.
func node(name string, more map[string]string, resources map[string]string) *corev1.Node {
	labels := map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
	}
	maps.Copy(labels, more)
	list := corev1.ResourceList{}
	for name, quantity := range resources {
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}},
		Status: corev1.NodeStatus{
			Capacity: list, Allocatable: list.DeepCopy(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: address(name)},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: id(name, "machine"), SystemUUID: id(name, "system"), BootID: id(name, "boot"),
				Architecture: "amd64", OperatingSystem: "linux",
			},
		},
	}
}

// address is a node's address, made from its name: of a documentation range, and used by nothing.
func address(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("198.18.%d.%d", h.Sum32()>>8&0xff, h.Sum32()&0xff)
}

// id is a UUID made from a node's name, so that a cluster is the same every time.
func id(name, kind string) string {
	h := fnv.New128a()
	_, _ = h.Write([]byte(kind + " " + name))
	s := h.Sum(nil)
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:])
}

// coreOS makes the node one of OpenShift's.
func coreOS(n *corev1.Node, role string) *corev1.Node {
	n.Labels["node-role.kubernetes.io/"+role] = ""
	n.Labels["node.openshift.io/os_id"] = "rhel"
	info := &n.Status.NodeInfo
	info.OSImage = "Red Hat Enterprise Linux CoreOS 9.8.20261102-0 (Plow)"
	info.KernelVersion = "5.14.0-687.12.1.el9_8.x86_64"
	info.ContainerRuntimeVersion = "cri-o://1.36.1-2.rhaos4.23.el9"
	info.KubeletVersion = "v1.36.3"
	return n
}

func master(i int) *corev1.Node {
	n := coreOS(node(fmt.Sprintf("master-%d", i), nil, map[string]string{
		"cpu": "31500m", "memory": "128Gi", "pods": "250", "ephemeral-storage": "400Gi",
	}), "master")
	n.Labels["node-role.kubernetes.io/control-plane"] = ""
	n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/master", Effect: corev1.TaintEffectNoSchedule}}
	return n
}

func cpuWorker(name string) *corev1.Node {
	labels := intel()
	labels["feature.node.kubernetes.io/pci-8086.present"] = "true"
	return coreOS(node(name, labels, map[string]string{
		"cpu":               "127500m",
		"memory":            "500Gi",
		"pods":              "250",
		"ephemeral-storage": "800Gi",
		"hugepages-1Gi":     "0",
		"hugepages-2Mi":     "0",
	}), "worker")
}

// gpuWorker is an OpenShift worker with eight H100, an allocatable resource for each rail's VFs, and the labels of node
// and GPU feature discovery.
func gpuWorker(name string, rails []rail) *corev1.Node {
	labels := intel()
	maps.Copy(labels, h100())
	labels["feature.node.kubernetes.io/network-sriov.capable"] = "true"
	labels["feature.node.kubernetes.io/rdma.available"] = "true"
	labels["feature.node.kubernetes.io/rdma.capable"] = "true"
	labels["feature.node.kubernetes.io/pci-15b3.present"] = "true"
	resources := gpuResources()
	for _, r := range rails {
		resources["openshift.io/"+r.resource] = strconv.Itoa(r.vfs)
	}
	return coreOS(node(name, labels, resources), "worker")
}

// plainNode is a GPU node of a Kubernetes that is not OpenShift.
func plainNode(name, rdma string, count int) *corev1.Node {
	labels := intel()
	maps.Copy(labels, h100())
	labels["feature.node.kubernetes.io/pci-15b3.present"] = "true"
	labels["feature.node.kubernetes.io/rdma.available"] = "true"
	resources := gpuResources()
	resources[rdma] = strconv.Itoa(count)
	n := node(name, labels, resources)
	info := &n.Status.NodeInfo
	info.OSImage, info.KernelVersion = "Ubuntu 24.04.3 LTS", "6.8.0-88-generic"
	info.ContainerRuntimeVersion, info.KubeletVersion = "containerd://2.2.1", "v1.36.3"
	return n
}

func gpuResources() map[string]string {
	return map[string]string{
		"cpu":               "191500m",
		"memory":            "1990Gi",
		"pods":              "250",
		"ephemeral-storage": "3Ti",
		"hugepages-1Gi":     "0",
		"hugepages-2Mi":     "0",
		"nvidia.com/gpu":    strconv.Itoa(gpus),
	}
}

// intel are labels of node feature discovery for a Sapphire Rapids.
func intel() map[string]string {
	const nfd = "feature.node.kubernetes.io/"
	return map[string]string{
		nfd + "cpu-model.vendor_id": "Intel", nfd + "cpu-model.family": "6", nfd + "cpu-model.id": "143",
		nfd + "cpu-hardware_multithreading": "true", nfd + "memory-numa": "true", nfd + "kernel-version.major": "5",
	}
}

// h100 are labels of node feature discovery, GPU feature discovery and the GPU operator for an HGX H100.
func h100() map[string]string {
	const nvidia = "nvidia.com/"
	return map[string]string{
		"feature.node.kubernetes.io/pci-10de.present": "true",
		nvidia + "gpu.present":                        "true",
		nvidia + "gpu.count":                          strconv.Itoa(gpus),
		nvidia + "gpu.replicas":                       "1",
		nvidia + "gpu.product":                        "NVIDIA-H100-80GB-HBM3",
		nvidia + "gpu.family":                         "hopper",
		nvidia + "gpu.memory":                         "81559",
		nvidia + "gpu.compute.major":                  "9",
		nvidia + "gpu.compute.minor":                  "0",
		nvidia + "gpu.sharing-strategy":               "none",
		nvidia + "cuda.driver-version.full":           "580.95.05",
		nvidia + "cuda.runtime-version.full":          "13.0",
		nvidia + "mig.capable":                        "true",
		nvidia + "mig.config":                         "all-disabled",
	}
}
