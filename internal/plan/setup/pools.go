package setup

import (
	"cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// workerFirst orders pools so that custom pools, which commonly take over the configuration of worker, come after it.
func workerFirst(a, b cluster.Pool) int {
	if (a.Name == cluster.WorkerPool) != (b.Name == cluster.WorkerPool) {
		if a.Name == cluster.WorkerPool {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
}

// poolsInWords names pools: "pool worker", "pools gpu and worker".
func poolsInWords(names []string) string {
	if len(names) == 1 {
		return "pool " + names[0]
	}
	return "pools " + words.And(names)
}
