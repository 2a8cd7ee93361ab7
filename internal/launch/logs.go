package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/workload"
)

// LogFlags select the logs to show.
type LogFlags struct {
	Follow, Previous bool
	Tail             int
	Rank             int // -1: all
}

// LogSource reads logs and watches pods.
type LogSource interface {
	Logs(ctx context.Context, pod kube.PodRef, o kube.LogOptions) (io.ReadCloser, error)
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// LogReader shows the logs of a job's pods.
type LogReader struct {
	Source LogSource
	Screen *console
	Color  bool
	Flags  LogFlags
}

// Chosen returns the pods that the flags select.
func (l *LogReader) Chosen(all []Target) []Target {
	var some []Target
	for _, t := range all {
		if l.Flags.Rank < 0 || t.Rank == l.Flags.Rank {
			some = append(some, t)
		}
	}
	return some
}

// ErrMissing means that a log could not be shown. The reader has printed why.
var ErrMissing = errors.New("not every pod has a log")

// Show writes the logs, rank by rank.
func (l *LogReader) Show(ctx context.Context, all []Target) error {
	missing := 0
	for _, t := range all {
		c, why := ToRead(t, l.Flags.Previous)
		var err error
		if why != "" {
			err = errors.New(why)
		} else {
			err = l.copy(ctx, t, c.Name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			missing++
			l.Screen.say("[%d] no log of pod %s: %v", t.Rank, t.Pod.Name, err)
		}
	}
	if missing > 0 {
		return ErrMissing
	}
	return nil
}

// ToRead returns the container whose log is most useful: the one that trains, or the init container that the pod has
// reached. If there is none, why says so.
func ToRead(t Target, previous bool) (c cluster.Container, why string) {
	waiting := t.Pod.Unscheduled
	for i := len(t.Pod.Containers) - 1; i >= 0; i-- {
		c := t.Pod.Containers[i]
		other := !c.Init && t.Container != "" && c.Name != t.Container
		started := c.Running || c.ExitCode != nil || c.Restarts > 0
		switch {
		case other:
		case started && previous && c.Restarts == 0:
			return c, fmt.Sprintf("container %s was not restarted: it has no previous log", c.Name)
		case started:
			return c, ""
		case c.Waiting != "":
			waiting = withMessage(c.Waiting, c.Message)
		}
	}
	return c, withMessage("no container has started; the pod is "+cmp.Or(t.Pod.Phase, "-"), waiting)
}

func (l *LogReader) copy(ctx context.Context, t Target, container string) error {
	log, err := l.Source.Logs(ctx, t.Ref(), kube.LogOptions{
		Container: container, Follow: l.Flags.Follow, Previous: l.Flags.Previous, Tail: l.Flags.Tail,
	})
	if err != nil {
		return err
	}
	defer log.Close()
	out := newLineWriter(l.Screen, &l.Screen.out, t.Rank, l.Color, nil)
	_, err = io.Copy(out, log)
	out.Close()
	if err != nil {
		return fmt.Errorf("the log was cut off: %w", err)
	}
	return nil
}

// instance is one run of a container.
type instance struct {
	uid, container string
	restarts       int
}

// logsAtOnce bounds how many logs are followed at the same time.
const logsAtOnce = 1024

// Follow writes the logs of all pods, including later ones, until the job has ended.
func (l *LogReader) Follow(ctx context.Context, want kube.Want, ref workload.Ref) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(logsAtOnce)
	followed := map[instance]bool{}
	var watchErr error
	said := ""
	for s, err := range l.Source.Watch(ctx, want) {
		if watchErr = err; err != nil {
			l.Screen.say("The API server does not answer, retrying: %v", err)
			continue
		}
		f, _ := workload.Lookup(s, ref, want.Namespace) // one that is gone has no pods
		all := l.Chosen(Targets(f))
		ended := !l.unread(s, f, &said)
		for _, t := range all {
			ended = ended && t.Pod.Finished()
			c, why := ToRead(t, false)
			run := instance{t.Pod.UID, c.Name, c.Restarts}
			if why != "" || followed[run] {
				continue
			}
			followed[run] = true
			g.Go(func() error {
				if err := l.copy(ctx, t, c.Name); err != nil && ctx.Err() == nil {
					l.Screen.say("[%d] log of pod %s: %v", t.Rank, t.Pod.Name, err)
				}
				return nil
			})
		}
		if ended {
			break
		}
	}
	_ = g.Wait() // errors were printed
	if watchErr != nil && ctx.Err() == nil {
		return watchErr
	}
	return ctx.Err()
}

// unread reports whether a job seems to have no pods because a list failed. said is the error that it says once.
func (l *LogReader) unread(s cluster.State, f workload.Family, said *string) bool {
	p := missingList(s)
	if p == nil || len(f.Pods) > 0 {
		*said = ""
		return false
	}
	if *said != p.Err {
		*said = p.Err
		l.Screen.say("The pods cannot be read, retrying: %s", p.Err)
	}
	return true
}

// missingList returns the problem of a list without which a job seems to have no pods; nil if there is none. Kinds of
// workloads that the user may never list do not count.
func missingList(s cluster.State) *cluster.Problem {
	i := slices.IndexFunc(s.Problems, func(p cluster.Problem) bool {
		return p.Kind == cluster.Pods || p.Kind == cluster.Workloads && !p.Forbidden
	})
	if i < 0 {
		return nil
	}
	return &s.Problems[i]
}
