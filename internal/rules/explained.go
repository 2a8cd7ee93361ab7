package rules

import (
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
)

// effect is something that a finding explains about a measurement.
type effect int

const (
	noRail     effect = 1 << iota // the pod has no rail to measure
	noData                        // a link carries no data
	slow                          // a link does not reach its ceiling
	lowCeiling                    // a link reaches its ceiling, which is lower than the ceilings of other links
)

// explanations lists the checks whose findings explain a measurement, the nearest cause first.
var explanations = []struct {
	check   check.ID
	effects effect
}{
	{rail.DeviceAllocated, noRail},
	{rail.PortActive, noRail | noData},
	{rail.CarrierPresent, noData},
	{machine.PhysicalUp, noData},
	{machine.VFSettings, noData},
	{machine.VFGUID, noData},
	{rail.GIDUsable, noRail | noData},
	{rail.UverbsOpenable, noRail | noData},
	{rail.RDMANamespace, noRail | noData},
	{machine.VerbsLibrary, noData},
	{machine.IPCLockEffective, noData},
	{machine.MemlockLimit, noData},
	{machine.RuntimeMemlock, noData},
	{fleet.DuplicateAddress, noData},
	{machine.RailARP, noData | slow},
	{fleet.LinkLayer, noData},
	{rail.LinkLayerUniform, noData},
	{fleet.GIDType, noData},
	{fleet.RailSubnet, noData},
	{machine.RailMTU, noData | lowCeiling},
	{fleet.MTU, noData | lowCeiling},
	{machine.LinkStable, noData | slow},
	{machine.SymbolErrors, noData | slow},
	{machine.PacketsInTurn, noData | slow},
	{rail.PortNotShared, slow},
	{nccl.IOMMUPassthrough, noData | slow},
	{machine.ReadRequest, slow},
	{rail.HardwareRDMA, slow},
	{rail.RateUniform, lowCeiling},
	{machine.RateExpected, lowCeiling},
	{fleet.Rate, lowCeiling},
	{machine.PCIeLink, lowCeiling},
}

// checksFor returns the checks whose findings explain an effect.
func checksFor(e effect) []check.ID {
	var all []check.ID
	for _, row := range explanations {
		if row.effects&e != 0 {
			all = append(all, row.check)
		}
	}
	return all
}

// measurementExplainer matches slow or failed measurements with findings about the machines at both ends.
type measurementExplainer struct {
	bench.Result
	parts       map[check.Ref][]part                    // by machine
	occurrences map[check.ID]map[check.Ref][]occurrence // by check and machine
	problems    map[check.ID][]int                      // of every rail of every pod, see problemsOf
}

func newMeasurementExplainer(all []occurrence, r bench.Result, machines []Judged) *measurementExplainer {
	x := &measurementExplainer{
		Result:      r,
		parts:       map[check.Ref][]part{},
		occurrences: map[check.ID]map[check.Ref][]occurrence{},
		problems:    map[check.ID][]int{},
	}
	for _, m := range machines {
		x.parts[m.Ref] = m.parts
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

// whyNoRail returns the problem that leaves all of the pods without a rail; -1 if there is none.
func (x *measurementExplainer) whyNoRail(pods []check.Ref) int {
	for _, id := range checksFor(noRail) {
		without := func(pod check.Ref) bool { return len(x.occurrences[id][pod]) == 0 }
		if len(pods) > 0 && !slices.ContainsFunc(pods, without) {
			return x.occurrences[id][pods[0]][0].problem
		}
	}
	return -1
}

// cause returns the problem that explains a slow part of the fabric; -1 if none does.
func (x *measurementExplainer) cause(c bench.Culprit) int {
	candidates := checksFor(slow)
	switch {
	case c.Measured == 0:
		candidates = slices.Concat(checksFor(noData), candidates)
	case x.reachesCeiling(c): // bench computes the ceiling from ports, slots and MTUs
		candidates = slices.Concat(checksFor(lowCeiling), candidates)
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
// most half of the other rails have it.
func (x *measurementExplainer) explains(id check.ID, c bench.Culprit) int {
	if x.occurrences[id] == nil {
		return -1
	}
	cause, others, othersWithIt := -1, 0, 0
	podsWithIt := map[int]bool{}
	rails := len(x.Matrix.Rails)
	for i, problem := range x.problemsOf(id) {
		pod := i / rails
		switch inside := within(c, pod, i%rails); {
		case inside && problem >= 0:
			podsWithIt[pod] = true
			cause = max(cause, problem)
		case !inside:
			others++
			if problem >= 0 {
				othersWithIt++
			}
		}
	}
	needed := 1
	if len(c.Pods) == 0 { // a link has two ends: all pods but one
		needed = max(1, len(x.Matrix.Pods)-1)
	}
	if len(podsWithIt) < needed || 2*othersWithIt > others {
		return -1
	}
	return cause
}

// problemsOf returns the problem of a check on every rail of every pod, at pod*rails+rail; -1 if there is none.
func (x *measurementExplainer) problemsOf(id check.ID) []int {
	if all, known := x.problems[id]; known {
		return all
	}
	var all []int
	for i, p := range x.Matrix.Pods {
		pod, node := check.PodRef(x.Namespace, p.Name), check.NodeRef(p.Node)
		rails := x.railRefs(i, pod, node)
		found := slices.Concat(x.occurrences[id][pod], x.occurrences[id][node])
		for _, o := range x.occurrences[id][check.Ref{}] {
			if o.Concerns(pod) {
				found = append(found, o)
			}
		}
		for r := range x.Matrix.Rails {
			problem := -1
			k := slices.IndexFunc(found, func(o occurrence) bool { return concernsRail(o.Finding, rails, r) })
			if k >= 0 {
				problem = found[k].problem
			}
			all = append(all, problem)
		}
	}
	x.problems[id] = all
	return all
}

// railRefs returns the refs of each rail of a pod: its refs in the pod, and on the pod's node the refs of the functions
// behind it.
func (x *measurementExplainer) railRefs(i int, pod, node check.Ref) [][]check.Ref {
	if i >= len(x.Pods) {
		return nil
	}
	var all [][]check.Ref
	for _, r := range x.Pods[i].Rails {
		refs := []check.Ref{check.DeviceRef(r.Device).On(pod), check.LinkRef(r.Netdev).On(pod)}
		for _, p := range x.parts[pod] {
			if p.link != "" || p.device != r.Device {
				continue
			}
			refs = append(refs, p.refs(pod)...)
			for _, behind := range x.parts[node] {
				if len(behind.addresses) > 0 && slices.Contains(p.addresses, behind.addresses[0]) {
					refs = append(refs, behind.refs(node)...)
				}
			}
		}
		all = append(all, slices.DeleteFunc(refs, func(r check.Ref) bool { return r.Part == "" }))
	}
	return all
}

// concernsRail reports whether a finding concerns a rail: it names that rail, or none of the pod's rails.
func concernsRail(f check.Finding, rails [][]check.Ref, r int) bool {
	names := func(refs []check.Ref) bool { return slices.ContainsFunc(refs, f.Concerns) }
	return r < len(rails) && names(rails[r]) || !slices.ContainsFunc(rails, names)
}
