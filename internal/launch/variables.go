package launch

import (
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/job"
)

// variables returns names and values of the variables that a rank gets where its container does not have them: the pods
// of `railhead deploy` do. The leader has its IP address for a name: not every workload has a headless Service.
func (l *Session) variables(r *rank) []string {
	pairs := []string{
		"MASTER_PORT", job.MasterPort,
		"NNODES", strconv.Itoa(len(l.ranks)),
		"NODE_RANK", strconv.Itoa(slices.Index(l.ranks, r)), // from 0, also if the controller's numbers begin with 1
		"NPROC_PER_NODE", strconv.Itoa(processes(r.Pod)),
		"WORLD_SIZE", strconv.Itoa(l.worldSize()),
	}
	if ip := l.ranks[0].Pod.IP; ip != "" {
		pairs = append(pairs, "MASTER_ADDR", ip)
	}
	return pairs
}

// countProcesses returns how many processes train in all pods.
func (l *Session) countProcesses() int {
	n := 0
	for _, r := range l.ranks {
		n += processes(r.Pod)
	}
	return n
}

// processes returns how many processes train in a pod: one for each GPU.
func processes(p cluster.Pod) int { return max(int(p.Requests.GPUs()), 1) }
