package pods

import (
	"slices"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// An error that the kubelet or a controller retries may last for a while. One that is not retried, or in vain, may not.
// A warning never ends a wait.
func TestPatience(t *testing.T) {
	sandbox := func(why string) []cluster.Event {
		return event("FailedCreatePodSandBox", "Failed to create pod sandbox: "+why)
	}
	failed := func(owner, reason, message string) cluster.Pod {
		return cluster.Pod{
			Namespace: "train",
			Name:      "h-kim-0",
			UID:       "1",
			Owner:     owner,
			Phase:     "Failed",
			Node:      "gpu-1",
			Reason:    reason,
			Message:   message,
		}
	}
	train := func(waiting, message string) cluster.Pod {
		return onNode(cluster.Container{Name: "train", Waiting: waiting, Message: message})
	}
	refused := func(why string) []cluster.Event {
		return []cluster.Event{
			{
				Object:  "StatefulSet/h-kim",
				Type:    "Warning",
				Reason:  "FailedCreate",
				Message: "create Pod h-kim-0 in StatefulSet h-kim failed error: " + why,
			},
		}
	}
	none := cluster.Pod{Namespace: "train", Name: "h-kim-0", Owner: "StatefulSet/h-kim"}
	const set, job = "StatefulSet/h-kim", "Job/h-kim-worker-0"
	for name, test := range map[string]struct {
		pod    cluster.Pod
		events []cluster.Event
		want   check.ID
		status check.Status
		wait   time.Duration
	}{
		"a kubelet that starts does not know the ConfigMap": {
			onNode(),
			event("FailedMount", `MountVolume.SetUp failed for volume "railhead-parts" : object `+
				`"train"/"railhead-pod-amd64-0" not registered`),
			VolumeNotReady,
			check.Fail,
			2 * time.Minute,
		},
		"the same for a variable": {
			train("CreateContainerConfigError", `object "train"/"settings" not registered`),
			nil,
			ContainerStart,
			check.Fail,
			2 * time.Minute,
		},
		"a claim that is not bound yet": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
			VolumeNotReady,
			check.Fail,
			2 * time.Minute,
		},
		"whereabouts has no leader": {onNode(), sandbox(`plugin type="multus" failed (add): ` +
			`[train/h-kim-0:eno5np0]: error adding container to network "eno5np0": failed to set up IPAM plugin ` +
			`type "whereabouts" from the device "eno5np0": DelegateAdd - "sriov": time limit exceeded while ` +
			`waiting to become leader`),
			NodeOverload, check.Warn, 0},
		"Multus does not listen yet": {
			onNode(),
			sandbox(`plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): failed to ` +
				`send CNI request: Post "http://dummy/cni": dial unix /run/multus/socket/multus.sock: connect: ` +
				`connection refused`),
			SandboxFailed,
			check.Fail,
			2 * time.Minute,
		},
		"Open vSwitch does not answer": {
			onNode(),
			sandbox(`plugin type="ovn-k8s-cni-overlay" failed (add): CNI request failed with status 400: failed to ` +
				`run 'ovs-vsctl --timeout=30 add-port': exit status 1`),
			SandboxFailed,
			check.Fail,
			2 * time.Minute,
		},
		"no address is left": {
			onNode(),
			sandbox("no IP addresses available in range set"),
			NoIP,
			check.Fail,
			2 * time.Minute,
		},
		"a virtual function without its PF": {
			onNode(),
			sandbox(`SRIOV-CNI failed to load netconf: LoadConf(): failed to get VF information`),
			SriovCNI,
			check.Fail,
			2 * time.Minute,
		},
		"no device was requested": {
			onNode(),
			sandbox("SRIOV-CNI failed to load netconf: LoadConf(): VF pci addr is required"),
			SriovCNI,
			check.Fail,
			0,
		},
		"Multus does not know the attachment yet": {
			onNode(),
			sandbox("cannot find a network-attachment-definition (eno9np0) in namespace (train)"),
			NADMissing,
			check.Fail,
			2 * time.Minute,
		},
		"the injector does not know it": {
			none,
			refused(`admission webhook "network-resources-injector-config.k8s.io" denied the request: could not ` +
				`find network attachment definition 'train/x'`),
			NADMissing,
			check.Fail,
			0,
		},
		"a device plugin that restarts": {
			failed(set, "UnexpectedAdmissionError", "Allocate failed due to no healthy devices present; cannot "+
				"allocate unhealthy devices nvidia.com/gpu, which is unexpected"),
			nil,
			DeviceAllocate,
			check.Fail,
			2 * time.Minute,
		},
		"the same for a job that runs once": {
			failed(job, "UnexpectedAdmissionError", "Allocate failed due to no healthy devices present; cannot "+
				"allocate unhealthy devices nvidia.com/gpu, which is unexpected"),
			nil,
			DeviceAllocate,
			check.Fail,
			0,
		},
		"devices that are never near enough": {
			failed(set, "TopologyAffinityError", "Resources cannot be allocated with Topology locality"),
			nil,
			DeviceAllocate,
			check.Fail,
			0,
		},
		"a number of CPUs that never fits": {
			failed(set, "SMTAlignmentError", "SMT Alignment Error: requested 5 cpus not multiple cpus per core = 2"),
			nil,
			DeviceAllocate,
			check.Fail,
			0,
		},
		"CPUs that other pods hold": {
			failed(set, "SMTAlignmentError", "SMT Alignment Error: not enough free physical CPUs: available "+
				"physical CPUs = 4, requested CPUs = 8, CPUs per core = 2"),
			nil,
			DeviceAllocate,
			check.Fail,
			2 * time.Minute,
		},
		"a node that is short of disk": {
			failed(set, "Evicted", "The node was low on resource: ephemeral-storage."),
			nil,
			PodEvicted,
			check.Fail,
			2 * time.Minute,
		},
		"no disk for the image": {
			train("ErrImagePull", "write /var/lib/containers: no space left on device"),
			nil,
			ImagePull,
			check.Fail,
			2 * time.Minute,
		},
		"no such image": {
			train("ErrImagePull", "reading manifest c in a/b: manifest unknown"),
			nil,
			ImagePull,
			check.Fail,
			0,
		},
		"a driver that is not loaded yet": {
			train("RunContainerError", "failed to create shim task: OCI runtime create failed: "+
				"nvidia-container-cli: initialization error: nvml error: driver not loaded"),
			nil,
			DeviceInjection,
			check.Fail,
			2 * time.Minute,
		},
		"an image that runs as root": {
			train("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
			nil,
			ContainerStart,
			check.Fail,
			0,
		},
		"no such program": {
			train("RunContainerError", `OCI runtime create failed: exec: "bash": executable file not found in $PATH`),
			nil,
			ContainerStart,
			check.Fail,
			0,
		},
		"no SCC": {
			none,
			refused(`pods "h-kim-0" is forbidden: unable to validate against any security context constraint: ` +
				`[provider restricted-v2: .containers[0].privileged: Invalid value: true: Privileged containers are ` +
				`not allowed]`),
			SCCOther,
			check.Fail,
			10 * time.Second,
		},
		"a namespace that OpenShift has not annotated": {
			none,
			refused(`pods "h-kim-0" is forbidden: unable to find annotation openshift.io/sa.scc.uid-range`),
			SCCOther,
			check.Fail,
			2 * time.Minute,
		},
		"a quota": {
			none,
			refused(`pods "h-kim-0" is forbidden: exceeded quota: gpus, requested: pods=1, used: pods=2, limited: ` +
				`pods=2`),
			QuotaExceeded,
			check.Fail,
			0,
		},
		"a quota that is not counted yet": {
			none,
			refused(`pods "h-kim-0" is forbidden: status unknown for quota: gpus, resources: pods`),
			AdmissionRefused,
			check.Fail,
			2 * time.Minute,
		},
		"a service account that is being created": {
			none,
			refused(`pods "h-kim-0" is forbidden: error looking up service account train/default: serviceaccount ` +
				`"default" not found`),
			AdmissionRefused,
			check.Fail,
			2 * time.Minute,
		},
		"a webhook that does not answer": {
			none,
			refused(`Internal error occurred: failed calling webhook "inject.example.com": connect: connection ` +
				`refused`),
			AdmissionRefused,
			check.Fail,
			2 * time.Minute,
		},
		"a controller without rights, after the API server has started": {
			none,
			refused(`pods is forbidden: User "system:serviceaccount:kube-system:job-controller" cannot create resource ` +
				`"pods" in API group "" in the namespace "train"`),
			AdmissionRefused,
			check.Fail,
			2 * time.Minute,
		},
		"a webhook that denies": {
			none,
			refused(`admission webhook "policy.example.com" denied the request: no latest tag`),
			AdmissionRefused,
			check.Fail,
			0,
		},
		"a node that is not ready": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: 1 node(s) had untolerated taint "+
				"{node.kubernetes.io/not-ready: }, 2 node(s) had untolerated taint {dedicated: a}."),
			NodeSelection,
			check.Warn,
			0,
		},
		"a node without its cloud": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: 3 node(s) had untolerated taint(s) "+
				"{node.cloudprovider.kubernetes.io/uninitialized: true}."),
			NodeSelection,
			check.Warn,
			0,
		},
		"a cordoned and a tainted node": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: 1 node(s) had untolerated taint "+
				"{node-role.kubernetes.io/master: }, 2 node(s) were unschedulable."),
			NodeSelection,
			check.Warn,
			0,
		},
		"an unnamed taint": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: 3 node(s) had untolerated taint(s). preemption: 0/3 "+
				"nodes are available: 3 Preemption is not helpful for scheduling."),
			NodeSelection,
			check.Fail,
			2 * time.Minute,
		},
		"a named taint": {
			pending(nil),
			event("FailedScheduling", "0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: a}."),
			NodeSelection,
			check.Fail,
			0,
		},
		"a command that failed": {
			onNode(cluster.Container{Name: "train", Waiting: "CrashLoopBackOff", ExitCode: code(1)}),
			nil,
			CommandExit,
			check.Fail,
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := Explain(test.pod, test.events, gpuCluster())
			if o.Check != test.want || o.Status != test.status || o.Patience != test.wait {
				t.Errorf("%s %s with patience of %v: "+
					"%s; want %s %s, %v", o.Status, o.Check, o.Patience, o.Summary, test.status, test.want, test.wait)
			}
		})
	}
}

// An error that the kubelet has overcome does not count, however long the image pull takes.
func TestResolved(t *testing.T) {
	at := time.Unix(1000, 0)
	kubelet := func(kind, reason string, after time.Duration) cluster.Event {
		return cluster.Event{
			Object:  "Pod/h-kim-0",
			Type:    kind,
			Reason:  reason,
			Message: reason + `: object "train"/"x" not registered`,
			Last:    at.Add(after),
		}
	}
	waits := onNode(cluster.Container{Name: "train", Waiting: "ContainerCreating"})
	for name, test := range map[string]struct {
		events []cluster.Event
		want   check.ID
	}{
		"a volume that is not mounted": {[]cluster.Event{kubelet("Warning", "FailedMount", 0)}, VolumeNotReady},
		"mounted since, and the image is being pulled": {
			[]cluster.Event{kubelet("Warning", "FailedMount", 0), kubelet("Normal", "Pulling", time.Second)},
			"",
		},
		"in the same second": {
			[]cluster.Event{kubelet("Normal", "Pulling", 0), kubelet("Warning", "FailedMount", 0)},
			"",
		},
		"a network that is not set up": {
			[]cluster.Event{kubelet("Warning", "FailedCreatePodSandBox", 0)},
			SandboxFailed,
		},
		"set up since": {
			[]cluster.Event{kubelet("Warning", "FailedCreatePodSandBox", 0), kubelet("Normal", "Pulled", time.Second)},
			"",
		},
		"set up, and lost again": {
			[]cluster.Event{kubelet("Normal", "Pulled", 0), kubelet("Warning", "FailedCreatePodSandBox", time.Minute)},
			SandboxFailed,
		},
		"another pod's image": {
			[]cluster.Event{
				kubelet("Warning", "FailedMount", 0),
				{Object: "Pod/h-kim-1", Type: "Normal", Reason: "Pulling", Last: at.Add(time.Minute)},
			},
			VolumeNotReady,
		},
		"a later error": {
			[]cluster.Event{
				kubelet("Normal", "Pulling", 0),
				{
					Object:  "Pod/h-kim-0",
					Type:    "Warning",
					Reason:  "Failed",
					Message: "Failed to pull image: manifest unknown",
					Last:    at,
				},
			},
			ImagePull,
		},
		"scheduled, which resolves nothing": {
			[]cluster.Event{kubelet("Warning", "FailedMount", 0), kubelet("Normal", "Scheduled", time.Second)},
			VolumeNotReady,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if o, _ := Explain(waits, test.events, cluster.State{}); o.Check != test.want {
					t.Errorf("%q, want %q", o.Check, test.want)
				}
				slices.Reverse(test.events)
			}
		})
	}
}
