// Package benchrun runs benchmark tools between the pods of a job and gathers a bench.Result.
package benchrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
)

// Plan is a set of measurements.
type Plan int

// The plans.
const (
	Ladder    Plan = iota // between two pods, from the wire to NCCL
	Matrix                // all pairs of pods on all rails, rails across, and loopbacks
	Quick                 // a few rounds of the matrix, to find bad pods
	AllReduce             // NCCL over all pods
	Compare               // TCP and RDMA
)

// Options are the measurements to take.
type Options struct {
	Plan     Plan
	Pair     [2]int        // ranks of the two pods of a ladder
	Duration time.Duration // of each measurement, in whole seconds; 0: 2 s for a round of a matrix, else 5 s
	Size     int           // bytes of a message
	QPs      int           // queue pairs of each link
	Runs     int           // of every measurement
	Gate     bench.Gate
	Force    bool // measure although a launch runs in the pods
}

// Defaults returns the options of a ladder.
func Defaults() Options {
	return Options{Gate: bench.Gate{Efficiency: 0.9}, Pair: [2]int{0, 1}, Size: 64 << 10, QPs: 4, Runs: 1}
}

func (o Options) duration() time.Duration {
	const ofLadder, ofRound = 5 * time.Second, 2 * time.Second
	switch {
	case o.Duration > 0:
		return o.Duration
	case o.Plan == Matrix || o.Plan == Quick:
		return ofRound
	}
	return ofLadder
}

// Bench measures between pods. It leaves nothing in them.
type Bench struct {
	// Leaves are the leaf switches of the nodes.
	Leaves Leaves
	// Keep is called with the result so far, at most once a second; nil: it is not.
	Keep func(bench.Result)

	*session
	options  Options
	begun    time.Time
	result   bench.Result
	live     *report.Live
	done     int // stages
	total    int
	gpus     int // of the pod with the fewest
	nextKept time.Time

	firstReading time.Duration                          // of the queue pairs during an all-reduce
	daemonTime   time.Duration                          // that the daemons of Open MPI may run after mpirun
	keepPause    func(took time.Duration) time.Duration // from one call of Keep, which took that long, to the next
}

// New returns a bench between pods.
func New(p launch.Pods, targets []launch.Target, o Options, live *report.Live) *Bench {
	s := newSession(p, targets)
	s.fleet.Duration, s.fleet.Size, s.fleet.QPs = o.duration(), o.Size, o.QPs
	b := &Bench{
		session: s, options: o, begun: time.Now(), live: live,
		firstReading: 5 * time.Second, daemonTime: 10 * time.Second, keepPause: keepPause,
	}
	b.result = bench.Result{
		SchemaVersion: bench.ResultVersion,
		Begun:         b.begun.UTC().Truncate(time.Second),
		Unfinished:    true,
	}
	if len(targets) > 0 {
		b.result.Namespace = targets[0].Pod.Namespace
	}
	return b
}

// Run visits the pods and measures. It fails if one of them cannot be visited, or is in use.
func (b *Bench) Run(ctx context.Context) (bench.Result, error) {
	defer b.clear(ctx)
	b.live.Show(report.Frame{Text: fmt.Sprintf("Looking into %s", words.Count(len(b.targets), "pod"))})
	machines, left, err := b.meetAll(ctx, b.options.Force)
	if err != nil {
		return b.result, err
	}
	b.see(machines, left)
	return b.finish(ctx)
}

// finish measures between the pods of the fleet.
func (b *Bench) finish(ctx context.Context) (bench.Result, error) {
	if err := b.measure(ctx); err != nil {
		return b.result, err
	}
	b.live.Leave()
	b.result.Unfinished = false
	b.result.Seconds = time.Since(b.begun).Round(100 * time.Millisecond).Seconds()
	return b.result, nil
}

// mostMachines bounds the snapshots in a result.
const mostMachines = 64

// see adds the pods to the result.
func (b *Bench) see(machines []host.Snapshot, left []string) {
	b.result.Pods = b.fleet.Pods
	b.result.Machines = cleaned(machines[:min(len(machines), mostMachines)])
	b.gpus = -1
	for i, s := range machines {
		if n := gpusOf(b.targets[i].Pod, s); b.gpus < 0 || n < b.gpus {
			b.gpus = n
		}
	}
	b.skip(left...)
	if b.fleet.Rails() == 0 {
		b.skip("RDMA: the pods have no rail in common; 'railhead doctor' says why")
	}
}

// gpusOf returns the number of GPUs of a pod: those that it sees, or those that it requested if the driver's files
// are hidden.
func gpusOf(p cluster.Pod, s host.Snapshot) int {
	given := 0
	for _, g := range s.GPUs {
		if g.Given.Or(false) {
			given++
		}
	}
	for resource, n := range p.Requests {
		if strings.HasSuffix(resource, "/gpu") {
			given = max(given, int(n))
		}
	}
	return given
}

// cleaned removes secrets from snapshots, as the archive of doctor does: results are passed on too.
func cleaned(machines []host.Snapshot) []host.Snapshot {
	var b bundle.Bundle
	for _, s := range machines {
		b.Machines = append(b.Machines, rules.Machine{Snapshot: s})
	}
	var clean []host.Snapshot
	for _, m := range bundle.Clean(b).Machines {
		clean = append(clean, m.Snapshot)
	}
	return clean
}

// skip records measurements that are not taken, each once.
func (b *Bench) skip(reasons ...string) {
	for _, why := range reasons {
		if !slices.Contains(b.result.Skipped, why) {
			b.result.Skipped = append(b.result.Skipped, why)
		}
	}
}

// Modes of an all-reduce, with its algorithm; "" leaves the choice to NCCL.
var (
	rdmaRing = way{"rdma", "Ring"}
	rdma     = way{"rdma", ""}
	tcp      = way{"tcp", ""}
)

// measure carries out the plan.
func (b *Bench) measure(ctx context.Context) error {
	b.result.MinEfficiency, b.result.MinGbps = b.options.Gate.Efficiency, b.options.Gate.Gbps
	b.soFar() // the pods and their rails
	switch b.options.Plan {
	case Quick:
		return b.search(ctx)
	case Matrix:
		return b.survey(ctx)
	case AllReduce:
		return b.allReduces(ctx, rdmaRing, rdma)
	case Compare:
		if err := b.climb(ctx, bench.WriteHost, bench.AllRails, bench.TCPPod, bench.TCPRail); err != nil {
			return err
		}
		return b.allReduces(ctx, tcp, rdma)
	case Ladder:
	}
	if err := b.climb(ctx); err != nil {
		return err
	}
	err := b.allReduces(ctx, rdmaRing, rdma)
	b.joinLadder()
	return err
}

// climb measures the ladder of a pair: the given steps, or all of them.
func (b *Bench) climb(ctx context.Context, only ...bench.StepName) error {
	from, to := b.options.Pair[0], b.options.Pair[1]
	if n := len(b.fleet.Pods); from >= n || to >= n {
		if n == 1 {
			b.skip("the ladder: the job has one pod, and a ladder needs two")
			return nil
		}
		return fmt.Errorf("--pair %d,%d: the job has the ranks 0 to %d", from, to, n-1)
	}
	c := b.fleet.Ladder(from, to)
	if len(only) > 0 {
		c = c.Only(only...)
	}
	stages := c.Stages()
	b.total += len(stages) * b.options.Runs
	var readings [][][]bench.Reading
	judge := func() { b.result.Ladders = bench.Judged(c.Ladders(readings), b.options.Gate) }
	for run := range b.options.Runs {
		readings = append(readings, nil)
		for _, s := range stages {
			r, err := b.stage(ctx, s)
			if err != nil {
				return err
			}
			readings[run] = append(readings[run], r)
			b.soFar(judge)
		}
	}
	judge()
	b.result.Series = bench.Merge(b.result.Series, c.Series(readings))
	return nil
}

// keepPause bounds what keeping results costs to a twentieth of the time.
func keepPause(took time.Duration) time.Duration {
	const part, least = 20, time.Second
	return max(least, part*took)
}

// soFar keeps the result so far. The updates bring it up to date.
func (b *Bench) soFar(updates ...func()) {
	if b.Keep == nil || time.Now().Before(b.nextKept) {
		return
	}
	begun := time.Now()
	for _, update := range updates {
		update()
	}
	b.Keep(b.result)
	b.nextKept = time.Now().Add(b.keepPause(time.Since(begun)))
}

// joinLadder adds the steps of NCCL to the first ladder, which has the steps that all rails share.
func (b *Bench) joinLadder() {
	if len(b.result.Ladders) == 0 {
		return
	}
	for _, run := range b.result.AllReduces {
		b.result.Ladders[0].Steps = append(b.result.Ladders[0].Steps, run.Step(b.fleet.Rails()))
	}
	b.result.Ladders = bench.Judged(b.result.Ladders, b.options.Gate)
}

// stage runs a stage, unless it is to be skipped.
func (b *Bench) stage(ctx context.Context, s bench.Stage) ([]bench.Reading, error) {
	if s.Skipped != "" {
		b.done++
		return nil, nil
	}
	b.progress(s.Name)
	return b.run(ctx, s)
}

// progress shows the measurement that starts.
func (b *Bench) progress(name string) {
	b.done++
	b.live.Show(report.Frame{
		Text: name,
		Bars: []report.Bar{{Name: "measured", Count: b.done - 1, Total: max(b.total, b.done)}},
	})
}
