package namespace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// nvidiaNamespace is the namespace of NVIDIA's network operator and of the pools of nv-ipam, which it installs.
const nvidiaNamespace = "nvidia-network-operator"

// nvidiaRail is one rail that NVIDIA's operator can bring.
type nvidiaRail struct {
	cluster.NvidiaResource
	port string // of a shared resource: the interface that the pods' own ones are made from
}

// nvidiaNetworks returns a network for each RDMA resource of NVIDIA's operator without an attachment in the namespace:
// a HostDeviceNetwork for devices that pods own, and for shared ones an attachment of type macvlan for each port. The
// operator's MacvlanNetwork cannot name the resource, without which a pod gets no device
// (Mellanox/network-operator manifests/stage-macvlan-network).
func (d *draft) nvidiaNetworks() []plan.Change {
	rails := nvidiaRailsOf(d)
	if len(rails) == 0 {
		if len(d.s.UsableRails(d.Namespace)) == 0 && !claimsRails(d) {
			d.noSource("no NicClusterPolicy has a device plugin with RDMA resources" + d.named())
		}
		return nil
	}
	subnets := subnetsOf(d, len(rails))
	addresses := addressesOf(d, len(rails), len(rails), subnets)
	if d.refuseOneSubnet(rails); d.plan.Failed() {
		return nil
	}
	var changes []plan.Change
	for i, r := range rails {
		name := nvidiaName(d, r)
		if isAttached(d, r) || isHostNetwork(d, name) {
			continue
		}
		d.refuseOverlap(name, subnets, i)
		ipam := cmp.Or(addresses[i], modelIPAM(d, r.Resource))
		if len(subnets) > 0 && d.s.Server.Serves(cluster.NvIPAMGroup) {
			pool, change := ipPoolOf(d, name, subnets[i], r.Resource)
			changes = append(changes, change...)
			text, _ := json.Marshal(map[string]string{"type": "nv-ipam", "poolName": pool}) // always marshals
			ipam = string(text)
		}
		switch {
		case ipam == "" && len(d.s.UsableRails(d.Namespace)) > 0:
			d.plan.Note("%s gets no attachment: no network of it has addresses to copy, and --rail-subnets gives none.",
				r.Resource)
			continue
		case ipam == "":
			d.noSource("no network of " + r.Resource + " has addresses to copy, and --rail-subnets gives none")
			return nil
		}
		changes = append(changes, d.nvidiaNetwork(r, name, ipam)...)
	}
	return changes
}

// refuseOneSubnet fails for several rails in one subnet if a HostDeviceNetwork makes one of them. Up to 26.4 the
// operator writes its attachment with a single plugin (Mellanox/network-operator manifests/state-hostdevice-network),
// so nothing keeps the rails from answering ARP for each other; spec.metaPlugins of 26.7 is not used.
func (d *draft) refuseOneSubnet(rails []nvidiaRail) {
	owned := func(r nvidiaRail) bool { return !r.Shared }
	if !d.oneSubnet || !slices.ContainsFunc(rails, owned) {
		return
	}
	d.plan.Fail(plan.JobRequest, check.Named(check.Namespace, d.Namespace),
		fmt.Sprintf("%s would be in the subnet of --ipam and answer ARP for each other: a %s cannot chain "+
			"the plugin tuning", words.Count(len(rails), "rail"), hostDeviceNetwork),
		check.Observed("--ipam", d.IPAM, "a subnet for each rail"),
		check.ByUser("Give each rail its own subnet.",
			fmt.Sprintf("railhead setup namespace %s --rail-subnets 10.9.0.0/16", d.Namespace)))
}

// needsNone reports whether pods get rails by the resource alone.
func needsNone(s cluster.State, r cluster.NvidiaResource) bool {
	return slices.ContainsFunc(cluster.PluginRails(s), func(p cluster.Rail) bool { return p.Resource == r.Resource })
}

// nvidiaRailsOf returns the requested rails, in the order of their names. A shared resource has one for each port.
func nvidiaRailsOf(d *draft) []nvidiaRail {
	var rails []nvidiaRail
	for _, r := range d.s.NvidiaResources {
		ports := []string{""}
		if r.Shared {
			ports = r.Ports
		}
		if r.Shared && len(ports) == 0 {
			d.plan.Note("%s names no interfaces (ifNames), so no attachment can be made for it.", r.Resource)
		}
		for _, port := range ports {
			rail := nvidiaRail{r, port}
			if r.RDMA && !needsNone(d.s, r) && d.requested(r.Resource, path.Base(r.Resource), nvidiaName(d, rail)) {
				rails = append(rails, rail)
			}
		}
	}
	slices.SortStableFunc(rails, func(a, b nvidiaRail) int { return words.Natural(nvidiaName(d, a), nvidiaName(d, b)) })
	return rails
}

func nvidiaName(d *draft, r nvidiaRail) string {
	name := cmp.Or(r.port, path.Base(r.Resource))
	return d.Namespace + "-" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// isAttached reports whether the namespace has an attachment of a rail, or one of its name.
func isAttached(d *draft, r nvidiaRail) bool {
	return slices.ContainsFunc(d.s.Networks, func(n cluster.Network) bool {
		ofRail := n.Resource == r.Resource && (!r.Shared || slices.Contains(fields(n.Config, "master"), r.port))
		return n.Namespace == d.Namespace && (ofRail || n.Name == nvidiaName(d, r))
	})
}

// isHostNetwork reports whether a HostDeviceNetwork exists. It has no namespace.
func isHostNetwork(d *draft, name string) bool {
	for _, n := range d.s.SriovNetworks {
		if n.Kind != hostDeviceNetwork || n.Name != name {
			continue
		}
		if n.TargetNamespace != d.Namespace {
			d.plan.Report(nameTaken(check.Named(check.SriovNetwork, name), n.TargetNamespace, d.Namespace,
				fmt.Sprintf("%s %s exists for namespace %s: it is not changed", n.Kind, name, n.TargetNamespace)))
		}
		return true
	}
	return false
}

const hostDeviceNetwork = "HostDeviceNetwork"

// modelIPAM returns the addresses of another network of a resource, "" if there is none.
func modelIPAM(d *draft, resource string) string {
	for _, n := range d.s.SriovNetworks {
		if n.Kind == hostDeviceNetwork && path.Base(n.ResourceName) == path.Base(resource) {
			text, _ := n.Spec["ipam"].(string)
			return text
		}
	}
	return ""
}

func (d *draft) nvidiaNetwork(r nvidiaRail, name, ipam string) []plan.Change {
	network := cluster.Network{Namespace: d.Namespace, Name: name, Resource: r.Resource, Type: "host-device"}
	meta := d.meta(name)
	if !r.Shared {
		d.planned = append(d.planned, network)
		meta.Namespace = ""
		return []plan.Change{{
			Verb: plan.Apply,
			Why:  "makes NVIDIA's network operator create the attachment of " + r.Resource,
			Object: unstructured.Unstructured{Object: map[string]any{
				"apiVersion": cluster.NvidiaGroup + "/v1alpha1",
				"kind":       hostDeviceNetwork,
				"metadata":   plan.Fields(&meta),
				"spec": map[string]any{
					"networkNamespace": d.Namespace,
					"resourceName":     path.Base(r.Resource), // the operator adds nvidia.com/
					"ipam":             ipam,
				},
			}},
		}}
	}
	list := map[string]any{"cniVersion": "0.3.1", "name": name}
	macvlan := map[string]any{
		"type":   "macvlan",
		"master": r.port,
		"mode":   "bridge",
		"ipam":   json.RawMessage(ipam),
	}
	if d.oneSubnet {
		list["plugins"] = []any{macvlan, json.RawMessage(arpPlugin)}
	} else {
		maps.Copy(list, macvlan)
	}
	config, _ := json.Marshal(list) // always marshals
	network.Type, network.Config = "macvlan", string(config)
	return attachmentOf(d, network, "an interface on "+r.port+" for pods that share "+r.Resource)
}
