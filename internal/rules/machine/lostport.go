package machine

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

// cardPort is a port of a physical function.
type cardPort struct {
	*host.Device
	port   host.Port
	beside []int // GPUs without a host bridge between them and the card, as nvidia-smi counts
}

func (p cardPort) active() bool { return p.port.State.Or("") == "ACTIVE" }

// equal reports whether both are the same port of cards of one model. The second port of a card, which is often left
// empty, is another PCI function.
func (p cardPort) equal(other cardPort) bool {
	a, b := p.Function.Value, other.Function.Value
	model := a.Vendor == b.Vendor && a.Device == b.Device
	if p.BoardID.IsKnown() && other.BoardID.IsKnown() {
		model = p.BoardID.Value == other.BoardID.Value
	}
	return model && a.Address.Function == b.Address.Function && p.port.Number == other.port.Number
}

// cardPorts returns the ports of the machine's physical functions.
func cardPorts(s *host.Snapshot) []cardPort {
	gpus := rail.GPUs(*s)
	var all []cardPort
	for _, d := range physical(s) {
		var beside []int
		for g := range gpus {
			if !rail.DistanceOf(*s, gpus[g].Function, d.Function.Value).Farther(rail.PXB) {
				beside = append(beside, g)
			}
		}
		for _, p := range d.Ports {
			all = append(all, cardPort{d, p, beside})
		}
	}
	return all
}

// portRoles says what the ports of a machine are for, by its GPUs.
type portRoles struct {
	ports       []cardPort
	gpus        bool // there are some
	near        bool // a port, ACTIVE or not, has a GPU beside it: the PCI tree shows which rails GPUs have
	served      bool // an ACTIVE port has a GPU beside it
	active      bool // a port is ACTIVE
	fastestGbps float64
}

func rolesOf(s *host.Snapshot) portRoles {
	r := portRoles{ports: cardPorts(s), gpus: len(rail.GPUs(*s)) > 0}
	for _, p := range r.ports {
		r.near = r.near || len(p.beside) > 0
		if p.active() {
			r.active, r.served = true, r.served || len(p.beside) > 0
			r.fastestGbps = max(r.fastestGbps, p.port.Rate.Value.Gbps)
		}
	}
	return r
}

// equals counts the cards equal to that of a port, itself included, and those of them whose port is ACTIVE as a rail.
func (r portRoles) equals(p cardPort) (active, all int) {
	for _, other := range r.ports {
		if !p.equal(other) {
			continue
		}
		all++
		if other.active() && !rail.IsManagementRate(other.port.Rate.Value.Gbps, r.fastestGbps) {
			active++
		}
	}
	return active, all
}

// isRail reports whether a port that is not ACTIVE should be a rail: it has a GPU beside it, and equal cards are rails,
// or no ACTIVE port has a GPU beside it. Where the PCI tree shows no card beside a GPU, equal cards decide. The rate of
// a port that is not ACTIVE says nothing: drivers report a default.
func (r portRoles) isRail(p cardPort) bool {
	active, _ := r.equals(p)
	switch {
	case !r.gpus:
		return false
	case r.near:
		return len(p.beside) > 0 && (active > 0 || !r.served)
	}
	return active > 0 || !r.active
}

// lostPorts finds ports of physical functions that are not ACTIVE: a fault of those that should be rails, a remark of
// the others. Ports that mine excludes, or that another finding explains, are left out.
func lostPorts(s *host.Snapshot, mine func(device string, port int) bool) []check.Finding {
	roles, down := rolesOf(s), downPhysical(s)
	var findings []check.Finding
	for _, p := range roles.ports {
		known := p.port.State.IsKnown() && !p.active()
		if !known || !mine(p.Name, p.port.Number) || isDown(down, p.Function.Value.Address) {
			continue
		}
		if roles.isRail(p) {
			findings = append(findings, roles.lost(s, p))
		} else {
			findings = append(findings, roles.idle(p))
		}
	}
	return findings
}

// lost reports a rail whose port is not ACTIVE.
func (r portRoles) lost(s *host.Snapshot, p cardPort) check.Finding {
	active, all := r.equals(p)
	f := p.finding()
	f.Status = check.Fail
	role := ""
	if gpus := r.lostGPUs(p); len(gpus) > 0 {
		var names []string
		for _, g := range gpus {
			names = append(names, fmt.Sprintf("GPU%d", g))
			at := rail.GPUs(*s)[g].Function.Address
			f.About = append(f.About, check.Ref{Kind: check.GPU, Part: at.String()})
		}
		role = ", the rail of " + words.And(names) + ","
	}
	f.Summary = fmt.Sprintf("%s (%s)%s is %s: %d of %d equal cards are ACTIVE",
		p.Name, p.Function.Value.Address, role, stateOf(p.port), active, all)
	fix, evidence := rail.WhyDown(s, rail.Host, *p.Device, p.port)
	f.Fix, f.Evidence = fix, append(f.Evidence, evidence...)
	return f
}

// lostGPUs returns the GPUs beside a port that have no ACTIVE port beside them; all beside it, if each has one.
func (r portRoles) lostGPUs(p cardPort) []int {
	lost := slices.DeleteFunc(slices.Clone(p.beside), func(gpu int) bool {
		serves := func(o cardPort) bool { return o.active() && slices.Contains(o.beside, gpu) }
		return slices.ContainsFunc(r.ports, serves)
	})
	if len(lost) == 0 {
		return p.beside
	}
	return lost
}

// idle remarks a port that nothing shows to be a rail.
func (r portRoles) idle(p cardPort) check.Finding {
	f := p.finding()
	f.Status = check.Pass
	f.Summary = fmt.Sprintf("%s (%s) is %s: it is not the rail of a GPU, by its place and its equal cards",
		p.Name, p.Function.Value.Address, stateOf(p.port))
	f.Fix = check.ByAdmin("Nothing, if the port is not meant to be used. Otherwise check the cable, the transceiver, "+
		"the switch port, and on NVIDIA cards LINK_TYPE_P1, which makes a port InfiniBand or Ethernet.",
		"mlxconfig -d "+p.Function.Value.Address.String()+" query LINK_TYPE_P1")
	return f
}

func (p cardPort) finding() check.Finding {
	file := fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/", p.Name, p.port.Number)
	f := check.Finding{
		Check: rail.PortActive, Subject: check.PortRef(p.Name, p.port.Number),
		About: []check.Ref{check.DeviceRef(p.Name)},
		Evidence: []check.Evidence{
			{Source: file + "state", Got: p.port.State.String(), Want: "ACTIVE"},
			{Source: file + "phys_state", Got: p.port.PhysState.String(), Want: "LinkUp"},
		},
	}
	if p.BoardID.IsKnown() {
		board := check.Evidence{Source: "/sys/class/infiniband/" + p.Name + "/board_id", Got: p.BoardID.Value}
		f.Evidence = append(f.Evidence, board)
	}
	return f
}

// stateOf returns the state of a port for a reader: "DOWN (Polling)".
func stateOf(p host.Port) string {
	if phys, known := p.PhysState.Get(); known {
		return p.State.String() + " (" + phys + ")"
	}
	return p.State.String()
}

// cardsActive finds rails of the node whose port is not ACTIVE.
func cardsActive(t *subject) []check.Finding {
	return lostPorts(&t.Snapshot, func(string, int) bool { return true })
}

// unallocatedDown reports whether a device is not used because its port is not ACTIVE, and nothing allocated it: an
// allocated one has a finding of its own.
func unallocatedDown(t *subject, device string, port int) bool {
	return slices.ContainsFunc(t.options.Rails.Rejected, func(r rail.Rejected) bool {
		return r.Device == device && r.Port == port && r.Cause == rail.PortActive && !r.Missed
	})
}
