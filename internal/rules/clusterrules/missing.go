package clusterrules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

// Missing returns the reasons why training jobs cannot use RDMA on the cluster; lists that could not be read come
// first.
func Missing(s cluster.State) []check.Finding {
	v := view{state: s, options: Options{Whole: true}}
	return slices.Concat(unreadLists(v), unfinishedSriovNodes(v), noGPUs(v), noRDMA(v), onlyEFA(v),
		unevenRails(v), attachmentsWithoutDevice(v), missingSCC(v))
}

func unreadLists(s view) []check.Finding {
	var findings []check.Finding
	for _, p := range s.state.Problems {
		where, flag := "", "-A"
		if p.Namespace != "" {
			where, flag = " in namespace "+p.Namespace, "-n "+p.Namespace
		}
		f := check.Finding{
			Check: ClusterReadable, Status: check.Unknown,
			Subject:  check.Ref{Kind: check.List, Namespace: p.Namespace, Name: string(p.Kind)},
			Summary:  fmt.Sprintf("%s could not be read%s, so what depends on them is unknown", p.Kind, where),
			Evidence: []check.Evidence{{Source: string(p.Kind), Got: p.Err}},
		}
		if p.Forbidden {
			f.Fix = check.ByAdmin(fmt.Sprintf("Ask an administrator for the right to list %s.", p.Kind),
				fmt.Sprintf("kubectl auth can-i list %s %s", cmp.Or(p.Resource, string(p.Kind)), flag))
		}
		if p.Grant != "" {
			f.Fix = check.ByAdmin("Give the right to list "+string(p.Kind)+": "+p.Grant, p.Grant)
		}
		i := slices.IndexFunc(findings, func(other check.Finding) bool { return other.Subject == f.Subject })
		if i >= 0 { // one kind of ours is several lists of the server
			findings[i].Evidence = append(findings[i].Evidence, f.Evidence...)
			if f.Fix != nil && findings[i].Fix != nil {
				findings[i].Fix.Commands = append(findings[i].Fix.Commands, f.Fix.Commands...)
			}
			continue
		}
		findings = append(findings, f)
	}
	return findings
}

func gpuNodes(s cluster.State) []cluster.Node {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n cluster.Node) bool {
		_, count := n.GPUs()
		return count == 0
	})
}

// rdmaOfNodes returns the RDMA resources that each node offers.
func rdmaOfNodes(s cluster.State) map[string][]string {
	of := map[string][]string{}
	for _, o := range s.RDMAOffers() {
		for _, node := range o.Nodes() {
			of[node] = append(of[node], o.Resource)
		}
	}
	return of
}

// hardwareLabels are set by feature discovery on a node with a GPU even if no device plugin offers it.
var hardwareLabels = []string{
	"nvidia.com/gpu.present",
	"feature.node.kubernetes.io/pci-10de.present",
	"feature.node.kubernetes.io/pci-1002.present",
}

// needNoGPU reports whether pods were asked about, and none of them requests a GPU. A claim may be for one.
func (v view) needNoGPU() bool {
	pods := detailed(v.state)
	return !v.options.Whole && len(pods) > 0 && !slices.ContainsFunc(pods, func(p cluster.Pod) bool {
		return p.Requests.GPUs() > 0 || len(p.Claims) > 0
	})
}

func noGPUs(s view) []check.Finding {
	byDRA := slices.ContainsFunc(s.state.DRADevices, func(d cluster.DRADevice) bool { return d.GPU })
	if !s.state.Knows(cluster.Nodes) || len(gpuNodes(s.state)) > 0 || byDRA || s.needNoGPU() {
		return nil
	}
	f := check.Finding{
		Check: GPUNodes, Status: check.Fail, Subject: check.Ref{Kind: check.Cluster},
		Summary: fmt.Sprintf("none of %d nodes offers a GPU", len(s.state.Nodes)),
		Evidence: check.Observed("nodes status.allocatable",
			"no "+strings.Join(cluster.GPUResources(), ", "), "a GPU resource"),
		Fix: check.ByAdmin("Install the GPU operator of the vendor, or find out why its device plugin does not run.",
			"kubectl get pods -A | grep -E 'gpu|device-plugin'"),
	}
	for _, n := range s.state.Nodes {
		i := slices.IndexFunc(hardwareLabels, func(label string) bool { return n.Labels[label] == "true" })
		if i < 0 {
			continue
		}
		f.About = append(f.About, check.NodeRef(n.Name))
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "node/" + n.Name,
			Got:    "label " + hardwareLabels[i] + "=true, and no GPU offered",
		})
	}
	return []check.Finding{f}
}

func noRDMA(s view) []check.Finding {
	nodes, of := gpuNodes(s.state), rdmaOfNodes(s.state)
	offering := slices.ContainsFunc(nodes, func(n cluster.Node) bool {
		byDRA := func(o cluster.DRAOffer) bool { return o.PerNode[n.Name] > 0 }
		return len(of[n.Name]) > 0 || slices.ContainsFunc(s.state.DRAOffers(), byDRA)
	})
	if !s.state.Knows(cluster.Nodes) || len(nodes) == 0 || offering {
		return nil
	}
	f := check.Finding{
		Check: RDMAResources, Status: check.Fail, Subject: check.Ref{Kind: check.Cluster},
		About:   wantedResources(s.state),
		Summary: fmt.Sprintf("none of %d nodes with GPUs offers an RDMA resource: pods get no rail", len(nodes)),
		Evidence: check.Observed("nodes status.allocatable",
			words.Few(nodeNames(nodes), 4)+": no RDMA resource", "openshift.io/..., nvidia.com/... or rdma/..."),
		Fix: offerNICs(s.state, nodes[0].Name),
	}
	for _, o := range s.state.RDMAOffers() {
		where := cmp.Or(words.Few(o.Nodes(), 4), "no node")
		got := "offered by " + where + ", without GPUs"
		f.Evidence = append(f.Evidence, check.Evidence{Source: o.Resource, Got: got})
	}
	for _, o := range s.state.DRAOffers() {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "resourceslices of " + o.Driver,
			Got:    "RDMA devices on " + words.Few(o.Nodes(), 4),
		})
	}
	return []check.Finding{f}
}

// onlyEFA reports nodes whose only RDMA devices are Elastic Fabric Adapters. Jobs that bring the plugin for them run
// well; Railhead's own rails, which use NCCL_NET=IB, do not exist there.
func onlyEFA(s view) []check.Finding {
	if !s.state.Knows(cluster.Nodes) || !cluster.OnlyEFA(s.state) {
		return nil
	}
	offers := strings.Join(cluster.EFAOffers(s.state), ", ")
	return []check.Finding{{
		Check: rail.TransportSupported, Status: check.Warn, Subject: check.Ref{Kind: check.Cluster},
		About: []check.Ref{{Kind: check.Resource}},
		Summary: "nodes offer only Elastic Fabric Adapters (" + offers + "): RDMA, but NCCL reaches it through the " +
			"plugin aws-ofi-nccl alone, so there are no rails for NCCL_NET=IB",
		Evidence: check.Observed("RDMA devices that nodes offer", offers, "InfiniBand or RoCE"),
		Fix: check.ByUser("Use an image with aws-ofi-nccl and libfabric, and request the devices in a manifest of "+
			"your own: Railhead cannot set up EFA. Jobs that Railhead deploys train over TCP.",
			"railhead deploy JOB --mode tcp"),
	}}
}

// offerNICs returns how a device plugin comes to offer NICs to pods: by the policies that there are, or by new ones.
func offerNICs(s cluster.State, node string) *check.Fix {
	if cards := cardsWithoutRDMA(s); len(cards) > 0 {
		return check.ByAdmin("The NICs that the SR-IOV operator sees, "+words.Few(cards, 4)+", have no RDMA: no "+
			"policy makes rails of them. RDMA needs other NICs in the nodes; until then train over TCP.",
			"railhead deploy JOB --mode tcp")
	}
	state := fmt.Sprintf("kubectl -n %s get sriovnetworknodestate %s -o yaml", s.SriovNamespace(), node)
	switch rdma, others := policiesForNICs(s); {
	case len(rdma) > 0:
		return check.ByAdmin("SriovNetworkNodePolicy "+words.Few(rdma, 4)+" should bring devices for RDMA. Read what "+
			"the operator made of it on node "+node+".", state)
	case len(others) > 0:
		return check.ByAdmin("Set isRdma: true in SriovNetworkNodePolicy "+words.Few(others, 4)+" if it is for NICs "+
			"of the training network; otherwise let railhead write a policy for each of them.",
			"railhead setup cluster --sriov", state)
	case !cluster.HasSriovOperator(s):
		return check.ByAdmin("Let a device plugin offer the NICs. InfiniBand needs no more than the plugin: the "+
			"shared RDMA device plugin, the SR-IOV device plugin, or the network operator of the vendor. RoCE also "+
			"needs Multus and an attachment for each rail.",
			"kubectl get daemonsets -A | grep -E 'device-plugin|rdma|multus'")
	}
	return check.ByAdmin("Let a device plugin offer the NICs: the SR-IOV operator with a SriovNetworkNodePolicy "+
		"that has isRdma: true, or the shared RDMA device plugin.", "railhead setup cluster --sriov")
}

// policiesForNICs returns the policies of network devices that may have RDMA: those with isRdma, and the others.
func policiesForNICs(s cluster.State) (rdma, others []string) {
	for _, p := range s.SriovPolicies {
		switch selected, able := selectedNICs(s, p); {
		case selected > 0 && able == 0: // a policy for NICs without RDMA
		case p.RDMA:
			rdma = append(rdma, p.Name)
		case p.DeviceType != "vfio-pci":
			others = append(others, p.Name)
		}
	}
	return rdma, others
}

// selectedNICs counts the NICs that a policy selects, and those among them that may have RDMA.
func selectedNICs(s cluster.State, p cluster.SriovPolicy) (selected, able int) {
	for _, n := range s.SriovNodes {
		node, known := s.Node(n.Node)
		if known && !p.SelectsNode(node) {
			continue
		}
		for _, i := range n.Interfaces {
			if p.Selects(i) {
				selected++
				if i.HasRDMA() {
					able++
				}
			}
		}
	}
	return selected, able
}

// cardsWithoutRDMA returns the cards of the nodes with the policies that select them, if none of the cards has RDMA.
func cardsWithoutRDMA(s cluster.State) []string {
	var cards []string
	for _, n := range s.SriovNodes {
		for _, i := range n.Interfaces {
			if i.HasRDMA() {
				return nil
			}
			card := i.Card()
			selects := func(p cluster.SriovPolicy) bool { return p.Selects(i) }
			if p := slices.IndexFunc(s.SriovPolicies, selects); p >= 0 {
				card += ", policy " + s.SriovPolicies[p].Name
			}
			if card = i.Name + " (" + card + ")"; !slices.Contains(cards, card) {
				cards = append(cards, card)
			}
		}
	}
	return cards
}

// wantedResources returns the RDMA resources that attachments name and pods request. The first ref names none: without
// it, a cluster where nothing asks for RDMA would explain every pod that does not run.
func wantedResources(s cluster.State) []check.Ref {
	wanted := []check.Ref{{Kind: check.Resource}}
	add := func(resource string) {
		ref := check.Named(check.Resource, resource)
		if s.IsRDMA(resource) && !slices.Contains(wanted, ref) {
			wanted = append(wanted, ref)
		}
	}
	for _, n := range s.Networks {
		add(n.Resource)
	}
	for _, p := range detailed(s) {
		for _, resource := range slices.Sorted(maps.Keys(p.Requests)) {
			add(resource)
		}
	}
	return wanted
}

func nodeNames(nodes []cluster.Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// unevenRails finds nodes with GPUs that lack RDMA resources of other nodes.
func unevenRails(s view) []check.Finding {
	if !s.state.Knows(cluster.Nodes) {
		return nil
	}
	nodes, of := gpuNodes(s.state), rdmaOfNodes(s.state)
	var everything []string
	groups := map[string][]string{} // RDMA resources, joined -> nodes
	for _, n := range nodes {
		everything = append(everything, of[n.Name]...)
		key := strings.Join(of[n.Name], ", ")
		groups[key] = append(groups[key], n.Name)
	}
	if len(groups) < 2 {
		return nil
	}
	slices.Sort(everything)
	everything = slices.Compact(everything)
	f := check.Finding{
		Check: RailsEven, Status: check.Warn, Subject: check.Ref{Kind: check.Cluster},
	}
	var lacking []string
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		missing := slices.DeleteFunc(slices.Clone(everything), func(resource string) bool {
			return slices.Contains(strings.Split(key, ", "), resource)
		})
		if len(missing) == 0 {
			continue
		}
		names := slices.Sorted(slices.Values(groups[key]))
		lacking = append(lacking, names...)
		for _, name := range names {
			f.About = append(f.About, check.NodeRef(name))
		}
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "nodes " + words.Few(names, 4),
			Got:    cmp.Or(key, "no RDMA resource"),
			Want:   "also " + strings.Join(missing, ", "),
		})
	}
	show := "kubectl describe node " + lacking[0]
	if cluster.HasSriovOperator(s.state) {
		show = fmt.Sprintf("kubectl -n %s get sriovnetworknodestate %s -o yaml", s.state.SriovNamespace(), lacking[0])
	}
	f.Fix = check.ByAdmin("Let "+words.Few(lacking, 4)+" offer the same RDMA resources as the others, or keep jobs on "+
		"the others: deploy --node-selector.", show)
	f.Summary = fmt.Sprintf("%d of %d nodes with GPUs lack RDMA resources that the others offer: a job that needs "+
		"all rails cannot use them", len(f.About), len(nodes))
	return []check.Finding{f}
}

// attachmentsWithoutDevice finds attachments that are meant to bring an RDMA device and bring none, one finding per
// reason.
func attachmentsWithoutDevice(v view) []check.Finding {
	s := concerning(v.state, v.options)
	reasons := map[string][]cluster.Rail{}
	for _, namespace := range networkNamespaces(s) {
		for _, r := range s.Rails(namespace) {
			if r.RDMA && !r.Usable() {
				reasons[r.Reason] = append(reasons[r.Reason], r)
			}
		}
	}
	var findings []check.Finding
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		findings = append(findings, withoutDevice(s, reason, reasons[reason]))
	}
	return findings
}

func networkNamespaces(s cluster.State) []string {
	var all []string
	for _, n := range s.Networks {
		all = append(all, n.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func withoutDevice(s cluster.State, reason string, rails []cluster.Rail) check.Finding {
	first := rails[0]
	var places []string
	about := []check.Ref{check.Named(check.Resource, first.Resource)}
	for _, r := range rails {
		places = append(places, r.Namespace+"/"+r.Network)
		about = append(about, check.Ref{Kind: check.Attachment, Namespace: r.Namespace, Name: r.Network})
	}
	this := cmp.Or(first.Resource, "a resource of its own")
	fix := "Let the nodes offer " + this + "."
	if instead := s.SimilarResources(first.Resource); len(instead) > 0 {
		fix = "Nodes offer " + strings.Join(instead, ", ") + ". Name one of them in " + words.Few(places, 4) +
			", or let the nodes offer " + this + "."
	}
	show := fmt.Sprintf("kubectl -n %s get network-attachment-definition %s -o yaml", first.Namespace, first.Network)
	return check.Finding{
		Check: NetworkResource, Status: check.Fail, Subject: about[1], About: about,
		Summary: fmt.Sprintf("pods get no RDMA device through network attachment %s: %s", words.Few(places, 4), reason),
		Evidence: check.Observed("annotation k8s.v1.cni.cncf.io/resourceName",
			cmp.Or(first.Resource, "missing"), "an RDMA resource that nodes offer"),
		Fix: check.ByAdmin(fix, show),
	}
}

// missingSCC reports that only privileged SCCs allow IPC_LOCK, and that no node's runtime lifts the memlock limit
// itself.
func missingSCC(s view) []check.Finding {
	if !s.state.Server.OpenShift() || !s.state.Knows(cluster.SCCs) || len(s.state.SCCsForRDMA()) > 0 {
		return nil
	}
	for _, mc := range s.state.MachineConfigs {
		if slices.ContainsFunc(mc.Files, func(f cluster.File) bool { return strings.Contains(f.Content, "memlock") }) {
			return nil
		}
	}
	return []check.Finding{{
		Check: SCCForRDMA, Status: check.Warn, Subject: check.Ref{Kind: check.Cluster},
		About: []check.Ref{check.Named(check.Capability, "IPC_LOCK")},
		Summary: fmt.Sprintf("pods cannot lock the memory that RDMA registers: none of %d SCCs allows IPC_LOCK "+
			"without privileged, and no MachineConfig lifts the memlock limit", len(s.state.SCCs)),
		Evidence: check.Observed("securitycontextconstraints allowedCapabilities",
			"no IPC_LOCK", "IPC_LOCK, or default_ulimits memlock=-1:-1 on the nodes"),
		Fix: check.ByAdmin("Lift the limit on the nodes (they reboot once), or allow the capability.",
			"railhead setup cluster", "railhead setup cluster --allow-ipc-lock"),
	}}
}
