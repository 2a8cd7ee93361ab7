package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// The pools that every OpenShift cluster has (machine-config-operator pkg/controller/common/constants.go); all others are custom.
const (
	masterPool = "master"
	workerPool = "worker"
)

// selects reports whether labels satisfy a selector. An empty selector selects nothing: so does the machine-config-operator
// (pkg/helpers/helpers.go ListPools, pkg/controller/render "SelectingAll").
func selects(match map[string]string, expressions []cluster.Requirement, labels map[string]string) bool {
	if len(match) == 0 && len(expressions) == 0 {
		return false
	}
	for key, value := range match {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	for _, e := range expressions {
		value, has := labels[e.Key]
		ok := false
		switch e.Operator {
		case "In":
			ok = has && slices.Contains(e.Values, value)
		case "NotIn":
			ok = !has || !slices.Contains(e.Values, value)
		case "Exists":
			ok = has
		case "DoesNotExist":
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}

// PoolOf returns the pool that a node belongs to. A custom pool goes before worker and master before both; a node of two
// custom pools belongs to none, and the machine-config-operator leaves it alone (pkg/helpers/helpers.go GetPoolsForNode).
func PoolOf(s cluster.State, n cluster.Node) (cluster.Pool, bool) {
	var master, worker *cluster.Pool
	var custom []cluster.Pool
	for i, p := range s.Pools {
		switch {
		case !selects(p.NodeSelector, p.NodeExpressions, n.Labels):
		case p.Name == masterPool:
			master = &s.Pools[i]
		case p.Name == workerPool:
			worker = &s.Pools[i]
		default:
			custom = append(custom, p)
		}
	}
	switch {
	case n.Labels["kubernetes.io/os"] == "windows" || len(custom) > 1:
		return cluster.Pool{}, false
	case master != nil:
		return *master, true
	case len(custom) == 1:
		return custom[0], true
	case worker != nil:
		return *worker, true
	}
	return cluster.Pool{}, false
}

// nodesOf returns the nodes of a pool, by name.
func nodesOf(s cluster.State, pool string) []cluster.Node {
	var nodes []cluster.Node
	for _, n := range s.Nodes {
		if p, ok := PoolOf(s, n); ok && p.Name == pool {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

func nodeNames(nodes []cluster.Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

// poolsWithRDMA are the pools of the nodes that have something to do with RDMA: NICs that the SR-IOV operator sees, RDMA
// resources that a device plugin or a DRA driver offers, or GPUs. Second, the nodes of them that have; third, such nodes of no
// pool.
func poolsWithRDMA(s cluster.State) (pools, nodes, strays []string) {
	able := map[string]bool{}
	for _, o := range s.RDMAOffers() {
		for _, name := range o.Nodes() {
			able[name] = true
		}
	}
	for _, o := range s.DRAOffers() {
		for name := range o.PerNode {
			able[name] = true
		}
	}
	for _, n := range s.SriovNodes {
		if slices.ContainsFunc(n.Interfaces, isRDMANIC) {
			able[n.Node] = true
		}
	}
	for _, n := range s.Nodes {
		_, gpus := n.GPUs()
		if gpus == 0 && !able[n.Name] {
			continue
		}
		p, ok := PoolOf(s, n)
		if !ok {
			strays = append(strays, n.Name)
			continue
		}
		nodes = append(nodes, n.Name)
		if !slices.Contains(pools, p.Name) {
			pools = append(pools, p.Name)
		}
	}
	slices.Sort(pools)
	return pools, nodes, strays
}

// atOnce is how many nodes of a pool may be away at the same time: a percentage is rounded down, and at least one may
// (machine-config-operator pkg/controller/node/node_controller.go maxUnavailable).
func atOnce(maxUnavailable string, nodes int) int {
	n, err := strconv.Atoi(strings.TrimSuffix(maxUnavailable, "%"))
	switch {
	case err != nil:
		n = 1
	case strings.HasSuffix(maxUnavailable, "%"):
		n = nodes * n / 100
	}
	return max(1, min(n, nodes))
}

// workerFirst orders pools so that custom pools, which commonly take over the configuration of worker, come after it.
func workerFirst(a, b cluster.Pool) int {
	if (a.Name == workerPool) != (b.Name == workerPool) {
		if a.Name == workerPool {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
}

// inWords joins names: "a, b and c".
func inWords(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// counted is a number with its noun: "1 node", "13 nodes".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// poolsInWords names pools: "pool worker", "pools gpu and worker".
func poolsInWords(names []string) string {
	if len(names) == 1 {
		return "pool " + names[0]
	}
	return "pools " + inWords(names)
}
