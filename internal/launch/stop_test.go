package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

// scene is pods whose commands end when the scene says so.
type scene struct {
	ranks  map[string]actor
	states map[time.Duration]cluster.State // what the watch shows, since the beginning

	away time.Duration // how long the server does not answer at the end
	cut  bool          // the output of the last script is cut short

	mu      sync.Mutex
	begun   time.Time
	signals []string // "10s TERM h-kim-1"
	told    map[string]chan string
}

// actor is one command: it ends by itself, or by one of the signals in stopsAt.
type actor struct {
	after   time.Duration // by itself; 0: never
	code    int
	err     error
	stopsAt map[string]int // signal -> exit code; KILL always works but for those that are gone
	gone    bool
}

func (s *scene) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	switch o.Command[2] {
	case strings.TrimSpace(startScript):
		return s.start(ctx, pod.Name)
	case strings.TrimSpace(signalScript):
		return s.signal(ctx, pod.Name, o.Command[len(o.Command)-1])
	case strings.TrimSpace(finishScript):
		if time.Since(s.begun) < s.away {
			return 0, errors.New("connection refused")
		}
		_, err := io.WriteString(o.Stdout, "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n")
		if !s.cut {
			_, err = io.WriteString(o.Stderr, "finished=yes\n")
		}
		return 0, err
	}
	return 0, nil
}

func (s *scene) start(ctx context.Context, name string) (int, error) {
	a := s.ranks[name]
	var end <-chan time.Time
	if a.after > 0 {
		end = time.After(a.after)
	}
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-end:
			return a.code, a.err
		case signal := <-s.told[name]:
			if code, ok := a.stopsAt[signal]; ok {
				return code, nil
			}
			if signal == "KILL" && !a.gone {
				return 137, nil
			}
		}
	}
}

func (s *scene) signal(ctx context.Context, name, signal string) (int, error) {
	if s.ranks[name].gone {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	s.mu.Lock()
	s.signals = append(s.signals, fmt.Sprintf("%v %s %s", time.Since(s.begun), signal, name))
	s.mu.Unlock()
	select {
	case s.told[name] <- signal:
	case <-ctx.Done():
	}
	return 0, nil
}

func (s *scene) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for _, at := range slices.Sorted(maps.Keys(s.states)) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(at - time.Since(s.begun)):
			}
			if !yield(s.states[at], nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// play runs the scene's ranks and returns the exit code, when all was over, and what was said.
func (s *scene) play(t *testing.T, limit, interrupt time.Duration) (code exit.Code, took time.Duration, said string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.begun, s.told = time.Now(), map[string]chan string{}
	var all []Target
	for rank, name := range slices.Sorted(maps.Keys(s.ranks)) {
		s.told[name] = make(chan string)
		all = append(all, Target{Rank: rank, Pod: launchtest.RunningPod(name), Container: "train"})
	}
	out, errs := &launchtest.Text{}, &launchtest.Text{}
	l := New(s, Streams{Out: out, Err: errs}, all, []string{"torchrun", "train.py"})
	l.Limit = limit
	if interrupt > 0 {
		time.AfterFunc(interrupt, stop)
	}
	o := l.Execute(ctx)
	took = time.Since(s.begun)
	l.Report(o)
	slices.Sort(s.signals)
	return o.Code(), took, errs.String()
}

func TestSteer(t *testing.T) {
	polite := map[string]int{"INT": 130, "TERM": 143}
	lost := cluster.State{Read: []cluster.Kind{cluster.Pods}, Pods: []cluster.Pod{launchtest.RunningPod("h-kim-0")}}
	unready := launchtest.RunningPod("h-kim-1")
	unready.Ready = false
	nodeGone := cluster.State{
		Read: []cluster.Kind{cluster.Pods},
		Pods: []cluster.Pod{launchtest.RunningPod("h-kim-0"), unready},
	}
	type result struct {
		Code    exit.Code
		Took    time.Duration
		Signals []string
	}
	for name, c := range map[string]struct {
		scene     *scene
		limit     time.Duration
		interrupt time.Duration
		want      result
		says      []string
	}{
		"all end well": {
			scene: &scene{ranks: map[string]actor{"h-kim-0": {after: time.Hour}, "h-kim-1": {after: 2 * time.Hour}}},
			want:  result{0, 2 * time.Hour, nil},
		},
		"one fails, the others follow by themselves": {
			scene: &scene{
				ranks: map[string]actor{
					"h-kim-0": {after: 65 * time.Second, code: 1},
					"h-kim-1": {after: time.Minute, code: 7},
				},
			},
			want: result{7, 65 * time.Second, nil},
			says: []string{
				"rank 1 (pod h-kim-1) ended with exit code 7; stopping the other ranks in 10s",
				"the first of 2 ranks that failed",
			},
		},
		"one fails, the others wait for it": {
			scene: &scene{
				ranks: map[string]actor{"h-kim-0": {after: time.Minute, code: 3}, "h-kim-1": {stopsAt: polite}},
			},
			want: result{3, 70 * time.Second, []string{"1m10s TERM h-kim-1"}},
		},
		"one fails, another does not want to end": {
			scene: &scene{ranks: map[string]actor{"h-kim-0": {after: time.Minute, code: 3}, "h-kim-1": {}}},
			want: result{
				3,
				103 * time.Second,
				[]string{"1m10s TERM h-kim-1", "1m40s KILL h-kim-1"},
			}, // and 3 s for news of the pod
		},
		"one fails, another cannot be reached": {
			scene: &scene{ranks: map[string]actor{"h-kim-0": {after: time.Minute, code: 3}, "h-kim-1": {gone: true}}},
			want:  result{3, 110 * time.Second, nil},
			says: []string{
				"cannot send SIGTERM",
				"The command did not exit in 1 pod; its processes may still be running there",
			},
		},
		"Ctrl-C": {
			scene:     &scene{ranks: map[string]actor{"h-kim-0": {stopsAt: polite}, "h-kim-1": {stopsAt: polite}}},
			interrupt: time.Minute,
			want:      result{130, time.Minute, []string{"1m0s INT h-kim-0", "1m0s INT h-kim-1"}},
		},
		"Ctrl-C at ranks that save first": {
			scene:     &scene{ranks: map[string]actor{"h-kim-0": {stopsAt: map[string]int{"TERM": 0}}, "h-kim-1": {}}},
			interrupt: time.Minute,
			want: result{
				130,
				103 * time.Second,
				[]string{
					"1m0s INT h-kim-0",
					"1m0s INT h-kim-1",
					"1m30s TERM h-kim-0",
					"1m30s TERM h-kim-1",
					"1m40s KILL h-kim-1",
				},
			},
		},
		"Ctrl-C while the others have time after a failure": {
			scene: &scene{
				ranks: map[string]actor{"h-kim-0": {after: time.Minute, code: 3}, "h-kim-1": {stopsAt: polite}},
			},
			interrupt: 62 * time.Second,
			want:      result{130, 62 * time.Second, []string{"1m2s INT h-kim-1"}},
			says:      []string{"rank 0 (pod h-kim-0) ended with exit code 3"},
		},
		"Ctrl-C at ranks that were told already": {
			scene:     &scene{ranks: map[string]actor{"h-kim-0": {after: time.Minute, code: 3}, "h-kim-1": {}}},
			interrupt: 72 * time.Second,
			want:      result{130, 75 * time.Second, []string{"1m10s TERM h-kim-1", "1m12s KILL h-kim-1"}},
			says:      []string{"Interrupted again: sending the next signal now"},
		},
		"timeout": {
			scene: &scene{ranks: map[string]actor{"h-kim-0": {stopsAt: polite}, "h-kim-1": {stopsAt: polite}}},
			limit: time.Minute,
			want:  result{124, time.Minute, []string{"1m0s TERM h-kim-0", "1m0s TERM h-kim-1"}},
		},
		"a pod is deleted, and its streams with it; the other notices first": {
			scene: &scene{
				ranks: map[string]actor{
					"h-kim-0": {after: 61 * time.Second, code: 1},
					"h-kim-1": {after: time.Minute, code: 137},
				},
				states: map[time.Duration]cluster.State{62 * time.Second: lost},
			},
			want: result{1, 62 * time.Second, nil},
			says: []string{"rank 1 (pod h-kim-1) was lost: the pod was deleted, the first of 2 ranks that failed"},
		},
		"a pod is deleted, and its streams hang": {
			scene: &scene{
				ranks:  map[string]actor{"h-kim-0": {stopsAt: polite}, "h-kim-1": {gone: true}},
				states: map[time.Duration]cluster.State{time.Minute: lost},
			},
			want: result{1, 80 * time.Second, []string{"1m20s TERM h-kim-0"}},
			says: []string{"rank 1 (pod h-kim-1) was lost: the pod was deleted; stopping the other ranks in 10s"},
		},
		"a node is away for a while": {
			scene: &scene{
				ranks:  map[string]actor{"h-kim-0": {after: time.Hour}, "h-kim-1": {after: time.Hour}},
				states: map[time.Duration]cluster.State{time.Minute: nodeGone},
			},
			want: result{0, time.Hour, nil},
			says: []string{"rank 1 (pod h-kim-1): the pod is no longer ready; its node may be down"},
		},
		"a connection breaks": {
			scene: &scene{
				ranks: map[string]actor{
					"h-kim-0": {stopsAt: polite},
					"h-kim-1": {after: time.Minute, err: errors.New("connection reset by peer")},
				},
			},
			want: result{1, 73 * time.Second, []string{"1m13s TERM h-kim-0"}},
			says: []string{"rank 1 (pod h-kim-1) was lost: connection reset by peer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, took, said := c.scene.play(t, c.limit, c.interrupt)
				if diff := cmp.Diff(c.want, result{code, took, c.scene.signals}); diff != "" {
					t.Error(diff)
				}
				for _, s := range c.says {
					if !strings.Contains(said, s) {
						t.Errorf("%q is not in:\n%s", s, said)
					}
				}
			})
		})
	}
}

// TestFinish has an API server that is away when the run is over: its end has cut the streams.
func TestFinish(t *testing.T) {
	for name, c := range map[string]struct {
		away time.Duration
		gone bool // the pod, not the server
		took time.Duration
		says string
	}{
		"the server answers":    {0, false, 0, ""},
		"it answers again soon": {5 * time.Second, false, 6 * time.Second, ""},
		"it stays away": {
			time.Hour,
			false,
			2 * time.Minute,
			"rank 0 (pod h-kim-0) cannot be reached; its processes may still be running: connection refused\n",
		},
		"the pod is gone": {time.Hour, true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{away: c.away, begun: time.Now()}
				errs := &launchtest.Text{}
				l := New(s, Streams{Out: io.Discard, Err: errs}, []Target{
					{Pod: launchtest.RunningPod("h-kim-0")},
				}, []string{"torchrun"})
				l.ranks[0].podLost, l.ranks[0].disconnected = c.gone, !c.gone
				l.finish(t.Context(), Outcome{first: &result{err: errors.New("connection reset")}})
				if took := time.Since(s.begun); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if diff := cmp.Diff(c.says, errs.String()); diff != "" {
					t.Error(diff)
				}
				if read := l.ranks[0].logErr == nil; read != (c.away < time.Minute) ||
					read != (explain.Log(l.Evidence.Log()).Last().Traffic.Channels == 1) {
					t.Errorf("read: %v, %v", read, explain.Log(l.Evidence.Log()).Last().Traffic)
				}
			})
		})
	}
}

// TestFinishCutShort: a log that did not arrive whole is gone from the pod, and counts as not read.
func TestFinishCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{cut: true, begun: time.Now()}
		streams := Streams{Out: io.Discard, Err: io.Discard}
		l := New(s, streams, []Target{{Pod: launchtest.RunningPod("h-kim-0")}}, []string{"torchrun"})
		l.finish(t.Context(), Outcome{})
		if err := l.ranks[0].logErr; !errors.Is(err, kube.ErrCutShort) || time.Since(s.begun) != 0 {
			t.Errorf("after %v: %v", time.Since(s.begun), err)
		}
		if line := l.network(Outcome{}); !strings.HasSuffix(line, "; the NCCL log of 1 pod could not be read") {
			t.Error(line)
		}
	})
}

// TestFollowThroughRestarts: an API server may deny rights in the first minute after each of its restarts, also of a
// rank that writes nothing between them.
func TestFollowThroughRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(&restarting{}, Streams{Out: io.Discard, Err: io.Discard},
			[]Target{{Pod: launchtest.RunningPod("h-kim-0")}}, []string{"torchrun"})
		r := l.ranks[0]
		r.ctx, l.attached = t.Context(), &Attached{Tail: -1}
		code, _, err := l.follow(r, kube.ExecOptions{Stdout: &out, Stderr: io.Discard})
		if code != 3 || err != nil || out.String() != "one\n" {
			t.Errorf("code %d, error %v, output %q", code, err, out.String())
		}
		denied := &restarting{denied: true}
		l.pods = denied
		if _, _, err := l.follow(r, kube.ExecOptions{Stdout: io.Discard}); err == nil || denied.asked != 1 {
			t.Errorf("without the right: error %v, asked %d times", err, denied.asked)
		}
	})
}

// restarting is an API server that restarts twice, hours apart.
type restarting struct {
	Pods
	denied bool
	asked  int
}

func (s *restarting) Exec(_ context.Context, _ kube.PodRef, o kube.ExecOptions) (int, error) {
	s.asked++
	if s.denied {
		return 0, &kube.Forbidden{Err: errors.New("forbidden")}
	}
	connected := func(says string) (int, error) {
		_, err := io.WriteString(o.Stdout, says)
		<-time.After(3 * time.Hour)
		return 0, errors.Join(err, errors.New("it was cut"))
	}
	switch s.asked {
	case 1:
		return connected("at=0\n2026-03-02T10:00:00.1Z stdout F one\n")
	case 3:
		return connected("at=40\n")
	case 2, 4:
		return 0, &kube.Forbidden{Err: errors.New("forbidden")}
	}
	_, err := io.WriteString(o.Stdout, "exit=3 2026-03-02T20:00:00Z\n")
	return 0, err
}

// TestFirstFailure holds the blame to time, not to the order in which the news comes.
func TestFirstFailure(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(rank, code, seconds int) result {
		return result{rank: &rank0to9[rank], code: code, at: begun.Add(time.Duration(seconds) * time.Second)}
	}
	for name, c := range map[string]struct {
		ends  []result
		why   error
		first int // rank; -1: none
		code  exit.Code
	}{
		"all well":                         {[]result{at(0, 0, 1), at(1, 0, 2)}, nil, -1, 0},
		"the later news is of the earlier": {[]result{at(0, 1, 5), at(1, 7, 3), at(2, 0, 9)}, nil, 1, 7},
		"after Ctrl-C nothing is a fault":  {[]result{at(0, 130, 5), at(1, 1, 6)}, errInterrupted, -1, 130},
		"after timeout":                    {[]result{at(0, 143, 5)}, errTimeout, -1, 124},
		"told because another failed":      {[]result{at(0, 143, 5)}, errPeerFailed, 0, 143},
		"the connection broke": {
			[]result{{rank: &rank0to9[0], err: errors.New("gone"), at: begun}},
			nil,
			0,
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Outcome{why: c.why}
			for _, e := range c.ends {
				o.record(e)
			}
			first := -1
			if o.first != nil {
				first = o.first.rank.Rank
			}
			if diff := cmp.Diff([]int{c.first, int(c.code)}, []int{first, int(o.Code())}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// rank0to9 are ranks to name.
var rank0to9 = func() []rank {
	all := make([]rank, 10)
	for i := range all {
		all[i].Rank = i
	}
	return all
}()
