package clusterrules

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// plugins matches the DaemonSets of device plugins that offer RDMA (sriov-network-operator bindata/manifests/plugins,
// kubernetes manifests of sriov-network-device-plugin, k8s-rdma-shared-dev-plugin, network-operator).
var plugins = regexp.MustCompile(
	`^DaemonSet/(?:kube-)?(?:sriov-(?:network-)?device-plugin|rdma-shared-d(?:p|ev)|sriov-rdma-cni)`)

// drivers matches the DaemonSets that build and load kernel modules on nodes (network-operator
// manifests/state-ofed-driver, gpu-operator assets/state-driver).
var drivers = regexp.MustCompile(`^DaemonSet/(?:mofed-|nvidia-(?:driver-daemonset|vgpu-manager-daemonset))`)

// driverPods finds drivers that do not run on the nodes of the pods in question, or on any node if one of those pods
// waits. A network driver whose container crashes leaves its node without RDMA, or without any network if it had
// already unloaded the old driver of the NIC with the node's own address.
func driverPods(v view) []check.Finding {
	nodes := map[string]bool{}
	for _, p := range detailed(v.state) {
		nodes[p.Node] = true // "" if it waits: any node may get it
	}
	var findings []check.Finding
	for _, p := range v.state.Pods {
		elsewhere := len(nodes) > 0 && !nodes[""] && !nodes[p.Node]
		if !drivers.MatchString(p.Owner) || p.Ready || p.Deleted || p.Finished() || elsewhere {
			continue
		}
		node, known := v.state.Node(p.Node)
		findings = append(findings, driverNotReady(p, node, known && !node.Ready))
	}
	return findings
}

func driverNotReady(p cluster.Pod, node cluster.Node, nodeNotReady bool) check.Finding {
	name := p.Namespace + "/" + p.Name
	f := check.Finding{
		Check: DriverPods, Status: check.Warn, Subject: check.NodeRef(p.Node),
		About: []check.Ref{check.PodRef(p.Namespace, p.Name)},
		Summary: fmt.Sprintf("pod %s, which installs a driver on node %s, is %s and not ready: until it is, "+
			"GPUDirect RDMA or all RDMA may be missing there", name, p.Node, phase(p)),
		Evidence: check.Observed("pod "+name+" status", phase(p)+", not ready", "ready"),
		Fix: check.ByAdmin("Read its log. Kernel headers or an entitlement may be missing, or another module, such as "+
			"irdma or one for storage, uses the old driver. Building takes ten minutes. If the inbox driver is "+
			"sufficient, remove this one.",
			fmt.Sprintf("kubectl -n %s logs %s --all-containers --tail=50", p.Namespace, p.Name),
			fmt.Sprintf("kubectl -n %s describe pod %s", p.Namespace, p.Name)),
	}
	if nodeNotReady {
		f.Status = check.Fail
		f.Summary += "; the node is not Ready: the driver may have taken the NIC of the node's own network"
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "node/" + p.Node + " condition Ready",
			Got:    cmp.Or(node.NotReady, "false"),
			Want:   "true",
		})
	}
	return f
}

func phase(p cluster.Pod) string {
	if p.Reason != "" {
		return p.Phase + " (" + p.Reason + ")"
	}
	return p.Phase
}

// devicePlugin finds nodes whose device plugin does not run. The kubelet then offers 0 of its resources.
func devicePlugin(v view) []check.Finding {
	at, namespaces := map[string]bool{}, map[string]bool{}
	var findings []check.Finding
	for _, p := range v.state.Pods {
		namespaces[p.Namespace] = true
		if !plugins.MatchString(p.Owner) {
			continue
		}
		at[p.Node] = true
		if !p.Ready && !p.Deleted {
			why := fmt.Sprintf("pod %s/%s is %s and not ready", p.Namespace, p.Name, phase(p))
			findings = append(findings, v.noPlugin(p.Node, p.Namespace, why))
		}
	}
	if len(at) == 0 && len(v.state.SriovNodes) > 0 { // the user may not see the operator's namespace
		return skip("no pod of the device plugin is visible")
	}
	for _, n := range v.state.SriovNodes {
		if v.hasVFs(n) && namespaces[n.Namespace] && !at[n.Node] {
			why := "it has no pod there, but the node has virtual functions for pods"
			findings = append(findings, v.noPlugin(n.Node, n.Namespace, why))
		}
	}
	return findings
}

// hasVFs reports whether a node has virtual functions for pods. The operator runs the device plugin only on nodes that
// a policy selects: others have virtual functions that someone made by hand.
func (v view) hasVFs(n cluster.SriovNode) bool {
	node, known := v.state.Node(n.Node)
	has := func(i cluster.SriovInterface) bool {
		_, selected := v.policyOf(node, i)
		return i.VFs > 0 && (selected || !v.state.Knows(cluster.SriovPolicies))
	}
	return known && node.Ready && slices.ContainsFunc(n.Interfaces, has)
}

func (v view) noPlugin(node, namespace, why string) check.Finding {
	var about []check.Ref
	for _, n := range v.state.SriovNodes {
		if n.Node == node {
			about = append(about, policyResources(v.state, n)...)
		}
	}
	for _, o := range v.state.RDMAOffers() {
		if count, named := o.PerNode[node]; named && count == 0 {
			about = append(about, check.Named(check.Resource, o.Resource))
		}
	}
	return check.Finding{
		Check: DevicePlugin, Status: check.Fail, Subject: check.NodeRef(node), About: about,
		Summary:  fmt.Sprintf("the device plugin does not run on node %s: %s; pods get no rail there", node, why),
		Evidence: check.Observed("pods of the device plugin on node "+node, why, "one that is ready"),
		Fix: check.ByAdmin("Find out why it does not run. Its log names the device that it cannot use.",
			fmt.Sprintf("kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s", namespace, node),
			fmt.Sprintf("kubectl -n %s logs ds/sriov-device-plugin --tail=50", namespace)),
	}
}

// resourceZero finds nodes that have none left of a resource that a policy or an attachment names.
func resourceZero(v view) []check.Finding {
	wanted := map[string]bool{}
	for _, n := range v.state.Networks {
		wanted[n.Resource] = true
	}
	for _, p := range v.state.SriovPolicies {
		wanted[p.ResourceName] = true
	}
	var findings []check.Finding
	for _, o := range v.state.RDMAOffers() {
		_, base, _ := strings.Cut(o.Resource, "/")
		if !wanted[o.Resource] && !wanted[base] { // the kubelet remembers resources of former plugins
			continue
		}
		var empty []string
		for _, n := range v.state.Nodes {
			if count, named := o.PerNode[n.Name]; named && count == 0 && n.Ready {
				empty = append(empty, n.Name)
			}
		}
		if len(empty) > 0 {
			slices.Sort(empty)
			findings = append(findings, v.noneLeft(o, empty))
		}
	}
	return append(findings, v.fewerDevices()...)
}

// fewerDevices finds nodes that offer some of a resource, but fewer than the virtual functions that the operator made
// for it. The plugin leaves out functions that it cannot use, such as those whose RDMA device is missing.
func (v view) fewerDevices() []check.Finding {
	var findings []check.Finding
	for _, n := range v.state.SriovNodes {
		node, known := v.state.Node(n.Node)
		if !known || !node.Ready || n.SyncStatus != "Succeeded" {
			continue
		}
		made := map[string]int64{}
		for _, i := range n.Interfaces {
			for resource, vfs := range i.Groups {
				made[resource] += int64(min(vfs, i.VFs))
			}
		}
		for _, base := range slices.Sorted(maps.Keys(made)) {
			for _, resource := range v.state.ResourceNames(base) {
				if count := node.Allocatable[resource]; count > 0 && count < made[base] {
					findings = append(findings, v.someMissing(n.Node, resource, count, made[base]))
				}
			}
		}
	}
	return findings
}

func (v view) someMissing(node, resource string, offered, made int64) check.Finding {
	return check.Finding{
		Check: ResourceZero, Status: check.Warn, Subject: check.NodeRef(node),
		About: []check.Ref{check.Named(check.Resource, resource)},
		Summary: fmt.Sprintf("node %s offers %d %s, but its cards have %d virtual functions for it: "+
			"the plugin cannot use the others", node, offered, resource, made),
		Evidence: check.Observed("node/"+node+" status.allocatable "+resource, fmt.Sprint(offered), fmt.Sprint(made)),
		Fix: check.ByAdmin("Read the log of the device plugin on the node: it names the functions that it leaves out. "+
			"A function whose RDMA device is missing counts as none.",
			fmt.Sprintf("kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s",
				v.state.SriovNamespace(), node)),
	}
}

func (v view) noneLeft(o cluster.Offer, nodes []string) check.Finding {
	about := []check.Ref{check.Named(check.Resource, o.Resource)}
	for _, n := range nodes {
		about = append(about, check.NodeRef(n))
	}
	f := check.Finding{
		Check: ResourceZero, Status: check.Warn, Subject: check.NodeRef(nodes[0]), About: about,
		Summary: fmt.Sprintf("%s is advertised with 0 on %s, and offered by %s: the plugin has no healthy device there",
			o.Resource, words.Few(nodes, 6), words.Count(len(o.Nodes()), "other node")),
		Evidence: check.Observed("status.allocatable of "+words.Few(nodes, 6), o.Resource+": 0", "1 or more"),
		Fix: check.ByAdmin("Check whether the physical function is up and has its virtual functions, and read the "+
			"log of the device plugin.",
			"kubectl -n "+v.state.SriovNamespace()+" get sriovnetworknodestate "+nodes[0]+" -o yaml",
			"kubectl describe node "+nodes[0]),
	}
	if len(o.Nodes()) == 0 {
		f.Status = check.Fail
	}
	return f
}

// injector reports that the network-resources-injector does not run: pods then get only the resources in their own
// manifest.
func injector(v view) []check.Finding {
	if len(v.state.SriovNodes) == 0 {
		return nil
	}
	namespace := v.state.SriovNodes[0].Namespace
	visible := false
	for _, p := range v.state.Pods {
		if p.Namespace != namespace {
			continue
		}
		visible = true
		if strings.Contains(p.Owner, "network-resources-injector") && p.Ready {
			return nil
		}
	}
	if !visible || namespace == "" {
		return skip("no pod of the SR-IOV operator is visible")
	}
	enable := `kubectl -n %s patch sriovoperatorconfig default --type=merge -p '{"spec":{"enableInjector":true}}'`
	return []check.Finding{{
		Check: ResourcesInjector, Status: check.Warn, Subject: check.Named(check.Namespace, namespace),
		Summary: "the network-resources-injector does not run: a pod that names a network without its resource " +
			"gets no device; railhead writes both",
		Evidence: check.Observed("pods of DaemonSet network-resources-injector in "+namespace,
			"none is ready", "one or more"),
		Fix: check.ByAdmin("Enable it, or name the resources in every manifest, as `railhead inject` does.",
			fmt.Sprintf(enable, namespace), "railhead inject -f job.yaml"),
	}}
}
