package benchrun

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/launch"
)

// mpiRelay receives the output of mpirun, and passes on the commands that it requests in other pods.
type mpiRelay struct {
	mu     sync.Mutex
	text   bytes.Buffer
	remote func(host, command string)
}

// Write takes whole lines.
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

// runMPI runs nccl-tests with the Open MPI of the job. Pods have no ssh: a command that mpirun requests in another
// pod is started there by a launch of its own, with the environment that railhead-pod computes for that pod.
func (b *Bench) runMPI(ctx context.Context, env []string) (allReduceOutput, error) {
	ctx, stop := context.WithTimeout(ctx, allReduceTime)
	defer stop()
	hosts := make([]string, len(b.fleet.Pods))
	for i, p := range b.fleet.Pods {
		hosts[i] = p.IP
	}
	var g errgroup.Group
	relay, evidence := &mpiRelay{}, &launch.Evidence{}
	var once sync.Once // mpirun would wait for ever for a daemon that does not start
	first := ""
	relay.remote = func(host, command string) {
		i := slices.Index(hosts, host)
		if i <= 0 { // mpirun starts its own
			return
		}
		g.Go(func() error {
			l := b.launch(b.targets[i:i+1], []string{"sh", "-c", command}, env, launch.Streams{Out: relay, Err: relay})
			l.Evidence = evidence
			if failed := failureOf(l.Run(ctx)); failed != "" {
				once.Do(func() { first = failed })
				stop()
			}
			return nil
		})
	}
	l := b.launch(b.targets[:1], nil, env, launch.Streams{Out: relay, Err: relay})
	agent := fmt.Sprintf("railhead-%s.agent", l.ID)
	l.Evidence, l.Command = evidence, bench.NCCLTestsAllReduce(launch.SharedDir, agent, hosts, max(b.gpus, 1))
	o, err := l.Run(ctx)
	late := time.AfterFunc(b.daemonTime, stop)
	_ = g.Wait() // the error is in first
	late.Stop()
	return allReduceOutput{relay.text.String(), cmp.Or(o.Cause(), first), evidence}, err
}

func failureOf(o launch.Outcome, err error) string {
	if err != nil {
		return err.Error()
	}
	return o.Cause()
}
