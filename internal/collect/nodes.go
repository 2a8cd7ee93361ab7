package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/probe"
	"github.com/railhead/railhead/internal/rules"
)

// Probe describes the pods that take snapshots of nodes.
type Probe struct {
	Namespace string
	Image     string // with a shell; "": the image of the machine-config-daemon, or else openshift/cli
	ImageFlag string // of the command line, named in the error when no image is found
	Programs  []delivery.Program
	Watch     time.Duration // between two readings of the port counters; 0: one reading
}

// ImageFor returns the image for the probe pod of a node.
func (p Probe) ImageFor(ctx context.Context, c ImageSource, node string) (string, error) {
	if p.Image != "" {
		return p.Image, nil
	}
	image, err := c.ShellImage(ctx, node)
	if errors.Is(err, kube.ErrNoShellImage) {
		return "", fmt.Errorf("%w; set one with %s", err, p.ImageFlag)
	}
	return image, err
}

// listener receives the progress of an examination of nodes.
type listener struct {
	machine func(rules.Machine) // called for each node, examined or failed
	running func()              // called when every unfinished probe pod runs, possibly several times
}

// probing takes snapshots of nodes, each with its own probe pod.
type probing struct {
	examiner
	listener
	temporary *Temporary
	waiting   map[string]*pendingProbe // by node
	machines  []rules.Machine
}

// pendingProbe is the pod that takes a snapshot of one node.
type pendingProbe struct {
	pod        kube.PodRef
	done       plan.Condition
	stuckSince time.Time // zero: not stuck
}

// nodes takes a snapshot of every node. A node that fails is a Machine with Unreached.
func (e examiner) nodes(ctx context.Context, s cluster.State, names []string, l listener) ([]rules.Machine, error) {
	p := &probing{
		examiner:  e,
		listener:  l,
		temporary: NewTemporary(e.cluster, e.Probe.Namespace, e.Live.Say),
		waiting:   map[string]*pendingProbe{},
	}
	defer p.temporary.Remove(ctx)
	limit := 5*e.Timeout + e.Probe.Watch
	for _, name := range names {
		node, exists := s.Node(name)
		if !exists && s.Knows(cluster.Nodes) {
			p.fail(name, "there is no such node")
			continue
		}
		image, err := e.Probe.ImageFor(ctx, e.cluster, name)
		if err != nil {
			p.fail(name, err.Error())
			continue
		}
		p.create(ctx, probe.Options{
			ID:        p.temporary.ID,
			Node:      name,
			Namespace: e.Probe.Namespace,
			Image:     image,
			Arch:      node.Arch,
			Programs:  e.Probe.Programs,
			Host:      true,
			Watch:     e.Probe.Watch,
			Limit:     limit,
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	p.await(ctx, limit)
	slices.SortFunc(p.machines, func(a, b rules.Machine) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	return p.machines, ctx.Err()
}

// create creates the probe pod of a node. If a privileged pod is refused, it creates one without privileges.
func (p *probing) create(ctx context.Context, o probe.Options) {
	steps := probe.Plan(o)
	for _, change := range steps.Changes() {
		err := p.temporary.Create(ctx, change)
		switch {
		case err == nil:
		case o.Host && change.Object.GetKind() == "Pod" && ctx.Err() == nil:
			p.say("No privileged pod on node %s: %v\n"+
				"The node is examined without privileges. Checks that need them stay unknown.", o.Node, err)
			o.Host = false
			p.create(ctx, o)
			return
		default:
			p.fail(o.Node, err.Error())
			return
		}
	}
	p.waiting[o.Node] = &pendingProbe{
		pod:  kube.PodRef{Namespace: o.Namespace, Name: probe.Name(o.Node, o.ID)},
		done: steps.Steps[0].Done,
	}
}

// fail records why a node could not be examined.
func (p *probing) fail(node, why string) {
	p.end(rules.Machine{Ref: check.NodeRef(node), Node: node, Unreached: why})
}

func (p *probing) end(m rules.Machine) {
	delete(p.waiting, m.Node)
	p.machines = append(p.machines, m)
	p.machine(m)
}

// await waits until every probe pod has finished or failed.
func (p *probing) await(ctx context.Context, limit time.Duration) {
	if len(p.waiting) == 0 {
		return
	}
	watching, stop := context.WithTimeout(ctx, limit)
	states := make(chan cluster.State)
	var g errgroup.Group
	g.Go(func() error {
		p.watch(watching, states)
		return nil
	})
	defer func() {
		stop()
		_ = g.Wait() // always nil
	}()
	tick := time.NewTicker(time.Second) // a stuck pod sends no change when its time is up
	defer tick.Stop()
	var last cluster.State
	for len(p.waiting) > 0 {
		select {
		case s, more := <-states:
			if !more {
				p.failAll(limit, last)
				return
			}
			last = s
		case <-tick.C:
		}
		p.see(ctx, last, time.Now())
		if p.allRunning(last) {
			p.running()
		}
	}
}

// watch sends the states of the probe pods until the context ends.
func (p *probing) watch(ctx context.Context, states chan<- cluster.State) {
	defer close(states)
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Events}, Namespace: p.Probe.Namespace, Detail: true}
	for s, err := range p.cluster.Watch(ctx, want) {
		if err != nil || !s.Knows(cluster.Pods) {
			continue // until the context ends
		}
		select {
		case states <- s:
		case <-ctx.Done():
			return
		}
	}
}

// allRunning reports whether every unfinished probe pod runs.
func (p *probing) allRunning(s cluster.State) bool {
	for _, w := range p.waiting {
		at := slices.IndexFunc(s.Pods, func(pod cluster.Pod) bool { return refOf(pod) == w.pod })
		if at < 0 || !Running(s.Pods[at]) {
			return false
		}
	}
	return true
}

// failAll gives up the probe pods that have not finished within a limit, as they were last seen.
func (p *probing) failAll(limit time.Duration, s cluster.State) {
	for node, w := range p.waiting {
		if !s.Knows(cluster.Pods) {
			p.fail(node, fmt.Sprintf("its probe pod could not be watched for %v", limit))
			continue
		}
		p.fail(node, fmt.Sprintf("its probe pod did not finish within %v: %s", limit, w.done(s).Text))
	}
}

// obstacleTime is the longest time that a probe pod may be stuck.
const obstacleTime = 20 * time.Second

// see reads the snapshots of finished probe pods, and gives up stuck ones.
func (p *probing) see(ctx context.Context, s cluster.State, now time.Time) {
	for node, w := range p.waiting {
		progress := w.done(s)
		switch {
		case progress.Done:
			p.read(ctx, node, w)
		case progress.Stuck == nil:
			w.stuckSince = time.Time{}
		case w.stuckSince.IsZero() && progress.Stuck.Patience > 0:
			w.stuckSince = now
		case progress.Stuck.Patience == 0 || now.Sub(w.stuckSince) > min(progress.Stuck.Patience, obstacleTime):
			p.fail(node, progress.Stuck.Summary)
		}
	}
}

func (p *probing) read(ctx context.Context, node string, w *pendingProbe) {
	s, err := Snapshot(ctx, p.cluster, w.pod)
	if err != nil {
		p.fail(node, err.Error())
		return
	}
	p.end(rules.Machine{Ref: check.NodeRef(node), Node: node, Snapshot: s})
}

// logTime is the longest time to read the log of a finished pod. A kubelet that hangs sends none.
const logTime = time.Minute

// Snapshot reads the snapshot that railhead-pod wrote to the log of a finished pod, a second time if the log was cut
// short.
func Snapshot(ctx context.Context, c LogReader, pod kube.PodRef) (host.Snapshot, error) {
	return kube.AskAgain(func() (host.Snapshot, error) { return readSnapshot(ctx, c, pod) })
}

func readSnapshot(ctx context.Context, c LogReader, pod kube.PodRef) (s host.Snapshot, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, logTime, fmt.Errorf("its log did not arrive within %v", logTime))
	defer cancel()
	log, err := c.Logs(ctx, pod, kube.LogOptions{})
	if err != nil {
		return s, cmp.Or(context.Cause(ctx), err)
	}
	defer log.Close()
	const most = 32 << 20
	if err := kube.DecodeSnapshot(io.LimitReader(log, most), &s); err != nil {
		return s, fmt.Errorf("read the snapshot of pod %s: %w", pod, cmp.Or(context.Cause(ctx), err))
	}
	return s, nil
}
