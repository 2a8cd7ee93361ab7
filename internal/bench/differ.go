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
		for _, what := range slices.Sorted(maps.Keys(fresh[place])) {
			if a, b := then[what], fresh[place][what]; a != b {
				all = append(all, Differ{place, what, a, b})
			}
		}
	}
	return all
}

// factsOf returns the facts that the speed of a network depends on, by node.
func factsOf(r Result) map[string]map[string]string {
	all := map[string]map[string]string{}
	for i, p := range r.Pods {
		facts := map[string]string{}
		for _, rail := range p.Rails {
			facts["rate of rail "+rail.Name] = rail.Rate.String()
			facts["MTU of rail "+rail.Name] = strconv.Itoa(rail.MTU)
			facts["ceiling of rail "+rail.Name] = rail.Ceiling.Rate.String()
		}
		if i < len(r.Machines) {
			machineFacts(facts, p, r.Machines[i])
		}
		all[p.Place()] = facts
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
