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

// The checks that explain a measurement, the nearest cause first. Which of them apply depends on what was measured.
var (
	blockingChecks = []check.ID{
		rail.PortActive, rail.CarrierPresent, machine.PhysicalUp, machine.VFSettings, machine.VFGUID, rail.GIDUsable,
		rail.UverbsOpenable, rail.RDMANamespace, machine.VerbsLibrary, machine.IPCLockEffective, machine.MemlockLimit,
		machine.RuntimeMemlock, DuplicateAddress, machine.RailARP, FleetLinkLayer, rail.LinkLayerUniform, FleetGIDType,
		RailSubnet, machine.RailMTU, FleetMTU, machine.LinkStable, machine.SymbolErrors, machine.PacketsInTurn,
		nccl.IOMMUPassthrough,
	}
	slowingChecks = []check.ID{
		machine.LinkStable, machine.SymbolErrors, machine.PacketsInTurn, machine.RailARP, rail.PortNotShared,
		nccl.IOMMUPassthrough, machine.ReadRequest, rail.HardwareRDMA,
	}
	// A bench takes the causes of these into its ceiling: they explain a rate that reaches the ceiling, and none below.
	ceilingChecks = []check.ID{
		machine.RailMTU, FleetMTU, rail.RateUniform, machine.RateExpected, FleetRate, machine.PCIeLink,
	}
	noRailChecks = []check.ID{
		rail.DeviceAllocated, rail.UverbsOpenable, rail.RDMANamespace, rail.PortActive, rail.GIDUsable,
	}
)

// measurementExplainer matches slow or failed measurements with findings about the machines at both ends.
type measurementExplainer struct {
	benched
	machines    map[check.Ref]Machine
	occurrences map[check.ID]map[check.Ref][]occurrence // by check and machine
	problems    map[check.ID][]int                      // of every rail of every pod, see problemsOf
}

func newMeasurementExplainer(all []occurrence, b benched, machines []Machine) *measurementExplainer {
	x := &measurementExplainer{
		benched:     b,
		machines:    map[check.Ref]Machine{},
		occurrences: map[check.ID]map[check.Ref][]occurrence{},
		problems:    map[check.ID][]int{},
	}
	for _, m := range machines {
		x.machines[m.Ref] = m
	}
	for _, o := range all {
		if o.Status <= check.Unknown {
			continue
		}
		if x.occurrences[o.Check] == nil {
			x.occurrences[o.Check] = map[check.Ref][]occurrence{}
		}
		x.occurrences[o.Check][o.machine] = append(x.occurrences[o.Check][o.machine], o)
	}
	return x
}

// whyNoRail returns the problem for which none of the pods has a rail; -1 if there is no such problem.
func (x *measurementExplainer) whyNoRail(pods []check.Ref) int {
	for _, id := range noRailChecks {
		without := slices.ContainsFunc(pods, func(pod check.Ref) bool { return len(x.occurrences[id][pod]) == 0 })
		if !without && len(pods) > 0 {
			return x.occurrences[id][pods[0]][0].problem
		}
	}
	return -1
}

// cause returns the problem that explains a slow part of the fabric; -1 if none does.
func (x *measurementExplainer) cause(c bench.Culprit) int {
	candidates := slowingChecks
	switch {
	case c.Measured == 0:
		candidates = slices.Concat(blockingChecks, slowingChecks)
	case x.reachesCeiling(c):
		candidates = slices.Concat(ceilingChecks, slowingChecks)
	}
	for _, id := range candidates {
		if problem := x.explains(id, c); problem >= 0 {
			return problem
		}
	}
	return -1
}

// reachesCeiling reports whether a part is only as slow as its own ports, slots and MTUs make it.
func (x *measurementExplainer) reachesCeiling(c bench.Culprit) bool {
	least := bench.Gbps(0)
	for pod := range x.Pods {
		for r, of := range x.Pods[pod].Rails {
			if within(c, pod, r) && (least == 0 || of.Ceiling.Rate < least) {
				least = of.Ceiling.Rate
			}
		}
	}
	return float64(c.Measured) >= x.MinEfficiency*float64(least)
}

// within reports whether a rail of a pod belongs to a slow part.
func within(c bench.Culprit, pod, r int) bool {
	return (c.Rail < 0 || c.Rail == r) && (len(c.Pods) == 0 || slices.Contains(c.Pods, pod))
}

// explains returns the problem of a check that explains a slow part: every link of the part has it at one end, and at
// most half of the other rails have it, too.
func (x *measurementExplainer) explains(id check.ID, c bench.Culprit) int {
	if x.occurrences[id] == nil {
		return -1
	}
	problems := x.problemsOf(id)
	cause := -1
	inside, others, alike := map[int]bool{}, 0, 0
	for pod := range x.Matrix.Pods {
		for r := range x.Matrix.Rails {
			problem := problems[pod*len(x.Matrix.Rails)+r]
			switch {
			case within(c, pod, r) && problem >= 0:
				inside[pod] = true
				cause = max(cause, problem)
			case within(c, pod, r):
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

// problemsOf returns the problem of a check on every rail of every pod, at pod*rails+rail; -1 if there is none.
func (x *measurementExplainer) problemsOf(id check.ID) []int {
	if all, there := x.problems[id]; there {
		return all
	}
	var all []int
	for pod := range x.Matrix.Pods {
		ref, node := x.podRef(pod), check.NodeRef(x.Matrix.Pods[pod].Node)
		names := x.railRefs(pod, ref, node)
		found := slices.Concat(x.occurrences[id][ref], x.occurrences[id][node])
		for _, o := range x.occurrences[id][check.Ref{}] {
			if o.Concerns(ref) {
				found = append(found, o)
			}
		}
		for r := range x.Matrix.Rails {
			problem := -1
			i := slices.IndexFunc(found, func(o occurrence) bool { return concernsRail(o.Finding, names, r) })
			if i >= 0 {
				problem = found[i].problem
			}
			all = append(all, problem)
		}
	}
	x.problems[id] = all
	return all
}

// railRefs returns the refs of each rail of a pod: its own, and on its node those of the functions behind it.
func (x *measurementExplainer) railRefs(pod int, ref, node check.Ref) [][]check.Ref {
	if pod >= len(x.Pods) {
		return nil
	}
	inPod, onNode := x.machines[ref].Snapshot, x.machines[node].Snapshot
	var all [][]check.Ref
	for _, r := range x.Pods[pod].Rails {
		refs := append(deviceRefs(inPod, r.Device, ref), check.DeviceRef(r.Device).On(ref), check.LinkRef(r.Netdev).On(ref))
		if d, ok := inPod.Device(r.Device); ok && d.Function.IsKnown() {
			refs = append(refs, functionRefs(onNode, d.Function.Value, node)...)
		}
		all = append(all, slices.DeleteFunc(refs, func(r check.Ref) bool { return r.Part == "" }))
	}
	return all
}

// deviceRefs returns the refs of a device and its ports.
func deviceRefs(s host.Snapshot, name string, machine check.Ref) []check.Ref {
	refs := []check.Ref{check.DeviceRef(name).On(machine)}
	d, _ := s.Device(name)
	for _, p := range d.Ports {
		refs = append(refs, check.PortRef(name, p.Number).On(machine))
	}
	return refs
}

// functionRefs returns the refs of the devices and interfaces of a function and of its physical function on a node.
func functionRefs(s host.Snapshot, f host.Function, node check.Ref) []check.Ref {
	own := []host.PCIAddress{f.Address, f.PhysFn.Or(f.Address)}
	var refs []check.Ref
	for i := range s.Devices {
		if of, known := s.Devices[i].Function.Get(); known && slices.Contains(own, of.Address) {
			refs = append(refs, deviceRefs(s, s.Devices[i].Name, node)...)
		}
	}
	for i := range s.Links {
		if address, known := s.Links[i].PCI.Get(); known && slices.Contains(own, address) {
			refs = append(refs, check.LinkRef(s.Links[i].Name).On(node))
		}
	}
	return refs
}

// concernsRail reports whether a finding concerns a rail: it names that rail, or none of the pod's rails.
func concernsRail(f check.Finding, rails [][]check.Ref, r int) bool {
	names := func(refs []check.Ref) bool { return slices.ContainsFunc(refs, f.Concerns) }
	return r < len(rails) && names(rails[r]) || !slices.ContainsFunc(rails, names)
}
