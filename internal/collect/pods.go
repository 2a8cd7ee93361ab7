package collect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// choose returns the running pods of a subject, whose job read found. It lists pods of a namespace that need no visit
// in subject.Passed.
func (e examiner) choose(s cluster.State, f workload.Family, subject *workload.Subject) ([]cluster.Pod, error) {
	var pods []cluster.Pod
	switch {
	case subject.Cluster:
		return nil, nil
	case len(subject.Nodes) == 0 && lacksNamespace(s, subject.Namespace):
		return nil, fmt.Errorf("%w: %s; 'railhead setup namespace %[2]s' creates it", errNoNamespace, subject.Namespace)
	case subject.Job != "":
		exists := f.Name != "" || slices.Contains(job.Names(s, subject.Namespace), subject.Job)
		if !exists && s.Knows(cluster.Objects) {
			return nil, ErrNoJob
		}
		pods = slices.Clone(f.Pods)
		slices.SortStableFunc(pods, func(a, b cluster.Pod) int { return words.Natural(a.Name, b.Name) })
	case len(subject.Pods) > 0:
		var err error
		if pods, err = named(s, subject); err != nil {
			return nil, err
		}
	case len(subject.Nodes) > 0:
		return nil, nil
	default:
		var passed []cluster.Pod
		if pods, passed = clusterrules.Candidates(s, subject.Namespace); len(pods) == 0 {
			e.say("Namespace %s has no pods with rails. Its workloads and the cluster are checked.", subject.Namespace)
		}
		for _, p := range passed {
			if Running(p) {
				subject.Passed = append(subject.Passed, p.Name)
			}
		}
	}
	return slices.DeleteFunc(pods, func(p cluster.Pod) bool { return !Running(p) }), nil
}

func lacksNamespace(s cluster.State, name string) bool {
	_, found := s.Namespace(name)
	return !found && s.Knows(cluster.Namespaces)
}

// named returns the pods that a subject names.
func named(s cluster.State, subject *workload.Subject) ([]cluster.Pod, error) {
	var pods []cluster.Pod
	for _, name := range subject.Pods {
		i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool {
			return p.Namespace == subject.Namespace && p.Name == name
		})
		if i < 0 {
			return nil, fmt.Errorf("%w: %s in namespace %s", ErrNoPod, name, subject.Namespace)
		}
		pods = append(pods, s.Pods[i])
	}
	return pods, nil
}

// Running reports whether a container of the pod can be visited.
func Running(p cluster.Pod) bool {
	return !p.Deleted && !p.Finished() &&
		slices.ContainsFunc(p.Containers, func(c cluster.Container) bool { return !c.Init && c.Running })
}

// Container returns the container of a pod to visit: the chosen one, or the one that trains.
func Container(p cluster.Pod, chosen string) string {
	return cmp.Or(chosen, workload.Trainer(p.Containers))
}

// visit takes snapshots of pods in parallel. If it is interrupted, it returns the snapshots of the pods that answered
// before.
func (e examiner) visit(ctx context.Context, pods []cluster.Pod) ([]rules.Machine, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	visits := make([]kube.Visit, len(pods))
	of := map[kube.PodRef]cluster.Pod{}
	for i, p := range pods {
		ref := refOf(p)
		visits[i] = kube.Visit{Pod: ref, Container: Container(p, e.Container)}
		of[ref] = p
	}
	progress := e.progress("pod", len(pods))
	machines := make([]rules.Machine, 0, len(pods))
	options := kube.VisitOptions{Timeout: e.Timeout, Watch: cmp.Or(e.Every, time.Second), Program: e.Program}
	err := e.cluster.Snapshots(ctx, visits, options, func(v kube.Visited) {
		if v.Err != nil && ctx.Err() != nil {
			return // this pod was not given the time to answer
		}
		pod := of[v.Pod]
		m := rules.Machine{
			Ref:      check.PodRef(v.Pod.Namespace, v.Pod.Name),
			Node:     pod.Node,
			Group:    clusterrules.JobOf(pod),
			Snapshot: v.Snapshot,
		}
		if v.Err != nil {
			m.Unreached = v.Err.Error()
		}
		machines = append(machines, m)
		progress(m)
	})
	slices.SortFunc(machines, func(a, b rules.Machine) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	return machines, err
}

func refOf(p cluster.Pod) kube.PodRef { return kube.PodRef{Namespace: p.Namespace, Name: p.Name} }

// The most that is read of the log of one pod.
const (
	logLines = 50_000
	logBytes = 16 << 20
)

// readLogs reads the logs of pods. It reports logs that it cannot read, and leaves them out.
func (e examiner) readLogs(ctx context.Context, pods []cluster.Pod) []bundle.Log {
	all, failed := make([]bundle.Log, len(pods)), make([]error, len(pods))
	var g errgroup.Group
	g.SetLimit(podsAtOnce)
	for i, p := range pods {
		g.Go(func() error {
			all[i], failed[i] = e.readLog(ctx, p)
			return nil
		})
	}
	_ = g.Wait() // errors are in failed
	for i, err := range failed {
		if err != nil {
			e.say("The log of pod %s could not be read: %v", refOf(pods[i]), err)
		}
	}
	return slices.DeleteFunc(all, func(l bundle.Log) bool { return l.Name == "" })
}

const podsAtOnce = 16

// readLog may return a part of the log with an error.
func (e examiner) readLog(ctx context.Context, p cluster.Pod) (bundle.Log, error) {
	container := Container(p, e.Container)
	log, err := e.cluster.Logs(ctx, refOf(p), kube.LogOptions{Container: container, Tail: logLines})
	if err != nil {
		return bundle.Log{}, err
	}
	defer log.Close()
	text, err := io.ReadAll(io.LimitReader(log, logBytes))
	return bundle.Log{Name: "pod/" + refOf(p).String(), Container: container, Text: string(text)}, err
}
