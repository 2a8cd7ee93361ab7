package benchrun

import (
	"context"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/apply"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/workload"
)

// NodeJobPrefix starts the names of the jobs of NodeJob.
const NodeJobPrefix = "railhead-bench-"

// NodeJob returns a job with one pod on each node, for pods that a bench creates and removes. id identifies the
// command.
func NodeJob(id string, o job.Options) job.Options {
	o.Name = NodeJobPrefix + id
	o.Nodes = len(o.Scheduling.NodeNames)
	if o.Type = job.Multi; o.Nodes == 1 {
		o.Type = job.Single
	}
	if o.GPUs == 0 {
		o.GPUs, o.Storage.Shm = job.NoGPUs, "1Gi"
	}
	return o
}

// ReadWatcher reads and watches objects of a cluster; *kube.Client is one.
type ReadWatcher interface {
	Reader
	apply.Watcher
}

// startTime bounds the wait for the pods of a NodeJob, whose image may have to be pulled.
const startTime = 10 * time.Minute

// CreatePods carries out the plan of a job of nodes, waits until its pods run, and returns them in the order of the
// nodes.
func CreatePods(
	ctx context.Context, c ReadWatcher, t *collect.Temporary, p plan.Plan, o job.Options, live *report.Live,
) ([]launch.Target, error) {
	for _, change := range p.Changes() {
		if err := t.Create(ctx, change); err != nil {
			return nil, err
		}
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Events}, Namespace: o.Namespace, Job: o.Name}
	wait := apply.Wait{Want: want, Limit: startTime, Live: live}
	if err := apply.Follow(ctx, c, job.Done(o.Name, o.Namespace, o.Nodes), wait); err != nil {
		return nil, err
	}
	s, err := c.Read(ctx, want)
	if err != nil {
		return nil, err
	}
	f, err := workload.Lookup(s, workload.Ref{Name: o.Name}, o.Namespace)
	if err != nil {
		return nil, err
	}
	targets := launch.Targets(f)
	slices.SortStableFunc(targets, func(a, b launch.Target) int {
		return slices.Index(o.Scheduling.NodeNames, a.Pod.Node) - slices.Index(o.Scheduling.NodeNames, b.Pod.Node)
	})
	return targets, nil
}
