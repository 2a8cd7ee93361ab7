package facts

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
)

// process is a process, all of whose GPUs share one list of devices.
type process struct {
	host string
	pid  int
}

// usedIndexes returns the indexes of the devices that the channels of each process go over, as in NetChannels.Devices.
func usedIndexes(ranks []nccllog.Rank) map[process]uint64 {
	used := map[process]uint64{}
	for i := range ranks {
		for _, n := range ranks[i].Channels.Nets {
			if n.Network != "Socket" {
				used[process{ranks[i].Host, ranks[i].PID}] |= n.Devices
			}
		}
	}
	return used
}

// UsedHCAs returns the HCAs of a rank that the channels of its process go over. If the log shows no channel of any
// process, these may be all that it lists.
func UsedHCAs(run *Run, r nccllog.Rank) []nccllog.HCA {
	if len(run.used) == 0 {
		return r.HCAs
	}
	const mostIndexes = 63 // the last bit stands for all higher ones
	indexes := run.used[process{r.Host, r.PID}]
	isUsed := func(h nccllog.HCA) bool { return indexes&(1<<min(h.Index, mostIndexes)) != 0 }
	joined := "" // names of the devices that NCCL joined, as it writes them: mlx5_0+mlx5_1
	for _, v := range r.Virtual {
		if isUsed(v) {
			joined += "+" + v.Name + "+"
		}
	}
	var found []nccllog.HCA
	for _, h := range r.HCAs {
		if joined == "" && isUsed(h) || strings.Contains(joined, "+"+h.Name+"+") {
			found = append(found, h)
		}
	}
	return slices.Clip(found)
}
