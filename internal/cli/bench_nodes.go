package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
)

// ownPods are pods that a bench makes on nodes that are named, and removes.
type ownPods struct {
	nodes    []string
	image    string
	networks []string
	gpus     int
	yes      bool
	binaries map[string]string
}

func (o *ownPods) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.nodes, "nodes", nil, "measure between pods of its own on these nodes, which are removed afterwards")
	flags.StringVar(&o.image, "image", "", "with --nodes: image with the tools")
	flags.StringSliceVar(&o.networks, "network", nil, "with --nodes: network attachment to use as a rail (default all rails of the namespace)")
	flags.IntVar(&o.gpus, "gpus", 0, "with --nodes: GPUs of each pod, which NCCL needs (default none)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "with --nodes: agree to the plan without being asked")
	flags.StringToStringVar(&o.binaries, "pod-binary", nil, "with --nodes: railhead-pod to put into the pods, by architecture: amd64=FILE (default the one that railhead carries)")
}

// ownPodsTime is how long pods of its own have to come: their image may have to be pulled.
const ownPodsTime = 10 * time.Minute

// options describe the pods as a job: so they have what a job has, and no more.
func (o *ownPods) options(namespace string) (plan.JobOptions, error) {
	job := plan.JobOptions{
		Name: "railhead-bench-" + newID(), Namespace: namespace, Mode: nccl.RDMA, Type: plan.Multi, Nodes: len(o.nodes), NodeNames: o.nodes,
		GPUs: plan.NoGPUs, Networks: o.networks, Image: o.image, Shm: "1Gi",
	}
	if len(o.nodes) == 1 {
		job.Type = plan.Single
	}
	if o.gpus > 0 {
		job.GPUs, job.Shm = o.gpus, ""
	}
	var err error
	job.Programs, err = programs(o.binaries)
	return job, err
}

// benchNodes makes pods on the nodes that were named, measures between them, and removes them whatever happens.
func (a *app) benchNodes(ctx context.Context, f benchFlags, measure func(*bencher) error) error {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return fault(err)
	}
	o, err := f.own.options(ns)
	if err != nil {
		return exitError{exitUsage, err}
	}
	client, err := a.connect(ctx)
	if err != nil {
		return err
	}
	s, err := a.readForJob(ctx, client, o)
	if err != nil {
		return err
	}
	p, findings := plan.Job(s, o)
	if err := a.refuse(findings); err != nil {
		return err
	}
	showPlan(a.streams.Err, p)
	a.say("  They are removed when the bench has ended.")
	if err := a.agree(f.own.yes); err != nil {
		return err
	}
	made := []plan.Change{}
	defer func() { // also after Ctrl-C
		cleaning, cancel := afterwards(ctx)
		defer cancel()
		a.say("Removing the pods of the bench")
		removeMade(cleaning, a, client, made)
		if err := a.awaitGone(cleaning, client, o); err != nil {
			a.say("Its pods still end, and hold their devices until then: kubectl get pods -n %s -l %s=%s", ns, plan.LabelInstance, o.Name)
		}
	}()
	for _, step := range p.Steps {
		for _, change := range step.Changes {
			own := strings.HasPrefix(change.Object.GetName(), o.Name)
			if own { // whatever becomes of the request: its answer may be lost
				made = append(made, change)
			}
			outcome, err := client.Carry(ctx, change, false)
			if err != nil {
				return faultOrInterrupt(ctx, err)
			}
			if outcome == kube.Created && !own { // a part of railhead-pod, unless a job of the namespace had it already
				made = append(made, change)
			}
		}
	}
	targets, err := a.awaitOwn(ctx, client, o)
	if err != nil {
		return err
	}
	b := newBencher(client, targets)
	if b.leaves, err = a.readLeaves(ctx, client, targets, f); err != nil {
		return err
	}
	return measure(b)
}

// awaitOwn waits until the pods run, and returns them in the order of the nodes that were named.
func (a *app) awaitOwn(ctx context.Context, client *kube.Client, o plan.JobOptions) ([]target, error) {
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Events}, Namespace: o.Namespace, Job: o.Name}
	err := a.follow(ctx, client, plan.JobDone(o.Name, o.Namespace, o.Nodes), following{want: want, limit: ownPodsTime})
	if err != nil {
		return nil, err
	}
	s, err := client.Read(ctx, want)
	if err != nil {
		return nil, faultOrInterrupt(ctx, err)
	}
	own := targets(s, o.Name, o.Namespace)
	slices.SortStableFunc(own, func(a, b target) int {
		return slices.Index(o.NodeNames, a.pod.Node) - slices.Index(o.NodeNames, b.pod.Node)
	})
	return own, nil
}

// awaitGone waits until the pods have given back their devices: what comes next may want them.
func (a *app) awaitGone(ctx context.Context, client *kube.Client, o plan.JobOptions) error {
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: o.Namespace, Job: o.Name}
	return a.follow(ctx, client, plan.JobGone(o.Name, o.Namespace), following{want: want})
}

// completeNodes completes the names of nodes.
func (a *app) completeNodes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, s, err := a.read(cmd.Context(), kube.Want{Kinds: []cluster.Kind{cluster.Nodes}})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
