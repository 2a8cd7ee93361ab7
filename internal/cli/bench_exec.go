package cli

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
)

// bencher runs measurements in pods.
type bencher struct {
	pods    pods
	targets []target
	id      string
	fleet   bench.Fleet
	leaves  leaves
	batches atomic.Int64  // begun so far: each has a mark of its own
	grace   time.Duration // that one end may take longer than the other

	keep func(bench.Result) // what is known so far, for who follows a bench; nil: nobody does
}

func newBencher(p pods, targets []target) *bencher {
	const spare = 15 * time.Second
	return &bencher{pods: p, targets: targets, id: newID(), grace: 3 * time.Second, fleet: bench.Fleet{Spare: spare}}
}

// pairsAtOnce bounds how many pairs of pods are measured at the same time: each is two streams through the API server.
const pairsAtOnce = 128

// benchPorts are where servers listen, below those that the kernel gives to clients (ip_local_port_range begins at 32768).
// Every stage takes others than the one before, so that none meets a socket that is still closing; and where a bench begins
// depends on its id, so that two on one host network hardly meet.
const (
	firstPort    = 20000
	lastPort     = 32000
	portsOfStage = 64
)

func (b *bencher) port(stage int64) int {
	var start int64
	_, _ = fmt.Sscanf(b.id, "%x", &start) // it is hexadecimal
	const slots = (lastPort - firstPort) / portsOfStage
	return firstPort + int((start+stage)%slots)*portsOfStage
}

// run makes the tests of a stage at the same time and returns what each says.
func (b *bencher) run(ctx context.Context, s bench.Stage) ([]bench.Reading, error) {
	tests, err := b.fleet.Tests(s, b.port(b.batches.Add(1)))
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
			b.meet(ctx, p, tests, of[p], readings)
			return nil
		})
	}
	_ = g.Wait() // what went wrong is in the readings
	return readings, ctx.Err()
}

// meet measures one pair, and again where a stream broke before anything was said: it goes through the API server and a kubelet,
// and either may be busy or restart.
func (b *bencher) meet(ctx context.Context, p bench.Pair, tests []bench.Test, which []int, readings []bench.Reading) {
	const tries = 2
	for try := 1; ; try++ {
		server, client := b.attempt(ctx, p, tests, which)
		if (server.silent() || client.silent()) && try < tries && ctx.Err() == nil {
			continue
		}
		for k, i := range which {
			readings[i] = tests[i].Read(server.said[k], client.said[k])
		}
		return
	}
}

// attempt runs the servers and the clients of one pair. When one end has ended, the other has nothing to wait for.
func (b *bencher) attempt(ctx context.Context, p bench.Pair, tests []bench.Test, which []int) (server, client *side) {
	var servers, clients []bench.Process
	limit := time.Duration(0)
	for _, i := range which {
		servers, clients = append(servers, tests[i].Server), append(clients, tests[i].Client)
		limit = max(limit, tests[i].Limit)
	}
	const connecting = clientTries * 350 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, 2*limit+connecting)
	defer cancel()
	mark := fmt.Sprintf("%s.%d.", b.id, b.batches.Add(1))
	server = &side{pod: p.To, mark: mark + "s.", limit: limit + connecting, processes: servers, ended: make(chan struct{})}
	client = &side{pod: p.From, mark: mark + "c.", limit: limit, processes: clients, ended: make(chan struct{})}
	var g errgroup.Group
	for _, s := range []*side{server, client} {
		g.Go(func() error {
			defer close(s.ended)
			s.said = b.batch(ctx, s)
			return nil
		})
	}
	g.Go(func() error {
		b.leave(ctx, server, client)
		return nil
	})
	_ = g.Wait() // what went wrong they have said
	server.end()
	client.end()
	return server, client
}

// side is the processes of one end of a pair.
type side struct {
	pod       int
	mark      string
	limit     time.Duration
	processes []bench.Process
	ended     chan struct{}
	said      []bench.Said
	stopped   bool // because the other side had ended
}

// end notes that what the side did not say is what it was kept from saying.
func (s *side) end() {
	const killed = 128 + 9
	for i := range s.said {
		if s.stopped && s.said[i].Lost != "" {
			s.said[i].Lost, s.said[i].Code = "", killed
		}
	}
}

// silent reports whether nothing was heard of the side, for a reason of its own.
func (s *side) silent() bool {
	return !slices.ContainsFunc(s.said, func(said bench.Said) bool { return said.Lost == "" || said.Text != "" })
}

// leave ends the side that is left when the other has ended.
func (b *bencher) leave(ctx context.Context, server, client *side) {
	left := client
	select {
	case <-server.ended:
	case <-client.ended:
		left = server
	}
	select {
	case <-left.ended:
	case <-time.After(b.grace):
		left.stopped = true
		b.kill(ctx, left.pod, left.mark)
	}
}

// batch runs processes in one pod, at the same time.
func (b *bencher) batch(ctx context.Context, s *side) []bench.Said {
	text, err := b.shell(ctx, s.pod, "export "+launchMark+`="$1"; exec sh -c "$2"`, s.mark, batchScript(s.limit, s.processes))
	lost := ""
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		lost = "no answer in time"
	case err != nil:
		lost = err.Error()
	}
	return readBatch(text, len(s.processes), lost)
}

// mostOutput bounds what is kept of a batch: that of eight iperf3 has less than 1 MiB.
const mostOutput = 8 << 20

// shell runs a script in a pod and returns what it wrote to stdout, also where it was lost.
func (b *bencher) shell(ctx context.Context, pod int, script string, args ...string) (string, error) {
	t := b.targets[pod]
	out, errs := &bounded{limit: mostOutput}, &bounded{limit: 4 << 10}
	code, err := b.pods.Exec(ctx, t.ref(), kube.ExecOptions{
		Container: t.container, Command: append([]string{"sh", "-c", script, "railhead"}, args...), Stdout: out, Stderr: errs,
	})
	switch text := strings.TrimSpace(errs.String()); {
	case err != nil:
		return out.String(), bare(err)
	case code != 0 && text != "":
		return out.String(), errors.New(text)
	case code != 0:
		return out.String(), fmt.Errorf("exit code %d, and no word why", code)
	}
	return out.String(), nil
}

// kill ends the processes of a mark in a pod.
func (b *bencher) kill(ctx context.Context, pod int, mark string) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	_, _ = b.shell(ctx, pod, strings.TrimSpace(killScript), mark) // timeout(1) ends them where this does not
}

// clear ends whatever the bench has left in any pod, also after Ctrl-C.
func (b *bencher) clear(ctx context.Context) {
	b.each(func(i int) { b.kill(ctx, i, b.id+".") })
}

// each does something for every pod.
func (b *bencher) each(do func(i int)) {
	var g errgroup.Group
	g.SetLimit(podsAtOnce)
	for i := range b.targets {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait() // they return nil
}
