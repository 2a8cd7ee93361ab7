package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The checks of what a cluster offers to RDMA jobs.
const (
	ClusterReadable check.ID = "cluster-readable"
	GPUNodes        check.ID = "gpu-nodes"
	RDMAResources   check.ID = "rdma-resources"
	RailsEven       check.ID = "rails-even"
	NetworkResource check.ID = "network-resource"
	SriovNodeState  check.ID = "sriov-node-state"
	SCCForRDMA      check.ID = "scc-for-rdma"
)

// Missing says what of the cluster stands between a training job and its rails. What could not be read is said first.
func Missing(s State) []check.Finding {
	return slices.Concat(s.unread(), s.missingDevices(), s.deafNetworks(), s.failedSriovNodes(), s.missingSCC())
}

// unread are the lists that were asked for and did not come.
func (s State) unread() []check.Finding {
	var findings []check.Finding
	for _, p := range s.Problems {
		f := check.Finding{
			Check: ClusterReadable, Status: check.Unknown, Subject: check.Subject(p.Kind),
			Summary:  fmt.Sprintf("%s could not be read%s: what depends on them is not known", p.Kind, inNamespace(p.Namespace)),
			Evidence: []check.Evidence{{Source: string(p.Kind), Got: p.Err}},
		}
		if p.Forbidden {
			f.Fix = &check.Fix{
				Text: fmt.Sprintf("An administrator lets you list %s.", p.Kind), Who: check.Admin,
				Commands: []string{strings.TrimSpace("kubectl auth can-i list " + string(p.Kind) + " " + namespaceFlag(p.Namespace))},
			}
		}
		i := slices.IndexFunc(findings, func(other check.Finding) bool { return other.Summary == f.Summary })
		if i >= 0 { // one kind of ours is several lists of the server
			findings[i].Evidence = append(findings[i].Evidence, f.Evidence...)
			continue
		}
		findings = append(findings, f)
	}
	return findings
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

func namespaceFlag(namespace string) string {
	if namespace == "" {
		return "-A"
	}
	return "-n " + namespace
}

// gpuNodes are the nodes that offer GPUs.
func (s State) gpuNodes() []Node {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n Node) bool {
		_, count := n.GPUs()
		return count == 0
	})
}

func (s State) missingDevices() []check.Finding {
	if !s.Knows(Nodes) {
		return nil
	}
	nodes := s.gpuNodes()
	if len(nodes) == 0 {
		return []check.Finding{s.noGPUs()}
	}
	offers := s.RDMAOffers()
	with := map[string][]string{} // node -> the RDMA resources that it offers
	for _, o := range offers {
		for _, node := range o.Nodes() {
			with[node] = append(with[node], o.Resource)
		}
	}
	if !slices.ContainsFunc(nodes, func(n Node) bool { return len(with[n.Name]) > 0 }) {
		return []check.Finding{s.noRDMA(nodes, offers)}
	}
	return uneven(nodes, with)
}

// hardwareLabels are what feature discovery says of a node with a GPU, also where no device plugin offers it.
var hardwareLabels = []string{"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present", "feature.node.kubernetes.io/pci-1002.present"}

func (s State) noGPUs() check.Finding {
	f := check.Finding{
		Check: GPUNodes, Status: check.Fail, Subject: "cluster",
		Summary:  fmt.Sprintf("none of %d nodes offers a GPU", len(s.Nodes)),
		Evidence: []check.Evidence{{Source: "nodes status.allocatable", Got: "no " + strings.Join(gpuResources, ", "), Want: "a GPU resource"}},
		Fix:      &check.Fix{Text: "Install the GPU operator of the vendor, or read why its device plugin does not run.", Who: check.Admin, Commands: []string{"kubectl get pods -A | grep -E 'gpu|device-plugin'"}},
	}
	for _, n := range s.Nodes {
		for _, label := range hardwareLabels {
			if n.Labels[label] == "true" {
				f.Evidence = append(f.Evidence, check.Evidence{Source: "node/" + n.Name, Got: "label " + label + "=true, and no GPU offered"})
				break
			}
		}
	}
	return f
}

func (s State) noRDMA(nodes []Node, offers []Offer) check.Finding {
	f := check.Finding{
		Check: RDMAResources, Status: check.Fail, Subject: "cluster",
		Summary:  fmt.Sprintf("none of %d nodes with GPUs offers an RDMA resource: pods get no rail", len(nodes)),
		Evidence: []check.Evidence{{Source: "nodes status.allocatable", Got: listed(names(nodes)) + ": no RDMA resource", Want: "openshift.io/..., nvidia.com/... or rdma/..."}},
		Fix: &check.Fix{Text: "Let a device plugin offer the NICs: the SR-IOV operator with a SriovNetworkNodePolicy that has isRdma: true, or the shared RDMA device plugin.",
			Who: check.Admin, Commands: []string{"railhead setup cluster --sriov"}},
	}
	for _, o := range offers {
		f.Evidence = append(f.Evidence, check.Evidence{Source: o.Resource, Got: "offered by " + orDefault(listed(o.Nodes()), "no node") + ", without GPUs"})
	}
	for _, o := range s.DRAOffers() {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "resourceslices of " + o.Driver, Got: "RDMA devices on " + listed(offering(o.PerNode))})
	}
	return f
}

func names(nodes []Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return all
}

// uneven says which nodes with GPUs lack RDMA resources that others have.
func uneven(nodes []Node, with map[string][]string) []check.Finding {
	everything := map[string]bool{}
	groups := map[string][]string{} // RDMA resources, joined -> nodes
	for _, n := range nodes {
		for _, r := range with[n.Name] {
			everything[r] = true
		}
		key := strings.Join(with[n.Name], ", ")
		groups[key] = append(groups[key], n.Name)
	}
	if len(groups) < 2 {
		return nil
	}
	f := check.Finding{
		Check: RailsEven, Status: check.Warn, Subject: "cluster",
		Fix: &check.Fix{Text: "Let every node with GPUs offer the same RDMA resources, or keep jobs on the nodes that do with --node-selector.", Who: check.Admin,
			Commands: []string{"kubectl get sriovnetworknodestates -A"}},
	}
	lacking := 0
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		var lacks []string
		for _, r := range slices.Sorted(maps.Keys(everything)) {
			if !slices.Contains(strings.Split(key, ", "), r) {
				lacks = append(lacks, r)
			}
		}
		if len(lacks) == 0 {
			continue
		}
		nodes := slices.Sorted(slices.Values(groups[key]))
		lacking += len(nodes)
		f.Evidence = append(f.Evidence, check.Evidence{Source: "nodes " + listed(nodes), Got: orDefault(key, "no RDMA resource"), Want: "also " + strings.Join(lacks, ", ")})
	}
	f.Summary = fmt.Sprintf("%d of %d nodes with GPUs lack RDMA resources that the others offer: a job that needs all rails cannot use them", lacking, len(nodes))
	return []check.Finding{f}
}

// deafNetworks are the attachments meant to bring an RDMA device that bring none, those with one reason together.
func (s State) deafNetworks() []check.Finding {
	reasons := map[string][]Rail{}
	for _, namespace := range s.networkNamespaces() {
		for _, r := range s.Rails(namespace) {
			if r.RDMA && !r.Usable() {
				reasons[r.Reason] = append(reasons[r.Reason], r)
			}
		}
	}
	var findings []check.Finding
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		findings = append(findings, s.deafNetwork(reason, reasons[reason]))
	}
	return findings
}

func (s State) networkNamespaces() []string {
	var all []string
	for _, n := range s.Networks {
		all = append(all, n.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s State) deafNetwork(reason string, rails []Rail) check.Finding {
	var places []string
	for _, r := range rails {
		places = append(places, r.Namespace+"/"+r.Network)
	}
	f := check.Finding{
		Check: NetworkResource, Status: check.Fail, Subject: check.Subject("network/" + places[0]),
		Summary:  fmt.Sprintf("pods get no RDMA device through %s: %s", listed(places), reason),
		Evidence: []check.Evidence{{Source: "annotation k8s.v1.cni.cncf.io/resourceName", Got: orDefault(rails[0].Resource, "not there"), Want: "an RDMA resource that nodes offer"}},
		Fix:      &check.Fix{Text: "Name a resource that nodes offer in the attachment, or let the nodes offer this one.", Who: check.Admin},
	}
	if instead := s.suggest(rails[0].Resource); len(instead) > 0 {
		f.Fix.Text = "Nodes offer " + strings.Join(instead, ", ") + ": name the right one in the attachment, or let the nodes offer this one."
	}
	f.Fix.Commands = []string{fmt.Sprintf("kubectl -n %s get network-attachment-definition %s -o yaml", rails[0].Namespace, rails[0].Network)}
	return f
}

// suggest is what could be meant by a resource that no node offers: names like it, else the RDMA resources there are.
func (s State) suggest(resource string) []string {
	var offered []string
	for _, o := range s.RDMAOffers() {
		if len(o.Nodes()) > 0 {
			offered = append(offered, o.Resource)
		}
	}
	if near := Nearest(resource, offered); len(near) > 0 {
		return near
	}
	return offered[:min(len(offered), 4)]
}

func (s State) failedSriovNodes() []check.Finding {
	var findings []check.Finding
	for _, n := range s.SriovNodes {
		if n.SyncStatus != "Failed" {
			continue
		}
		findings = append(findings, check.Finding{
			Check: SriovNodeState, Status: check.Fail, Subject: check.Subject("node/" + n.Node),
			Summary:  fmt.Sprintf("the SR-IOV operator could not set up node %s: %s", n.Node, orDefault(n.SyncError, "it does not say why")),
			Evidence: []check.Evidence{{Source: "sriovnetworknodestate/" + n.Node + " status.syncStatus", Got: n.SyncStatus, Want: "Succeeded"}},
			Fix: &check.Fix{Text: "Correct the SriovNetworkNodePolicy that the error names; the operator then tries again.", Who: check.Admin,
				Commands: []string{"oc -n openshift-sriov-network-operator logs ds/sriov-network-config-daemon --tail=50"}},
		})
	}
	return findings
}

// missingSCC: no SCC but the all-powerful ones gives root with IPC_LOCK, and no node's runtime lifts the limit itself.
func (s State) missingSCC() []check.Finding {
	if !s.Server.OpenShift() || !s.Knows(SCCs) {
		return nil
	}
	for _, c := range s.SCCs {
		if !c.Privileged && c.AllowsCapability("IPC_LOCK") {
			return nil
		}
	}
	for _, mc := range s.MachineConfigs {
		if slices.ContainsFunc(mc.Files, func(f File) bool { return strings.Contains(f.Content, "memlock") }) {
			return nil
		}
	}
	return []check.Finding{{
		Check: SCCForRDMA, Status: check.Warn, Subject: "cluster",
		Summary:  fmt.Sprintf("pods cannot lock the memory that RDMA registers: none of %d SCCs allows IPC_LOCK without privileged, and no MachineConfig lifts the memlock limit", len(s.SCCs)),
		Evidence: []check.Evidence{{Source: "securitycontextconstraints allowedCapabilities", Got: "no IPC_LOCK", Want: "IPC_LOCK, or default_ulimits memlock=-1:-1 on the nodes"}},
		Fix:      &check.Fix{Text: "Lift the limit on the nodes (they reboot once), or allow the capability.", Who: check.Admin, Commands: []string{"railhead setup cluster", "railhead setup cluster --allow-ipc-lock"}},
	}}
}
