package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
)

// Causes of what is measured, the nearest first.
var (
	// cuts are what nothing comes through for.
	cuts = []check.ID{
		rail.PortActive, rail.CarrierPresent, machine.PhysicalUp, machine.VFSettings, machine.VFGUID, rail.GIDUsable, rail.UverbsOpenable, rail.RDMANamespace,
		machine.VerbsLibrary, machine.IPCLockEffective, machine.MemlockLimit, machine.RuntimeMemlock, DuplicateAddress, machine.RailARP, FleetLinkLayer,
		rail.LinkLayerUniform, FleetGIDType, RailSubnet, machine.RailMTU, FleetMTU, machine.LinkStable, machine.SymbolErrors, machine.PacketsInTurn, nccl.IOMMUPassthrough,
	}
	// brakes are what makes a rail slow by any amount.
	brakes = []check.ID{
		machine.LinkStable, machine.SymbolErrors, machine.PacketsInTurn, machine.RailARP, rail.PortNotShared, nccl.IOMMUPassthrough, machine.ReadRequest, rail.HardwareRDMA,
	}
	// ceilings are what a bench's ceiling takes into account: they explain what reaches it, and nothing below it.
	ceilings = []check.ID{machine.RailMTU, FleetMTU, rail.RateUniform, machine.RateExpected, FleetRate, machine.PCIeLink}
	// lacks are what a pod has no rail for that could be measured.
	lacks = []check.ID{rail.DeviceAllocated, rail.UverbsOpenable, rail.RDMANamespace, rail.PortActive, rail.GIDUsable}
)

// explaining finds what of the state of machines explains what was measured between them.
type explaining struct {
	benched
	machines map[string]Machine
	sighted  map[check.ID]map[string][]sighting // by machine
	known    map[check.ID][]int
}

func newExplaining(d *diagnosing, b benched, machines []Machine) *explaining {
	x := &explaining{benched: b, machines: map[string]Machine{}, sighted: map[check.ID]map[string][]sighting{}, known: map[check.ID][]int{}}
	for _, m := range machines {
		x.machines[m.Name] = m
	}
	for _, s := range d.sightings {
		if s.Status <= check.Unknown {
			continue
		}
		if x.sighted[s.Check] == nil {
			x.sighted[s.Check] = map[string][]sighting{}
		}
		x.sighted[s.Check][s.machine] = append(x.sighted[s.Check][s.machine], s)
	}
	return x
}

// hides is the problem of a check that all of the pods have no rail for; -1 where there is none.
func (x *explaining) hides(pods []string) int {
	for _, id := range lacks {
		without := slices.ContainsFunc(pods, func(pod string) bool { return len(x.sighted[id][pod]) == 0 })
		if !without && len(pods) > 0 {
			return x.sighted[id][pods[0]][0].problem
		}
	}
	return -1
}

// cause is the problem that explains a slow part of the fabric; -1 where none does.
func (x *explaining) cause(c bench.Culprit) int {
	candidates := brakes
	switch {
	case c.Measured == 0:
		candidates = slices.Concat(cuts, brakes)
	case x.reachesCeiling(c):
		candidates = slices.Concat(ceilings, brakes)
	}
	for _, id := range candidates {
		if problem := x.explains(id, c); problem >= 0 {
			return problem
		}
	}
	return -1
}

// reachesCeiling reports whether a part is only as slow as its own ports, slots and MTUs make it.
func (x *explaining) reachesCeiling(c bench.Culprit) bool {
	least := bench.Gbps(0)
	for pod := range x.Pods {
		for r, of := range x.Pods[pod].Rails {
			if x.within(c, pod, r) && (least == 0 || of.Ceiling.Rate < least) {
				least = of.Ceiling.Rate
			}
		}
	}
	return float64(c.Measured) >= x.MinEfficiency*float64(least)
}

// within reports whether a rail of a pod is of a slow part.
func (x *explaining) within(c bench.Culprit, pod, r int) bool {
	return (c.Rail < 0 || c.Rail == r) && (len(c.Pods) == 0 || slices.Contains(c.Pods, pod))
}

// explains returns the problem of a check that explains a slow part: it is at one end of every link of the part, and what most
// of the others have as well does not make the difference.
func (x *explaining) explains(id check.ID, c bench.Culprit) int {
	if x.sighted[id] == nil {
		return -1
	}
	at := x.at(id)
	cause := -1
	inside, others, alike := map[int]bool{}, 0, 0
	for pod := range x.Matrix.Pods {
		for r := range x.Matrix.Rails {
			problem := at[pod*len(x.Matrix.Rails)+r]
			switch {
			case x.within(c, pod, r) && problem >= 0:
				inside[pod] = true
				cause = max(cause, problem)
			case x.within(c, pod, r):
			default:
				if others++; problem >= 0 {
					alike++
				}
			}
		}
	}
	needed := 1
	if len(c.Pods) == 0 { // a link has two ends: all pods but one
		needed = max(1, len(x.Matrix.Pods)-1)
	}
	if len(inside) < needed || 2*alike > others {
		return -1
	}
	return cause
}

// at is the problem of a check on every rail of every pod, at pod*rails+rail; -1 where there is none.
func (x *explaining) at(id check.ID) []int {
	if all, there := x.known[id]; there {
		return all
	}
	var all []int
	for pod := range x.Matrix.Pods {
		name := x.podName(pod)
		node := "node/" + x.Matrix.Pods[pod].Node
		aliases := x.aliases(pod, x.machines[name].Snapshot, x.machines[node].Snapshot)
		own := slices.Concat(x.sighted[id][name], x.sighted[id][node])
		for _, s := range x.sighted[id][""] {
			if says(words(s.Finding), name) {
				own = append(own, s)
			}
		}
		for r := range x.Matrix.Rails {
			problem := -1
			for _, s := range own {
				if concerns(s.Finding, aliases, r) {
					problem = s.problem
					break
				}
			}
			all = append(all, problem)
		}
	}
	x.known[id] = all
	return all
}

// aliases are the names of each rail of a pod: there, and on its node those of the functions behind it.
func (x *explaining) aliases(pod int, s, node host.Snapshot) [][]string {
	if pod >= len(x.Pods) {
		return nil
	}
	var all [][]string
	for _, r := range x.Pods[pod].Rails {
		names := []string{r.Name, r.Device, r.Netdev}
		if d, ok := s.Device(r.Device); ok && d.Function.IsKnown() {
			own := []host.PCIAddress{d.Function.Value.Address, d.Function.Value.PhysFn.Or(d.Function.Value.Address)}
			for i := range node.Devices {
				if f, known := node.Devices[i].Function.Get(); known && slices.Contains(own, f.Address) {
					names = append(names, node.Devices[i].Name)
				}
			}
			for i := range node.Links {
				if address, known := node.Links[i].PCI.Get(); known && slices.Contains(own, address) {
					names = append(names, node.Links[i].Name)
				}
			}
		}
		all = append(all, slices.DeleteFunc(names, func(name string) bool { return name == "" }))
	}
	return all
}

// concerns reports whether a finding is about a rail: it names it, or names none.
func concerns(f check.Finding, aliases [][]string, r int) bool {
	text := string(f.Subject) + " " + words(f)
	named := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return says(text, name) })
	}
	return r < len(aliases) && named(aliases[r]) || !slices.ContainsFunc(aliases, named)
}
