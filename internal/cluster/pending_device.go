package cluster

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The words of the kubelet's device, topology, CPU and memory managers.
var (
	allocate = regexp.MustCompile(`(?i)Allocate failed due to|UnexpectedAdmissionError|GetPreferredAllocation|TopologyAffinityError|Topology locality|SMT ?Alignment ?Error|EmptyPodSharedPoolError|requested number of devices unavailable|unhealthy devices|Update plugin resources failed|allocate unregistered device|no containers return in allocation response|PreStartContainer rpc failed`)
	smtGroup = regexp.MustCompile(`requested (\d+) cpus not multiple cpus per core = (\d+)`)
	smtFree  = regexp.MustCompile(`available physical CPUs = (\d+), requested CPUs = (\d+)`)
	shared   = regexp.MustCompile(`request for '([^']+)' too large: maximum request size for shared resources is (\d+)`)
)

// deviceAllocate explains that the node's device plugin did not give what the scheduler had promised.
func deviceAllocate(p patient, said symptom) (check.Finding, bool) {
	if !allocate.MatchString(said.reason + ": " + said.text) {
		return check.Finding{}, false
	}
	f := check.Finding{Check: DeviceAllocate, Status: check.Fail}
	f.Summary = p.onNode() + " could not give " + p.name() + " its devices: " + clip(said.text)
	f.Fix = &check.Fix{Text: "Read the log of the device plugin on that node; restarting the plugin's pod lists the devices anew.", Who: check.Admin,
		Commands: []string{"kubectl get pods -A -o wide --field-selector spec.nodeName=" + orDefault(p.pod.Node, "NODE") + " | grep -E 'device-plugin|sriov'"}}
	m := shared.FindStringSubmatch(said.text)
	switch {
	case m != nil:
		f.Summary = fmt.Sprintf("GPUs of %s are shared (time-slicing or MPS), and a pod may ask for at most %s: it asked for %s", p.onNode(), m[2], m[1])
		f.Fix = &check.Fix{Text: "Train on nodes whose GPUs are not shared, or ask for one share.", Who: check.User, Commands: []string{"railhead deploy " + p.job() + " --gpus " + m[2] + " ...", "kubectl get nodes -L nvidia.com/gpu.sharing-strategy"}}
	case strings.Contains(said.reason+said.text, "TopologyAffinityError") || strings.Contains(said.text, "Topology locality"):
		f.Summary, f.Fix = p.onNode()+" has no GPUs, NICs and CPUs free that are near enough to each other for its topology manager's policy", p.topologyFix()
	case strings.Contains(said.reason+said.text, "SMTAlignmentError") || strings.Contains(said.text, "SMT Alignment Error"):
		p.smtAlignment(&f, said.text)
	case strings.Contains(said.reason+said.text, "EmptyPodSharedPoolError"):
		f.Summary = p.onNode() + " sets CPUs or memory aside for the pod as a whole, and leaves none for a container of " + p.name() + " that asks for none of its own: " + clip(said.text)
		f.Fix = &check.Fix{Text: "Ask for whole CPUs and memory for every container, or let an administrator choose the topology manager's scope container.", Who: check.User,
			Commands: []string{"railhead deploy " + p.job() + " --cpu 32 --memory 256Gi ...", "kubectl get --raw /api/v1/nodes/" + orDefault(p.pod.Node, "NODE") + "/proxy/configz"}}
	case strings.Contains(said.text, "unhealthy"):
		f.Summary = "the device plugin of " + p.onNode() + " says that the devices are not healthy: " + clip(said.text)
	}
	return f, true
}

// topologyFix is what helps against the topology manager's refusal. Under single-numa-node all devices and CPUs of a pod are of
// one NUMA node, so that one with all GPUs of a node with two sockets never fits; restricted wants every resource on the same
// NUMA nodes, so that it does not fit beside a rail, which is on one (kubernetes pkg/kubelet/cm/topologymanager/policy.go
// mergePermutation).
func (p patient) topologyFix() *check.Fix {
	fewer := "N"
	for _, resource := range slices.Sorted(maps.Keys(p.pod.Requests)) {
		if asked := p.pod.Requests[resource]; IsGPU(resource) && asked > 1 {
			fewer = fmt.Sprint(asked / 2) // nodes with GPUs have two sockets, mostly
		}
	}
	return &check.Fix{
		Text: "Under the policy single-numa-node a pod with all GPUs and rails of a node with two sockets never fits, and under restricted neither. Let an administrator choose best-effort for these nodes; or ask for no more GPUs than one NUMA node has, and for the rails of that one.",
		Who:  check.Admin,
		Commands: []string{
			"kubectl get --raw /api/v1/nodes/" + orDefault(p.pod.Node, "NODE") + "/proxy/configz",
			"railhead deploy " + p.job() + " --gpus " + fewer + " --network RAIL ...",
		},
	}
}

// smtAlignment explains the CPU manager's option full-pcpus-only: containers get whole cores
// (kubernetes pkg/kubelet/cm/cpumanager/policy_static.go enforceSMTAlignment).
func (p patient) smtAlignment(f *check.Finding, text string) {
	f.Summary = p.onNode() + " gives containers whole cores only (CPU manager, full-pcpus-only), and cannot give " + p.name() + " its CPUs: " + clip(text)
	f.Fix = &check.Fix{Text: "Ask for as many CPUs as whole cores have threads.", Who: check.User, Commands: []string{"railhead deploy " + p.job() + " --cpu 32 ..."}}
	if m := smtGroup.FindStringSubmatch(text); m != nil {
		f.Summary = fmt.Sprintf("%s gives containers whole cores only (CPU manager, full-pcpus-only): %s asks for %s CPUs, and a core has %s", p.onNode(), p.name(), m[1], m[2])
		f.Fix.Text = "Ask for a multiple of " + m[2] + " CPUs."
		asked, errAsked := strconv.Atoi(m[1])
		threads, errThreads := strconv.Atoi(m[2])
		if errAsked == nil && errThreads == nil && threads > 0 {
			f.Fix.Commands = []string{fmt.Sprintf("railhead deploy %s --cpu %d ...", p.job(), (asked/threads+1)*threads)}
		}
	}
	if m := smtFree.FindStringSubmatch(text); m != nil {
		f.Summary = fmt.Sprintf("%s has %s CPUs of whole cores free (CPU manager, full-pcpus-only), and %s asks for %s", p.onNode(), m[1], p.name(), m[2])
		f.Fix.Text = "Wait until the pods that hold them end, or ask for fewer CPUs."
	}
}
