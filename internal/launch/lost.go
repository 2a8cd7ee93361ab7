package launch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// podLost is the reason why a pod is gone.
type podLost string

func (p podLost) Error() string { return string(p) }

// watchPods watches the pods while the command runs: the streams of a dead node stay open for minutes.
func (l *Session) watchPods(ctx context.Context) {
	reported := map[*rank]bool{}
	unready := map[*rank]bool{}
	for s, err := range l.pods.Watch(ctx, l.watched()) {
		if err != nil || !s.Knows(cluster.Pods) {
			continue
		}
		for _, r := range l.ranks {
			now, there := findPod(s, r.Pod)
			why := lossReason(r.Pod, now, there, r.Container)
			switch {
			case reported[r] || r.ctx.Err() != nil:
			case why != "":
				reported[r] = true
				r.lost <- why // buffered
				time.AfterFunc(l.Patience.lossDelay, func() { r.cancel(podLost(why)) })
			case unready[r] == now.Ready:
				unready[r] = !now.Ready
				if !now.Ready {
					l.console.say("%s: the pod is no longer ready; its node may be down", r)
				}
			}
		}
	}
}

// watched selects the pods of all ranks: by the label of their job, or of a workload that railhead did not deploy, all
// pods of the namespace. Its pods may have other labels, or the label with different values.
func (l *Session) watched() kube.Want {
	first := l.ranks[0].Pod
	want := kube.Want{
		Kinds:     []cluster.Kind{cluster.Pods},
		Namespace: first.Namespace,
		Job:       first.Labels[plan.LabelInstance],
	}
	if l.count(func(r *rank) bool { return r.Pod.Labels[plan.LabelInstance] != want.Job }) > 0 {
		want.Job = ""
	}
	want.Detail = want.Job == "" // their containers tell why they ended
	return want
}

func findPod(s cluster.State, p cluster.Pod) (cluster.Pod, bool) {
	for _, now := range s.Pods {
		if now.Namespace == p.Namespace && now.Name == p.Name {
			return now, true
		}
	}
	return cluster.Pod{}, false
}

// lossReason says why the command in a pod is gone, empty if it is not. before is the pod when the command was started.
func lossReason(before, now cluster.Pod, there bool, container string) string {
	switch {
	case !there:
		return "the pod was deleted"
	case now.UID != before.UID:
		return "the pod was replaced"
	case now.Phase == "Failed":
		return "the pod failed: " + withMessage(cmp.Or(now.Reason, noReason), now.Message)
	case now.Deleted && now.Reason == "" && now.Message == "":
		return "the pod is being deleted (evicted, drained or deleted)"
	case now.Deleted:
		return "the pod is being deleted: " + withMessage(cmp.Or(now.Reason, noReason), now.Message)
	}
	for _, c := range now.Containers {
		restarted := c.Restarts > restartsOf(before, c.Name)
		if !c.Init && (container == "" || c.Name == container) && (restarted || !c.Running && c.ExitCode != nil) {
			return endReason(c)
		}
	}
	return ""
}

func endReason(c cluster.Container) string {
	why := fmt.Sprintf("container %s ended: %s", c.Name, withMessage(cmp.Or(c.Ended, noReason), c.Message))
	if c.ExitCode != nil {
		why += fmt.Sprintf(" (exit code %d)", *c.ExitCode)
	}
	return why
}

const noReason = "no reason given"

func withMessage(reason, message string) string {
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

func restartsOf(p cluster.Pod, container string) int {
	for _, c := range p.Containers {
		if c.Name == container {
			return c.Restarts
		}
	}
	return 0
}

// waitForLoss returns why the pod of a rank is lost, empty if that is not known in time.
func (r *rank) waitForLoss(limit time.Duration) string {
	select {
	case why := <-r.lost:
		return why
	case <-time.After(limit):
		return ""
	}
}
