package rail

import (
	"slices"
	"sort"

	"github.com/railhead/railhead/internal/host"
)

// Distance between two PCI functions, in the words of nvidia-smi topo -m.
type Distance string

// The distances, nearest first. NCCL calls both PHB and NODE "PHB".
const (
	PIX  Distance = "PIX"  // at most one PCIe switch between them
	PXB  Distance = "PXB"  // several PCIe switches, no host bridge
	PHB  Distance = "PHB"  // through one PCIe host bridge
	NODE Distance = "NODE" // through several host bridges of one NUMA node
	SYS  Distance = "SYS"  // across NUMA nodes
	// Self as a limit admits no two functions.
	Self Distance = "X"
	// Unmeasured is the distance of functions whose PCI paths are unknown.
	Unmeasured Distance = "?"
)

var distanceOrder = []Distance{Self, PIX, PXB, PHB, NODE, SYS, Unmeasured}

// Farther reports whether d is greater than limit.
func (d Distance) Farther(limit Distance) bool {
	return slices.Index(distanceOrder, d) > slices.Index(distanceOrder, limit)
}

// Between measures two PCI functions of a machine with numaNodes NUMA nodes (0: unknown).
func Between(a, b host.Function, numaNodes int) Distance {
	pathA, okA := a.Path.Get()
	pathB, okB := b.Path.Get()
	if !okA || !okB {
		return Unmeasured
	}
	if pathA.HostBridge != pathB.HostBridge {
		nodeA, knownA := a.NUMANode.Get()
		nodeB, knownB := b.NUMANode.Get()
		switch {
		case numaNodes == 1, knownA && knownB && nodeA == nodeB:
			return NODE
		case knownA && knownB:
			return SYS
		default:
			return Unmeasured
		}
	}
	common := SharedHops(pathA, pathB)
	if common == 0 {
		return PHB
	}
	// Below the last common port a switch adds one hop, its downstream port, before the function itself.
	if len(pathA.Hops)-common <= 2 && len(pathB.Hops)-common <= 2 {
		return PIX
	}
	return PXB
}

// SharedHops returns the number of ports below one host bridge that lead to both functions.
func SharedHops(a, b host.PCIPath) int {
	n := 0
	for n < min(len(a.Hops), len(b.Hops))-1 && a.Hops[n] == b.Hops[n] {
		n++
	}
	return n
}

// Proximity is a GPU seen from a rail.
type Proximity struct {
	GPU      int             `json:"gpu"` // in PCI order, as nvidia-smi counts
	Address  host.PCIAddress `json:"address"`
	Distance Distance        `json:"distance"`
}

// GPUs returns the GPUs of this container if they are known, otherwise all of the machine, in PCI order.
func GPUs(s host.Snapshot) []host.GPU {
	all := []host.GPU{}
	for i := range s.GPUs {
		if s.GPUs[i].Given.Or(true) {
			all = append(all, s.GPUs[i])
		}
	}
	// not slices.SortFunc: its code for this type adds 18 kB to railhead-pod
	sort.Slice(all, func(i, k int) bool { return all[i].Function.Address.Compare(all[k].Function.Address) < 0 })
	return all
}

// placed returns a function with the path that NCCL takes: the one of its topology file, else that of /sys.
func placed(s host.Snapshot, f host.Function) host.Function {
	if place, found := s.Topology.Place(f.Address); found {
		f.Path, f.NUMANode = host.Know(place.Path), host.Know(place.NUMA)
	}
	return f
}

// DistanceOf measures a GPU and a NIC of a machine, as NCCL does.
func DistanceOf(s host.Snapshot, gpu, nic host.Function) Distance {
	return Between(placed(s, gpu), placed(s, nic), s.NUMANodes.Or(0))
}

// Matrix measures every GPU against every rail: Matrix(...)[gpu][rail].
func Matrix(s host.Snapshot, rails []Rail) [][]Distance {
	gpus := GPUs(s)
	matrix := make([][]Distance, len(gpus))
	for i, g := range gpus {
		for _, r := range rails {
			d := Unmeasured
			if f, ok := r.Function.Get(); ok {
				d = DistanceOf(s, g.Function, f)
			}
			matrix[i] = append(matrix[i], d)
		}
	}
	return matrix
}

// Nearest returns the smallest of the distances, Unmeasured if there is none.
func Nearest(distances []Distance) Distance {
	nearest := Unmeasured
	for _, d := range distances {
		if nearest.Farther(d) {
			nearest = d
		}
	}
	return nearest
}

// MayBeNearer reports whether a GPU may be nearer to its rail than it seems by /sys: NCCL 2.27 and later measure from
// the NIC's Data Direct function, if the NIC has one and it is enabled (NCCL src/transport/net_ib, tag 2.30.7).
func MayBeNearer(s host.Snapshot, gpu host.Function, than Distance) bool {
	return slices.ContainsFunc(s.DataDirect, func(f host.Function) bool {
		return than.Farther(DistanceOf(s, gpu, f))
	})
}

func (j *judge) proximity() {
	gpus, matrix := GPUs(*j.s), Matrix(*j.s, j.result.Rails)
	for i := range j.result.Rails {
		r := &j.result.Rails[i]
		nearest := Unmeasured
		for g := range gpus {
			nearest = Nearest([]Distance{nearest, matrix[g][i]})
		}
		for g := range gpus {
			if d := matrix[g][i]; d == nearest && d != Unmeasured {
				r.Nearest = append(r.Nearest, Proximity{GPU: g, Address: gpus[g].Function.Address, Distance: d})
			}
		}
	}
}
