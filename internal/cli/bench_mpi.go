package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
)

// mpiRelay takes the output of the pod in which mpirun runs, and hands on what it asks for in other pods.
type mpiRelay struct {
	mu     sync.Mutex
	text   bytes.Buffer
	remote func(host, command string)
}

// Write takes whole lines, as a launch writes them.
func (r *mpiRelay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(p) {
		if host, command, ok := bench.ParseMPIRemote(string(line)); ok {
			r.remote(host, command)
			continue
		}
		r.text.Write(line)
	}
	return len(p), nil
}

// runMPI runs nccl-tests by the job's own Open MPI. Pods have no ssh between them: what mpirun asks for in another pod is run
// there by a launch of its own, with the environment that railhead-pod computes for that pod.
func (m *measuring) runMPI(ctx context.Context, env []string) (allReduceSaid, error) {
	ctx, stop := context.WithTimeout(ctx, allReduceTime)
	defer stop()
	hosts := make([]string, len(m.fleet.Pods))
	for i, p := range m.fleet.Pods {
		hosts[i] = p.IP
	}
	var g errgroup.Group
	relay, seen := &mpiRelay{}, &evidence{}
	var lost sync.Once // a daemon that does not start leaves mpirun waiting
	first := ""
	relay.remote = func(host, command string) {
		i := slices.Index(hosts, host)
		if i <= 0 { // mpirun starts its own
			return
		}
		g.Go(func() error {
			l := m.newRun(m.targets[i:i+1], []string{"sh", "-c", command}, env, Streams{Out: relay, Err: relay})
			l.seen = seen
			o, err := l.through(ctx)
			failed := why(o)
			if err != nil {
				failed = err.Error()
			}
			if failed != "" {
				lost.Do(func() { first = failed })
				stop()
			}
			return nil
		})
	}
	l := m.newRun(m.targets[:1], nil, env, Streams{Out: relay, Err: relay})
	l.seen, l.argv = seen, bench.NCCLTestsAllReduce(sharedDir, fmt.Sprintf("railhead-%s.agent", l.id), hosts, max(m.gpus, 1))
	o, err := l.through(ctx)
	late := time.AfterFunc(daemonTime, stop)
	_ = g.Wait() // what went wrong is the first's
	late.Stop()
	failed := why(o)
	if failed == "" {
		failed = first
	}
	return allReduceSaid{relay.text.String(), failed, seen}, err
}

// daemonTime is how long Open MPI's daemons have to end when mpirun has.
const daemonTime = 10 * time.Second
