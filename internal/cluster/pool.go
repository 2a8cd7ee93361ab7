package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The pools that every OpenShift cluster has (machine-config-operator pkg/controller/common/constants.go); all others
// are custom.
const (
	MasterPool = "master"
	WorkerPool = "worker"
)

// Selects reports whether labels satisfy a selector. An empty selector selects nothing: so does the
// machine-config-operator (pkg/helpers/helpers.go ListPools, pkg/controller/render "SelectingAll").
func Selects(match map[string]string, expressions []Requirement, labels map[string]string) bool {
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

// PoolOf returns the pool that a node belongs to. A custom pool takes precedence over worker, and master over both; a
// node of two custom pools belongs to none, and the machine-config-operator leaves it alone (pkg/helpers/helpers.go
// GetPoolsForNode).
func (s State) PoolOf(n Node) (Pool, bool) {
	var master, worker *Pool
	var custom []Pool
	for i, p := range s.Pools {
		switch {
		case !Selects(p.NodeSelector, p.NodeExpressions, n.Labels):
		case p.Name == MasterPool:
			master = &s.Pools[i]
		case p.Name == WorkerPool:
			worker = &s.Pools[i]
		default:
			custom = append(custom, p)
		}
	}
	switch {
	case n.Labels["kubernetes.io/os"] == "windows" || len(custom) > 1:
		return Pool{}, false
	case master != nil:
		return *master, true
	case len(custom) == 1:
		return custom[0], true
	case worker != nil:
		return *worker, true
	}
	return Pool{}, false
}

// NodesOf returns the nodes of a pool, by name.
func (s State) NodesOf(pool string) []Node {
	var nodes []Node
	for _, n := range s.Nodes {
		if p, ok := s.PoolOf(n); ok && p.Name == pool {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

// Annotations of a pool that setup changes. They let an interrupted run be completed: they say that Railhead paused the
// pool, and what its maxUnavailable was.
const (
	AnnotationPausedBy       = "railhead.dev/paused-by"
	AnnotationMaxUnavailable = "railhead.dev/max-unavailable" // before the first node was updated; "" if it was not set
	AnnotationFrom           = "railhead.dev/from"            // rendered configuration before a change
)

// PausedBySetup is the value of AnnotationPausedBy.
const PausedBySetup = "setup"

// InSetup reports whether setup is changing the pool.
func (p Pool) InSetup() bool {
	return p.Annotations[AnnotationPausedBy] == PausedBySetup || p.VerifiesFirst()
}

// VerifiesFirst reports whether only the pool's first node was updated, to be checked.
func (p Pool) VerifiesFirst() bool {
	_, ok := p.Annotations[AnnotationMaxUnavailable]
	return ok
}

// OwnMaxUnavailable returns the pool's own value, also while setup has replaced it.
func (p Pool) OwnMaxUnavailable() string {
	if before, ok := p.Annotations[AnnotationMaxUnavailable]; ok {
		return before
	}
	return p.MaxUnavailable
}

// AtOnce returns how many of a number of nodes may be unavailable at the same time: a percentage is rounded down, and
// at least one may (machine-config-operator pkg/controller/node/node_controller.go maxUnavailable).
func AtOnce(maxUnavailable string, nodes int) int {
	n, err := strconv.Atoi(strings.TrimSuffix(maxUnavailable, "%"))
	switch {
	case err != nil:
		n = 1
	case strings.HasSuffix(maxUnavailable, "%"):
		n = nodes * n / 100
	}
	return max(1, min(n, nodes))
}

// WhyDegraded returns the condition that makes the pool degraded.
func (p Pool) WhyDegraded() (c Condition, degraded bool) {
	for _, kind := range []string{"RenderDegraded", "NodeDegraded", "Degraded"} {
		if c := p.Condition(kind); c.Status == "True" {
			return c, true
		}
	}
	return Condition{}, false
}

// Why returns the condition's message, or its reason.
func (c Condition) Why() string { return cmp.Or(c.Message, c.Reason, "no reason given") }

// Rolling reports whether some of the pool's nodes do not have its configuration yet. The condition Updating does not
// tell: it is also True while a node is only cordoned or not Ready (machine-config-operator
// pkg/controller/node/status.go calculateStatus), and like the pool's counters it follows the change.
func (p Pool) Rolling(nodes []Node) bool {
	return p.Target != p.Current || len(p.UpToDate(nodes)) < len(nodes)
}

// UpToDate returns the nodes that run the pool's configuration and keep it.
func (p Pool) UpToDate(nodes []Node) []Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool {
		return n.MachineConfig.Current != p.Target || n.MachineConfig.Desired != p.Target
	})
}

// Failed reports whether the node's daemon could not apply a configuration so far.
func (c NodeConfig) Failed() bool { return c.State == "Degraded" || c.State == "Unreconcilable" }
