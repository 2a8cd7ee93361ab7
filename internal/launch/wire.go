package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Readings sums up what the kernel's queue pairs showed while a command ran.
type Readings struct {
	Taken, Moving int      // all, and those with packets over RDMA between two of the pods
	Lost          int      // with connections that the network broke
	Best          wire.Job // that shows most, without its members
	Quiet         int      // pods of Best without a packet
	shown         int      // by Best: the more the larger
}

// ReadWire reads the queue pairs of the commands of all launches in pods, as a Session does, until ctx ends.
func ReadWire(ctx context.Context, p Pods, targets []Target, first time.Duration) Readings {
	l := New(p, Streams{Out: io.Discard, Err: io.Discard}, targets, nil)
	l.ID, l.FirstReading = ".*", first // the ID is in a regular expression
	l.readWire(ctx)
	return l.readings
}

// readWire reads the queue pairs of all pods at growing distances, so that the start of a program does not decide. It
// ends when NCCL's log tells the network, or with ctx.
func (l *Session) readWire(ctx context.Context) {
	for wait := l.FirstReading; wait > 0; wait *= 3 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		members, told := l.readPods(ctx)
		if told || ctx.Err() != nil {
			return
		}
		l.readings.add(wire.Together(members, true))
	}
}

// readPods reads pods at the same time, to see both ends of a connection. told says that NCCL's log names the network.
func (l *Session) readPods(ctx context.Context) (members []wire.Member, told bool) {
	const most, limit = 128, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	members = make([]wire.Member, len(l.ranks))
	var known atomic.Bool
	var g errgroup.Group
	for i, r := range l.ranks {
		m := &members[i]
		m.Ref, m.Motion = check.PodRef(r.Pod.Namespace, r.Pod.Name), notRead("it was not asked")
		if i >= most || r.ctx != nil && r.ctx.Err() != nil { // it has ended
			continue
		}
		g.Go(func() error {
			motion, err := kube.AskAgain(func() (wire.Motion, error) { return l.readPod(ctx, r) })
			switch {
			case errors.Is(err, errLogTells):
				known.Store(true)
			case err != nil:
				why, _, _ := strings.Cut(err.Error(), "\n")
				m.Motion = notRead(why)
			default:
				m.Motion = motion
			}
			return nil
		})
	}
	_ = g.Wait() // errors are in the members
	return members, known.Load()
}

func notRead(why string) wire.Motion { return wire.Motion{Proof: wire.NotProved, Why: why} }

// errLogTells means that NCCL's log names the network, and no queue pair was read.
var errLogTells = errors.New("NCCL's log names the network")

// readPod reads the queue pairs of the command of a rank.
func (l *Session) readPod(ctx context.Context, r *rank) (wire.Motion, error) {
	const most = 32 << 20
	o := kube.ExecOptions{Command: l.script(r, wireScript, PodProgram)}
	text, err := Output(ctx, l.pods, r.Target, o, most)
	switch {
	case err != nil:
		return wire.Motion{}, err
	case text == logTells:
		return wire.Motion{}, errLogTells
	}
	return motionOf(text)
}

// motionOf judges the answer of wireScript: the processes of the command, and a snapshot with two readings.
func motionOf(text string) (wire.Motion, error) {
	processes, snapshot, _ := strings.Cut(text, "\n")
	var s host.Snapshot
	if err := kube.DecodeSnapshot(strings.NewReader(snapshot), &s); err != nil {
		return wire.Motion{}, err
	}
	own := strings.Fields(processes)
	others := dropOthers(&s.Wire, own)
	if s.Earlier != nil {
		others = dropOthers(&s.Earlier.Wire, own) || others
	}
	m := wire.Of(s)
	if m.Proof != wire.RDMA && others {
		return notRead("they are of processes that this launch did not start"), nil
	}
	return m, nil
}

// dropOthers removes the queue pairs of processes that are not of the command.
func dropOthers(w *host.Fact[host.Wire], own []string) (dropped bool) {
	for i := range w.Value.Devices {
		pairs := &w.Value.Devices[i].QueuePairs
		n := len(pairs.Value)
		pairs.Value = slices.DeleteFunc(pairs.Value, func(q host.QueuePair) bool {
			return q.PID.IsKnown() && !q.Kernel && !slices.Contains(own, fmt.Sprint(q.PID.Value))
		})
		dropped = dropped || len(pairs.Value) < n
	}
	return dropped
}

// add counts a reading, and keeps it if it shows more than those before.
func (r *Readings) add(j wire.Job) {
	shown := slices.Index([]wire.Proof{wire.NoConnection, wire.NoTraffic, wire.RDMA}, j.Proof)
	r.Taken++
	if j.Connections[wire.Lost] > 0 {
		r.Lost++
	}
	if slices.ContainsFunc(wire.Connections(j.Members, false), betweenPods) {
		r.Moving++
		shown++
	}
	packets := func(j wire.Job) uint64 { return j.Sent.Packets + j.Received.Packets }
	if r.Taken > 1 && (shown < r.shown || shown == r.shown && packets(j) <= packets(r.Best)) {
		return
	}
	r.Quiet = 0
	for _, m := range j.Members {
		if m.Proof == wire.NoTraffic || m.Proof == wire.NoConnection {
			r.Quiet++
		}
	}
	r.Best, r.Best.Members, r.shown = j, nil, shown
}

// betweenPods reports whether a connection carried packets between two pods. One with another end may be of storage.
func betweenPods(c wire.Connection) bool {
	return c.State == wire.Moving && c.B.End != nil && c.A.Machine != c.B.Machine
}

// String says what the readings showed of the network. Without RDMA they prove no other network.
func (r Readings) String() string {
	text := report.Verdict(r.Best)
	if r.Moving == 0 {
		text = fmt.Sprintf("the kernel's queue pairs, read %s: %s", words.Count(r.Taken, "time"), text)
		if r.Best.Proof == wire.RDMA {
			text += "; no connection between two of these pods was seen"
		}
		return text
	}
	text += fmt.Sprintf(", by the kernel's queue pairs in %d of %s", r.Moving, words.Count(r.Taken, "reading"))
	if r.Quiet > 0 {
		text += "; no packet of " + words.Count(r.Quiet, "pod")
	}
	if r.Lost > 0 {
		text += "; connections were lost in " + words.Count(r.Lost, "reading")
	}
	return text
}

// Proves reports whether all pods moved data over RDMA.
func (r Readings) Proves() bool { return r.Moving > 0 && r.Quiet+len(r.Best.Unproved) == 0 }
