package kube

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
)

// from decodes a YAML literal as a codec does a JSON object.
func from[O any](t *testing.T, text string) *O {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o O
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

func TestConvertNode(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.Node
	}{
		"GPU worker of OpenShift while its pool rolls out": {`
metadata:
  name: moc-r4pcc02u15
  labels:
    kubernetes.io/arch: amd64
    node-role.kubernetes.io/worker: ""
    nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
    feature.node.kubernetes.io/cpu-model.vendor_id: Intel
  annotations:
    k8s.ovn.org/l3-gateway-config: '{"default":{"mode":"shared","bridge-id":"br-ex","interface-id":"br-ex_moc",
      "mac-address":"b8:3f:d2:03:00:aa","ip-addresses":["10.10.11.161/16"],"vlan-id":"0"}}'
    machineconfiguration.openshift.io/currentConfig: rendered-worker-1
    machineconfiguration.openshift.io/desiredConfig: rendered-worker-2
    machineconfiguration.openshift.io/state: Degraded
    machineconfiguration.openshift.io/reason: "failed to drain node"
    volumes.kubernetes.io/controller-managed-attach-detach: "true"
spec:
  unschedulable: true
  taints:
  - {key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: "2026-01-05T10:00:00Z"}
  - {key: nvidia.com/gpu, value: present, effect: NoSchedule}
status:
  addresses:
  - {type: InternalIP, address: 10.10.11.161}
  - {type: InternalIP, address: "fd00::161"}
  - {type: Hostname, address: moc-r4pcc02u15}
  capacity: {cpu: "128", memory: 2113393672Ki, nvidia.com/gpu: "8"}
  allocatable:
    cpu: 127500m
    memory: 2112242696Ki
    ephemeral-storage: "430295430126"
    hugepages-1Gi: "0"
    pods: "250"
    nvidia.com/gpu: "8"
    openshift.io/eno5np0rdma: "1"
    rdma/hca_shared: 1k
  conditions:
  - {type: MemoryPressure, status: "False", reason: KubeletHasSufficientMemory}
  - {type: Ready, status: "True", reason: KubeletReady, message: kubelet is posting ready status}
  nodeInfo:
    architecture: amd64
    osImage: Red Hat Enterprise Linux CoreOS 9.6.20251015-1
    kernelVersion: 5.14.0-570.49.1.el9_6.x86_64
    containerRuntimeVersion: cri-o://1.33.5-2.rhaos4.20
    kubeletVersion: v1.33.5
`, cluster.Node{
			Name: "moc-r4pcc02u15",
			Labels: map[string]string{"kubernetes.io/arch": "amd64", "node-role.kubernetes.io/worker": "",
				"nvidia.com/gpu.product":                         "NVIDIA-H100-80GB-HBM3",
				"feature.node.kubernetes.io/cpu-model.vendor_id": "Intel"},
			Ready: true, Unschedulable: true,
			Taints: []cluster.Taint{
				{
					Key:    "node.kubernetes.io/unschedulable",
					Effect: "NoSchedule",
				}, {Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"},
			},
			Arch: "amd64", OS: "Red Hat Enterprise Linux CoreOS 9.6.20251015-1", Kernel: "5.14.0-570.49.1.el9_6.x86_64",
			Runtime: "cri-o://1.33.5-2.rhaos4.20", Kubelet: "v1.33.5", Address: "10.10.11.161",
			GatewayMAC: "b8:3f:d2:03:00:aa",
			Allocatable: cluster.Resources{"cpu": 127500, "memory": 2112242696 * 1024,
				"ephemeral-storage": 430295430126, "hugepages-1Gi": 0, "pods": 250,
				"nvidia.com/gpu": 8, "openshift.io/eno5np0rdma": 1, "rdma/hca_shared": 1000},
			MachineConfig: cluster.NodeConfig{
				Current: "rendered-worker-1",
				Desired: "rendered-worker-2",
				State:   "Degraded",
				Reason:  "failed to drain node",
			},
		}},
		"kubelet stopped reporting": {`
metadata: {name: w1, labels: {kubernetes.io/arch: arm64}}
status:
  conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: Kubelet stopped posting node status.}]
`, cluster.Node{
			Name:     "w1",
			Labels:   map[string]string{"kubernetes.io/arch": "arm64"},
			Arch:     "arm64",
			NotReady: "NodeStatusUnknown: Kubelet stopped posting node status.",
		}},
		"just joined": {`metadata: {name: w2}`, cluster.Node{Name: "w2", NotReady: "the kubelet has not reported yet"}},
		"gateway annotation is no JSON": {`metadata: {name: w3, annotations: {k8s.ovn.org/l3-gateway-config: "{"}}`,
			cluster.Node{Name: "w3", NotReady: "the kubelet has not reported yet"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertNode(from[corev1.Node](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
