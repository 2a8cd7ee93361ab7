package benchrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
)

// session runs processes in pods.
type session struct {
	pods    launch.Pods
	targets []launch.Target
	id      string
	fleet   bench.Fleet
	batches atomic.Int64  // started so far; each has its own mark
	grace   time.Duration // between the ends of the two sides of a test
}

func newSession(p launch.Pods, targets []launch.Target) *session {
	const spare, grace = 30 * time.Second, 3 * time.Second
	return &session{pods: p, targets: targets, id: launch.NewID(), grace: grace, fleet: bench.Fleet{Spare: spare}}
}

// pairsAtOnce bounds the pairs that are measured at the same time. Each needs two streams through the API server.
const pairsAtOnce = 128

// Ports of servers, below those that the kernel gives to clients (ip_local_port_range begins at 32768). Every stage
// has its own, so that none meets a socket that is still closing. The first ones depend on the session, so that two
// sessions on one host network rarely collide.
const (
	firstPort    = 20000
	lastPort     = 32000
	portsOfStage = 64
)

func (s *session) port(stage int64) int {
	var start int64
	_, _ = fmt.Sscanf(s.id, "%x", &start) // it is hexadecimal
	const slots = (lastPort - firstPort) / portsOfStage
	return firstPort + int((start+stage)%slots)*portsOfStage
}

// run runs the tests of a stage at the same time and returns their readings.
func (s *session) run(ctx context.Context, stage bench.Stage) ([]bench.Reading, error) {
	tests, err := s.fleet.Tests(stage, s.port(s.batches.Add(1)))
	if err != nil {
		return nil, err
	}
	var pairs []bench.Pair
	of := map[bench.Pair][]int{}
	for i, t := range tests {
		p := bench.Pair{From: t.Link.From.Pod, To: t.Link.To.Pod}
		if of[p] == nil {
			pairs = append(pairs, p)
		}
		of[p] = append(of[p], i)
	}
	readings := make([]bench.Reading, len(tests))
	var g errgroup.Group
	g.SetLimit(pairsAtOnce)
	for _, p := range pairs {
		g.Go(func() error {
			s.meet(ctx, p, tests, of[p], readings)
			return nil
		})
	}
	_ = g.Wait() // errors are in the readings
	return readings, ctx.Err()
}

// meet measures one pair. It tries again if a stream broke before any output arrived: streams pass the API server and a
// kubelet, and either may be busy or restart.
func (s *session) meet(ctx context.Context, p bench.Pair, tests []bench.Test, which []int, readings []bench.Reading) {
	const tries = 2
	for try := 1; ; try++ {
		server, client := s.attempt(ctx, p, tests, which)
		if (server.silent() || client.silent()) && try < tries && ctx.Err() == nil {
			continue
		}
		for k, i := range which {
			readings[i] = tests[i].Read(server.outputs[k], client.outputs[k])
		}
		return
	}
}

// attempt runs the servers and the clients of one pair.
func (s *session) attempt(ctx context.Context, p bench.Pair, tests []bench.Test, which []int) (server, client *side) {
	var servers, clients []bench.Process
	limit := time.Duration(0)
	for _, i := range which {
		servers, clients = append(servers, tests[i].Server), append(clients, tests[i].Client)
		limit = max(limit, tests[i].Limit)
	}
	const connecting = clientTries * 350 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, 2*limit+connecting)
	defer cancel()
	mark := fmt.Sprintf("%s.%d.", s.id, s.batches.Add(1))
	server = &side{
		pod:       p.To,
		mark:      mark + "s.",
		limit:     limit + connecting,
		processes: servers,
		ended:     make(chan struct{}),
	}
	client = &side{pod: p.From, mark: mark + "c.", limit: limit, processes: clients, ended: make(chan struct{})}
	var g errgroup.Group
	for _, one := range []*side{server, client} {
		g.Go(func() error {
			defer close(one.ended)
			one.outputs = s.batch(ctx, one)
			return nil
		})
	}
	g.Go(func() error {
		s.stopOther(ctx, server, client)
		return nil
	})
	_ = g.Wait() // errors are in the outputs
	server.settle()
	client.settle()
	return server, client
}

// side is the processes at one end of a pair.
type side struct {
	pod       int
	mark      string
	limit     time.Duration
	processes []bench.Process
	ended     chan struct{}
	outputs   []bench.Output
	stopped   bool // because the other side had ended
}

// settle marks outputs as killed if the side was stopped before they were complete.
func (s *side) settle() {
	const killed = 128 + 9
	for i := range s.outputs {
		if s.stopped && s.outputs[i].Lost != "" {
			s.outputs[i].Lost, s.outputs[i].Code = "", killed
		}
	}
}

// silent reports whether the side was lost without any output.
func (s *side) silent() bool {
	return !slices.ContainsFunc(s.outputs, func(o bench.Output) bool { return o.Lost == "" || o.Text != "" })
}

// stopOther stops the other side when one has ended: it has nothing to wait for.
func (s *session) stopOther(ctx context.Context, server, client *side) {
	left := client
	select {
	case <-server.ended:
	case <-client.ended:
		left = server
	}
	select {
	case <-left.ended:
	case <-time.After(s.grace):
		left.stopped = true
		s.kill(ctx, left.pod, left.mark)
	}
}

// batch runs processes in one pod, at the same time.
func (s *session) batch(ctx context.Context, one *side) []bench.Output {
	script := "export " + launch.MarkVariable + `="$1"; exec sh -c "$2"`
	text, err := s.shell(ctx, one.pod, script, one.mark, batchScript(one.limit, one.processes))
	lost := ""
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		lost = "no answer in time"
	case err != nil:
		lost = err.Error()
	}
	return readBatch(text, len(one.processes), lost)
}

// mostOutput bounds the output of a batch. Eight iperf3 print less than 1 MiB.
const mostOutput = 8 << 20

// shell runs a script in a pod and returns its stdout, also with an error.
func (s *session) shell(ctx context.Context, pod int, script string, args ...string) (string, error) {
	command := append([]string{"sh", "-c", script, "railhead"}, args...)
	return launch.Output(ctx, s.pods, s.targets[pod], kube.ExecOptions{Command: command}, mostOutput)
}

// read runs a script that changes nothing in a pod and returns its stdout.
func (s *session) read(ctx context.Context, pod int, script string, args ...string) (string, error) {
	return launch.Read(ctx, s.pods, s.targets[pod], mostOutput, script, args...)
}

// kill ends the processes of a mark in a pod. If it fails, timeout(1) ends them.
func (s *session) kill(ctx context.Context, pod int, mark string) {
	ctx, cancel := launch.Afterwards(ctx)
	defer cancel()
	_, _ = s.shell(ctx, pod, strings.TrimSpace(killScript), mark)
}

// clear ends all processes of the session, also after an interrupt.
func (s *session) clear(ctx context.Context) {
	s.each(func(i int) { s.kill(ctx, i, s.id+".") })
}

// each calls do for every pod, for several at a time.
func (s *session) each(do func(i int)) {
	var g errgroup.Group
	g.SetLimit(launch.PodsAtOnce)
	for i := range s.targets {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait() // they return nil
}
