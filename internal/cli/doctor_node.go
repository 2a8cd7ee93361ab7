package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules"
)

// probing looks at nodes, each through a pod of its own. Whatever it makes it removes.
type probing struct {
	app       *app
	client    *kube.Client
	namespace string
	made      []plan.Change
	waiting   map[string]*probed // by node
	looked    []rules.Machine
	looking
}

// looking is how others follow a look at nodes.
type looking struct {
	tell func(rules.Machine) // of each node
	runs func()              // every time that all pods that look are seen to run
}

// probed is a node whose pod was made.
type probed struct {
	pod   kube.PodRef
	done  plan.Condition
	stuck time.Time // since when its pod does not get on
}

// lookAtNodes takes a snapshot of every node. A node that cannot be looked at is one that was not reached.
func (a *app) lookAtNodes(ctx context.Context, client *kube.Client, s cluster.State, nodes []string, f doctorFlags, l looking) ([]rules.Machine, error) {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, undecided(err)
	}
	carried, err := programs(f.probe.binaries)
	if err != nil {
		return nil, undecided(err)
	}
	p := &probing{app: a, client: client, namespace: ns, waiting: map[string]*probed{}, looking: l}
	defer p.remove(ctx) // also after Ctrl-C
	for _, name := range nodes {
		node, there := s.Node(name)
		if !there && s.Knows(cluster.Nodes) {
			p.lose(name, "there is no such node")
			continue
		}
		image, err := f.probe.imageFor(ctx, client, name)
		if err != nil {
			p.lose(name, strings.ReplaceAll(err.Error(), "--verify-image", "--probe-image"))
			continue
		}
		p.begin(ctx, plan.ProbeOptions{Node: name, Namespace: ns, Image: image, Arch: node.Arch, Programs: carried, Host: true, Watch: f.watch})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	p.await(ctx, 5*f.timeout+f.watch)
	slices.SortFunc(p.looked, func(a, b rules.Machine) int { return strings.Compare(a.Name, b.Name) })
	return p.looked, ctx.Err()
}

// begin makes the pod that looks at a node: privileged, or where that is refused without privileges.
func (p *probing) begin(ctx context.Context, o plan.ProbeOptions) {
	probe := plan.Probe(o)
	for _, change := range probe.Changes() {
		outcome, err := p.client.Carry(ctx, change, false)
		switch {
		case err != nil && o.Host && change.Object.GetKind() == "Pod" && ctx.Err() == nil:
			p.app.say("No privileged pod on node %s: %v\nIt is looked at without privileges: what only they show stays unknown", o.Node, err)
			o.Host = false
			p.begin(ctx, o)
			return
		case err != nil:
			p.lose(o.Node, err.Error())
			return
		case outcome == kube.Created: // parts of railhead-pod that jobs of the namespace share are not among them
			p.made = append(p.made, change)
		}
	}
	p.waiting[o.Node] = &probed{pod: kube.PodRef{Namespace: p.namespace, Name: plan.ProbeName(o.Node)}, done: probe.Steps[0].Done}
}

// lose notes that a node could not be looked at.
func (p *probing) lose(node, why string) {
	p.end(rules.Machine{Name: "node/" + node, Node: node, Unreached: why})
}

func (p *probing) end(m rules.Machine) {
	delete(p.waiting, m.Node)
	p.looked = append(p.looked, m)
	p.tell(m)
}

// await waits until every pod has ended, or does not get there.
func (p *probing) await(ctx context.Context, limit time.Duration) {
	watching, stop := context.WithTimeout(ctx, limit)
	states := make(chan cluster.State)
	var g errgroup.Group
	g.Go(func() error {
		defer close(states)
		want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Events}, Namespace: p.namespace, Detail: true}
		for s, err := range p.client.Watch(watching, want) {
			if err != nil || !s.Knows(cluster.Pods) {
				continue // the limit ends it
			}
			select {
			case states <- s:
			case <-watching.Done():
				return nil
			}
		}
		return nil
	})
	defer func() {
		stop()
		_ = g.Wait() // it returns nil
	}()
	tick := time.NewTicker(time.Second) // a pod that is stuck says nothing more
	defer tick.Stop()
	var last cluster.State
	for len(p.waiting) > 0 {
		select {
		case s, more := <-states:
			if !more {
				p.giveUp(fmt.Sprintf("its pod had not ended after %v", limit))
				return
			}
			last = s
		case <-tick.C:
		}
		p.see(ctx, last, time.Now())
		if p.allRun(last) {
			p.runs()
		}
	}
}

// allRun reports whether every pod that is waited for has begun to look.
func (p *probing) allRun(s cluster.State) bool {
	for _, w := range p.waiting {
		at := slices.IndexFunc(s.Pods, func(pod cluster.Pod) bool { return pod.Namespace == w.pod.Namespace && pod.Name == w.pod.Name })
		if at < 0 || !runs(s.Pods[at]) {
			return false
		}
	}
	return true
}

func (p *probing) giveUp(why string) {
	for node := range p.waiting {
		p.lose(node, why)
	}
}

// obstacleTime is how long a pod that looks may be kept from it before it is given up.
const obstacleTime = 20 * time.Second

// see takes the snapshots of the pods that have ended, and gives up those that do not get there.
func (p *probing) see(ctx context.Context, s cluster.State, now time.Time) {
	for node, w := range p.waiting {
		progress := w.done(s)
		switch {
		case progress.Done:
			p.read(ctx, node, w)
		case progress.Stuck == nil:
			w.stuck = time.Time{}
		case w.stuck.IsZero() && progress.Stuck.Patience > 0:
			w.stuck = now
		case progress.Stuck.Patience == 0 || now.Sub(w.stuck) > min(progress.Stuck.Patience, obstacleTime):
			p.lose(node, progress.Stuck.Summary)
		}
	}
}

// read takes the snapshot out of the log of a pod.
func (p *probing) read(ctx context.Context, node string, w *probed) {
	s, err := snapshotOf(ctx, p.client, w.pod)
	if err != nil {
		p.lose(node, err.Error())
		return
	}
	p.end(rules.Machine{Name: "node/" + node, Node: node, Snapshot: s})
}

// snapshotOf is what railhead-pod wrote to the log of a pod.
func snapshotOf(ctx context.Context, client *kube.Client, pod kube.PodRef) (host.Snapshot, error) {
	var s host.Snapshot
	log, err := client.Logs(ctx, pod, kube.LogOptions{})
	if err != nil {
		return s, err
	}
	defer log.Close()
	const most = 32 << 20
	if err := json.NewDecoder(io.LimitReader(log, most)).Decode(&s); err != nil {
		return s, fmt.Errorf("read the snapshot of pod %s: %w", pod, err)
	}
	return s, nil
}

// remove takes back everything that was made, in bounded time.
func (p *probing) remove(ctx context.Context) {
	cleaning, cancel := afterwards(ctx)
	defer cancel()
	removeMade(cleaning, p.app, p.client, p.made)
}

// removeMade deletes what changes made, the last first.
func removeMade(ctx context.Context, a *app, client *kube.Client, made []plan.Change) {
	for _, change := range slices.Backward(made) {
		if _, err := client.Carry(ctx, change.Undo(), false); err != nil && !errors.Is(err, context.Canceled) {
			a.say("left behind: %s %s/%s: %v", change.Object.GetKind(), change.Object.GetNamespace(), change.Object.GetName(), err)
		}
	}
}
