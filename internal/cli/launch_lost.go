package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// podLost is that a pod is gone, and why.
type podLost string

func (p podLost) Error() string { return string(p) }

// watch looks after the pods while the command runs: a node that is gone breaks no stream for minutes.
func (l *launch) watch(ctx context.Context) {
	first := l.ranks[0].pod
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: first.Namespace, Job: first.Labels[plan.LabelInstance]}
	reported := map[*rank]bool{}
	unready := map[*rank]bool{}
	for s, err := range l.pods.Watch(ctx, want) {
		if err != nil || !s.Knows(cluster.Pods) {
			continue
		}
		for _, r := range l.ranks {
			now, there := podNamed(s, r.pod)
			why := lossOf(r.pod, now, there, r.container)
			switch {
			case reported[r] || r.ctx.Err() != nil:
			case why != "":
				reported[r] = true
				r.lost <- why // it has room for the one
				time.AfterFunc(l.patience.loss, func() { r.cancel(podLost(why)) })
			case unready[r] == now.Ready:
				unready[r] = !now.Ready
				if !now.Ready {
					l.screen.say("%s: the pod is not ready any more: is its node gone?", r)
				}
			}
		}
	}
}

func podNamed(s cluster.State, p cluster.Pod) (cluster.Pod, bool) {
	for _, now := range s.Pods {
		if now.Namespace == p.Namespace && now.Name == p.Name {
			return now, true
		}
	}
	return cluster.Pod{}, false
}

// lossOf says why a command in a pod cannot go on; "" when it can. before is the pod as the command was started in it.
func lossOf(before, now cluster.Pod, there bool, container string) string {
	switch {
	case !there:
		return "the pod was deleted"
	case now.UID != before.UID:
		return "the pod was replaced by a new one of its name"
	case now.Phase == "Failed":
		return "the pod failed: " + reasoned(cmp.Or(now.Reason, "no reason is given"), now.Message)
	case now.Deleted:
		return "the pod is being deleted" + because(now)
	}
	for _, c := range now.Containers {
		if c.Init || container != "" && c.Name != container {
			continue
		}
		if c.Restarts > restartsOf(before, c.Name) || !c.Running && c.ExitCode != nil {
			return fmt.Sprintf("container %s ended: %s", c.Name, reasoned(cmp.Or(c.Ended, "no reason is given"), c.Message)) + exitOf(c)
		}
	}
	return ""
}

func reasoned(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func because(p cluster.Pod) string {
	if p.Reason == "" && p.Message == "" {
		return " (evicted, drained, or deleted by someone)"
	}
	return ": " + reasoned(cmp.Or(p.Reason, "no reason is given"), p.Message)
}

func exitOf(c cluster.Container) string {
	if c.ExitCode == nil {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", *c.ExitCode)
}

func restartsOf(p cluster.Pod, container string) int {
	for _, c := range p.Containers {
		if c.Name == container {
			return c.Restarts
		}
	}
	return 0
}

// lossWithin is why the pod of a rank is lost, when the news is there or comes in time.
func (r *rank) lossWithin(limit time.Duration) string {
	select {
	case why := <-r.lost:
		return why
	case <-time.After(limit):
		return ""
	}
}
