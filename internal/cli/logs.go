package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// logFlags are which part of which logs is wanted.
type logFlags struct {
	follow, previous bool
	tail             int
	rank             int // -1: all
}

func (a *app) newLogs() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the logs of a job's pods, with the rank in front of every line",
		Long: `logs shows what the pods of a job wrote: the command that the job was deployed with, and railhead-pod in front of it. Of a
pod that did not get so far it shows the init container's log. With --follow it goes on, also with the pods that their
controller makes anew, until the job has ended or Ctrl-C.

What 'railhead launch' runs is not among these logs: launch shows it itself.`,
		Example: `  railhead logs h-kim -n train
  railhead logs h-kim -n train -f --tail 20
  railhead logs h-kim -n train --rank 1 --previous       why the container of rank 1 was restarted`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.follow && f.previous:
				return errors.New("--follow and --previous exclude each other: the run before has ended")
			case f.tail < 0:
				return errors.New("--tail cannot be negative")
			}
			return a.logs(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on while the pods run")
	flags.BoolVarP(&f.previous, "previous", "p", false, "of each container's run before this one")
	flags.IntVar(&f.tail, "tail", 0, "only so many last lines of each pod (default all)")
	flags.IntVar(&f.rank, "rank", -1, "only the pod of this rank (default all)")
	return cmd
}

func (a *app) logs(ctx context.Context, name string, f logFlags) error {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return fault(err)
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: ns, Job: name}
	client, s, err := a.read(ctx, want)
	if err != nil {
		return err
	}
	if p := s.Problem(cluster.Pods); p != nil {
		return exitError{exitUnknown, fmt.Errorf("the pods of %s cannot be read: %s", name, p.Err)}
	}
	all := targets(s, name, ns)
	if len(all) == 0 {
		return a.noPod(ctx, client, name, ns)
	}
	r := logReader{source: client, screen: newScreen(a.streams.Out, a.streams.Err), color: a.streams.Color, flags: f}
	if len(r.chosen(all)) == 0 {
		return fault(fmt.Errorf("%s has no rank %d: it has 0 to %d", name, f.rank, all[len(all)-1].rank))
	}
	if f.follow {
		return r.follow(ctx, want)
	}
	return r.show(ctx, r.chosen(all))
}

// noPod says whether a job without pods is there.
func (a *app) noPod(ctx context.Context, client *kube.Client, name, ns string) error {
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: ns})
	if err != nil {
		return fault(err)
	}
	if _, ok := workloadOf(s, name, ns); ok {
		return fault(fmt.Errorf("%s has no pod, and so no log: 'railhead status %s -n %s' says why", name, name, ns))
	}
	return fault(errors.New(noJobText(s, name, ns)))
}

// logSource is where logs come from.
type logSource interface {
	Logs(ctx context.Context, pod kube.PodRef, o kube.LogOptions) (io.ReadCloser, error)
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// logReader shows the logs of a job's pods.
type logReader struct {
	source logSource
	screen *screen
	color  bool
	flags  logFlags
}

// chosen are the pods whose logs are wanted.
func (l *logReader) chosen(all []target) []target {
	var some []target
	for _, t := range all {
		if l.flags.rank < 0 || t.rank == l.flags.rank {
			some = append(some, t)
		}
	}
	return some
}

// show writes the logs as they are, rank by rank.
func (l *logReader) show(ctx context.Context, all []target) error {
	missing := 0
	for _, t := range all {
		c, why := toRead(t, l.flags.previous)
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
			l.screen.say("[%d] no log of pod %s: %v", t.rank, t.pod.Name, err)
		}
	}
	if missing > 0 {
		return exitError{code: exitFault}
	}
	return nil
}

// toRead is the container whose log tells most: the one that trains, or the init container that the pod came to. why is
// why there is none.
func toRead(t target, previous bool) (c cluster.Container, why string) {
	waiting := t.pod.Unscheduled
	for i := len(t.pod.Containers) - 1; i >= 0; i-- {
		c := t.pod.Containers[i]
		other := !c.Init && t.container != "" && c.Name != t.container
		started := c.Running || c.ExitCode != nil || c.Restarts > 0
		switch {
		case other:
		case started && previous && c.Restarts == 0:
			return c, fmt.Sprintf("container %s was not restarted: there is no run before this one", c.Name)
		case started:
			return c, ""
		case c.Waiting != "":
			waiting = reasoned(c.Waiting, c.Message)
		}
	}
	return c, reasoned("no container has started; the pod is "+orDash(t.pod.Phase), waiting)
}

// copy writes one container's log to its end.
func (l *logReader) copy(ctx context.Context, t target, container string) error {
	log, err := l.source.Logs(ctx, t.ref(), kube.LogOptions{
		Container: container, Follow: l.flags.follow, Previous: l.flags.previous, Tail: l.flags.tail,
	})
	if err != nil {
		return err
	}
	defer log.Close()
	out := newLines(l.screen, &l.screen.out, t.rank, l.color, nil)
	_, err = io.Copy(out, log)
	out.Close()
	if err != nil {
		return fmt.Errorf("it broke off: %w", err)
	}
	return nil
}

// instance is one run of one container.
type instance struct {
	uid, container string
	restarts       int
}

// logsAtOnce bounds how many logs are followed at the same time.
const logsAtOnce = 1024

// follow writes the logs of all pods while they come, also of those that are made later, until the job has ended.
func (l *logReader) follow(ctx context.Context, want kube.Want) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(logsAtOnce)
	followed := map[instance]bool{}
	var away error
	for s, err := range l.source.Watch(ctx, want) {
		if away = err; err != nil {
			l.screen.say("The API server does not answer, still trying: %v", err)
			continue
		}
		all := l.chosen(targets(s, want.Job, want.Namespace))
		ended := true
		for _, t := range all {
			ended = ended && t.pod.Finished()
			c, why := toRead(t, false)
			run := instance{t.pod.UID, c.Name, c.Restarts}
			if why != "" || followed[run] {
				continue
			}
			followed[run] = true
			g.Go(func() error {
				if err := l.copy(ctx, t, c.Name); err != nil && ctx.Err() == nil {
					l.screen.say("[%d] log of pod %s: %v", t.rank, t.pod.Name, err)
				}
				return nil
			})
		}
		if ended {
			break
		}
	}
	_ = g.Wait() // what went wrong was said
	if away != nil && ctx.Err() == nil {
		return fault(away)
	}
	return ctx.Err()
}
