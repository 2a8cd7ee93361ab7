package clusterrules

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

const operators = "openshift-sriov-network-operator"

// pool returns the pool of all nodes.
func pool(s *cluster.State) *cluster.Pool {
	if len(s.Pools) == 0 {
		s.Pools = []cluster.Pool{{
			Name:         "worker",
			NodeSelector: map[string]string{"node-role.kubernetes.io/worker": ""},
			Target:       "rendered",
			Current:      "rendered",
		}}
		for i := range s.Nodes {
			s.Nodes[i].Labels = map[string]string{"node-role.kubernetes.io/worker": ""}
			s.Nodes[i].MachineConfig = cluster.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"}
		}
	}
	return &s.Pools[0]
}

// webhookServes gives namespace train the label of the webhook.
func webhookServes(s *cluster.State) {
	s.Namespaces[0].Labels = map[string]string{workload.WebhookLabel: workload.WebhookEnabled}
}

// clusterFault is a fault in a cluster, and what is found.
type clusterFault struct {
	change func(*cluster.State)
	job    string   // to check
	want   []string // status and check of the findings, in order
	says   string   // in the first
	folded []string // under the first
}

// inject makes the pods those of a JobSet with an injected template, and of another template without rails.
func inject(s *cluster.State) {
	s.Read = append(s.Read, cluster.Workloads)
	template := *rulestest.Pod(s, "h-kim-0")
	template.Annotations = map[string]string{
		networksAnnotation: template.Annotations[networksAnnotation], workload.Injected: workload.ByCommand,
	}
	template.Containers = []cluster.Container{
		{Name: "railhead-pod-install", Init: true},
		{Name: "train", Injected: []string{"command", "variable RAILHEAD_MODE"}},
	}
	data := cluster.Pod{Namespace: "train", Containers: []cluster.Container{{Name: "download"}}}
	s.Workloads = []cluster.Workload{
		{
			Kind: "JobSet", Namespace: "train", Name: "h-kim", Size: 2, Wanted: 2,
			Templates: []cluster.Pod{data, template},
		},
		{
			Kind: "Job", Namespace: "train", Name: "h-kim-worker-0", Owner: "JobSet/h-kim", Size: 2, Wanted: 2,
			Templates: []cluster.Pod{template},
		},
	}
	for _, name := range []string{"h-kim-0", "h-kim-1"} {
		p := rulestest.Pod(s, name)
		p.Owner, p.Containers = "Job/h-kim-worker-0", slices.Clone(template.Containers)
		p.Containers[1].Running, p.Containers[1].Ready = true, true
		if name == "h-kim-1" {
			slices.Reverse(p.Containers)
		}
	}
}

func clusterFaults() map[string]clusterFault {
	return map[string]clusterFault{
		"healthy": {},
		"an attachment names a resource that no node offers, and a pod waits for it": {
			change: func(s *cluster.State) {
				s.Networks[1].Resource = "openshift.io/rial1"
				p := rulestest.Pod(s, "h-kim-1")
				p.Requests = cluster.Resources{"openshift.io/rail0": 1, "openshift.io/rial1": 1}
				rulestest.Pod(s, "h-kim-0").Annotations = nil
				rulestest.Pending(s, "h-kim-1", "FailedScheduling", "0/2 nodes are available: 2 Insufficient "+
					"openshift.io/rial1.")
			},
			want:   []string{"fail network-resource"},
			says:   "no node offers openshift.io/rial1",
			folded: []string{"resource-name-mismatch"},
		},
		"a pod that waits for its image is no consequence of a broken attachment": {
			change: func(s *cluster.State) {
				s.Networks = append(s.Networks, cluster.Network{
					Namespace: "train",
					Name:      "rail9",
					Resource:  "openshift.io/rail9",
					Type:      "sriov",
				})
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase = false, "Pending"
				p.Containers = []cluster.Container{
					{Name: "train", Waiting: "ImagePullBackOff", Message: "Back-off pulling image \"x\": not found"},
				}
			},
			want: []string{"fail network-resource", "fail image-pull"},
		},
		"a claimed device is not ready": {
			change: func(s *cluster.State) {
				rulestest.Claim(s, "eth1", "eth1")
				s.ResourceClaims[1].Conditions = []cluster.DeviceCondition{
					{Device: "eth1", Driver: cluster.DRANet, Type: "NetworkReady", Status: "True"},
					{Device: "eth1", Driver: cluster.DRANet, Type: "RDMALinkReady", Status: "False", Reason: "Busy"},
				}
			},
			want: []string{"fail claimed-device"},
			says: "device eth1, which pod h-kim-1 claims, is not ready: RDMALinkReady is false (Busy)",
		},
		"pods of a job claimed different rails": {
			change: func(s *cluster.State) { rulestest.Claim(s, "eth1", "eth2") },
			want:   []string{"warn claimed-rails"},
			says:   "claimed different rails",
		},
		"pods of a job claimed the same rails": {change: func(s *cluster.State) { rulestest.Claim(s, "eth1", "eth1") }},
		"a job in a ComputeDomain, on a node without a clique": {
			change: func(s *cluster.State) { rulestest.ComputeDomain(s, "5a3e.1", "") },
			want:   []string{"warn nvlink-clique"},
			says:   "1 node of job/h-kim without an NVLink clique, which the others have: NVLink does not join gpu-1",
		},
		"a job in a ComputeDomain over two cliques": {
			change: func(s *cluster.State) { rulestest.ComputeDomain(s, "5a3e.1", "5a3e.2") },
			want:   []string{"pass nvlink-clique"},
			says:   "in 2 NVLink cliques",
		},
		"a job in a ComputeDomain of one clique": {
			change: func(s *cluster.State) { rulestest.ComputeDomain(s, "5a3e.1", "5a3e.1") },
		},
		"nodes whose cliques no label names": {
			change: func(s *cluster.State) { rulestest.ComputeDomain(s, "", "") },
		},
		"the injector adds to what a pod requests": {
			change: func(s *cluster.State) {
				for resource := range rulestest.Pod(s, "h-kim-0").Requests {
					if strings.HasPrefix(resource, "openshift.io/") {
						rulestest.Pod(s, "h-kim-0").Requests[resource] *= 2
					}
				}
			},
			want: []string{"warn pod-resources"},
			says: "pod h-kim-0 requests twice as many devices as it has attachments",
		},
		"the SR-IOV operator failed on a node": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].SyncStatus, s.SriovNodes[1].SyncError = "Failed", "numVfs 64 is more than 16"
				s.Nodes[1].Allocatable["openshift.io/rail1"] = 0
			},
			want: []string{"fail sriov-node-state"},
			says: "numVfs 64",
			folded: []string{
				"vf-count", "resource-zero", "rdma-resources", "transport-supported", "rails-even", "network-resource",
			},
		},
		"the SR-IOV operator cannot drain a node": {
			change: func(s *cluster.State) {
				n := &s.SriovNodes[1]
				n.SyncStatus = "InProgress"
				n.SyncError = `error when evicting pods/"web-0" -n "shop": global timeout reached: 1m30s`
				n.Drain = cluster.SriovDrain{Current: "Draining", Desired: "Drain_Required"}
			},
			want: []string{"fail sriov-node-state"},
			says: `its last attempt failed: error when evicting pods/"web-0"`,
			folded: []string{
				"vf-count", "resource-zero", "rdma-resources", "transport-supported", "rails-even", "network-resource",
			},
		},
		"a node waits for its drain": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].SyncStatus = "InProgress"
				s.SriovNodes[1].Drain = cluster.SriovDrain{Current: "Idle", Desired: "Drain_Required"}
			},
			want: []string{"warn sriov-node-state"},
			says: "it must drain the node first, and the drain has not begun",
			folded: []string{
				"vf-count", "resource-zero", "rdma-resources", "transport-supported", "rails-even", "network-resource",
			},
		},
		"a node that has been drained": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].SyncStatus = "InProgress"
				s.SriovNodes[1].Drain = cluster.SriovDrain{Current: "DrainComplete", Desired: "Drain_Required"}
			},
		},
		"a card without a link": {
			change: func(s *cluster.State) { s.SriovNodes[1].Interfaces[0].LinkSpeed = "-1 Mb/s" },
			want:   []string{"warn port-active"},
			says:   "has no link",
		},
		"a card without a link that nothing uses": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].Interfaces = append(s.SriovNodes[1].Interfaces, cluster.SriovInterface{
					Name: "ens9", Vendor: "15b3", DeviceID: "1021", LinkState: "down", LinkSpeed: "-1 Mb/s",
				})
			},
		},
		"fewer virtual functions than the operator wants, and no policy that can be read": {
			change: func(s *cluster.State) {
				i := &s.SriovNodes[1].Interfaces[0]
				i.VFs, i.Wanted, s.SriovPolicies = 4, 8, nil
			},
			want: []string{"warn vf-count"},
			says: "the spec of its SriovNetworkNodeState requests 8",
		},
		"fewer devices than virtual functions": {
			change: func(s *cluster.State) {
				i := &s.SriovNodes[1].Interfaces[0]
				i.VFs, i.Wanted, i.Groups = 8, 8, map[string]int{"rail0": 8}
				s.Nodes[1].Allocatable["openshift.io/rail0"] = 6
			},
			want:   []string{"warn resource-zero"},
			says:   "node gpu-1 offers 6 openshift.io/rail0, but its cards have 8 virtual functions for it",
			folded: []string{"rails-even"},
		},
		"as many devices as virtual functions": {
			change: func(s *cluster.State) {
				i := &s.SriovNodes[1].Interfaces[0]
				i.VFs, i.Wanted, i.Groups = 8, 8, map[string]int{"rail0": 8}
				s.Nodes[1].Allocatable["openshift.io/rail0"] = 8
			},
		},
		"Elastic Fabric Adapters alone": {
			change: func(s *cluster.State) {
				s.Networks, s.SriovPolicies, s.SriovNodes = nil, nil, nil
				for i := range s.Nodes {
					s.Nodes[i].Allocatable = cluster.Resources{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}
				}
				for i := range s.Pods {
					s.Pods[i].Annotations = nil
					if s.Pods[i].Requests["nvidia.com/gpu"] > 0 {
						s.Pods[i].Requests = cluster.Resources{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}
					}
				}
			},
			want: []string{"warn transport-supported"},
			says: "only Elastic Fabric Adapters (vpc.amazonaws.com/efa)",
		},
		"no node offers a GPU": {
			change: func(s *cluster.State) {
				for _, n := range s.Nodes {
					delete(n.Allocatable, "nvidia.com/gpu")
				}
			},
			want: []string{"fail gpu-nodes"}, says: "none of 2 nodes offers a GPU",
		},
		"no node offers a GPU, and no pod requests one": {
			change: func(s *cluster.State) {
				for _, n := range s.Nodes {
					delete(n.Allocatable, "nvidia.com/gpu")
				}
				for _, p := range s.Pods {
					delete(p.Requests, "nvidia.com/gpu")
				}
			},
		},
		"no node offers a GPU, and a pod may have one by a claim": {
			change: func(s *cluster.State) {
				for _, n := range s.Nodes {
					delete(n.Allocatable, "nvidia.com/gpu")
				}
				for i := range s.Pods {
					delete(s.Pods[i].Requests, "nvidia.com/gpu")
					s.Pods[i].Claims = []string{"gpu"}
				}
			},
			want: []string{"fail gpu-nodes"}, says: "none of 2 nodes offers a GPU",
		},
		"no node offers RDMA, and a pod waits for its image": {
			change: func(s *cluster.State) {
				for i := range s.Nodes {
					s.Nodes[i].Allocatable = cluster.Resources{"nvidia.com/gpu": 8}
				}
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase = false, "Pending"
				p.Containers = []cluster.Container{{Name: "train", Waiting: "ImagePullBackOff", Message: "not found"}}
			},
			want:   []string{"fail rdma-resources", "fail image-pull"},
			says:   "none of 2 nodes with GPUs offers an RDMA resource",
			folded: []string{"transport-supported", "rails-even", "network-resource"},
		},
		"a node lacks a rail": {
			change: func(s *cluster.State) { delete(s.Nodes[1].Allocatable, "openshift.io/rail1") },
			want:   []string{"warn rails-even"}, says: "1 of 2 nodes with GPUs lack RDMA resources",
		},
		"node gpu-1 is broken, and a pod fails on gpu-10 for another reason": {
			change: func(s *cluster.State) {
				ten := s.Nodes[1]
				ten.Name = "gpu-10"
				s.Nodes = append(s.Nodes, ten)
				s.Pods = append(s.Pods, rulestest.Driver("gpu-1"))
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node, p.Reason = false, "Failed", "gpu-10", "UnexpectedAdmissionError"
				p.Message = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu"
				rulestest.Pod(s, "h-kim-0").Node = "gpu-1"
			},
			want: []string{"fail device-allocate", "warn driver-pods"},
		},
		"node gpu-1 is broken, and a pod fails there": {
			change: func(s *cluster.State) {
				s.Pods = append(s.Pods, rulestest.Driver("gpu-1"))
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Reason = false, "Failed", "UnexpectedAdmissionError"
				p.Message = "Allocate failed due to no healthy devices present"
			},
			want: []string{"fail driver-pods"}, folded: []string{"device-allocate"},
		},
		"a card has fewer virtual functions than its policies request": {
			change: func(s *cluster.State) { s.SriovNodes[1].Interfaces[0].VFs = 4 },
			want:   []string{"warn vf-count"}, says: "eno5 has 4 virtual functions, but policy rail1 requests 8",
		},
		"the firmware of a card allows none": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].Interfaces[0].VFs, s.SriovNodes[1].Interfaces[0].TotalVFs = 0, 0
			},
			want: []string{"warn vf-count"}, says: "; its firmware allows 0",
		},
		"the operator still creates virtual functions": {
			change: func(s *cluster.State) {
				s.SriovNodes[1].Interfaces[0].VFs, s.SriovNodes[1].SyncStatus = 4, "InProgress"
			},
		},
		"a policy for other nodes": {
			change: func(s *cluster.State) {
				s.SriovPolicies = append(s.SriovPolicies[:0], cluster.SriovPolicy{
					Name:         "rail0",
					ResourceName: "rail0",
					RDMA:         true,
					VFs:          16,
					Vendor:       "15b3",
					NodeSelector: map[string]string{"pool": "b"},
				})
			},
		},
		"a resource is advertised with 0": {
			change: func(s *cluster.State) { s.Nodes[1].Allocatable["openshift.io/rail1"] = 0 },
			want:   []string{"warn resource-zero"},
			says:   "openshift.io/rail1 is advertised with 0 on gpu-1, and offered by 1 other node",
			folded: []string{"rails-even"},
		},
		"the network driver's container crashes on a node": {
			change: func(s *cluster.State) { s.Pods = append(s.Pods, rulestest.Driver("gpu-1")) },
			want:   []string{"warn driver-pods"},
			says: "pod nvidia-network-operator/mofed-gpu-1, which installs a driver on node gpu-1, " +
				"is Running and not ready",
		},
		"the network driver's container crashes on an unrelated node": {
			change: func(s *cluster.State) { s.Pods = append(s.Pods, rulestest.Driver("gpu-9")) },
		},
		"the network driver took the node's own network away": {
			change: func(s *cluster.State) {
				s.Pods = append(s.Pods, rulestest.Driver("gpu-1"))
				s.Nodes[1].Ready, s.Nodes[1].NotReady = false, "NodeStatusUnknown: Kubelet stopped posting node status."
			},
			want: []string{"fail driver-pods"}, says: "the node is not Ready",
		},
		"the device plugin does not run on a node": {
			change: func(s *cluster.State) {
				p := rulestest.Pod(s, "plugin-gpu-1")
				p.Ready, p.Reason = false, "CrashLoopBackOff"
				s.Nodes[1].Allocatable["openshift.io/rail1"] = 0
			},
			want:   []string{"fail device-plugin"},
			says:   "node gpu-1: pod openshift-sriov-network-operator/plugin-gpu-1 is Running (CrashLoopBackOff)",
			folded: []string{"resource-zero", "rdma-resources", "transport-supported", "rails-even", "network-resource"},
		},
		"the device plugin has no pod on a node": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == "plugin-gpu-1" })
			},
			want:   []string{"fail device-plugin"},
			says:   "it has no pod there",
			folded: []string{"resource-zero", "rdma-resources", "transport-supported", "rails-even", "network-resource"},
		},
		"the device plugin has no pod on a node whose virtual functions are of no policy": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == "plugin-gpu-1" })
				for i := range s.SriovPolicies {
					s.SriovPolicies[i].NodeSelector = map[string]string{"kubernetes.io/hostname": "gpu-0"}
				}
			},
		},
		"the operator's pods are not visible": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Namespace == operators })
			},
		},
		"no injector": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool {
					return strings.HasPrefix(p.Name, "injector-")
				})
			},
			want: []string{"warn resources-injector"}, says: "does not run",
		},
		"a controller erased what Railhead added to a template": {
			change: func(s *cluster.State) {
				inject(s)
				p := rulestest.Pod(s, "h-kim-1")
				p.Annotations, p.Requests = nil, cluster.Resources{"nvidia.com/gpu": 8}
				p.Containers = p.Containers[:1]
				p.Containers[0].Injected = []string{"variable RAILHEAD_MODE"}
			},
			want: []string{"fail injection-kept"},
			says: "not all of it reached pod h-kim-1: annotation k8s.v1.cni.cncf.io/networks, resource openshift.io/rail0, " +
				"resource openshift.io/rail1, init container railhead-pod-install, command of container train is missing",
		},
		"a controller kept what Railhead added to a template": {change: inject},
		"a pod's resources were erased": {
			change: func(s *cluster.State) { delete(rulestest.Pod(s, "h-kim-0").Requests, "openshift.io/rail1") },
			want:   []string{"fail pod-resources"},
			says:   "pod h-kim-0 is attached to networks but does not request openshift.io/rail1",
		},
		"Kubeflow Trainer erased a pod's resources": {
			change: func(s *cluster.State) {
				p := rulestest.Pod(s, "h-kim-0")
				p.Labels = map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
				p.Annotations = map[string]string{
					networksAnnotation: `[{"name":"rail0"},{"name":"rail1","namespace":"train"}]`,
				}
				p.Requests = cluster.Resources{"nvidia.com/gpu": 8}
			},
			want: []string{"fail pod-resources"}, says: "Kubeflow Trainer replaces the container's own requests",
		},
		"a TrainJob erased a pod's resources": {
			change: func(s *cluster.State) {
				rulestest.TrainJob(s, cluster.Resources{"nvidia.com/gpu": 8})
				p := rulestest.Pod(s, "h-kim-0")
				p.Requests = cluster.Resources{"nvidia.com/gpu": 8}
			},
			want: []string{"fail pod-resources"},
			says: "resourcesPerNode of TrainJob h-kim replaces the requests of its runtime",
		},
		"a TrainJob erased the resources of the container that trains, not those of its init container": {
			change: func(s *cluster.State) {
				rulestest.TrainJob(s, cluster.Resources{"nvidia.com/gpu": 8})
				files := func(resources ...string) []cluster.Container {
					return []cluster.Container{
						{Name: "railhead-pod-files", Init: true, Injected: []string{
							"command", "resource openshift.io/rail0", "resource openshift.io/rail1",
						}},
						{Name: "node", Injected: append([]string{"mount /etc/nccl.conf"}, resources...)},
						{Name: "proxy"},
					}
				}
				rulestest.Pod(s, "h-kim-0").Containers = files()
				rulestest.Pod(s, "h-kim-1").Containers = files("resource openshift.io/rail0", "resource openshift.io/rail1")
			},
			want: []string{"fail pod-resources"},
			says: "pod h-kim-0 is attached to networks but only its init container requests openshift.io/rail0, " +
				"openshift.io/rail1: the container that trains gets no RDMA device; resourcesPerNode of TrainJob h-kim " +
				"replaces the requests of its runtime",
		},
		"the runtime of a TrainJob requests none": {
			change: func(s *cluster.State) {
				rulestest.TrainJob(s, nil)
				rulestest.Pod(s, "h-kim-0").Requests = cluster.Resources{"nvidia.com/gpu": 8}
			},
			want: []string{"fail pod-resources"}, says: "it gets no RDMA device",
		},
		"a job on two nodes requests only GPUs": {
			change: rulestest.GPUsOnly,
			want:   []string{"fail rdma-requested"},
			says:   "2 pods of h-kim have GPUs on several nodes and request no RDMA resource",
		},
		"a TrainJob requests only GPUs": {
			change: func(s *cluster.State) {
				rulestest.TrainJob(s, cluster.Resources{"cpu": 8000, "nvidia.com/gpu": 8})
				rulestest.GPUsOnly(s)
			},
			want: []string{"fail rdma-requested"}, says: "resourcesPerNode of TrainJob h-kim replaces the requests",
		},
		"a job without rails where the webhook should have given them": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				webhookServes(s)
			},
			want:   []string{"fail webhook-injects"},
			says:   "2 pods with GPUs in namespace train got no rails from the webhook",
			folded: []string{"rdma-requested"},
		},
		"a pod that opted out of the webhook, and one with rails": {
			change: func(s *cluster.State) {
				webhookServes(s)
				p := rulestest.Pod(s, "h-kim-0")
				p.Requests = cluster.Resources{"nvidia.com/gpu": 8}
				p.Annotations = map[string]string{workload.WebhookLabel: workload.WebhookDisabled}
			},
		},
		"a job on one node requests only GPUs": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				rulestest.Pod(s, "h-kim-1").Node = "gpu-0"
			},
		},
		"independent replicas": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				rulestest.Pod(s, "h-kim-0").Labels, rulestest.Pod(s, "h-kim-1").Labels = nil, nil
			},
		},
		"a job with claims": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				rulestest.Pod(s, "h-kim-0").Claims = []string{"nics"}
				rulestest.Pod(s, "h-kim-1").Claims = []string{"nics"}
			},
		},
		"a job on nodes without RDMA": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				rulestest.Pod(s, "h-kim-0").Node, rulestest.Pod(s, "h-kim-1").Node = "l40s-0", "l40s-1"
			},
		},
		"no SCC lets pods lock memory": {
			change: func(s *cluster.State) { s.SCCs = s.SCCs[:2] },
			want:   []string{"warn scc-for-rdma"}, folded: []string{"scc-granted"},
		},
		"the SCC is not granted": {
			change: func(s *cluster.State) {
				s.SCCGrants = s.SCCGrants[1:]
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Namespace == "train" })
				template := map[string]any{"spec": map[string]any{"serviceAccountName": "railhead"}}
				s.Objects = []cluster.Object{{
					Kind: "StatefulSet", Namespace: "train", Name: "h-kim",
					Fields: map[string]any{"spec": map[string]any{"replicas": float64(2), "template": template}},
				}}
				s.Events = []cluster.Event{{
					Namespace: "train", Object: "StatefulSet/h-kim", Type: "Warning", Reason: "FailedCreate",
					Message: `pods "h-kim-0" is forbidden: unable to validate against any security context ` +
						`constraint: ` +
						`[provider restricted-v2: .containers[0].capabilities.add: Invalid value: "IPC_LOCK": ` +
						`capability may not be added]`,
				}}
			},
			job:    "h-kim",
			want:   []string{"fail scc-granted"},
			says:   "service account railhead of namespace train",
			folded: []string{"scc-ipc-lock"},
		},
		"the SCC is granted for the whole cluster": {
			change: func(s *cluster.State) {
				s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
					SCC:     "railhead-rdma",
					Subject: "ServiceAccount/train/railhead",
					By:      "ClusterRoleBinding/system:openshift:scc:railhead-rdma",
				})
			},
			want: []string{"warn scc-scope"},
			says: "SCC railhead-rdma is granted for the whole cluster to ServiceAccount/train/railhead",
		},
		"everyone may be privileged": {
			change: func(s *cluster.State) {
				s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
					SCC:     "privileged",
					Subject: "Group/system:authenticated",
					By:      "ClusterRoleBinding/x",
				})
			},
			want: []string{"warn scc-scope"}, says: "Group/system:authenticated",
		},
		"a paused pool": {
			change: func(s *cluster.State) { pool(s).Paused, pool(s).Target = true, "rendered-new" },
			want:   []string{"fail pool-not-paused"}, says: "paused, and not by Railhead",
		},
		"a pool that setup left paused": {
			change: func(s *cluster.State) {
				pool(s).Paused = true
				pool(s).Annotations = map[string]string{cluster.AnnotationPausedBy: cluster.PausedBySetup}
			},
			want: []string{"warn pool-not-paused"}, says: "which was interrupted",
		},
		"a degraded pool": {
			change: func(s *cluster.State) {
				pool(s).Conditions = []cluster.Condition{{Type: "NodeDegraded", Status: "True", Message: "disk full"}}
			},
			want: []string{"fail pool-healthy"}, says: "disk full",
		},
		"a pool in a rollout": {
			change: func(s *cluster.State) {
				pool(s).Target = "rendered-new"
				s.Nodes[1].MachineConfig.Desired, s.Nodes[1].MachineConfig.State = "rendered-new", "Working"
			},
			want: []string{"warn pool-idle"}, says: "pool worker is half rolled out: 2 of 2 nodes lack rendered-new",
		},
		"a cordoned node blocks the rollout, and a pod cannot be scheduled": {
			change: func(s *cluster.State) {
				pool(s).Target = "rendered-new"
				s.Nodes[1].Unschedulable = true
				rulestest.Pending(s, "h-kim-1", "FailedScheduling", "0/2 nodes are available: 1 node(s) were "+
					"unschedulable, 1 node(s) had untolerated taint {a: b}.")
			},
			want:   []string{"fail rollout-progress"},
			says:   "it waits for cordoned nodes: gpu-1",
			folded: []string{"node-selection"},
		},
		"a pod that is not scheduled yet names a network of another namespace": {
			change: func(s *cluster.State) {
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node, p.Annotations = false, "Pending", "", map[string]string{
					networksAnnotation: `[{"name": "rail0"}, {"name": "rail7"}]`,
				}
			},
			want: []string{"fail nad-missing"},
			says: "pod h-kim-1 names network rail7, which namespace train does not have",
		},
		"a pod that is not scheduled yet has an annotation with a typing error": {
			change: func(s *cluster.State) {
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node, p.Annotations = false, "Pending", "", map[string]string{
					networksAnnotation: `[{"name": "rail0"}, {"name": "rail1"]`,
				}
			},
			want: []string{"fail nad-missing"}, says: "that is no list in JSON",
		},
		"a pod that is not scheduled yet names an attachment whose configuration is not JSON": {
			change: func(s *cluster.State) {
				broken := cluster.Network{Namespace: "train", Name: "x", Broken: "invalid character"}
				s.Networks = append(s.Networks, broken)
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node = false, "Pending", ""
				p.Annotations = map[string]string{networksAnnotation: "rail0,x"}
			},
			want: []string{"fail nad-missing"},
			says: "network train/x, whose configuration cannot be read: invalid character",
		},
		"a pod that is not scheduled yet names the networks of its namespace, and one that may not be read": {
			change: func(s *cluster.State) {
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node, p.Annotations = false, "Pending", "", map[string]string{
					networksAnnotation: "rail0, train/rail1@net2, default/storage",
				}
			},
		},
		"a pod that is not scheduled yet, and attachments that the user may not list": {
			change: func(s *cluster.State) {
				s.Networks = nil
				s.Problems = []cluster.Problem{{
					Kind: cluster.Networks, Namespace: "train", Err: "forbidden", Forbidden: true,
				}}
				p := rulestest.Pod(s, "h-kim-1")
				p.Ready, p.Phase, p.Node = false, "Pending", ""
			},
		},
		"lists that the user may not read": {
			change: func(s *cluster.State) {
				s.Problems = []cluster.Problem{
					{Kind: cluster.SCCs, Err: "forbidden", Forbidden: true},
					{Kind: cluster.SCCGrants, Err: "forbidden", Forbidden: true},
				}
			},
		},
		"pods of other namespaces that the user may not list": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Namespace == operators })
				s.Problems = []cluster.Problem{{Kind: cluster.Pods, Err: "forbidden", Forbidden: true}}
			},
		},
		"a wrong attachment, for a user who may see little else": {
			change: func(s *cluster.State) {
				s.Pods = slices.DeleteFunc(s.Pods, func(p cluster.Pod) bool { return p.Namespace == operators })
				s.SriovNodes, s.SCCs, s.SCCGrants = nil, nil, nil
				s.Networks[1].Resource = "openshift.io/rial1"
				rulestest.Pod(s, "h-kim-0").Annotations, rulestest.Pod(s, "h-kim-1").Annotations = nil, nil
				for _, kind := range []cluster.Kind{
					cluster.Pods, cluster.SriovNodes, cluster.SCCs, cluster.SCCGrants, cluster.Pools,
				} {
					s.Problems = append(s.Problems, cluster.Problem{Kind: kind, Err: "forbidden", Forbidden: true})
				}
			},
			want: []string{"fail network-resource"},
		},
		"own pods that the user may not list": {
			change: func(s *cluster.State) {
				s.Pods = nil
				s.Problems = []cluster.Problem{{Kind: cluster.Pods, Err: "forbidden", Forbidden: true}}
			},
			want: []string{"unknown cluster-readable"},
		},
		"a list that could not be read": {
			change: func(s *cluster.State) { s.Problems = []cluster.Problem{{Kind: cluster.SCCs, Err: "EOF"}} },
			want:   []string{"unknown cluster-readable"},
		},
	}
}

func TestCluster(t *testing.T) {
	for name, test := range clusterFaults() {
		t.Run(name, func(t *testing.T) {
			s := rulestest.Training(t)
			if test.change != nil {
				test.change(&s)
			}
			r := Judge(s, Options{Namespace: "train", Job: workload.Ref{Name: test.job}})
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Status.String()+" "+string(f.Check))
			}
			if !slices.Equal(got, test.want) {
				t.Fatalf("found %q, want %q\n%+v", got, test.want, r.Findings)
			}
			if len(got) == 0 {
				return
			}
			if !strings.Contains(r.Findings[0].Summary, test.says) {
				t.Errorf("%q has no %q", r.Findings[0].Summary, test.says)
			}
			var folded []string
			for _, id := range r.Folded(r.Findings[0].Check) {
				folded = append(folded, string(id))
			}
			if !slices.Equal(folded, test.folded) {
				t.Errorf("folded %q, want %q", folded, test.folded)
			}
		})
	}
}

// Unreadable lists are findings if the whole cluster is checked.
func TestWholeCluster(t *testing.T) {
	s := rulestest.Training(t)
	s.Problems = []cluster.Problem{{Kind: cluster.SCCs, Err: "forbidden", Forbidden: true}}
	if r := Judge(s, Options{Whole: true}); len(r.Findings) != 1 || r.Findings[0].Check != ClusterReadable {
		t.Errorf("%+v", r.Findings)
	}
}

// A check whose lists are unknown does not pass.
func TestClusterUnread(t *testing.T) {
	r := Judge(cluster.State{}, Options{})
	for _, id := range r.Passed {
		if id != ClusterReadable && id != pods.PodPending {
			t.Errorf("%s passed, and nothing was read", id)
		}
	}
	if len(r.Skipped) < 10 || len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestRows asserts that every row has a page with its title, a case in which it fires, and passes in a healthy cluster.
func TestRows(t *testing.T) {
	fires := map[check.ID]bool{}
	for _, c := range clusterFaults() {
		for _, want := range c.want {
			_, id, _ := strings.Cut(want, " ")
			fires[check.ID(id)] = true
		}
	}
	fires[pods.PodPending] = fires[pods.ImagePull]
	healthy := rulestest.Training(t)
	healthy.Read = append(healthy.Read, cluster.Workloads)
	passed := Judge(healthy, Options{}).Passed
	for _, row := range rows() {
		page, err := os.ReadFile("../../../" + row.ID.Page())
		if err != nil {
			t.Errorf("%s has no page: %v", row.ID, err)
		}
		_, rest, _ := strings.Cut(string(page), "**Healthy:** ")
		healthy, _, _ := strings.Cut(rest, "\n")
		ofMachines := []check.ID{machine.VFCount, rail.PortActive, rail.TransportSupported}
		if healthy != row.Title && !slices.Contains(ofMachines, row.ID) { // whose pages have the titles of machines' checks
			t.Errorf("%s: the title is %q, and its page says %q", row.ID, row.Title, healthy)
		}
		if !fires[row.ID] {
			t.Errorf("no case of clusterFaults fires %s", row.ID)
		}
		if !slices.Contains(passed, row.ID) {
			t.Errorf("%s does not pass in testdata/clusters/training.json", row.ID)
		}
	}
}

// The attachments of another namespace are not reported unless one of the examined pods names them.
func TestOtherNamespace(t *testing.T) {
	broken := cluster.Network{
		Namespace: "elsewhere",
		Name:      "nowhere",
		Type:      "sriov",
		Resource:  "openshift.io/nowhererdma",
	}
	attach := func(s *cluster.State) {
		for i := range s.Pods {
			s.Pods[i].Annotations = map[string]string{networksAnnotation: "elsewhere/nowhere"}
		}
	}
	for name, test := range map[string]struct {
		options Options
		change  func(*cluster.State)
		want    bool
	}{
		"of another namespace":          {options: Options{Namespace: "train"}},
		"of the same namespace":         {options: Options{Namespace: "elsewhere"}, want: true},
		"of another, which a pod names": {options: Options{Namespace: "train"}, change: attach, want: true},
		"the whole cluster":             {options: Options{Whole: true}, want: true},
		"all namespaces":                {want: true},
	} {
		s := rulestest.Training(t)
		s.Networks = append(s.Networks, broken)
		if test.change != nil {
			test.change(&s)
		}
		got := slices.ContainsFunc(Judge(s, test.options).Findings, func(f check.Finding) bool {
			return f.Check == NetworkResource
		})
		if got != test.want {
			t.Errorf("%s: reported %t, want %t", name, got, test.want)
		}
	}
}

// TestCausesExist asserts that every check that explains another one is a row.
func TestCausesExist(t *testing.T) {
	for _, row := range slices.Concat(rows(), podRows()) {
		for _, cause := range row.ExplainedBy {
			if !slices.ContainsFunc(rows(), func(r check.Check[view]) bool { return r.ID == cause }) {
				t.Errorf("%s is explained by %s, which is no row", row.ID, cause)
			}
		}
	}
}
