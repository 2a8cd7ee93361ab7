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
	if r := j.refuse(d); r.Reason != "" {
		j.reject(d.Name, 0, r)
		return
	}
	if len(d.Ports) == 0 {
		j.reject(d.Name, 0, Rejected{
			Cause:    PortActive,
			Reason:   "no port could be read",
			Evidence: []check.Evidence{{Source: "/sys/class/infiniband/" + d.Name + "/ports", Got: "nothing"}},
		})
	}
	for _, p := range d.Ports {
		j.port(d, p)
	}
}

// refuse returns the reason to reject the whole device; without a Reason the device is not rejected.
func (j *judge) refuse(d host.Device) Rejected {
	sources := j.given[d.Name]
	if access, evidence := j.access(d); access != host.Openable && access != host.NotProbed {
		return inaccessible(access, evidence)
	}
	switch {
	case len(sources) == 0 && j.restricted:
		return Rejected{
			Cause: DeviceAllocated, Reason: "not allocated to this pod, which was given " + strings.Join(j.givenNames(), ", "),
		}
	case j.scope == Pod && j.virtualGiven && !d.IsVirtual() && !hasVirtualParent(d):
		if !j.restricted {
			return Rejected{
				Cause: DeviceAllocated, reason: besideVirtual, Evidence: physicalEvidence(d),
				Reason: "physical function; the virtual ones are taken, and nothing says what was allocated",
			}
		}
		return Rejected{
			Cause: DeviceAllocated, Evidence: physicalEvidence(d),
			Reason: "physical function, in a pod that was given virtual functions",
		}
	case j.scope == Host && d.IsVirtual() && len(sources) == 0:
		return Rejected{
			Cause: DeviceAllocated, Reason: "virtual function; --scope host takes the physical ones", Evidence: virtualEvidence(d),
		}
	case d.NodeType.Value == "RNIC":
		return Rejected{
			Cause: TransportSupported, Reason: "iWARP; NCCL needs InfiniBand or RoCE",
			Evidence: []check.Evidence{{Source: attr(d, "node_type"), Got: "RNIC", Want: "CA"}},
		}
	case d.Function.Value.Driver.Value == "efa":
		return Rejected{
			Cause: TransportSupported, Reason: "AWS EFA; NCCL reaches it only through the aws-ofi-nccl plugin",
			Evidence: []check.Evidence{{Source: "driver of " + d.Name, Got: "efa"}},
		}
	}
	return Rejected{}
}

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

func inaccessible(access host.Access, e check.Evidence) Rejected {
	r := Rejected{Cause: UverbsOpenable, Evidence: []check.Evidence{e}}
	node := strings.TrimPrefix(e.Source, "/dev/infiniband/")
	switch access {
	case host.Missing:
		r.reason, r.Reason = nodeMissing, "its verbs node is not in this container"
	case host.Denied:
		r.reason, r.Reason = nodeDenied, node+" not permitted"
	default:
		r.Reason = node + ": " + e.Got
	}
	return r
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
		fix, why := j.whyDown(d, p)
		evidence := []check.Evidence{
			{Source: at + "/state", Got: p.State.String(), Want: "ACTIVE"},
			{Source: at + "/phys_state", Got: p.PhysState.String(), Want: "LinkUp"},
		}
		j.reject(d.Name, p.Number, Rejected{Cause: PortActive, Reason: reason, Evidence: append(evidence, why...), own: fix})
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
			j.reject(d.Name, p.Number, Rejected{Cause: f.Check, Reason: reason, Evidence: f.Evidence})
			return
		}
		if len(d.Netdevs) > 0 {
			rail.Netdev = d.Netdevs[0]
		}
	case host.Ethernet:
		choice := j.chooseGID(p)
		if choice.gid == nil {
			j.reject(d.Name, p.Number, Rejected{Cause: GIDUsable, Reason: choice.reason, Evidence: choice.evidence(at)})
			return
		}
		rail.GID, rail.Netdev = choice.gid, choice.netdev
		rail.Evidence = append(rail.Evidence, choice.evidence(at)...)
		rail.Health = append(rail.Health, choice.findings(rail)...)
	default:
		j.reject(d.Name, p.Number, Rejected{
			Cause:    TransportSupported,
			Reason:   fmt.Sprintf("link layer %s is neither InfiniBand nor Ethernet", p.LinkLayer),
			Evidence: []check.Evidence{{Source: at + "/link_layer", Got: p.LinkLayer.String()}},
		})
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
