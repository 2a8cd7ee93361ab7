package rail

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// device judges one device and reports the first reason to reject it.
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
	if access, evidence := j.access(d); access != host.Openable && access != host.NotProbed {
		return inaccessible(access, evidence)
	}
	if r := j.foreign(d); r.Reason != "" {
		return r
	}
	switch {
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

// foreign rejects a device that is not the pod's, or not of the scope.
func (j *judge) foreign(d host.Device) Rejected {
	r := Rejected{Cause: DeviceAllocated}
	given, f := len(j.given[d.Name]) > 0, d.Function.Value
	physfn := check.Evidence{Source: physfn(f), Got: f.PhysFn.String()}
	switch {
	case !given && j.restricted:
		r.Reason = "not allocated to this pod, which was given " + strings.Join(j.givenNames(), ", ")
	case j.scope == Pod && j.virtualGiven && !d.IsVirtual() && !hasVirtualParent(d):
		r.Reason = "physical function; the pod was given virtual functions"
		if !j.restricted {
			r.reason = besideVirtual
			r.Reason = "physical function; virtual functions are used, and nothing says what was allocated"
		}
		physfn.Got, physfn.Want = "absent", "a link to the PF"
		r.Evidence = []check.Evidence{physfn}
	case j.scope == Host && d.IsVirtual() && !given:
		r.Reason = "virtual function; --scope host uses physical functions"
		r.Evidence = []check.Evidence{physfn}
	}
	return r
}

// hasVirtualParent reports whether the device is Soft-RoCE over a VF's interface, which counts as virtual.
func hasVirtualParent(d host.Device) bool { return d.IsSoftware() && d.Function.Value.IsVF() }

// physfn returns the file that links a virtual function to its physical one.
func physfn(f host.Function) string { return "/sys/bus/pci/devices/" + f.Address.String() + "/physfn" }

// access returns whether this process can open the device's verbs node, with the evidence.
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
	if p.State.Or("") != "ACTIVE" {
		j.reject(d.Name, p.Number, j.inactive(d, p, at))
		return
	}
	_, access := j.access(d)
	rail := Rail{
		Device: d.Name, Port: p.Number, Virtual: d.IsVirtual(), LinkLayer: p.LinkLayer.Value, Rate: p.Rate,
		Function: d.Function, Sources: j.given[d.Name],
		Evidence: []check.Evidence{access, {Source: at + "/state", Got: "ACTIVE", Want: "ACTIVE"}},
	}
	switch p.LinkLayer.Value {
	case host.InfiniBand:
		if c, doubtful := j.misplaced[d.Name]; doubtful && !j.certain[d.Name] {
			f := misplaced(c, d.Name, d.Function.Value.Address)
			j.reject(d.Name, p.Number, Rejected{
				Cause: f.Check, Evidence: f.Evidence,
				Reason: fmt.Sprintf("allocated as %s but found at %s; no GID proves that it is this pod's (InfiniBand)",
					c.id, d.Function.Value.Address),
			})
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
		rail.Health = choice.findings(rail)
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

// inactive rejects a port that is not ACTIVE.
func (j *judge) inactive(d host.Device, p host.Port, at string) Rejected {
	reason := fmt.Sprintf("port %d %s", p.Number, p.State)
	if phys, known := p.PhysState.Get(); known {
		reason += " (" + phys + ")"
	}
	if !p.State.IsKnown() {
		reason = fmt.Sprintf("state of port %d could not be read: %s", p.Number, p.State.Why)
	}
	fix, evidence := j.whyDown(d, p)
	return Rejected{
		Cause: PortActive, Reason: reason, own: fix,
		Evidence: append([]check.Evidence{
			{Source: at + "/state", Got: p.State.String(), Want: "ACTIVE"},
			{Source: at + "/phys_state", Got: p.PhysState.String(), Want: "LinkUp"},
		}, evidence...),
	}
}

func attr(d host.Device, name string) string { return "/sys/class/infiniband/" + d.Name + "/" + name }

func portPath(d host.Device, p host.Port) string {
	return attr(d, "ports/") + strconv.Itoa(p.Number)
}
