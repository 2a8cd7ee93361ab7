package benchrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
)

// Examined measures between the pods of an examination, as far as they can be measured. The result lists the pods that
// cannot, with the reason; they include pods that train, unless the options force it. container is the container that
// was examined.
func Examined(
	ctx context.Context,
	p launch.Pods,
	seen bundle.Bundle,
	pods []cluster.Pod,
	container string,
	o Options,
	live *report.Live,
) (*bench.Result, error) {
	b, machines, left := fromExamination(p, seen, pods, container, o, live)
	r, err := b.runKnown(ctx, machines, left)
	return &r, err
}

// fromExamination returns a bench between the pods that were reached and do not train.
func fromExamination(
	p launch.Pods, seen bundle.Bundle, pods []cluster.Pod, container string, o Options, live *report.Live,
) (b *Bench, machines []host.Snapshot, left *leftOut) {
	left = &leftOut{}
	var targets []launch.Target
	for _, pod := range pods {
		at := slices.IndexFunc(seen.Machines, func(m rules.Machine) bool {
			return m.Ref == check.PodRef(pod.Namespace, pod.Name) && m.Unreached == ""
		})
		if at < 0 {
			continue
		}
		t := launch.Target{Rank: len(targets), Pod: pod, Container: collect.Container(pod, container)}
		if !t.Waits() && !o.Force {
			left.add(occupied, pod.Name)
			continue
		}
		targets = append(targets, t)
		machines = append(machines, seen.Machines[at].Snapshot)
	}
	b = New(p, targets, o, live)
	b.Leaves.Of = leavesOf(seen.State, targets, "").Of
	b.result.Namespace, b.result.Job = seen.Manifest.Subject.Namespace, seen.Manifest.Subject.Job
	return b, machines, left
}

// occupied is why a pod is not measured. It does not quote the command, which may contain secrets.
const occupied = "its job has a command of its own, and measuring would slow it down: wait for it, or use --force"

// leftOut is the pods that are not measured, by the reason.
type leftOut struct {
	reasons []string
	pods    map[string][]string
}

func (l *leftOut) add(why, pod string) {
	if l.pods == nil {
		l.pods = map[string][]string{}
	}
	if l.pods[why] == nil {
		l.reasons = append(l.reasons, why)
	}
	l.pods[why] = append(l.pods[why], pod)
}

// lines returns one line for each reason.
func (l *leftOut) lines() []string {
	var all []string
	for _, why := range l.reasons {
		all = append(all, words.Few(l.pods[why], 6)+": "+why)
	}
	return all
}

// runKnown measures between pods whose snapshots are known, as far as each can be measured.
func (b *Bench) runKnown(ctx context.Context, machines []host.Snapshot, left *leftOut) (bench.Result, error) {
	defer b.clear(ctx)
	if len(b.targets) > 0 {
		b.live.Show(report.Frame{Text: fmt.Sprintf("Looking for perftest in %s", words.Count(len(b.targets), "pod"))})
	}
	rails := b.gather(ctx, machines, left)
	if ctx.Err() != nil {
		return b.result, ctx.Err()
	}
	b.skip(left.lines()...)
	b.skip(rails...)
	b.result.Pods = b.fleet.Pods
	return b.finish(ctx)
}

// gather sets up the fleet from the pods that can be measured. It returns a line for each rail that is left out.
func (b *Bench) gather(ctx context.Context, machines []host.Snapshot, left *leftOut) []string {
	pods := make([]bench.Pod, len(b.targets))
	failed := make([]error, len(b.targets))
	b.each(func(i int) { pods[i], failed[i] = b.enter(ctx, i, machines[i], b.options.Force) })
	var fit []bench.Pod
	var targets []launch.Target
	for i, p := range pods {
		if why := unfit(p, failed[i]); why != "" {
			left.add(why, p.Name)
			continue
		}
		fit, targets = append(fit, p), append(targets, b.targets[i])
	}
	b.targets = targets
	var rails []string
	b.fleet.Pods, rails = bench.Align(fit)
	return rails
}

// unfit returns why a pod cannot be measured, "" if it can.
func unfit(p bench.Pod, err error) string {
	switch {
	case errors.Is(err, errLaunchRuns):
		return errLaunchRuns.Error() + ", and measuring would slow it down: wait for it, or use --force"
	case err != nil:
		return err.Error()
	case len(p.Rails) == 0:
		return "it has no rail, as in a job over TCP"
	case !p.Tools.Has(bench.IBWriteBW):
		return "the image has no ib_write_bw (perftest)"
	case !p.Tools.Has(bench.Timeout):
		return "the image has no timeout, which is needed to end every process"
	}
	return ""
}
