package bench

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/host"
)

// Differ is a fact about a machine that has changed.
type Differ struct {
	Place string `json:"place"` // node
	What  string `json:"what"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// Differences returns the facts about the machines that differ between two results, by node. They may explain a change.
func Differences(before, now Result) []Differ {
	old, fresh := factsOf(before), factsOf(now)
	var all []Differ
	for _, place := range slices.Sorted(maps.Keys(fresh)) {
		then, there := old[place]
		if !there {
			continue
		}
		is := fresh[place]
		all = append(all, differing(place, then.rails, is.rails)...)
		if then.machine != nil && is.machine != nil {
			all = append(all, differing(place, then.machine, is.machine)...)
		}
	}
	return all
}

// differing compares facts by name. A fact that one of the two lacks belongs to a rail or a library that is gone or
// new.
func differing(place string, old, fresh map[string]string) (all []Differ) {
	names := maps.Clone(old)
	maps.Copy(names, fresh)
	for _, what := range slices.Sorted(maps.Keys(names)) {
		if a, b := old[what], fresh[what]; a != b {
			all = append(all, Differ{place, what, a, b})
		}
	}
	return all
}

// facts has the settings of a node that the speed of a network depends on, by name.
type facts struct {
	rails   map[string]string
	machine map[string]string // nil: the result has no snapshot of it
}

// factsOf returns the facts by node.
func factsOf(r Result) map[string]facts {
	all := map[string]facts{}
	for i, p := range r.Pods {
		f := facts{rails: map[string]string{}}
		for _, rail := range p.Rails {
			f.rails["rate of rail "+rail.Name] = rail.Rate.String()
			f.rails["MTU of rail "+rail.Name] = strconv.Itoa(rail.MTU)
			f.rails["ceiling of rail "+rail.Name] = rail.Ceiling.Rate.String()
		}
		if i < len(r.Machines) {
			f.machine = map[string]string{}
			machineFacts(f.machine, p, r.Machines[i])
		}
		all[p.Place()] = f
	}
	return all
}

func machineFacts(facts map[string]string, p Pod, s host.Snapshot) {
	facts["kernel"] = s.Kernel.String()
	facts["kernel command line"] = s.Cmdline.String()
	facts["GPU driver"] = s.GPUDirect.DriverVersion.String()
	facts["GPUs"] = strconv.Itoa(len(s.GPUs))
	for _, rail := range p.Rails {
		device, _ := s.Device(rail.Device)
		facts["firmware of rail "+rail.Name] = device.Firmware.String()
		facts["IOMMU of rail "+rail.Name] = device.Function.Value.IOMMUType.String()
	}
	if s.Verbs != nil {
		facts["rdma-core"] = cmp.Or(s.Verbs.RDMACore, "-")
	}
	for _, l := range s.NCCL.Libraries {
		facts["NCCL "+l.Path] = l.Version
	}
}
