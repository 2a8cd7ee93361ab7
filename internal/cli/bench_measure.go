package cli

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
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// measuring is a bench on its way to a result.
type measuring struct {
	*bencher
	flags  benchFlags
	gate   bench.Gate
	begun  time.Time
	result bench.Result
	live   *report.Live
	done   int // stages
	total  int
	gpus   int // of the pod that has the fewest

	nextKept time.Time
}

// measure looks into the pods and measures what was asked for. Nothing is left behind.
func (b *bencher) measure(ctx context.Context, streams Streams, f benchFlags) (bench.Result, error) {
	defer b.clear(ctx)
	m := b.begin(streams, f, b.targets[0].pod.Namespace)
	m.live.Show(report.Frame{Text: fmt.Sprintf("Looking into %s", count(len(b.targets), "pod"))})
	machines, left, err := b.meetAll(ctx, f.force)
	if err != nil {
		return m.result, faultOrInterrupt(ctx, err)
	}
	m.see(machines, left)
	return m.end(ctx)
}

// begin is a bench that has measured nothing yet.
func (b *bencher) begin(streams Streams, f benchFlags, namespace string) *measuring {
	b.fleet.Duration, b.fleet.Size, b.fleet.QPs = f.duration, f.size, f.qps
	return &measuring{
		bencher: b, flags: f, gate: f.gate, begun: time.Now(), live: &report.Live{W: streams.Err, TTY: streams.TTY, Width: streams.Width},
		result: bench.Result{
			SchemaVersion: bench.ResultVersion, Begun: time.Now().UTC().Truncate(time.Second), Namespace: namespace,
			MinEfficiency: f.gate.Efficiency, MinGbps: f.gate.Gbps, Unfinished: true,
		},
	}
}

// end measures what was asked for, between the pods that are known by now.
func (m *measuring) end(ctx context.Context) (bench.Result, error) {
	if err := m.carry(ctx); err != nil {
		return m.result, faultOrInterrupt(ctx, err)
	}
	m.live.Leave()
	m.result.Unfinished = false
	m.result.Seconds = time.Since(m.begun).Round(100 * time.Millisecond).Seconds()
	return m.result, nil
}

func faultOrInterrupt(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault(err)
}

// mostMachines is how many snapshots are kept in a result: of more, the first.
const mostMachines = 64

// see takes what the pods are into the result.
func (m *measuring) see(machines []host.Snapshot, left []string) {
	m.result.Pods = m.fleet.Pods
	m.result.Machines = cleaned(machines[:min(len(machines), mostMachines)])
	m.gpus = -1
	for i, s := range machines {
		if n := gpusOf(m.targets[i].pod, s); m.gpus < 0 || n < m.gpus {
			m.gpus = n
		}
	}
	m.skip(left...)
	if m.fleet.Rails() == 0 {
		m.skip("RDMA: the pods have no rail in common; 'railhead doctor' says why")
	}
}

// gpusOf is how many GPUs a pod has: as it sees them, or as it asked for them where the driver's files are hidden from it.
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

// cleaned are snapshots without what may be secret, as an archive of doctor has them: results are sent on, too.
func cleaned(machines []host.Snapshot) []host.Snapshot {
	var b bundle.Bundle
	for _, s := range machines {
		b.Machines = append(b.Machines, rules.Machine{Snapshot: s})
	}
	return snapshotsOf(bundle.Clean(b).Machines)
}

// skip notes what is not tried, each once.
func (m *measuring) skip(why ...string) {
	for _, w := range why {
		if !slices.Contains(m.result.Skipped, w) {
			m.result.Skipped = append(m.result.Skipped, w)
		}
	}
}

// carry measures what the flags ask for.
func (m *measuring) carry(ctx context.Context) error {
	m.soFar() // the pods and their rails
	switch {
	case m.flags.matrix && m.flags.quick:
		return m.search(ctx)
	case m.flags.matrix:
		return m.survey(ctx)
	case m.flags.allReduce:
		return m.allReduces(ctx, allReduceWay{"rdma", "Ring"}, allReduceWay{"rdma", ""})
	case m.flags.compare != nil:
		if err := m.climb(ctx, bench.WriteHost, bench.AllRails, bench.TCPPod, bench.TCPRail); err != nil {
			return err
		}
		return m.allReduces(ctx, allReduceWay{"tcp", ""}, allReduceWay{"rdma", ""})
	}
	if err := m.climb(ctx); err != nil {
		return err
	}
	err := m.allReduces(ctx, allReduceWay{"rdma", "Ring"}, allReduceWay{"rdma", ""})
	m.joinLadder()
	return err
}

// climb measures the ladder of the pair that was asked for; without steps, all of it.
func (m *measuring) climb(ctx context.Context, only ...bench.StepName) error {
	from, to := m.flags.pair[0], m.flags.pair[1]
	if n := len(m.fleet.Pods); from >= n || to >= n {
		if n == 1 {
			m.skip("the ladder: the job has one pod, and a ladder takes two")
			return nil
		}
		return fmt.Errorf("--pair %d,%d: the job has the ranks 0 to %d", from, to, n-1)
	}
	c := m.fleet.Ladder(from, to)
	if len(only) > 0 {
		c = c.Only(only...)
	}
	stages := c.Stages()
	m.total += len(stages) * m.flags.runs
	var readings [][][]bench.Reading
	judge := func() { m.result.Ladders = bench.Judged(c.Ladders(readings), m.gate) }
	for run := range m.flags.runs {
		readings = append(readings, nil)
		for _, s := range stages {
			r, err := m.stage(ctx, s)
			if err != nil {
				return err
			}
			readings[run] = append(readings[run], r)
			m.soFar(judge)
		}
	}
	judge()
	m.result.Series = bench.Merge(m.result.Series, c.Series(readings))
	return nil
}

// soFar lets a bench be followed while it runs, at a twentieth of its time or less; judges bring its result up to date before.
func (m *measuring) soFar(judges ...func()) {
	const part, least = 20, time.Second
	if m.keep == nil || time.Now().Before(m.nextKept) {
		return
	}
	begun := time.Now()
	for _, judge := range judges {
		judge()
	}
	m.keep(m.result)
	m.nextKept = time.Now().Add(max(least, part*time.Since(begun)))
}

// joinLadder puts NCCL's steps on the ladder's top: its first rail has what all rails share.
func (m *measuring) joinLadder() {
	if len(m.result.Ladders) == 0 {
		return
	}
	for _, run := range m.result.AllReduces {
		m.result.Ladders[0].Steps = append(m.result.Ladders[0].Steps, run.Step(m.fleet.Rails()))
	}
	m.result.Ladders = bench.Judged(m.result.Ladders, m.gate)
}

// stage runs one stage, and shows how far it is.
func (m *measuring) stage(ctx context.Context, s bench.Stage) ([]bench.Reading, error) {
	m.done++
	if s.Skipped != "" {
		return nil, nil
	}
	m.live.Show(report.Frame{Text: s.Name, Bars: []report.Bar{{Name: "measured", Count: m.done - 1, Total: max(m.total, m.done)}}})
	return m.run(ctx, s)
}
