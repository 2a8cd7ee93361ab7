package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// plugins are the DaemonSets of device plugins that offer RDMA (sriov-network-operator bindata/manifests/plugins, kubernetes
// manifests of sriov-network-device-plugin, k8s-rdma-shared-dev-plugin, network-operator).
var plugins = regexp.MustCompile(`^DaemonSet/(?:kube-)?(?:sriov-(?:network-)?device-plugin|rdma-shared-d(?:p|ev)|sriov-rdma-cni)`)

// drivers are the DaemonSets that build and load kernel modules on nodes (network-operator manifests/state-ofed-driver,
// gpu-operator assets/state-driver).
var drivers = regexp.MustCompile(`^DaemonSet/(?:mofed-|nvidia-(?:driver-daemonset|vgpu-manager-daemonset))`)

// driverPods: a network driver whose container crashes leaves its node without RDMA, or, when it got as far as unloading the
// old one and the node's own address is on such a NIC, without its network. Where pods were asked about, their nodes matter.
func driverPods(c clusterCase) []check.Finding {
	asked := map[string]bool{}
	for _, p := range detailed(c.State) {
		asked[p.Node] = true // "" of one that waits: it may come to any
	}
	var findings []check.Finding
	for _, p := range c.Pods {
		elsewhere := len(asked) > 0 && !asked[""] && !asked[p.Node]
		if !drivers.MatchString(p.Owner) || p.Ready || p.Deleted || p.Finished() || elsewhere {
			continue
		}
		name := p.Namespace + "/" + p.Name
		f := check.Finding{
			Check: DriverPods, Status: check.Warn, Subject: check.Subject("node/" + p.Node),
			Summary:  fmt.Sprintf("pod %s, which installs a driver on node %s, is %s and not ready: until it is, GPUDirect RDMA or all RDMA may be missing there", name, p.Node, state(p)),
			Evidence: []check.Evidence{{Source: "pod " + name + " status", Got: state(p) + ", not ready", Want: "ready"}},
			Fix: &check.Fix{
				Text: "Read its log: kernel headers or an entitlement that lacks, a module such as irdma or one of storage that keeps the old driver in use. It takes ten minutes to build. Where the inbox driver suffices, do without it.",
				Who:  check.Admin, Commands: []string{
					fmt.Sprintf("kubectl -n %s logs %s --all-containers --tail=50", p.Namespace, p.Name),
					fmt.Sprintf("kubectl -n %s describe pod %s", p.Namespace, p.Name),
				},
			},
		}
		if n, there := c.Node(p.Node); there && !n.Ready {
			f.Status = check.Fail
			f.Summary += "; the node is not Ready: has the driver taken the NIC that carries its own network?"
			f.Evidence = append(f.Evidence, check.Evidence{Source: "node/" + p.Node + " condition Ready", Got: orElse(n.NotReady, "false"), Want: "true"})
		}
		findings = append(findings, f)
	}
	return findings
}

// devicePlugin: the kubelet offers 0 of a resource whose plugin is gone, and gives pods no device.
func devicePlugin(c clusterCase) []check.Finding {
	at := map[string]bool{}
	namespaces := map[string]bool{}
	var findings []check.Finding
	for _, p := range c.Pods {
		namespaces[p.Namespace] = true
		if !plugins.MatchString(p.Owner) {
			continue
		}
		at[p.Node] = true
		if !p.Ready && !p.Deleted {
			findings = append(findings, pluginFinding(p.Node, p.Namespace, fmt.Sprintf("pod %s/%s is %s and not ready", p.Namespace, p.Name, state(p))))
		}
	}
	if len(at) == 0 && len(c.SriovNodes) > 0 { // whoever may not see the operator's namespace cannot tell
		return unseen("no pod of the device plugin is to be seen")
	}
	for _, n := range c.SriovNodes {
		if c.virtual(n) && namespaces[n.Namespace] && !at[n.Node] {
			findings = append(findings, pluginFinding(n.Node, n.Namespace, "no pod of it is there, and the node has virtual functions for pods"))
		}
	}
	return findings
}

func state(p cluster.Pod) string {
	if p.Reason != "" {
		return p.Phase + " (" + p.Reason + ")"
	}
	return p.Phase
}

// virtual reports whether policies made virtual functions for pods on a node.
func (c clusterCase) virtual(n cluster.SriovNode) bool {
	node, there := c.Node(n.Node)
	return there && node.Ready && slices.ContainsFunc(n.Interfaces, func(i cluster.SriovInterface) bool { return i.VFs > 0 })
}

func pluginFinding(node, namespace, why string) check.Finding {
	return check.Finding{
		Check: DevicePlugin, Status: check.Fail, Subject: check.Subject("node/" + node),
		Summary:  fmt.Sprintf("the device plugin does not run on node %s: %s; pods get no rail there", node, why),
		Evidence: []check.Evidence{{Source: "pods of the device plugin on node " + node, Got: why, Want: "one that is ready"}},
		Fix: &check.Fix{Text: "See why it does not run; its log names the device that it cannot take.", Who: check.Admin, Commands: []string{
			fmt.Sprintf("kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s", namespace, node),
			fmt.Sprintf("kubectl -n %s logs ds/sriov-device-plugin --tail=50", namespace),
		}},
	}
}

// resourceZero: a resource that a policy or an attachment names, and of which a node has none left to give.
func resourceZero(c clusterCase) []check.Finding {
	wanted := map[string]bool{}
	for _, n := range c.Networks {
		wanted[n.Resource] = true
	}
	for _, p := range c.SriovPolicies {
		wanted[p.ResourceName] = true
	}
	var findings []check.Finding
	for _, o := range c.RDMAOffers() {
		_, base, _ := strings.Cut(o.Resource, "/")
		if !wanted[o.Resource] && !wanted[base] { // the kubelet remembers resources of long ago
			continue
		}
		var empty []string
		for _, n := range c.Nodes {
			if count, named := o.PerNode[n.Name]; named && count == 0 && n.Ready {
				empty = append(empty, n.Name)
			}
		}
		if len(empty) == 0 {
			continue
		}
		slices.Sort(empty)
		f := check.Finding{
			Check: ResourceZero, Status: check.Warn, Subject: check.Subject("node/" + empty[0]),
			Summary:  fmt.Sprintf("%s is advertised with 0 on %s, and offered by %d other nodes: the plugin has no healthy device there", o.Resource, some(empty), len(o.Nodes())),
			Evidence: []check.Evidence{{Source: "status.allocatable of " + some(empty), Got: o.Resource + ": 0", Want: "1 or more"}},
			Fix: &check.Fix{
				Text: "Look whether the physical function is up and its virtual functions are there, and what the device plugin logs.", Who: check.Admin,
				Commands: []string{"kubectl -n openshift-sriov-network-operator get sriovnetworknodestate " + empty[0] + " -o yaml", "kubectl describe node " + empty[0]},
			},
		}
		if len(o.Nodes()) == 0 {
			f.Status = check.Fail
		}
		findings = append(findings, f)
	}
	return findings
}

// injector: where it does not run, pods get only the resources that their manifest itself asks for.
func injector(c clusterCase) []check.Finding {
	if len(c.SriovNodes) == 0 {
		return nil
	}
	namespace := c.SriovNodes[0].Namespace
	seen := false
	for _, p := range c.Pods {
		if p.Namespace != namespace {
			continue
		}
		seen = true
		if strings.Contains(p.Owner, "network-resources-injector") && p.Ready {
			return nil
		}
	}
	if !seen || namespace == "" {
		return unseen("no pod of the SR-IOV operator is to be seen")
	}
	return []check.Finding{{
		Check: ResourcesInjector, Status: check.Warn, Subject: check.Subject("namespace/" + namespace),
		Summary:  "the network-resources-injector does not run: a pod that names a network and not its resource gets no device; railhead writes both",
		Evidence: []check.Evidence{{Source: "pods of DaemonSet network-resources-injector in " + namespace, Got: "none is ready", Want: "one or more"}},
		Fix: &check.Fix{Text: "Turn it on, or name the resources in every manifest: `railhead inject` does.", Who: check.Admin, Commands: []string{
			fmt.Sprintf(`oc -n %s patch sriovoperatorconfig default --type=merge -p '{"spec":{"enableInjector":true}}'`, namespace), "railhead inject -f job.yaml",
		}},
	}}
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
