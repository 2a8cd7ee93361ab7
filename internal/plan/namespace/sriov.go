package namespace

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// sriovNetworks returns a network for each RDMA resource of the operator without an attachment in the namespace.
func (d *draft) sriovNetworks() []plan.Change {
	var changes []plan.Change
	policies := rdmaPolicies(d)
	subnets := subnetsOf(d, len(policies))
	infiniBand := func(p cluster.SriovPolicy) bool { return isInfiniBand(d.s, p) }
	roce := len(slices.DeleteFunc(slices.Clone(policies), infiniBand))
	addresses := addressesOf(d, len(policies), roce, subnets)
	for i, p := range policies {
		if !hasNetwork(d, p.ResourceName) {
			d.refuseOverlap(networkName(d, p.ResourceName), subnets, i)
			changes = append(changes, d.sriovNetwork(p, addresses[i])...)
		}
	}
	switch {
	case len(policies) > 0 || len(d.s.UsableRails(d.Namespace)) > 0 || claimsRails(d):
	case len(sourcesOf(d)) > 0 || len(d.Networks) > 0:
		d.noSource("no SriovNetworkNodePolicy with isRdma: true" + d.named())
	default:
		d.plan.Note("No SriovNetworkNodePolicy has isRdma: true: create them with 'railhead setup cluster --sriov'.")
	}
	return changes
}

// rdmaPolicies returns the first policy of each requested RDMA resource, by the name of the resource.
func rdmaPolicies(d *draft) []cluster.SriovPolicy {
	var policies []cluster.SriovPolicy
	for _, p := range d.s.SriovPolicies {
		requested := d.requested(p.ResourceName, networkName(d, p.ResourceName))
		if p.RDMA && p.DeviceType != "vfio-pci" && requested {
			policies = append(policies, p)
		}
	}
	byResource := func(a, b cluster.SriovPolicy) int { return cmp.Compare(a.ResourceName, b.ResourceName) }
	slices.SortStableFunc(policies, byResource)
	return slices.CompactFunc(policies, func(a, b cluster.SriovPolicy) bool { return byResource(a, b) == 0 })
}

// hasNetwork reports whether the namespace has an attachment of a resource, or the operator is to create one.
func hasNetwork(d *draft, resource string) bool {
	return slices.ContainsFunc(d.s.Networks, func(n cluster.Network) bool {
		return n.Namespace == d.Namespace && path.Base(n.Resource) == resource
	}) || slices.ContainsFunc(d.s.SriovNetworks, func(n cluster.SriovNetwork) bool {
		return cmp.Or(n.TargetNamespace, n.Namespace) == d.Namespace && n.ResourceName == resource
	})
}

// isInfiniBand reports whether a policy's NICs are InfiniBand, as it says itself or else the nodes do.
func isInfiniBand(s cluster.State, p cluster.SriovPolicy) bool {
	if p.LinkType != "" {
		return strings.EqualFold(p.LinkType, "IB")
	}
	selected := func(i cluster.SriovInterface) bool { return i.LinkType == "IB" && p.Selects(i) }
	return slices.ContainsFunc(s.SriovNodes, func(n cluster.SriovNode) bool {
		return slices.ContainsFunc(n.Interfaces, selected)
	})
}

// modelOf returns another network of the resource, whose address management and options are copied: the first by name.
func modelOf(d *draft, resource string) (cluster.SriovNetwork, bool) {
	models := slices.DeleteFunc(slices.Clone(d.s.SriovNetworks), func(n cluster.SriovNetwork) bool {
		return n.ResourceName != resource || (n.Kind != "SriovNetwork" && n.Kind != "SriovIBNetwork")
	})
	if len(models) == 0 {
		return cluster.SriovNetwork{}, false
	}
	return slices.MinFunc(models, func(x, y cluster.SriovNetwork) int {
		return strings.Compare(x.TargetNamespace+"/"+x.Name, y.TargetNamespace+"/"+y.Name)
	}), true
}

// networkName returns the name of the network of a resource. The SriovNetworks of all namespaces are in the operator's.
func networkName(d *draft, resource string) string {
	name := strings.ToLower(strings.ReplaceAll(resource, "_", "-"))
	if m, ok := modelOf(d, resource); ok {
		name = strings.TrimPrefix(m.Name, cmp.Or(m.TargetNamespace, m.Namespace)+"-")
	}
	return d.Namespace + "-" + name
}

// sriovNetwork creates one network. The operator creates its attachment, under the same name, in networkNamespace
// (sriov-network-operator api/v1 helper.go RenderNetAttDef).
func (d *draft) sriovNetwork(p cluster.SriovPolicy, addresses string) []plan.Change {
	meta := d.meta(networkName(d, p.ResourceName))
	meta.Namespace = cmp.Or(p.Namespace, d.s.SriovNamespace())
	for _, n := range d.s.SriovNetworks {
		if n.Name == meta.Name && n.Namespace == meta.Namespace {
			d.plan.Report(nameTaken(check.Named(check.SriovNetwork, n.Name), n.ResourceName, p.ResourceName,
				fmt.Sprintf("%s %s exists for resource %s in namespace %s: it is not changed",
					n.Kind, n.Name, n.ResourceName, cmp.Or(n.TargetNamespace, n.Namespace))))
			return nil
		}
	}
	kind, spec := sriovSpec(d, p, addresses)
	why := "makes the SR-IOV operator create the attachment of " + p.ResourceName
	if model, ok := modelOf(d, p.ResourceName); ok {
		why += ", like " + model.Name
	}
	d.planned = append(d.planned, cluster.Network{
		Namespace: d.Namespace,
		Name:      meta.Name,
		Resource:  d.s.ResourceNames(p.ResourceName)[0],
		Type:      map[string]string{"SriovNetwork": "sriov", "SriovIBNetwork": "ib-sriov"}[kind],
	})
	return plan.ApplyIfChanged(d.s, unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cluster.SriovGroup + "/v1",
		"kind":       kind,
		"metadata":   plan.Fields(&meta),
		"spec":       spec,
	}}, why)
}

// sriovSpec returns the kind and the spec of a network. addresses is its IPAM, if it is given.
func sriovSpec(d *draft, p cluster.SriovPolicy, addresses string) (kind string, spec map[string]any) {
	kind, spec = "SriovNetwork", map[string]any{}
	model, ok := modelOf(d, p.ResourceName)
	switch {
	case ok:
		kind = model.Kind
		maps.Copy(spec, model.Spec)
		if addresses == "" {
			text, _ := model.Spec["ipam"].(string)
			noteHostLocal(d, model.Name, text)
		}
	case isInfiniBand(d.s, p):
		kind = "SriovIBNetwork"
		// With the default, auto, ports of virtual functions stayed down (Mellanox/network-operator issue 1825).
		spec["linkState"] = "enable"
	case addresses == "":
		d.plan.Note("Network %s has no IPAM, because no other network of %s has one to copy: "+
			"its interfaces get no IPv4 address, and RoCE has only link-local GIDs. Set it with --rail-subnets.",
			networkName(d, p.ResourceName), p.ResourceName)
	}
	if addresses != "" {
		spec["ipam"] = addresses
	}
	spec["resourceName"], spec["networkNamespace"] = p.ResourceName, d.Namespace
	plugins, _ := spec["metaPlugins"].(string)
	if d.oneSubnet && kind == "SriovNetwork" {
		plugins = chained(plugins, arpPlugin)
	}
	if needsRDMAPlugin(d, p.ResourceName) {
		plugins = chained(plugins, rdmaPlugin)
		d.chained = append(d.chained, networkName(d, p.ResourceName))
	}
	if plugins != "" {
		spec["metaPlugins"] = plugins
	}
	return kind, spec
}

// noteHostLocal notes that addresses may be assigned twice. host-local keeps them by node and by the name of the
// network: another network with the same subnet gives the same address again, on the same node, too
// (containernetworking/plugins 1.9.1 plugins/ipam/host-local/backend/disk).
func noteHostLocal(d *draft, network string, config any) {
	if slices.Contains(fields(config, "type"), "host-local") {
		d.plan.Note("The IPAM of %s is host-local, which assigns addresses on each node separately, and for each "+
			"SriovNetwork: pods on different nodes, and pods of namespaces with another one of the same subnet, may "+
			"get the same address. whereabouts assigns them for the whole cluster.", network)
	}
}
