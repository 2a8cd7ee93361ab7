package rail

import (
	"fmt"
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
	if access, evidence := accessTo(j, d); !access.MayOpen() {
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
			Cause: TransportSupported, reason: elasticFabric, own: useOFI,
			Reason:   "AWS EFA; NCCL reaches it only through the aws-ofi-nccl plugin",
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
		r.Reason = "not allocated to this pod, which was given " + strings.Join(givenNames(j), ", ")
	case j.scope == Pod && j.virtualGiven && !d.IsVirtual() && !hasVirtualParent(d) && !j.certain[d.Name]:
		r.Reason = "physical function; the pod was given virtual functions"
		if !j.restricted {
			r.reason = besideVirtual
			r.Reason = "physical function; virtual functions are used, and no source shows what was allocated"
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

// accessTo returns whether this process can open the device's verbs node, with the evidence.
func accessTo(j *judge, d host.Device) (host.Access, check.Evidence) {
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

func givenNames(j *judge) []string {
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
	_, access := accessTo(j, d)
	r := Rail{
		Device: d.Name, Port: p.Number, Virtual: d.IsVirtual(), LinkLayer: p.LinkLayer.Value, Rate: p.Rate,
		Function: d.Function, Sources: j.given[d.Name],
	}
	r.Evidence = []check.Evidence{access, {Source: r.PortFile("state"), Got: "ACTIVE", Want: "ACTIVE"}}
	var rejected Rejected
	switch {
	case p.State.Or("") != "ACTIVE":
		rejected = j.inactive(r, d, p)
	case r.LinkLayer == host.InfiniBand:
		rejected = j.infiniBand(&r, d)
	case r.LinkLayer == host.Ethernet:
		rejected = j.roce(&r, p)
	default:
		rejected = Rejected{
			Cause:    TransportSupported,
			Reason:   fmt.Sprintf("link layer %s is neither InfiniBand nor Ethernet", p.LinkLayer),
			Evidence: []check.Evidence{{Source: r.PortFile("link_layer"), Got: p.LinkLayer.String()}},
		}
	}
	if rejected.Reason != "" {
		j.reject(d.Name, p.Number, rejected)
		return
	}
	if link, ok := j.s.Link(r.Netdev); ok {
		r.MTU = link.MTU
	}
	for _, source := range r.Sources {
		r.Evidence = append(r.Evidence, check.Evidence{Source: source, Got: "names " + d.Name})
	}
	j.result.Rails = append(j.result.Rails, r)
}

// inactive rejects a port that is not ACTIVE.
func (j *judge) inactive(r Rail, d host.Device, p host.Port) Rejected {
	reason := fmt.Sprintf("port %d %s", p.Number, p.State)
	if phys, known := p.PhysState.Get(); known {
		reason += " (" + phys + ")"
	}
	if !p.State.IsKnown() {
		reason = fmt.Sprintf("state of port %d could not be read: %s", p.Number, p.State.Why)
	}
	fix, evidence := WhyDown(j.s, j.scope, d, p)
	return Rejected{
		Cause: PortActive, Reason: reason, own: fix,
		Evidence: append([]check.Evidence{
			{Source: r.PortFile("state"), Got: p.State.String(), Want: "ACTIVE"},
			{Source: r.PortFile("phys_state"), Got: p.PhysState.String(), Want: "LinkUp"},
		}, evidence...),
	}
}

// infiniBand completes a rail, or rejects it if only its name says that it is the pod's: there is no GID to prove it.
func (j *judge) infiniBand(r *Rail, d host.Device) Rejected {
	if c, doubtful := j.misplaced[d.Name]; doubtful && !j.certain[d.Name] {
		at := d.Function.Value.Address
		return Rejected{
			Cause: AllocationConsistent, Evidence: misplaced(c, d.Name, at).Evidence,
			Reason: fmt.Sprintf("allocated as %s but found at %s; no GID proves that it is this pod's (InfiniBand)",
				c.id, at),
		}
	}
	if len(d.Netdevs) > 0 {
		r.Netdev = d.Netdevs[0]
	}
	return Rejected{}
}

// roce completes a rail with its GID, or rejects it.
func (j *judge) roce(r *Rail, p host.Port) Rejected {
	choice := j.chooseGID(p)
	evidence := choice.evidence(*r)
	if choice.gid == nil {
		return Rejected{Cause: GIDUsable, Reason: choice.reason, Evidence: evidence}
	}
	r.GID, r.Netdev = choice.gid, choice.netdev
	r.Evidence = append(r.Evidence, evidence...)
	r.Health = choice.findings(*r)
	return Rejected{}
}

func attr(d host.Device, name string) string { return "/sys/class/infiniband/" + d.Name + "/" + name }
