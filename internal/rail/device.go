package rail

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// device judges one device; the first reason that holds is the one given.
func (j *judge) device(d host.Device) {
	if cause, reason, evidence := j.refuse(d); reason != "" {
		j.turnAway(d, 0, cause, reason, evidence...)
		return
	}
	if len(d.Ports) == 0 {
		j.turnAway(d, 0, PortActive, "no port could be read",
			check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/ports", Got: "nothing"})
	}
	for _, p := range d.Ports {
		j.port(d, p)
	}
}

// refuse gives the reason for which the whole device is out; "" when it is not.
func (j *judge) refuse(d host.Device) (check.ID, string, []check.Evidence) {
	sources := j.given[d.Name]
	if access, evidence := j.access(d); access != host.Openable && access != host.NotProbed {
		return UverbsOpenable, accessReason(access, evidence), []check.Evidence{evidence}
	}
	switch {
	case len(sources) == 0 && j.restricted:
		return DeviceAllocated, "not allocated to this pod, which was given " + strings.Join(j.givenNames(), ", "), nil
	case j.scope == Pod && j.virtualGiven && !d.IsVirtual() && !hasVirtualParent(d):
		if !j.restricted {
			return DeviceAllocated, besideVirtual, physicalEvidence(d)
		}
		return DeviceAllocated, "physical function, in a pod that was given virtual functions", physicalEvidence(d)
	case j.scope == Host && d.IsVirtual() && len(sources) == 0:
		return DeviceAllocated, "virtual function; --scope host takes the physical ones", virtualEvidence(d)
	case d.NodeType.Value == "RNIC":
		return TransportSupported, "iWARP; NCCL needs InfiniBand or RoCE",
			[]check.Evidence{{Source: attr(d, "node_type"), Got: "RNIC", Want: "CA"}}
	case d.Function.Value.Driver.Value == "efa":
		return TransportSupported, "AWS EFA; NCCL reaches it only through the aws-ofi-nccl plugin",
			[]check.Evidence{{Source: "driver of " + d.Name, Got: "efa"}}
	}
	return "", "", nil
}

// besideVirtual is the reason where nothing says what the pod was given.
const besideVirtual = "physical function; the virtual ones are taken, and nothing says what was allocated"

// hasVirtualParent keeps Soft-RoCE over a VF's interface with the virtual ones.
func hasVirtualParent(d host.Device) bool { return d.IsSoftware() && d.Function.Value.IsVF() }

func physicalEvidence(d host.Device) []check.Evidence {
	f := d.Function.Value
	return []check.Evidence{{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/physfn", Got: "absent", Want: "a link to the PF"}}
}

func virtualEvidence(d host.Device) []check.Evidence {
	f := d.Function.Value
	return []check.Evidence{{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/physfn", Got: f.PhysFn.String()}}
}

// access says whether this process can open the device's verbs node, and where that was seen.
func (j *judge) access(d host.Device) (host.Access, check.Evidence) {
	u, ok := j.s.UverbsOf(d.Name)
	if !ok {
		return j.s.AccessTo(d.Name), check.Evidence{Source: "/dev/infiniband", Got: "no node belongs to " + d.Name}
	}
	got := string(u.Access)
	if u.Why != "" {
		got += ": " + u.Why
	}
	return u.Access, check.Evidence{Source: "/dev/infiniband/" + u.Name, Got: got, Want: string(host.Openable)}
}

// notHere is the usual reason in shared RDMA mode, where every pod sees every HCA of the node in sysfs.
const notHere = "its verbs node is not in this container"

// notPermitted is said of a node that is there and whose opening the container's cgroup or the file's mode forbids.
const notPermitted = " not permitted"

func accessReason(access host.Access, e check.Evidence) string {
	node := strings.TrimPrefix(e.Source, "/dev/infiniband/")
	switch {
	case access == host.Missing:
		return notHere
	case access == host.Denied:
		return node + notPermitted
	default:
		return node + ": " + e.Got
	}
}

func (j *judge) givenNames() []string {
	var names []string
	for _, d := range j.s.Devices {
		if len(j.given[d.Name]) > 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// port judges one port of a device that is the pod's.
func (j *judge) port(d host.Device, p host.Port) {
	at := portPath(d, p)
	if state, ok := p.State.Get(); !ok || state != "ACTIVE" {
		reason := fmt.Sprintf("port %d %s", p.Number, state)
		if !ok {
			reason = fmt.Sprintf("state of port %d could not be read: %s", p.Number, p.State.Why)
		} else if phys, known := p.PhysState.Get(); known {
			reason += " (" + phys + ")"
		}
		fix, evidence := j.whyDown(d, p)
		j.turnAway(d, p.Number, PortActive, reason, append([]check.Evidence{
			{Source: at + "/state", Got: p.State.String(), Want: "ACTIVE"}, {Source: at + "/phys_state", Got: p.PhysState.String(), Want: "LinkUp"},
		}, evidence...)...)
		j.result.TurnedAway[len(j.result.TurnedAway)-1].fix = fix
		return
	}
	rail := Rail{
		Device: d.Name, Port: p.Number, Virtual: d.IsVirtual(), LinkLayer: p.LinkLayer.Value, Rate: p.Rate,
		Function: d.Function, Sources: j.given[d.Name],
	}
	_, access := j.access(d)
	rail.Evidence = append(rail.Evidence, access, check.Evidence{Source: at + "/state", Got: "ACTIVE", Want: "ACTIVE"})
	switch p.LinkLayer.Value {
	case host.InfiniBand:
		if c, doubtful := j.misplaced[d.Name]; doubtful && !j.certain[d.Name] { // no GID proves that it is the pod's
			f := misplaced(c, d.Name, d.Function.Value.Address)
			reason := fmt.Sprintf("allocated as %s, but it sits at %s: on InfiniBand nothing else proves that it is this pod's", c.id, d.Function.Value.Address)
			j.turnAway(d, p.Number, f.Check, reason, f.Evidence...)
			return
		}
		if len(d.Netdevs) > 0 {
			rail.Netdev = d.Netdevs[0]
		}
	case host.Ethernet:
		choice := j.chooseGID(p)
		if choice.gid == nil {
			j.turnAway(d, p.Number, GIDUsable, choice.reason, choice.evidence(at)...)
			return
		}
		rail.GID, rail.Netdev = choice.gid, choice.netdev
		rail.Evidence = append(rail.Evidence, choice.evidence(at)...)
		rail.Health = append(rail.Health, choice.findings(rail)...)
	default:
		j.turnAway(d, p.Number, TransportSupported, fmt.Sprintf("link layer %s is neither InfiniBand nor Ethernet", p.LinkLayer),
			check.Evidence{Source: at + "/link_layer", Got: p.LinkLayer.String()})
		return
	}
	if link, ok := j.s.Link(rail.Netdev); ok {
		rail.MTU = link.MTU
	}
	for _, source := range rail.Sources {
		rail.Evidence = append(rail.Evidence, check.Evidence{Source: source, Got: "names " + d.Name})
	}
	j.result.Rails = append(j.result.Rails, rail)
}

func attr(d host.Device, name string) string { return "/sys/class/infiniband/" + d.Name + "/" + name }

func portPath(d host.Device, p host.Port) string {
	return attr(d, "ports/") + strconv.Itoa(p.Number)
}
