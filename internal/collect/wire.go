package collect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/wire"
)

// Wire visits the running pods of a job, or the pods or nodes that the options name, and tells what they move over
// RDMA.
func Wire(ctx context.Context, c Cluster, o Options) (wire.Job, error) {
	e := examiner{cluster: c, Options: o}
	s, f, err := e.read(ctx)
	if err != nil {
		return wire.Job{}, err
	}
	pods, err := e.choose(s, f, &o.Subject)
	if err != nil {
		return wire.Job{}, err
	}
	machines, err := e.visit(ctx, pods)
	if err != nil {
		return wire.Job{}, err
	}
	if nodes := o.Subject.Nodes; len(nodes) > 0 {
		e.Probe.Watch = cmp.Or(o.Every, time.Second)
		progress := listener{machine: e.progress("node", len(nodes)), running: func() {}}
		if machines, err = e.nodes(ctx, s, nodes, progress); err != nil {
			return wire.Job{}, err
		}
		return wire.Together(membersOnNodes(machines, s), false), nil
	}
	whole := f.Name != "" && len(f.Pods) == len(pods)
	if whole {
		machines = withoutLaunchers(s, machines, pods)
	}
	return wire.Together(membersOf(machines), whole), nil
}

// withoutLaunchers leaves out the pods that could not be reached and request neither GPUs nor RDMA, if others of the
// job do: the launcher of an MPIJob may have an image into which nothing can be copied, and has no rails.
func withoutLaunchers(s cluster.State, machines []rules.Machine, pods []cluster.Pod) []rules.Machine {
	train := map[check.Ref]bool{}
	for _, p := range pods {
		if clusterrules.MayUseRDMA(s, p) {
			train[check.PodRef(p.Namespace, p.Name)] = true
		}
	}
	return slices.DeleteFunc(machines, func(m rules.Machine) bool {
		return m.Unreached != "" && len(train) > 0 && !train[m.Ref]
	})
}

func membersOf(machines []rules.Machine) []wire.Member {
	var members []wire.Member
	for _, m := range machines {
		members = append(members, wire.Member{Ref: m.Ref, Node: m.Node, Motion: motionOf(m)})
	}
	return members
}

func motionOf(m rules.Machine) wire.Motion {
	if m.Unreached != "" {
		return wire.Motion{Proof: wire.NotProved, Why: m.Unreached}
	}
	return wire.Of(m.Snapshot)
}

// membersOnNodes returns the nodes, and their pods that have queue pairs.
func membersOnNodes(machines []rules.Machine, s cluster.State) []wire.Member {
	pods := map[string]check.Ref{}
	for _, p := range s.Pods {
		pods[p.UID] = check.PodRef(p.Namespace, p.Name)
	}
	delete(pods, "")
	var members []wire.Member
	for _, m := range machines {
		if m.Unreached != "" {
			members = append(members, membersOf([]rules.Machine{m})...)
		} else {
			members = append(members, wire.OnNode(m.Ref, m.Snapshot, pods)...)
		}
	}
	return members
}
