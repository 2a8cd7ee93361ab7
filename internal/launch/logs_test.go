package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
	podrules "github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// shelf is logs by "pod container", and the states that a watch shows one after the other.
type shelf struct {
	logs   map[string]string
	states []cluster.State
	away   error // after the states

	mu    sync.Mutex
	asked []string
}

func (s *shelf) Logs(_ context.Context, pod kube.PodRef, o kube.LogOptions) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := pod.Name + " " + o.Container
	if o.Previous {
		asked += " before"
	}
	s.asked = append(s.asked, fmt.Sprintf("%s follow=%v tail=%d", asked, o.Follow, o.Tail))
	log, ok := s.logs[asked]
	if !ok {
		return nil, errors.New("log of pod train/" + pod.Name + ": no such log")
	}
	return io.NopCloser(strings.NewReader(log)), nil
}

func (s *shelf) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for _, state := range s.states {
			if !yield(state, nil) {
				return
			}
		}
		if s.away != nil {
			yield(cluster.State{}, s.away)
			return
		}
		<-ctx.Done()
	}
}

func reader(s *shelf, f LogFlags) (l LogReader, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return LogReader{Source: s, Screen: NewConsole(out, errs), Flags: f}, out, errs
}

// withContainers is a pod of the job in which containers are in some state.
func withContainers(name, phase string, containers ...cluster.Container) cluster.Pod {
	return ofJob(name, func(p *cluster.Pod) { p.Phase, p.Containers = phase, containers })
}

func install(c cluster.Container) cluster.Container {
	c.Name, c.Init = podrules.InstallContainer, true
	return c
}

func TestToRead(t *testing.T) {
	zero, one := 0, 1
	done := install(cluster.Container{ExitCode: &zero, Ended: "Completed"})
	for name, c := range map[string]struct {
		pod      cluster.Pod
		previous bool
		want     string
	}{
		"running": {
			withContainers("p-0", "Running", done, cluster.Container{Name: "train", Running: true}),
			false,
			"train",
		},
		"crashes again and again": {
			withContainers("p-0", "Running", done, cluster.Container{
				Name:     "train",
				Waiting:  "CrashLoopBackOff",
				Restarts: 3,
				ExitCode: &one,
			}),
			false,
			"train",
		},
		"with a proxy": {
			withContainers("p-0", "Running", cluster.Container{Name: "train", Running: true},
				cluster.Container{Name: "proxy", Running: true}),
			false,
			"train",
		},
		"the image cannot be pulled": {
			withContainers("p-0", "Pending", done, cluster.Container{
				Name:    "train",
				Waiting: "ImagePullBackOff",
				Message: "not found",
			}),
			false,
			"railhead-pod-install",
		},
		"the init container fails": {
			withContainers("p-0", "Pending", install(cluster.Container{
				Waiting:  "CrashLoopBackOff",
				Restarts: 1,
				ExitCode: &one,
			}), cluster.Container{Name: "train", Waiting: "PodInitializing"}),
			false,
			"railhead-pod-install",
		},
		"being made": {
			withContainers("p-0", "Pending", install(cluster.Container{Waiting: "PodInitializing"}), cluster.Container{
				Name:    "train",
				Waiting: "PodInitializing",
			}),
			false,
			"no container has started; the pod is Pending: PodInitializing",
		},
		"no node": {
			ofJob("p-0", func(p *cluster.Pod) {
				p.Phase, p.Containers, p.Unscheduled = "Pending", nil, "0/3 nodes are available"
			}),
			false,
			"no container has started; the pod is Pending: 0/3 nodes are available",
		},
		"the run before": {
			withContainers("p-0", "Running", done, cluster.Container{Name: "train", Running: true, Restarts: 1}),
			true,
			"train",
		},
		"there is no run before this": {
			withContainers("p-0", "Running", done, cluster.Container{Name: "train", Running: true}),
			true,
			"container train was not restarted: it has no previous log",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := Targets(lookup(cluster.State{Pods: []cluster.Pod{c.pod}}))
			container, why := ToRead(all[0], c.previous)
			if why == "" {
				why = container.Name
			}
			if diff := cmp.Diff(c.want, why); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLogsShow(t *testing.T) {
	running := cluster.Container{Name: "train", Running: true}
	pods := []cluster.Pod{
		withContainers("h-kim-0", "Running", running), withContainers("h-kim-10", "Running", running),
		withContainers("h-kim-2", "Pending", cluster.Container{Name: "train", Waiting: "ContainerCreating"}),
	}
	all := Targets(lookup(cluster.State{Pods: pods}))
	logs := map[string]string{"h-kim-0 train": "a\nb\n", "h-kim-10 train": "c"}
	for name, c := range map[string]struct {
		flags     LogFlags
		out, errs string
		asked     []string
		err       error
	}{
		"all": {
			LogFlags{Rank: -1, Tail: 5}, "[0] a\n[0] b\n[10] c\n", "[2] no log of pod h-kim-2: no container has " +
				"started; the pod is Pending: ContainerCreating\n",
			[]string{"h-kim-0 train follow=false tail=5", "h-kim-10 train follow=false tail=5"}, ErrMissing,
		},
		"one rank": {LogFlags{Rank: 10}, "[10] c\n", "", []string{"h-kim-10 train follow=false tail=0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{logs: logs}
			l, out, errs := reader(s, c.flags)
			err := l.Show(t.Context(), l.Chosen(all))
			if diff := cmp.Diff([]any{c.out, c.errs, c.asked}, []any{
				out.String(),
				errs.String(),
				s.asked,
			}); diff != "" || !errors.Is(err, c.err) {
				t.Error(err, diff)
			}
		})
	}
}

// TestLogsFollow has a pod that comes through its init container, fails, and is started again, until the job has ended.
func TestLogsFollow(t *testing.T) {
	one, zero := 1, 0
	done := install(cluster.Container{ExitCode: &zero})
	state := func(pods ...cluster.Pod) cluster.State { return cluster.State{Pods: pods} }
	ended := withContainers("h-kim-1", "Succeeded", done, cluster.Container{Name: "train", ExitCode: &zero})
	s := &shelf{
		logs: map[string]string{
			"h-kim-0 railhead-pod-install": "installed\n",
			"h-kim-0 train":                "loss\n",
			"h-kim-1 train":                "fine\n",
		},
		states: []cluster.State{
			state(ended,
				withContainers("h-kim-0", "Pending", install(cluster.Container{Waiting: "PodInitializing"}),
					cluster.Container{Name: "train"})),
			state(ended,
				withContainers("h-kim-0", "Pending", install(cluster.Container{Running: true}),
					cluster.Container{Name: "train"})),
			state(ended, withContainers("h-kim-0", "Running", done, cluster.Container{Name: "train", Running: true})),
			state(ended, withContainers("h-kim-0", "Running", done, cluster.Container{
				Name:     "train",
				Waiting:  "CrashLoopBackOff",
				ExitCode: &one,
			})),
			state(ended, withContainers("h-kim-0", "Running", done, cluster.Container{
				Name:     "train",
				Running:  true,
				Restarts: 1,
			})),
			state(ended, withContainers("h-kim-0", "Failed", done, cluster.Container{
				Name:     "train",
				Restarts: 1,
				ExitCode: &one,
			})),
		},
	}
	l, out, errs := reader(s, LogFlags{Rank: -1, Follow: true})
	if err := l.Follow(t.Context(), kube.Want{Namespace: "train"}, workload.Ref{Name: "h-kim"}); err != nil {
		t.Error(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(lines)
	slices.Sort(s.asked)
	wantAsked := []string{
		"h-kim-0 railhead-pod-install follow=true tail=0", "h-kim-0 train follow=true tail=0",
		"h-kim-0 train follow=true tail=0", "h-kim-1 train follow=true tail=0",
	}
	if diff := cmp.Diff(wantAsked, s.asked); diff != "" {
		t.Error(diff)
	}
	if len(lines) != 4 || errs.Len() > 0 {
		t.Errorf("lines %q, errors %q", lines, errs)
	}
}

func TestLogsFollowEnds(t *testing.T) {
	t.Run("the server does not know who asks any more", func(t *testing.T) {
		l, _, errs := reader(&shelf{away: kube.ErrUnauthorized}, LogFlags{Rank: -1, Follow: true})
		if err := l.Follow(t.Context(), kube.Want{}, workload.Ref{}); !errors.Is(err, kube.ErrUnauthorized) {
			t.Errorf("got %v", err)
		}
		launchtest.Has(t, errs.String(), "The API server does not answer, retrying: ")
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		l, _, _ := reader(&shelf{}, LogFlags{Rank: -1, Follow: true})
		l.Source.(*shelf).states = []cluster.State{{Pods: []cluster.Pod{launchtest.RunningPod("h-kim-0")}}}
		if err := l.Follow(ctx, kube.Want{Namespace: "train"}, workload.Ref{Name: "h-kim"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLogsFollowUnread: a list that the server could not give shows no end of the job.
func TestLogsFollowUnread(t *testing.T) {
	zero := 0
	ended := withContainers("h-kim-0", "Succeeded", cluster.Container{Name: "train", ExitCode: &zero})
	s := &shelf{
		logs: map[string]string{"h-kim-0 train": "loss\n"},
		states: []cluster.State{
			{Problems: []cluster.Problem{{Kind: cluster.Pods, Err: "etcdserver: leader changed"}}},
			{Problems: []cluster.Problem{{Kind: cluster.Pods, Err: "etcdserver: leader changed"}}},
			{Pods: []cluster.Pod{ended}},
		},
	}
	l, out, errs := reader(s, LogFlags{Rank: -1, Follow: true})
	if err := l.Follow(t.Context(), kube.Want{Namespace: "train"}, workload.Ref{Name: "h-kim"}); err != nil {
		t.Error(err)
	}
	const want = "The pods cannot be read, retrying: etcdserver: leader changed\n"
	if out.String() != "[0] loss\n" || errs.String() != want {
		t.Errorf("output %q, errors %q", out, errs)
	}
}
