package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
)

// Judged is a machine with the findings about it, and the facts that are judged together with the facts of other
// machines. A snapshot needs about 200 kB, so each of thousands of machines is judged as it is read, and only the
// Judged is kept.
type Judged struct {
	fleet.Member
	kernel  string // release
	reports []check.Report
	parts   []part
}

// Judge judges one machine by itself.
func Judge(m Machine) Judged {
	if m.Unreached != "" { // fleet.Judge reports it
		return Judged{Member: fleet.NewMember(m, nil)}
	}
	scope := rail.Pod
	if m.IsNode() {
		scope = rail.Host
	}
	found := rail.Resolve(m.Snapshot, scope)
	j := Judged{Member: fleet.NewMember(m, found.Rails)}
	if m.IsNode() {
		j.reports = append(j.reports, machine.Node(m.Snapshot))
	} else {
		j.reports = append(j.reports, machine.Pod(m.Snapshot, machine.Options{Rails: &found}))
	}
	if earlier := m.Snapshot.Earlier; earlier != nil {
		j.reports = append(j.reports, machine.Watch(*earlier, m.Snapshot))
	}
	j.kernel, j.parts = m.Snapshot.Kernel.Value, partsOf(&m.Snapshot)
	return j
}

// JudgeAll judges each machine by itself.
func JudgeAll(machines []Machine) []Judged {
	all := make([]Judged, len(machines))
	for i := range machines {
		all[i] = Judge(machines[i])
	}
	return all
}

// ForLogs returns the machines as explain weighs causes with them, without those that were not reached.
func ForLogs(machines []Judged) []explain.Machine {
	var all []explain.Machine
	for _, m := range machines {
		if m.Unreached != "" {
			continue
		}
		x := explain.Machine{Name: m.Ref.String(), Kernel: m.kernel}
		for _, r := range m.reports {
			x.Report.Add(r)
		}
		all = append(all, x)
	}
	return all
}

// hasVF reports whether a device of the machine is a virtual function.
func (j *Judged) hasVF() bool {
	return slices.ContainsFunc(j.parts, func(p part) bool {
		return len(p.addresses) > 1 && p.addresses[0] != p.addresses[1]
	})
}

// part is a device or an interface of a machine.
type part struct {
	device    string
	ports     []int // of the device
	link      string
	addresses []host.PCIAddress // of its function and, for a device, of the physical one
}

func partsOf(s *host.Snapshot) []part {
	var parts []part
	for i := range s.Devices {
		d := &s.Devices[i]
		p := part{device: d.Name}
		for _, port := range d.Ports {
			p.ports = append(p.ports, port.Number)
		}
		if f, known := d.Function.Get(); known {
			p.addresses = []host.PCIAddress{f.Address, f.PhysFn.Or(f.Address)}
		}
		parts = append(parts, p)
	}
	for i := range s.Links {
		if address, known := s.Links[i].PCI.Get(); known {
			parts = append(parts, part{link: s.Links[i].Name, addresses: []host.PCIAddress{address}})
		}
	}
	return parts
}

// refs returns the refs by which findings name the part.
func (p part) refs(machine check.Ref) []check.Ref {
	if p.link != "" {
		return []check.Ref{check.LinkRef(p.link).On(machine)}
	}
	refs := []check.Ref{check.DeviceRef(p.device).On(machine)}
	for _, number := range p.ports {
		refs = append(refs, check.PortRef(p.device, number).On(machine))
	}
	return refs
}
