package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// lookFurther looks at the nodes, where some were asked about, and measures between the pods, where that is wanted: while the
// nodes are watched, so that their ports count what is measured, else by itself.
func (a *app) lookFurther(ctx context.Context, client *kube.Client, b *bundle.Bundle, pods []cluster.Pod, f doctorFlags) error {
	nodes := b.Manifest.Subject.Nodes
	seen := *b
	var measured, looked error
	measure := func() { b.Bench, measured = a.measureBetween(ctx, client, seen, pods, f) }
	look := func(l looking) {
		var machines []rules.Machine
		machines, looked = a.lookAtNodes(ctx, client, seen.State, nodes, f, l)
		b.Machines = append(b.Machines, machines...)
	}
	switch {
	case len(nodes) > 0 && f.measure && f.watch > 0:
		watched := make(chan struct{})
		runs := sync.OnceFunc(func() { close(watched) })
		a.say("Looking at %s, and measuring meanwhile", count(len(nodes), "node"))
		var g errgroup.Group
		g.Go(func() error {
			defer runs() // also where no pod came to look
			look(looking{tell: func(rules.Machine) {}, runs: runs})
			return nil
		})
		<-watched
		measure()
		_ = g.Wait() // what went wrong is in looked
	case len(nodes) > 0:
		look(looking{tell: a.progress("nodes", len(nodes)), runs: func() {}})
		if f.measure && looked == nil {
			measure()
		}
	case f.measure:
		measure()
	}
	return cmp.Or(looked, measured)
}

// measureBetween measures the network between the pods that were looked at, by the quick search of a bench. What cannot be
// measured is left out, and said in the result.
func (a *app) measureBetween(ctx context.Context, p pods, seen bundle.Bundle, all []cluster.Pod, f doctorFlags) (*bench.Result, error) {
	talk := context.AfterFunc(ctx, func() { a.say("Interrupted: what runs in the pods is ended") })
	defer talk()
	targets, looks, left := f.toMeasure(seen, all)
	b := newBencher(p, targets)
	b.leaves.of = leavesOf(seen.State, targets, "").of
	r, err := b.measureKnown(ctx, a.streams, f.quickBench(), seen.Manifest.Subject, looks, left)
	return &r, err
}

// quickBench is what `railhead bench NAME --matrix --quick` measures.
func (f doctorFlags) quickBench() benchFlags {
	quick := benchDefaults()
	quick.matrix, quick.quick, quick.duration, quick.force = true, true, roundTime, f.force
	return quick
}

// toMeasure are the pods that were reached and do not train, with what was seen of them. Those that do are left out.
func (f doctorFlags) toMeasure(seen bundle.Bundle, all []cluster.Pod) (targets []target, looks []host.Snapshot, left *passedOver) {
	left = &passedOver{}
	for _, pod := range all {
		at := slices.IndexFunc(seen.Machines, func(m rules.Machine) bool {
			return m.Name == "pod/"+pod.Namespace+"/"+pod.Name && m.Unreached == ""
		})
		if at < 0 {
			continue
		}
		if why := occupied(seen.State, pod); why != "" && !f.force {
			left.add(why, pod.Name)
			continue
		}
		targets = append(targets, target{rank: len(targets), pod: pod, container: containerOf(pod, f.container)})
		looks = append(looks, seen.Machines[at].Snapshot)
	}
	return targets, looks, left
}

// occupied says why a pod may train, so that measuring would slow its training; "" where its job waits for a launch.
func occupied(s cluster.State, p cluster.Pod) string {
	w, known := workloadOf(s, p.Labels[plan.LabelInstance], p.Namespace)
	switch {
	case !known:
		return "whether it trains is not known, and measuring beside a training slows both; --force measures all the same"
	case !w.waits():
		return "its job has a command of its own, and measuring beside it would slow both: wait for it, or say --force" // the command may hold secrets
	}
	return ""
}

// passedOver is pods that are not measured, by the reasons.
type passedOver struct {
	reasons []string
	of      map[string][]string
}

func (l *passedOver) add(why, pod string) {
	if l.of[why] == nil {
		if l.of == nil {
			l.of = map[string][]string{}
		}
		l.reasons = append(l.reasons, why)
	}
	l.of[why] = append(l.of[why], pod)
}

// texts say each reason once.
func (l *passedOver) texts() []string {
	var all []string
	for _, why := range l.reasons {
		all = append(all, shorten(l.of[why])+": "+why)
	}
	return all
}

// measureKnown measures between pods of which snapshots are known, as far as each can be measured. Nothing is left behind.
func (b *bencher) measureKnown(ctx context.Context, streams Streams, f benchFlags, of bundle.Subject, looks []host.Snapshot, left *passedOver) (bench.Result, error) {
	defer b.clear(ctx)
	m := b.begin(streams, f, of.Namespace)
	m.result.Job = of.Job
	if len(b.targets) > 0 {
		m.live.Show(report.Frame{Text: fmt.Sprintf("Looking for perftest in %s", count(len(b.targets), "pod"))})
	}
	aligned := m.gather(ctx, looks, left)
	if ctx.Err() != nil {
		return m.result, ctx.Err()
	}
	m.skip(left.texts()...)
	m.skip(aligned...)
	m.result.Pods = m.fleet.Pods
	return m.end(ctx)
}

// gather enters the pods at the same time, and keeps those that can be measured.
func (m *measuring) gather(ctx context.Context, looks []host.Snapshot, left *passedOver) (aligned []string) {
	pods := make([]bench.Pod, len(m.targets))
	wrong := make([]error, len(m.targets))
	m.each(func(i int) { pods[i], wrong[i] = m.enter(ctx, i, looks[i], m.flags.force) })
	var fit []bench.Pod
	var targets []target
	for i, p := range pods {
		if why := unfit(p, wrong[i]); why != "" {
			left.add(why, p.Name)
			continue
		}
		fit, targets = append(fit, p), append(targets, m.targets[i])
	}
	m.targets = targets
	m.fleet.Pods, aligned = bench.Align(fit)
	return aligned
}

// unfit says why a pod cannot be measured; "" when it can.
func unfit(p bench.Pod, err error) string {
	switch {
	case errors.Is(err, errLaunchRuns):
		return errLaunchRuns.Error() + ", and measuring beside it would slow both: wait for it, or say --force"
	case err != nil:
		return err.Error()
	case len(p.Rails) == 0:
		return "it has no rail, as in a job over TCP"
	case !p.Tools.Has(bench.IBWriteBW):
		return "the image has no ib_write_bw (perftest)"
	case !p.Tools.Has(bench.Timeout):
		return "the image has no timeout, without which a process could be left behind"
	}
	return ""
}
