package pods

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// The messages of the kubelet's device, topology, CPU and memory managers.
var (
	allocate = anyCase(
		`Allocate failed due to`,
		`UnexpectedAdmissionError`,
		`GetPreferredAllocation`,
		topologyWords,
		smtWords,
		poolWords,
		`requested number of devices unavailable`,
		`unhealthy devices`,
		`Update plugin resources failed`,
		`allocate unregistered device`,
		`no containers return in allocation response`,
		`PreStartContainer rpc failed`,
	)
	topology  = anyOf(topologyWords)
	smt       = anyOf(smtWords)
	noPool    = anyOf(poolWords)
	unhealthy = anyOf(`unhealthy`)
	smtGroup  = anyOf(`requested (\d+) cpus not multiple cpus per core = (\d+)`)
	smtFree   = anyOf(`available physical CPUs = (\d+), requested CPUs = (\d+)`)
	shared    = anyOf(`request for '([^']+)' too large: maximum request size for shared resources is (\d+)`)
)

const (
	topologyWords = `Topology ?Affinity ?Error|Topology [Ll]ocality`
	smtWords      = `SMT ?Alignment ?Error`
	poolWords     = `EmptyPodSharedPoolError`
)

// deviceAllocate explains that the node did not give the pod the devices or CPUs that the scheduler had promised.
func deviceAllocate(t target, sym symptom) check.Finding {
	whole := sym.whole()
	f := failure(DeviceAllocate, onNodeOf(t)+" could not give "+t.name()+" its devices: "+quote(sym.text),
		check.ByAdmin("Read the log of the device plugin on that node. Restarting its pod lists the devices again.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName="+t.node()+" | grep -E 'device-plugin|sriov'"))
	m := shared.FindStringSubmatch(sym.text)
	switch {
	case m != nil:
		f.Summary = fmt.Sprintf("GPUs of %s are shared (time-slicing or MPS): a pod may request %s, but it requests %s",
			onNodeOf(t), m[2], m[1])
		f.Fix = check.ByUser("Train on nodes whose GPUs are not shared, or request one share.",
			t.deploy("--gpus "+m[2]), "kubectl get nodes -L nvidia.com/gpu.sharing-strategy")
	case topology.MatchString(whole):
		f.Summary = onNodeOf(t) + " has no free GPUs, NICs and CPUs close enough to each other for its topology " +
			"manager's policy"
		f.Fix = topologyFix(t)
	case smt.MatchString(whole):
		t.smtAlignment(&f, sym.text)
	case noPool.MatchString(whole):
		f.Summary = fmt.Sprintf("%s reserves CPUs or memory for the pod as a whole, and leaves none for a container "+
			"of %s without requests: %s", onNodeOf(t), t.name(), quote(sym.text))
		f.Fix = check.ByUser("Request whole CPUs and memory for every container, or let an administrator choose the "+
			"topology manager's scope container.", t.deploy("--cpu 32 --memory 256Gi"), kubeletConfig(t))
	case unhealthy.MatchString(sym.text):
		f.Summary = "the device plugin of " + onNodeOf(t) + " reports unhealthy devices: " + quote(sym.text)
	}
	return f
}

func kubeletConfig(t target) string {
	return "kubectl get --raw /api/v1/nodes/" + t.node() + "/proxy/configz"
}

// topologyFix returns a fix for a refusal by the topology manager. Under single-numa-node all devices and CPUs of a pod
// are on one NUMA node, so that a pod with all GPUs of a node with two sockets never fits. Under restricted every
// resource is on the same NUMA nodes, so that it does not fit together with a rail, which is on one (kubernetes
// pkg/kubelet/cm/topologymanager/policy.go mergePermutation).
func topologyFix(t target) *check.Fix {
	fewer := "N"
	for _, resource := range slices.Sorted(maps.Keys(t.pod.Requests)) {
		if requested := t.pod.Requests[resource]; cluster.IsGPU(resource) && requested > 1 {
			fewer = fmt.Sprint(requested / 2) // most nodes with GPUs have two sockets
		}
	}
	return check.ByAdmin("Under the policies single-numa-node and restricted, a pod with all GPUs and rails of a "+
		"node with two sockets never fits. Let an administrator choose best-effort for these nodes, or request no "+
		"more GPUs than one NUMA node has, and only its rails.",
		kubeletConfig(t), t.deploy("--gpus "+fewer+" --network RAIL"))
}

// smtAlignment explains the CPU manager's option full-pcpus-only: containers get whole cores
// (kubernetes pkg/kubelet/cm/cpumanager/policy_static.go enforceSMTAlignment).
func (t target) smtAlignment(f *check.Finding, text string) {
	wholeCores := onNodeOf(t) + " gives containers whole cores only (CPU manager, full-pcpus-only)"
	f.Summary = wholeCores + ", and cannot give " + t.name() + " its CPUs: " + quote(text)
	f.Fix = check.ByUser("Request a multiple of the threads of a core.", t.deploy("--cpu 32"))
	if m := smtGroup.FindStringSubmatch(text); m != nil {
		f.Summary = fmt.Sprintf("%s: %s requests %s CPUs, and a core has %s", wholeCores, t.name(), m[1], m[2])
		f.Fix.Text = "Request a multiple of " + m[2] + " CPUs."
		requested, errRequested := strconv.Atoi(m[1])
		threads, errThreads := strconv.Atoi(m[2])
		if errRequested == nil && errThreads == nil && threads > 0 {
			f.Fix.Commands = []string{t.deploy(fmt.Sprintf("--cpu %d", (requested/threads+1)*threads))}
		}
	}
	if m := smtFree.FindStringSubmatch(text); m != nil {
		f.Summary = fmt.Sprintf("%s has %s CPUs of whole cores free (CPU manager, full-pcpus-only), and %s requests %s",
			onNodeOf(t), m[1], t.name(), m[2])
		f.Fix.Text = "Wait until the pods that hold them end, or request fewer CPUs."
	}
}
