package pods

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// gpuCluster is two nodes with GPUs and four rails and a plain one; gpu-1 holds a job that leaves 2 GPUs and no rail.
func gpuCluster() cluster.State {
	gpu := cluster.Resources{
		"cpu":                      128000,
		"memory":                   1 << 40,
		"nvidia.com/gpu":           8,
		"openshift.io/eno5np0rdma": 8,
		"openshift.io/eno6np0rdma": 8,
	}
	held := cluster.Resources{"nvidia.com/gpu": 6, "openshift.io/eno5np0rdma": 8}
	return cluster.State{
		Read:   []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Networks, cluster.SriovPolicies, cluster.SCCs},
		Server: cluster.Server{Minor: 34, Groups: []string{cluster.SecurityGroup, cluster.SriovGroup}},
		Nodes: []cluster.Node{
			{
				Name:        "cpu-1",
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38},
			},
			{Name: "gpu-1", Ready: true, Arch: "amd64", Allocatable: gpu},
			{Name: "gpu-2", Ready: true, Arch: "amd64", Allocatable: gpu},
		},
		Pods: []cluster.Pod{
			{Namespace: "other", Name: "big-0", Node: "gpu-1", Phase: "Running", Requests: held},
			{Namespace: "other", Name: "big-1", Node: "gpu-2", Phase: "Running", Requests: held},
		},
		Networks: []cluster.Network{
			{Namespace: "train", Name: "eno5np0", Type: "sriov", Resource: "openshift.io/eno5np0rdma"},
			{Namespace: "default", Name: "eno9np0", Type: "sriov", Resource: "openshift.io/eno9np0rdma"},
		},
		SriovPolicies: []cluster.SriovPolicy{
			{Namespace: "openshift-sriov-network-operator", Name: "eno7", ResourceName: "eno7np0rdma", RDMA: true},
			{
				Name:         "eno5",
				ResourceName: "eno5np0rdma",
				RDMA:         true,
			}, {Name: "eno6", ResourceName: "eno6np0rdma", RDMA: true},
		},
		SriovNodes: []cluster.SriovNode{
			{Node: "gpu-1", SyncStatus: "Failed", SyncError: "no VFs left in firmware"},
			{Node: "gpu-2", SyncStatus: "Succeeded"},
		},
		SCCs: []cluster.SCC{
			{Name: "railhead-rdma", AllowedCapabilities: []string{"IPC_LOCK"}, RunAsUser: "RunAsAny"},
		},
	}
}

func code(n int) *int { return &n }

// explained is a pod with its events, and the explanation.
type explained struct {
	pod    cluster.Pod
	events []cluster.Event
	want   check.ID
	status check.Status
	says   []string // in the summary, the evidence or the fix
}

func event(reason, message string) []cluster.Event {
	return []cluster.Event{{Object: "Pod/h-kim-0", Type: "Warning", Reason: reason, Message: message}}
}

func pending(requests cluster.Resources) cluster.Pod {
	return cluster.Pod{
		Namespace: "train",
		Name:      "h-kim-0",
		UID:       "1",
		Phase:     "Pending",
		Owner:     "StatefulSet/h-kim",
		Requests:  requests,
	}
}

func onNode(containers ...cluster.Container) cluster.Pod {
	p := pending(nil)
	p.Node, p.Containers = "gpu-1", containers
	return p
}

func run(t *testing.T, cases map[string]explained) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.pod.Name == "" {
				c.pod = cluster.Pod{Namespace: "train", Name: "h-kim-0", Owner: "StatefulSet/h-kim"}
			}
			f, ok := Explain(c.pod, c.events, gpuCluster())
			if !ok {
				t.Fatal("nothing is explained")
			}
			right := f.Check == c.want && f.Status == c.status && f.Subject == check.PodRef("train", "h-kim-0")
			if !right || f.Fix == nil {
				t.Errorf("want %s %s, got %s %s of %s with fix %v: %s",
					c.status, c.want, f.Status, f.Check, f.Subject, f.Fix, f.Summary)
			}
			text := f.Summary
			for _, e := range f.Evidence {
				text += "\n" + e.String()
			}
			if f.Fix != nil {
				text += "\n" + f.Fix.Text + "\n" + strings.Join(f.Fix.Commands, "\n")
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}

func TestExplainScheduling(t *testing.T) {
	rail := cluster.Resources{"openshift.io/eno5np0rdma": 1}
	run(t, map[string]explained{
		"a rail is used up": {
			pod: pending(rail), want: InsufficientResource, status: check.Warn,
			events: event("FailedScheduling", "0/3 nodes are available: 1 node(s) didn't match Pod's node "+
				"affinity/selector, 2 Insufficient openshift.io/eno5np0rdma. preemption: 0/3 nodes are available: 3 "+
				"Preemption is not helpful for scheduling."),
			says: []string{
				"openshift.io/eno5np0rdma is used up",
				"node/gpu-1: 0 of 8 openshift.io/eno5np0rdma free, held by other/big-0 (8)",
				"1 node(s) didn't match Pod's node affinity/selector",
			},
		},
		"GPUs are too few, in the pod's condition": {
			pod: cluster.Pod{
				Namespace:   "train",
				Name:        "h-kim-0",
				Phase:       "Pending",
				Unscheduled: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
				Requests:    cluster.Resources{"nvidia.com/gpu": 8},
			},
			want:   InsufficientResource,
			status: check.Warn,
			says:   []string{"no node that fits has 8 nvidia.com/gpu free of 16", "2 of 8 nvidia.com/gpu free"},
		},
		"more GPUs than any node has": {
			pod:    pending(cluster.Resources{"nvidia.com/gpu": 16}),
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
			want:   InsufficientResource,
			status: check.Fail,
			says:   []string{"requests 16 nvidia.com/gpu, and no node has more than 8"},
		},
		"a misspelled name": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient openshift.io/eno5np0_rdma."),
			want:   ResourceNameMismatch,
			status: check.Fail,
			says:   []string{"no node offers openshift.io/eno5np0_rdma; nodes offer openshift.io/eno5np0rdma"},
		},
		"a name of another cluster, and cpu": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 2 Insufficient cpu, 3 Insufficient "+
				"rdma/hca_shared_devices_a."),
			want:   ResourceNameMismatch,
			status: check.Fail,
			says:   []string{"no node offers rdma/hca_shared_devices_a", "openshift.io/eno6np0rdma"},
		},
		"another vendor's GPU": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient amd.com/gpu."),
			want:   ResourceNameMismatch, status: check.Fail, says: []string{"nodes offer nvidia.com/gpu"},
		},
		"a policy has not created it": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient openshift.io/eno7np0rdma."),
			want:   InsufficientResource,
			status: check.Fail,
			says: []string{
				"SriovNetworkNodePolicy eno7 should create",
				"no VFs left in firmware",
				"get sriovnetworknodestates",
			},
		},
		"in lower case, from an old plugin": {
			pod: pending(nil), events: event("FailedScheduling", "0/3 nodes are available: 3 insufficient rdma/vhca."),
			want: ResourceNameMismatch, status: check.Fail, says: []string{"no node offers rdma/vhca"},
		},
		"the kubelet found it used up": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "OutOfopenshift.io/eno5np0rdma",
				Message: "Node didn't have enough resource: openshift.io/eno5np0rdma, requested: 1, " +
					"used: 8, capacity: 8",
				Requests: rail,
			},
			events: event("FailedScheduling", "0/3 nodes are available: 3 node(s) were unschedulable."),
			want:   InsufficientResource, status: check.Warn, says: []string{"held by other/big-0 (8)"},
		},
		"a taint": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: "+
				"team.a}, 2 node(s) had untolerated taint(s). preemption: 0/3 nodes are available."),
			want:   NodeSelection,
			status: check.Fail,
			says:   []string{"1 node(s) had untolerated taint {dedicated: team.a}", "--toleration"},
		},
		"too few nodes for one pod each": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 1 node(s) didn't match Pod's node "+
				"affinity/selector, 2 node(s) didn't match pod anti-affinity rules."),
			want: NodeSelection, status: check.Fail, says: []string{"a node of its own"},
		},
		"cordoned nodes": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 node(s) were unschedulable."),
			want:   NodeSelection, status: check.Warn, says: []string{"uncordon"},
		},
		"a queue holds the pod": {
			pod: cluster.Pod{
				Namespace: "train", Name: "h-kim-0", Phase: "Pending", Unscheduled: "Scheduling is blocked due to " +
					"non-empty scheduling gates",
				Labels: map[string]string{"kueue.x-k8s.io/queue-name": "gpus"},
			},
			want: QueueAdmission, status: check.Warn,
			says: []string{"scheduling gate", "label kueue.x-k8s.io/queue-name: gpus", "get workloads.kueue.x-k8s.io"},
		},
		"a host port": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 node(s) didn't have free ports for the "+
				"requested pod ports."),
			want: HostPort, status: check.Fail, says: []string{"hostPort"},
		},
		"a claim that is not bound": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: pod has unbound immediate "+
				"PersistentVolumeClaims. preemption: 0/3 nodes are available: 3 Preemption "+
				"is not helpful for scheduling."),
			want: VolumeNotReady, status: check.Fail, says: []string{"PersistentVolumeClaim"},
		},
		"a volume that is on another node": {
			pod: pending(cluster.Resources{"nvidia.com/gpu": 8}),
			events: event("FailedScheduling", "0/3 nodes are available: 1 node(s) had volume node affinity conflict, 2 "+
				"Insufficient nvidia.com/gpu."),
			want: VolumeNotReady, status: check.Fail,
			says: []string{"volumes of h-kim-0 cannot be mounted on the nodes", "1 node(s) had volume node affinity conflict", "get pv"},
		},
		"too many volumes on each node": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 node(s) exceed max volume count."),
			want:   VolumeNotReady, status: check.Fail, says: []string{"volumes of h-kim-0 cannot be mounted on the nodes"},
		},
		"a volume that is gone": {
			pod: pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 node(s) unavailable due to one or more pvc(s) "+
				"bound to non-existent pv(s)."),
			want: VolumeNotReady, status: check.Fail, says: []string{"has no volume"},
		},
		"a volume that its provisioner does not make": {
			pod: pending(nil),
			events: event("FailedScheduling", `running PreBind plugin "VolumeBinding": binding volumes: context deadline `+
				`exceeded`),
			want: VolumeNotReady, status: check.Fail, says: []string{"has no volume", "describe pvc"},
		},
		"a claim that does not exist": {
			pod:    pending(nil),
			events: event("FailedScheduling", `0/3 nodes are available: persistentvolumeclaim "data" not found.`),
			want:   VolumeNotReady, status: check.Fail, says: []string{"get pvc"},
		},
		"devices claimed from a DRA driver": {
			pod:    pending(nil),
			events: event("FailedScheduling", "0/3 nodes are available: 3 cannot allocate all claims."),
			want:   ResourceClaim, status: check.Fail, says: []string{"resourceslices"},
		},
	})
}

func TestExplainAdmission(t *testing.T) {
	refused := func(why string) []cluster.Event {
		return []cluster.Event{
			{
				Object:  "StatefulSet/h-kim",
				Type:    "Warning",
				Reason:  "FailedCreate",
				Message: `create Pod h-kim-0 in StatefulSet h-kim failed error: pods "h-kim-0" is forbidden: ` + why,
			},
		}
	}
	scc := "unable to validate against any security context constraint: "
	run(t, map[string]explained{
		"IPC_LOCK, with an SCC that is not granted": {
			events: refused(scc + `[provider "anyuid": Forbidden: not usable by user or serviceaccount, provider ` +
				`restricted-v2: .containers[0].runAsUser: Invalid value: 0: must be in the ranges: [1000650000, ` +
				`1000659999], provider restricted-v2: .containers[0].capabilities.add: Invalid value: ` +
				`"IPC_LOCK": capability may not be added, provider "railhead-rdma": Forbidden: not usable ` +
				`by user or serviceaccount]`),
			want:   SCCIPCLock,
			status: check.Fail,
			says: []string{
				"scc/restricted-v2: closest; objects to runAsUser, IPC_LOCK",
				"scc/railhead-rdma: allows IPC_LOCK, and is not granted",
				"railhead setup namespace train",
			},
		},
		"IPC_LOCK, to Pod Security": {
			events: refused(`violates PodSecurity "baseline:latest": non-default capabilities (container "train" ` +
				`must not include "IPC_LOCK" in securityContext.capabilities.add)`),
			want: SCCIPCLock, status: check.Fail, says: []string{`"baseline:latest"`, "enforce=privileged"},
		},
		"host network, to Pod Security": {
			events: refused(`violates PodSecurity "restricted:v1.34": host namespaces (hostNetwork=true)`),
			want:   PodSecurity, status: check.Fail, says: []string{"host namespaces"},
		},
		"privileged": {
			events: refused(scc + `[provider "privileged": Forbidden: not usable by user or serviceaccount, ` +
				`provider restricted-v2: .containers[0].privileged: Invalid value: true: Privileged containers are ` +
				`not allowed, provider restricted-v2: .containers[0].capabilities.add: Invalid value: ` +
				`"IPC_LOCK": capability may not be added]`),
			want: SCCOther, status: check.Fail, says: []string{"privileged", "without --privileged"},
		},
		"the injector's volume": {
			events: refused(scc + `[spec.volumes[3]: Invalid value: "downwardAPI": downwardAPI volumes are not ` +
				`allowed to be used]`),
			want: SCCOther, status: check.Fail, says: []string{"downwardAPI volume", "network-resources-injector"},
		},
		"no SCC at all may be used": {
			events: refused(scc + `[provider "anyuid": Forbidden: not usable by user or serviceaccount, provider ` +
				`"restricted-v2": Forbidden: not usable by user or serviceaccount]`),
			want: SCCOther, status: check.Fail, says: []string{"may use none of anyuid, restricted-v2"},
		},
		"a namespace that OpenShift has not annotated": {
			events: refused("unable to find annotation openshift.io/sa.scc.uid-range"),
			want:   SCCOther,
			status: check.Fail,
		},
		"a quota": {
			events: refused("exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: " +
				"requests.nvidia.com/gpu=12, limited: requests.nvidia.com/gpu=16"),
			want: QuotaExceeded, status: check.Fail, says: []string{"quota gpus", "requests.nvidia.com/gpu=12"},
		},
		"a quota that requires limits": {
			events: refused("failed quota: compute: must specify limits.cpu for: train; limits.memory for: train"),
			want:   QuotaExceeded, status: check.Fail, says: []string{"limits.cpu", "--memory"},
		},
		"a limit range": {
			events: refused("maximum memory usage per Container is 64Gi, but limit is 512Gi"),
			want:   QuotaExceeded,
			status: check.Fail,
		},
		"no service account": {
			events: refused(`error looking up service account train/h-kim-sa: serviceaccount "h-kim-sa" not found`),
			want:   AdmissionRefused,
			status: check.Fail,
			says:   []string{"service account h-kim-sa does not exist", "railhead setup namespace train --name h-kim"},
		},
		"a namespace that is being deleted": {
			events: refused("unable to create new content in namespace train because it is being terminated"),
			want:   AdmissionRefused,
			status: check.Fail,
			says:   []string{"being deleted"},
		},
		"another webhook": {
			events: event("FailedCreate", `admission webhook "policy.example.com" denied the request: no latest tag`),
			want:   AdmissionRefused,
			status: check.Fail,
			says:   []string{"no latest tag"},
		},
		"the injector does not know the network": {
			events: event("FailedCreate", `admission webhook "network-resources-injector-config.k8s.io" denied the `+
				`request: could not find network attachment definition 'train/eno5np'`),
			want:   NADMissing,
			status: check.Fail,
			says:   []string{"eno5np does not exist in namespace train; it has eno5np0"},
		},
		"a refusal before the pod was created": {
			pod: onNode(cluster.Container{
				Name:    "train",
				Waiting: "ImagePullBackOff",
				Message: `Back-off pulling image "a/b"`,
			}),
			events: append(refused(scc+`[]`), event("Failed", `Failed to pull image "a/b": manifest unknown`)...),
			want:   ImagePull,
			status: check.Fail,
		},
	})
}

func TestExplainNode(t *testing.T) {
	sandbox := func(why string) []cluster.Event {
		return event("FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = "+
			"failed to create pod network sandbox k8s_h-kim-0_train_1_0(2): error adding pod train_h-kim-0 to CNI "+
			"network \"multus-cni-network\": plugin type=\"multus\" name=\"multus-cni-network\" failed (add): "+
			"[train/h-kim-0:eno5np0]: "+why)
	}
	run(t, map[string]explained{
		"devices that are no longer healthy": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "UnexpectedAdmissionError",
				Message: "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices " +
					"openshift.io/eno5np0rdma, which is unexpected",
			},
			want: DeviceAllocate, status: check.Fail, says: []string{"unhealthy devices", "spec.nodeName=gpu-1"},
		},
		"a lost GPU, wrapped by a terminal": {
			events: event("", "Allocate failed due to device plugin\n  GetPreferredAllocation rpc failed with err: "+
				"GPU is lost, which is\n  unexpected"),
			want:   DeviceAllocate,
			status: check.Fail,
		},
		"shared GPUs": {
			pod: onNode(),
			events: event("UnexpectedAdmissionError", "Allocate failed due to rpc error: code = Unknown desc = "+
				"request for 'nvidia.com/gpu.shared: 8' too large: maximum request size for shared resources is 1, "+
				"which is unexpected"),
			want: DeviceAllocate, status: check.Fail, says: []string{"shared", "--gpus 1"},
		},
		"no room near enough": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "TopologyAffinityError",
				Message:   "Resources cannot be allocated with Topology locality",
			},
			want:   DeviceAllocate,
			status: check.Fail,
			says: []string{
				"topology manager",
				"never fits",
				"best-effort",
				"/proxy/configz",
				"--gpus N --network RAIL",
			},
		},
		"no room near enough for all GPUs of a node": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "TopologyAffinityError",
				Message:   "Resources cannot be allocated with Topology locality",
				Requests:  cluster.Resources{"cpu": 8000, "nvidia.com/gpu": 8},
			},
			want:   DeviceAllocate,
			status: check.Fail,
			says:   []string{"--gpus 4 --network RAIL"},
		},
		"CPUs that are no whole cores": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "SMTAlignmentError",
				Message:   "SMT Alignment Error: requested 5 cpus not multiple cpus per core = 2",
			},
			want:   DeviceAllocate,
			status: check.Fail,
			says:   []string{"h-kim-0 requests 5 CPUs, and a core has 2", "multiple of 2", "--cpu 6"},
		},
		"too few whole cores": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "SMTAlignmentError",
				Message: "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 4, " +
					"requested CPUs = 8, CPUs per core = 2",
			},
			want:   DeviceAllocate,
			status: check.Fail,
			says:   []string{"node gpu-1 has 4 CPUs of whole cores free", "requests 8"},
		},
		"CPUs, as a kubelet before said it": {
			pod: onNode(), events: event("SMTAlignmentError", "SMT Alignment Error"),
			want: DeviceAllocate, status: check.Fail, says: []string{"full-pcpus-only"},
		},
		"no CPUs for the init container": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Phase:     "Failed",
				Node:      "gpu-1",
				Reason:    "EmptyPodSharedPoolError",
				Message:   "pod shared pool is empty",
			},
			want: DeviceAllocate, status: check.Fail, says: []string{"pod shared pool is empty", "scope container"},
		},
		"the plugin got no PCI address": {
			pod: onNode(),
			events: sandbox("error adding container to network \"eno5np0\": SRIOV-CNI failed to load netconf: " +
				"LoadConf(): VF pci addr is required"),
			want: SriovCNI, status: check.Fail, says: []string{"got no device", "resourceName"},
		},
		"a virtual function without its PF": {
			pod: onNode(),
			events: sandbox(`error adding container to network "eno5np0": SRIOV-CNI failed to load netconf: ` +
				`LoadConf(): failed to get VF information: "lstat /sys/bus/pci/devices/0000:18:01.2/physfn/net: no ` +
				`such file or directory"`),
			want: SriovCNI, status: check.Fail, says: []string{"sriovnetworknodestates gpu-1"},
		},
		"an InfiniBand VF without a GUID": {
			pod: onNode(),
			events: sandbox(`error adding container to network "ib0": infiniBand SRI-OV CNI failed to configure VF ` +
				`"VF ib4 GUID is not valid"`),
			want:   SriovCNI,
			status: check.Fail,
		},
		"a VF that is still busy": {
			pod: onNode(),
			events: sandbox(`plugin type="sriov" failed (add): failed to set up pod interface "net1": device or ` +
				`resource busy`),
			want:   SriovCNI,
			status: check.Warn,
		},
		"the rdma plugin in shared mode": {
			pod: onNode(),
			events: sandbox(`plugin type="rdma" failed (add): RDMA subsystem namespace awareness mode is set to ` +
				`shared, expecting it to be set to exclusive`),
			want: SriovCNI, status: check.Fail, says: []string{"rdmaMode: exclusive"},
		},
		"an attachment that another namespace has": {
			pod: onNode(),
			events: append(sandbox("..."), event("NoNetworkFound", `cannot find a network-attachment-definition `+
				`(eno9np0) in namespace (train): network-attachment-definitions.k8s.cni.cncf.io "eno9np0" not `+
				`found`)...),
			want:   NADMissing,
			status: check.Fail,
			says:   []string{"namespace default has one", "--networks-from default"},
		},
		"an attachment that exists since": {
			pod: onNode(),
			events: sandbox(`GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a ` +
				`network-attachment-definition (eno5np0) in namespace (train): network-attachment-definitions.k8s.cni.cncf.io ` +
				`"eno5np0" not found`),
			want: NADMissing, status: check.Warn, says: []string{"eno5np0", "namespace train has it now"},
		},
		"Multus cannot read the attachment": {
			pod: onNode(),
			events: sandbox(`GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a ` +
				`network-attachment-definition (eno9np0) in namespace (train): Get ` +
				`"https://172.30.0.1:443/apis/k8s.cni.cncf.io/v1/namespaces/train/network-attachment-definitions/eno9np0": dial ` +
				`tcp 172.30.0.1:443: i/o timeout`),
			want: SandboxFailed, status: check.Fail, says: []string{"i/o timeout"},
		},
		"Multus may not read the attachment": {
			pod: onNode(),
			events: sandbox(`GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a ` +
				`network-attachment-definition (eno9np0) in namespace (train): network-attachment-definitions.k8s.cni.cncf.io ` +
				`"eno9np0" is forbidden: User "system:serviceaccount:kube-system:multus" cannot get resource ` +
				`"network-attachment-definitions" in API group "k8s.cni.cncf.io" in the namespace "train"`),
			want: SandboxFailed, status: check.Fail, says: []string{"is forbidden"},
		},
		"a setting that the NIC does not have, of a pod with rdma in its name": {
			pod: onNode(),
			events: event("FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to `+
				`create pod network sandbox k8s_h-kim-0_rdma-train_1_0(2): error adding pod rdma-train_h-kim-0 to CNI network `+
				`"multus-cni-network": plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI `+
				`request failed with status 400: 'ContainerID:"83b3" Netns:"/var/run/netns/5f1c" IfName:"eth0" ERRORED: error `+
				`configuring pod [rdma-train/h-kim-0] networking: [rdma-train/h-kim-0/3a:rail0]: error adding container to `+
				`network "rail0": SRIOV-CNI failed to configure VF "failed to set vf 2 vlan: operation not supported"`),
			want: SriovCNI, status: check.Fail, says: []string{"does not support a setting"},
		},
		"an attachment of another namespace": {
			pod: onNode(),
			events: sandbox("GetNetworkDelegates: namespace isolation enabled, annotation violates permission, pod " +
				"is in namespace train but refers to target namespace default"),
			want: NADMissing, status: check.Fail, says: []string{"--networks-from default"},
		},
		"a configuration that is no JSON": {
			pod: onNode(),
			events: sandbox("GetNetworkDelegates: failed getting the delegate: GetCNIConfig: err in " +
				"getCNIConfigFromSpec: failed to unmarshal Spec.Config: invalid character '}'"),
			want:   NADMissing,
			status: check.Fail,
		},
		"the attachment's range is empty": {
			pod: onNode(),
			events: sandbox(`error adding container to network "eno5np0": plugin type="sriov" failed: SRIOV-CNI ` +
				`failed: failed to set up IPAM plugin type "whereabouts": error at storage engine: Could not ` +
				`allocate IP in range: ip: 10.0.0.1 / - 10.0.0.6`),
			want: NoIP, status: check.Fail, says: []string{"overlappingrangeipreservations"},
		},
		"host-local's range is empty": {
			pod: onNode(),
			events: sandbox("failed to allocate for range 0: no IP addresses available in range set: " +
				"10.0.0.1-10.0.0.254"),
			want:   NoIP,
			status: check.Fail,
		},
		"the pod network is full": {
			pod: onNode(),
			events: event("FailedCreatePodSandBox", "Failed to create pod sandbox: unable to allocate IP via local "+
				"agent: [POST /ipam][502] postIpamFailure range is full"),
			want:   NoIP,
			status: check.Fail,
		},
		"the image of the sandbox cannot be pulled": {
			pod: onNode(),
			events: event("FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed `+
				`to get sandbox image "registry.k8s.io/pause:3.8": failed to pull image "registry.k8s.io/pause:3.8": failed `+
				`to pull and unpack image "registry.k8s.io/pause:3.8": failed to resolve reference `+
				`"registry.k8s.io/pause:3.8": unexpected status from HEAD request to `+
				`https://mirror.example.com/v2/pause/manifests/3.8: 401 Unauthorized`),
			want: SandboxFailed, status: check.Fail,
			says: []string{"registry.k8s.io/pause:3.8", "401 Unauthorized", "configuration of the container runtime"},
		},
		"Multus cannot ask the kubelet": {
			pod: onNode(),
			events: event("FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed `+
				`to setup network for sandbox "62bc": plugin type="multus-shim" name="multus-cni-network" failed (add): `+
				`CmdAdd (shim): CNI request failed with status 400: 'ERRORED: error configuring pod [train/h-kim-0] `+
				`networking: Multus: [train/h-kim-0/c294]: error loading k8s delegates k8s args: TryLoadPodDelegates: error `+
				`in getting k8s network for pod: GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: `+
				`failed to get a ResourceClient instance: getKubeletClient: error getting pod resources from client: rpc `+
				`error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix `+
				`/var/lib/kubelet/pod-resources/kubelet.sock: connect: no such file or directory"`),
			want: SandboxFailed, status: check.Fail,
			says: []string{"cannot ask the kubelet", "The attachment is not at fault", "--root-dir"},
		},
		"the runtime is slow": {
			pod: onNode(),
			events: event("FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = `+
				`error reserving pod name k8s_h-kim-0: name is reserved. Kubelet may be retrying requests that are `+
				`timing out in CRI-O due to system load`),
			want: NodeOverload, status: check.Warn, says: []string{"node gpu-1"},
		},
		"the node's own network is not ready": {
			pod: onNode(),
			events: sandbox(`plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI ` +
				`request failed with status 400: 'ContainerID:"1" ERRORED: error configuring pod [train/h-kim-0] ` +
				`networking: Multus: [train/h-kim-0/3a5636c4]: have you checked that your default network is ready? ` +
				`still waiting for readinessindicatorfile @ /host/run/multus/cni/net.d/10-ovn-kubernetes.conf. ` +
				`pollimmediate error: timed out waiting for the condition'`),
			want:   NodeOverload,
			status: check.Warn,
			says: []string{
				"the default network of node gpu-1 is not ready: Multus waits for its file " +
					"/host/run/multus/cni/net.d/10-ovn-kubernetes.conf",
				"spec.nodeName=gpu-1",
			},
		},
		"the IPAM of an attachment is wrong": {
			pod: onNode(),
			events: sandbox(`error adding container to network "eno5np0": failed to set up IPAM plugin type ` +
				`"whereabouts" from the device "eno5np0": IPAM configuration load failed: LoadIPAMConfig - JSON ` +
				`Parsing Error: invalid CIDR 10.0.0.0: netip.ParsePrefix("10.0.0.0"): no '/'`),
			want:   NADMissing,
			status: check.Fail,
			says:   []string{"refused by its plugin: ", "invalid CIDR 10.0.0.0", "its ipam above all"},
		},
		"the IPAM plugin is not set up on the node": {
			pod: onNode(),
			events: sandbox(`error adding container to network "eno5np0": failed to set up IPAM plugin type ` +
				`"whereabouts" from the device "eno5np0": IPAM configuration load failed: error opening flat ` +
				`configuration file @ /etc/cni/net.d/whereabouts.d/whereabouts.conf with: no such file or directory`),
			want:   SandboxFailed,
			status: check.Fail,
		},
		"Multus does not reach the API server": {
			pod: onNode(),
			events: sandbox(`plugin type="multus" name="multus-cni-network" failed (add): Multus: ` +
				`[train/h-kim-0/ffe36c1c]: error waiting for pod: Get ` +
				`"https://10.0.8.254:6443/api/v1/namespaces/train/pods/h-kim-0?timeout=1m0s": context deadline ` +
				`exceeded`),
			want:   NodeOverload,
			status: check.Warn,
			says: []string{
				"Multus on node gpu-1 got no answer from the API server at 10.0.8.254:6443",
				"curl -k https://10.0.8.254:6443/readyz",
			},
		},
		"the pod network is slow": {
			pod:    onNode(),
			events: sandbox("CNI request failed with status 400: timed out waiting for OVS port binding"),
			want:   NodeOverload,
			status: check.Warn,
		},
		"any other failure of the network": {
			pod:    onNode(),
			events: sandbox("failed to find plugin \"macvlan\" in path [/opt/cni/bin]"),
			want:   SandboxFailed,
			status: check.Fail,
		},
		"a missing ConfigMap": {
			pod: onNode(),
			events: event("FailedMount", `MountVolume.SetUp failed for volume "railhead-parts" : configmap `+
				`"railhead-pod-amd64-0123456789ab-0" not found`),
			want: VolumeNotReady, status: check.Fail, says: []string{"Deploy again"},
		},
		"a node that went away": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Node:      "gpu-1",
				Phase:     "Failed",
				Reason:    "NodeShutdown",
				Message:   "Pod was terminated in response to imminent node shutdown.",
			},
			want: NodeLost, status: check.Warn,
		},
		"an unknown event": {
			pod:    onNode(),
			events: event("Surprise", "the moon is full"),
			want:   PodPending,
			status: check.Unknown,
			says:   []string{"the moon is full", "describe pod h-kim-0"},
		},
	})
}

func TestExplainPodsEndedByTheKubelet(t *testing.T) {
	failed := func(reason, message string) cluster.Pod {
		p := onNode(cluster.Container{Name: "train", ExitCode: code(137), Ended: "Error"})
		p.Phase, p.Reason, p.Message = "Failed", reason, message
		return p
	}
	run(t, map[string]explained{
		"evicted for lack of memory": {
			pod:  failed("Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "),
			want: PodEvicted, status: check.Fail, says: []string{"low on resource: memory", "--memory"},
		},
		"too much in /dev/shm": {
			pod:  failed("Evicted", `Usage of EmptyDir volume "railhead-shm" exceeds the limit "64Gi". `),
			want: PodEvicted, status: check.Fail, says: []string{"--shm"},
		},
		"its node was shut down": {
			pod:  failed("Terminated", "Pod was terminated in response to imminent node shutdown."),
			want: NodeLost, status: check.Warn, says: []string{"node gpu-1", "imminent node shutdown"},
		},
		"its time is over": {
			pod:  failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
			want: PodEvicted, status: check.Fail, says: []string{"activeDeadlineSeconds"},
		},
		"evicted, and its command handles SIGTERM": {
			pod: cluster.Pod{
				Namespace: "train", Name: "h-kim-0", Phase: "Failed", Node: "gpu-1", Owner: "Job/h-kim-worker-0",
				Reason: "Evicted", Message: "The node was low on resource: memory. ",
				Containers: []cluster.Container{{Name: "train", ExitCode: code(0), Ended: "Completed"}},
			},
			want: PodEvicted, status: check.Fail,
		},
		"labels of the node have changed": {
			pod: cluster.Pod{
				Namespace: "train", Name: "h-kim-0", Phase: "Failed", Node: "gpu-1", Reason: "NodeAffinity",
				Message: "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
			},
			want: NodeLost, status: check.Warn, says: []string{"node gpu-1", "Predicate NodeAffinity failed"},
		},
	})
}

func TestExplainContainers(t *testing.T) {
	train := func(c cluster.Container) cluster.Pod {
		c.Name = "train"
		return onNode(cluster.Container{Name: InstallContainer, Init: true, Ready: true, ExitCode: code(0)}, c)
	}
	install := func(c cluster.Container) cluster.Pod {
		c.Name, c.Init = cmp.Or(c.Name, InstallContainer), true
		return onNode(c, cluster.Container{Name: "train", Waiting: "PodInitializing"})
	}
	run(t, map[string]explained{
		"no permission to pull the image": {
			pod: train(cluster.Container{
				Image:   "registry.example.com/torch",
				Waiting: "ImagePullBackOff",
				Message: `Back-off pulling image "registry.example.com/torch"`,
			}),
			events: event("Failed", `Failed to pull image "registry.example.com/torch": rpc error: unauthorized: `+
				`authentication required`),
			want:   ImagePull,
			status: check.Fail,
			says:   []string{"image registry.example.com/torch", "--image-pull-secret"},
		},
		"no such image": {
			pod: train(cluster.Container{
				Image:   "a/b:c",
				Waiting: "ErrImagePull",
				Message: "reading manifest c in a/b: manifest unknown",
			}),
			want:   ImagePull,
			status: check.Fail,
			says:   []string{"does not exist"},
		},
		"the registry cannot be reached": {
			pod: train(cluster.Container{
				Waiting: "ErrImagePull",
				Message: "pinging container registry: dial tcp 192.0.2.1:443: i/o timeout",
			}),
			want:   ImagePull,
			status: check.Warn,
			says:   []string{"node gpu-1"},
		},
		"the registry cannot be reached for a digest with the digits of a status": {
			pod: train(cluster.Container{
				Waiting: "ErrImagePull",
				Message: `failed to pull and unpack image "r.example.com/a@sha256:9c404e50": failed to do request: Head ` +
					`"https://r.example.com/v2/a/manifests/sha256:9c404e50": dial tcp 192.0.2.1:443: i/o timeout`,
			}),
			want: ImagePull, status: check.Warn, says: []string{"does not reach the registry"},
		},
		"no permission, as CRI-O says it": {
			pod: train(cluster.Container{
				Waiting: "ErrImagePull",
				Message: "initializing source docker://docker.io/a/b:c: reading manifest c in docker.io/a/b: requested " +
					"access to the resource is denied",
			}),
			want: ImagePull, status: check.Fail, says: []string{"--image-pull-secret"},
		},
		"no disk for the image": {
			pod: train(cluster.Container{
				Waiting: "ErrImagePull",
				Message: "write /var/lib/containers: no space left on device",
			}),
			want:   ImagePull,
			status: check.Fail,
			says:   []string{"disk"},
		},
		"the image has no such architecture": {
			pod: train(cluster.Container{
				Waiting: "ErrImagePull",
				Message: "no matching manifest for linux/amd64 in the manifest list entries",
			}),
			want:   ImageArchitecture,
			status: check.Fail,
			says:   []string{"(amd64)"},
		},
		"the image is for another architecture": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(1),
				Ended:    "Error",
				Message:  "exec /usr/bin/sh: exec format error",
			}),
			want:   ImageArchitecture,
			status: check.Fail,
		},
		"an image that runs as root": {
			pod: train(cluster.Container{
				Waiting: "CreateContainerConfigError",
				Message: `container has runAsNonRoot and image will run as root (pod: "h-kim-0", container: train)`,
			}),
			want:   ContainerStart,
			status: check.Fail,
			says:   []string{"--run-as-user"},
		},
		"a missing secret": {
			pod: train(cluster.Container{
				Waiting: "CreateContainerConfigError",
				Message: `secret "wandb" not found`,
			}),
			want:   ContainerStart,
			status: check.Fail,
			says:   []string{"secret wandb"},
		},
		"no shell in the image, as crun says it": {
			pod: install(cluster.Container{
				Waiting: "CreateContainerError",
				Message: "container create failed: executable file `sh` not found in $PATH: No such file or directory",
			}),
			want: InstallFailed, status: check.Fail, says: []string{"no sh, cat or chmod", "--pod-image"},
		},
		"no such program, as crun says it": {
			pod: train(cluster.Container{
				Waiting: "CreateContainerError",
				Message: "container create failed: executable file `torchrun` not found in $PATH: No such file or directory",
			}),
			want: ContainerStart, status: check.Fail, says: []string{"torchrun is not in the image"},
		},
		"no such program, as CRI-O with runc says it": {
			pod: train(cluster.Container{
				Waiting: "CreateContainerError",
				Message: `container create failed: time="2024-01-02T03:04:05Z" level=error msg="runc create failed: unable to ` +
					`start container process: exec: \"torchrun\": executable file not found in $PATH"`,
			}),
			want: ContainerStart, status: check.Fail, says: []string{"torchrun is not in the image"},
		},
		"no shell in the image": {
			pod: install(cluster.Container{
				Waiting: "RunContainerError",
				Message: `OCI runtime create failed: exec: "sh": executable file not found in $PATH`,
			}),
			want: InstallFailed, status: check.Fail, says: []string{"no sh, cat or chmod", "--pod-image"},
		},
		"a damaged copy of railhead-pod": {
			pod: install(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(1),
				Message:  "railhead-pod is damaged: its SHA-256 is not that of the deployment",
			}),
			want: InstallFailed, status: check.Fail, says: []string{"is damaged", "-c railhead-pod-install"},
		},
		"railhead-pod found no rail": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(125),
				Restarts: 3,
				Ended:    "Error",
				Message:  "fail: no RDMA device was given to this container [device-allocated]\n",
			}),
			want:   LaunchRefused,
			status: check.Fail,
			says:   []string{"no RDMA device was given", "3 restarts", "logs h-kim-0 -c train --previous"},
		},
		"exit code 125 without a message": {
			pod:    train(cluster.Container{Waiting: "CrashLoopBackOff", ExitCode: code(125)}),
			want:   LaunchRefused,
			status: check.Fail,
			says:   []string{"ended with exit code 125, as railhead-pod does if it does not start a command: see its output"},
		},
		"exit code 125 of the command itself": {
			pod: train(cluster.Container{
				Waiting: "CrashLoopBackOff", ExitCode: code(125), Message: "docker: daemon is not running [Errno 2]",
			}),
			want:   CommandExit,
			status: check.Fail,
			says:   []string{"exit code 125: docker: daemon is not running"},
		},
		"one of the devices that railhead-pod found does not work": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(125),
				Message: "DEVICE     GIVEN BY                        STATE\nmlx5_9:1   PCIDEVICE_OPENSHIFT_IO_RAIL1   not used: port 1 DOWN\n" +
					"railhead-pod: not started: RDMA is required (--mode rdma) but not every rail of the pod works\n" +
					"fail: mlx5_9:1: given to this pod but not used: port 1 DOWN [port-active]\n    fix (admin): Look.",
			}),
			want: LaunchRefused, status: check.Fail,
			says: []string{"did not start the command of h-kim-0: RDMA is required (--mode rdma) but not every rail of the pod works"},
		},
		"railhead-pod refuses to write the settings": {
			pod: install(cluster.Container{
				Name:     FilesContainer,
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(125),
				Message: "railhead-pod: not started: RDMA is required (--mode rdma) but the pod cannot lock enough memory\n" +
					"fail: locked-memory limit is 8 MiB per process: registering more than that fails with ENOMEM [memlock-limit]\n" +
					"    fix (admin): Set an unlimited memlock for every container of the GPU nodes: " + strings.Repeat("yaml ", 200),
			}),
			want: LaunchRefused, status: check.Fail,
			says: []string{"the pod cannot lock enough memory: locked-memory limit is 8 MiB per process", "ENOMEM [memlock-limit]", "-c railhead-pod-files"},
		},
		"no such command": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(127),
				Message:  "railhead-pod: torchrun: not found",
			}),
			want:   CommandNotStarted,
			status: check.Fail,
			says:   []string{"was not found in the image", "torchrun"},
		},
		"a command without its x bit": {
			pod:    train(cluster.Container{Waiting: "CrashLoopBackOff", ExitCode: code(126)}),
			want:   CommandNotStarted,
			status: check.Fail,
			says:   []string{"cannot be executed"},
		},
		"training failed": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(1),
				Message:  "RuntimeError: NCCL error",
			}),
			want:   CommandExit,
			status: check.Fail,
			says:   []string{"exit code 1", "NCCL error"},
		},
		"training failed, with words that the runtime and plugins use, too": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(1),
				Ended:    "Error",
				Message: "libnvidia-ml.so.1: cannot open shared object file; nvidia-container-cli; VF pci addr is " +
					"required; no IP addresses available; pod group is not ready",
			}),
			want:   CommandExit,
			status: check.Fail,
			says:   []string{"exit code 1", "libnvidia-ml.so.1"},
		},
		"training failed, with words of the API server": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(1),
				Ended:    "Error",
				Message: `ApiException: (403) pods "worker-1" is forbidden: exceeded quota: gpus, requested: pods=1, ` +
					`used: pods=8, limited: pods=8`,
			}),
			want: CommandExit, status: check.Fail, says: []string{"exit code 1", "worker-1"},
		},
		"training failed, with words about a model": {
			pod: train(cluster.Container{
				Waiting: "CrashLoopBackOff", ExitCode: code(1), Ended: "Error", Message: "ValueError: Unknown architecture: llama4",
			}),
			want: CommandExit, status: check.Fail, says: []string{"exit code 1", "llama4"},
		},
		"training failed, with words about devices, containers and memory": {
			pod: train(cluster.Container{
				Waiting: "CrashLoopBackOff", ExitCode: code(1), Ended: "Error",
				Message: "dcgm: unhealthy devices: GPU 3; worker 7 was OOMKilled; docker: failed to create container; " +
					"failed to pull image",
			}),
			want: CommandExit, status: check.Fail, says: []string{"exit code 1", "GPU 3"},
		},
		"training failed, with a script that has no interpreter line": {
			pod: train(cluster.Container{
				Waiting: "CrashLoopBackOff", ExitCode: code(1), Ended: "Error",
				Message: "OSError: [Errno 8] Exec format error: './prepare.sh'",
			}),
			want: CommandExit, status: check.Fail, says: []string{"prepare.sh"},
		},
		"the image is for another architecture, as crun says it": {
			pod: train(cluster.Container{
				Waiting: "CrashLoopBackOff", ExitCode: code(1), Ended: "Error",
				Message: "{\"msg\":\"exec container process `/usr/bin/sh`: Exec format error\",\"level\":\"error\"}",
			}),
			want: ImageArchitecture, status: check.Fail,
		},
		"a container that crashed cannot be created again": {
			pod: train(cluster.Container{
				Waiting: "CreateContainerConfigError", ExitCode: code(127), Ended: "Error", Restarts: 2,
				Message: `secret "wandb" not found`,
			}),
			want: ContainerStart, status: check.Fail, says: []string{"secret wandb"},
		},
		"the runtime's hook failed, and the kubelet tries again": {
			pod: train(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				ExitCode: code(128),
				Ended:    "StartError",
				Message: "failed to create containerd task: failed to create shim task: OCI " +
					"runtime create failed: could not " +
					"apply required modification to OCI specification: error modifying OCI spec: failed to inject " +
					"CDI devices: unresolvable CDI devices management.nvidia.com/gpu=0: unknown",
			}),
			want:   DeviceInjection,
			status: check.Fail,
			says:   []string{"the CDI specifications on node gpu-1 do not give management.nvidia.com/gpu=0, a device", "/etc/cdi"},
		},
		"training was killed": {
			pod:    train(cluster.Container{ExitCode: code(137), Ended: "Error"}),
			want:   CommandExit,
			status: check.Fail,
			says:   []string{"SIGKILL"},
		},
		"training ended well and starts again": {
			pod:    train(cluster.Container{Waiting: "CrashLoopBackOff", ExitCode: code(0), Ended: "Completed"}),
			want:   CommandExit,
			status: check.Warn,
			says:   []string{"succeeded, and a StatefulSet", "JobSet"},
		},
		"out of memory": {
			pod:    train(cluster.Container{Waiting: "CrashLoopBackOff", ExitCode: code(137), Ended: "OOMKilled"}),
			want:   OutOfMemory,
			status: check.Fail,
			says:   []string{"/dev/shm", "--memory"},
		},
		"too much in /dev/shm": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Node:      "gpu-1",
				Phase:     "Failed",
				Reason:    "Evicted",
				Message:   `Usage of EmptyDir volume "railhead-shm" exceeds the limit "64Gi".`,
			},
			want: PodEvicted, status: check.Fail, says: []string{"--shm"},
		},
		"too much on disk": {
			pod: cluster.Pod{
				Namespace: "train",
				Name:      "h-kim-0",
				Node:      "gpu-1",
				Phase:     "Failed",
				Reason:    "Evicted",
				Message:   "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.",
			},
			want: PodEvicted, status: check.Fail, says: []string{"--ephemeral-storage"},
		},
	})
}

func TestExplainSaysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		pod    cluster.Pod
		events []cluster.Event
	}{
		"a pod that is ready": {
			pod:    cluster.Pod{Name: "a", Ready: true},
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu."),
		},
		"a pod that is being deleted": {pod: cluster.Pod{Name: "a", Deleted: true}, events: event("Failed", "x")},
		"a pod that ended well":       {pod: cluster.Pod{Name: "a", Phase: "Succeeded"}},
		"a pod that was just created": {
			pod: pending(nil),
			events: []cluster.Event{
				{
					Type:    "Normal",
					Reason:  "SuccessfulCreate",
					Message: "create Pod h-kim-0 in StatefulSet h-kim successful",
				},
			},
		},
		"a pod whose container is being created": {
			pod: onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
		},
		"a pod that was scheduled since": {pod: onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
			events: event("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu.")},
		"a pod that a queue has admitted since": {
			pod:    onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
			events: event("Unschedulable", "3/2 tasks in gang unschedulable: pod group is not ready, 2 minAvailable"),
		},
		"a pod that failed before and runs again": {
			pod: onNode(cluster.Container{Name: "train", Running: true, ExitCode: code(1), Restarts: 1}),
		},
		"a pod whose image is pulled without a secret that does not exist": {
			pod: onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
			events: event("FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (regcred); "+
				"attempting to pull the image may not succeed."),
		},
		"a pod with other warnings that keep it from nothing": {
			pod: onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
			events: slices.Concat(
				event("MissingClusterDNS", `pod: "h-kim-0_train". kubelet does not have ClusterDNS IP configured`),
				event("PossibleMemoryBackedVolumesOnDisk", "The tmpfs noswap option is not supported."),
				event("ProbeWarning", "Readiness probe warning: Probe terminated redirects")),
		},
		"a pod whose node was restarted": {
			pod: onNode(cluster.Container{
				Name: "train", Waiting: "ContainerCreating", ExitCode: code(255), Ended: "Unknown", Restarts: 1,
			}),
		},
		"a pod that runs and is not ready": {
			pod:    onNode(cluster.Container{Name: "train", Running: true}),
			events: event("FailedCreatePodSandBox", "no IP addresses available"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if f, ok := Explain(c.pod, c.events, gpuCluster()); ok {
				t.Errorf("%s: %s", f.Check, f.Summary)
			}
		})
	}
}

// While an image is pulled, the pod's containers wait as they did for its volumes, devices and network.
func TestExplainForgetsTheSetUp(t *testing.T) {
	for reason, message := range map[string]string{
		"FailedMount":            `MountVolume.SetUp failed for volume "data" : mount failed: exit status 32`,
		"FailedCreatePodSandBox": `Failed to create pod sandbox: plugin type="multus" failed (add)`,
		"NetworkNotReady": "network is not ready: container runtime network not ready: NetworkReady=false " +
			"reason:NetworkPluginNotReady message:Network plugin returns error: No CNI configuration file in /etc/cni/net.d/",
		"FailedPrepareDynamicResources": "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver " +
			"gpu.nvidia.com is not registered",
		"FailedCreatePodContainer": "unable to ensure pod container exists: failed to create container for [kubepods " +
			"burstable pod1] : Unit kubepods-burstable-pod1.slice was already loaded or has a fragment file.",
		"FailedMapVolume": `MapVolume.SetUpDevice failed for volume "data" : rpc error: code = Internal`,
	} {
		t.Run(reason, func(t *testing.T) {
			failed := event(reason, message)
			failed[0].Last = time.Unix(1000, 0)
			waiting := onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"})
			if _, ok := Explain(waiting, failed, gpuCluster()); !ok {
				t.Error("the event is not explained")
			}
			pulling := append(slices.Clone(failed), cluster.Event{
				Object: "Pod/h-kim-0", Type: "Normal", Reason: "Pulling", Last: time.Unix(1060, 0),
			})
			if f, ok := Explain(waiting, pulling, gpuCluster()); ok {
				t.Errorf("while the image is pulled: %s: %s", f.Check, f.Summary)
			}
			running := onNode(cluster.Container{Name: "train", Running: true})
			if f, ok := Explain(running, failed, gpuCluster()); ok {
				t.Errorf("while the container runs: %s: %s", f.Check, f.Summary)
			}
		})
	}
}

func TestExplainTakesTheNewest(t *testing.T) {
	old, young := time.Unix(1000, 0), time.Unix(2000, 0)
	events := []cluster.Event{
		{
			Type:    "Warning",
			Reason:  "FailedCreatePodSandBox",
			Message: `could not find network attachment definition 'old'`,
			Last:    old,
		},
		{
			Type:    "Warning",
			Reason:  "FailedCreatePodSandBox",
			Message: `could not find network attachment definition 'young'`,
			Last:    young,
		},
	}
	f, _ := Explain(onNode(), events, cluster.State{})
	if !strings.Contains(f.Summary, "young") {
		t.Errorf("it does not use the newest event: %s", f.Summary)
	}
	slices.Reverse(events)
	if g, _ := Explain(onNode(), events, cluster.State{}); g.Summary != f.Summary {
		t.Errorf("it depends on the order of the events: %s", g.Summary)
	}
}

func TestExplainWithoutPods(t *testing.T) {
	s := gpuCluster()
	s.Read, s.Pods = []cluster.Kind{cluster.Nodes}, nil
	f, _ := Explain(pending(cluster.Resources{"nvidia.com/gpu": 8}), event("FailedScheduling", "0/3 nodes are "+
		"available: 3 Insufficient nvidia.com/gpu."), s)
	if f.Check != InsufficientResource || !strings.Contains(f.Summary, "the pods that hold it were not read") || len(f.Evidence) != 1 {
		t.Errorf("%s: %s %v", f.Check, f.Summary, f.Evidence)
	}
}

// kindsOf lists the families whose kinds have an example each, and how such messages are wrapped on a real cluster.
var kindsOf = map[check.ID]struct {
	kinds         []kind
	before, after string
}{
	QueueAdmission:  {kinds: queued},
	ResourceClaim:   {kinds: claims},
	DeviceInjection: {kinds: injections, before: fromRuntime, after: ": unknown"},
	NADMissing:      {attachments, fromMultus, pluginInput},
	NoIP:            {addresses, fromMultus, pluginInput},
	SriovCNI:        {sriovKinds, fromMultus, pluginInput},
	NodeOverload:    {overloads, fromMultus, pluginInput},
	SandboxFailed:   {sandboxes, fromMultus, pluginInput},
}

const (
	fromRuntime = `Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: ` +
		`runc ` +
		`create failed: unable to start container process: error during container init: error running prestart hook ` +
		`#0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy' `
	fromMultus = `(combined from similar events): Failed to create pod sandbox: rpc error: code = Unknown desc = ` +
		`failed to create pod network sandbox ` +
		`k8s_h-kim-0_train_5f1c_0(83b31776a78f0592ff291661771cfed6a1af6d718fc348e73b8f73): ` +
		`error adding pod train_h-kim-0 to CNI network "multus-cni-network": plugin type="multus-shim" ` +
		`name="multus-cni-network" failed (add): CmdAdd (shim): CNI request failed with status 400: ` +
		`'ContainerID:"83b3" ` +
		`Netns:"/var/run/netns/5f1c" IfName:"eth0" Args:"K8S_POD_NAMESPACE=train" Path:"" ERRORED: error ` +
		`configuring pod ` +
		`[train/h-kim-0] networking: [train/h-kim-0/3a5636c4-7d4d:eno5np0]: error adding container to network ` +
		`"eno5np0": `
	pluginInput = `\n': StdinData: ` +
		`{"binDir":"/var/lib/cni/bin","clusterNetwork":"/host/run/multus/cni/net.d/10-ovn.conf"}`
)

// TestFamilies asserts that every example is explained by its family, behind a message that explains nothing.
func TestFamilies(t *testing.T) {
	container := map[check.ID]bool{InstallFailed: true, LaunchRefused: true, CommandExit: true, NodeLost: true}
	for i, family := range families {
		examples := []string{family.example}
		if of, ok := kindsOf[family.id]; ok && family.example == "" {
			examples = nil
			for _, k := range of.kinds {
				examples = append(examples, of.before+k.example+of.after)
			}
		} else if family.example == "" {
			if !container[family.id] {
				t.Errorf("family %d, of %s, has no example", i, family.id)
			}
			continue
		}
		for _, text := range examples {
			example := symptom{text: text}
			for _, earlier := range families[:i] {
				if earlier.matches(example) {
					t.Errorf("%q is explained by %s, want %s", text, earlier.id, family.id)
				}
			}
			if !family.matches(example) || family.explain(target{}, example).Check != family.id {
				t.Errorf("%q is not explained by %s", text, family.id)
			}
		}
	}
}

// TestKinds asserts that every kind of message has its own answer, which quotes its words whatever is around them.
func TestKinds(t *testing.T) {
	for id, of := range kindsOf {
		for i, k := range of.kinds {
			sym := symptom{text: of.before + k.example + of.after}
			found, _, _ := kindOf(of.kinds, sym)
			if found.summary != k.summary || found.fix != k.fix {
				t.Errorf("kind %d of %s: %q is answered by %q, want %q", i, id, sym.text, found.summary, k.summary)
			}
			f := answer(id, of.kinds)(target{pod: onNode()}, sym)
			text := f.Summary + f.Fix.Text + strings.Join(f.Fix.Commands, " ")
			if regexp.MustCompile(`\{(pod|on|node|namespace|quote|1)\}`).MatchString(text) {
				t.Errorf("kind %d of %s has a placeholder left: %s", i, id, text)
			}
			quoted := strings.Contains(k.summary, "{quote}")
			if quoted && !strings.Contains(f.Summary, k.example[:min(len(k.example), 60)]) {
				t.Errorf("kind %d of %s does not quote %q: %s", i, id, k.example, f.Summary)
			}
			if strings.Contains(f.Summary, "  ") {
				t.Errorf("kind %d of %s names nothing: %s", i, id, f.Summary)
			}
		}
	}
}

// TestLongMessages: the words at the end of a message count, however long it is.
func TestLongMessages(t *testing.T) {
	stdin := "StdinData:[" + strings.Repeat("123 34 ", 4000) + "125]"
	for name, before := range map[string]string{
		"Multus' input as numbers": fromMultus + stdin + " ",
		"any other long beginning": "Failed to create pod sandbox: " + strings.Repeat("words and ", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			const end = "VF ib2 GUID is not valid"
			o, _ := Explain(onNode(), event("FailedCreatePodSandBox", before+end), gpuCluster())
			got := o.Evidence[0].Got
			if o.Check != SriovCNI || !strings.Contains(o.Summary, end) || !strings.Contains(got, end) ||
				len(got) > 2*longestMessage {
				t.Errorf("%s: %s, with %d bytes of evidence", o.Check, o.Summary, len(got))
			}
		})
	}
}

func FuzzExplain(f *testing.F) {
	f.Add("FailedScheduling", "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated taint {a: b}.", 0)
	f.Add("FailedCreatePodSandBox", "SRIOV-CNI failed to load netconf: LoadConf(): VF pci addr is required", 1)
	f.Add("", "exceeded quota: a, requested: b=1, used: b=1, limited: b=1", 125)
	f.Fuzz(func(t *testing.T, reason, message string, exit int) {
		pod := onNode(cluster.Container{Name: "train", Waiting: reason, Message: message, ExitCode: &exit})
		for _, p := range []cluster.Pod{pod, pending(nil), {}} {
			got, ok := Explain(p, event(reason, message), gpuCluster())
			if ok && (got.Check == "" || got.Summary == "" || got.Fix == nil || len(got.Evidence) == 0) {
				t.Errorf("%q, %q: incomplete finding %+v", reason, message, got)
			}
		}
	})
}

// The kubelet has previous logs only of containers that were restarted.
func TestLogsOfContainerThatEnded(t *testing.T) {
	for restarts, want := range map[int]string{
		0: "kubectl -n train logs h-kim-0 -c train",
		2: "kubectl -n train logs h-kim-0 -c train --previous",
	} {
		pod := onNode(cluster.Container{Name: "train", ExitCode: code(1), Restarts: restarts})
		f, _ := Explain(pod, nil, gpuCluster())
		if f.Fix == nil || !slices.Equal(f.Fix.Commands, []string{want}) {
			t.Errorf("%d restarts: %+v", restarts, f.Fix)
		}
	}
}
