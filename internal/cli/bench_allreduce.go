package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// allReduceWay is a mode, with the algorithm that NCCL is told; "" is its own choice.
type allReduceWay struct{ mode, algorithm string }

// allReduceTime bounds one run: CUDA and NCCL take a minute to start on large jobs, and TCP is slow.
const allReduceTime = 10 * time.Minute

// allReduces runs NCCL over all pods of the job.
func (m *measuring) allReduces(ctx context.Context, ways ...allReduceWay) error {
	why := m.noAllReduce()
	m.total += len(ways) * m.flags.runs
	for _, way := range ways {
		run := bench.AllReduceRun{Mode: way.mode, Algorithm: way.algorithm, Tool: m.allReduceTool(), Ranks: len(m.targets) * max(m.gpus, 1), Nodes: len(m.targets), PortBytes: -1, Skipped: why}
		if why != "" {
			m.done += m.flags.runs
			m.result.AllReduces = append(m.result.AllReduces, run)
			continue
		}
		m.ringCeiling(&run)
		var best bench.AllReduceRun
		for range m.flags.runs {
			once, err := m.allReduce(ctx, run)
			if err != nil {
				return err
			}
			m.result.Series = bench.Merge(m.result.Series, once.Series())
			if best.Mode == "" || once.Failed != "" || best.Failed == "" && peak(once) > peak(best) {
				best = once
			}
		}
		m.result.AllReduces = append(m.result.AllReduces, best)
		m.soFar()
	}
	return nil
}

func peak(r bench.AllReduceRun) bench.GBps {
	best, _ := r.Best()
	return best.Busbw
}

// noAllReduce is why NCCL cannot be run; "" when it can.
func (m *measuring) noAllReduce() string {
	if len(m.targets) < 2 {
		return "the job has one pod: there is no network between its ranks"
	}
	if m.gpus == 0 {
		return "the pods have no GPU, which NCCL needs"
	}
	if m.allReduceTool() == "" {
		return "neither nccl-tests with MPI and mpirun nor torchrun (PyTorch) is in the image of every pod"
	}
	return ""
}

// allReduceTool is what the image of every pod has: nccl-tests, or else PyTorch; "" where it has neither.
func (m *measuring) allReduceTool() string {
	every := func(tool bench.Tool) bool {
		return !slices.ContainsFunc(m.fleet.Pods, func(p bench.Pod) bool { return !p.Tools.Has(tool) })
	}
	switch {
	case every(bench.AllReducePerf) && every(bench.Mpirun):
		return string(bench.AllReducePerf)
	case every(bench.Torchrun):
		return "torch"
	}
	return ""
}

// ringCeiling is what the rails allow a ring that uses RDMA.
func (m *measuring) ringCeiling(run *bench.AllReduceRun) {
	nodes := make([][]bench.Ceiling, len(m.fleet.Pods))
	for i, p := range m.fleet.Pods {
		for _, r := range p.Rails {
			nodes[i] = append(nodes[i], r.Ceiling)
		}
	}
	if ceiling, err := bench.RingCeiling(nodes); err == nil && run.Mode == "rdma" {
		run.Ceiling = ceiling
	}
}

// allReduce is one run: as launch does it, with its output taken in. What carried it is proven by NCCL's log and the ports.
func (m *measuring) allReduce(ctx context.Context, run bench.AllReduceRun) (bench.AllReduceRun, error) {
	m.done++
	name := fmt.Sprintf("NCCL all-reduce, %s %s", run.Mode, run.Algorithm)
	m.live.Show(report.Frame{Text: strings.TrimSpace(name), Bars: []report.Bar{{Name: "measured", Count: m.done - 1, Total: max(m.total, m.done)}}})
	before := m.portBytes(ctx)
	said, err := m.runAllReduce(ctx, run)
	if ctx.Err() != nil {
		return run, ctx.Err()
	}
	run.Take(said.text)
	if run.Failed = said.failed; err != nil {
		run.Failed = err.Error()
	}
	if after := m.portBytes(ctx); before != nil && after != nil {
		run.PortBytes = leastMoved(before, after)
	}
	if said.seen == nil {
		return run, ctx.Err()
	}
	run.Proof = said.seen.proof
	return rules.Transport(run, said.seen.log().Verdict()), ctx.Err()
}

// allReduceSaid is what an all-reduce wrote, and what NCCL's log of it shows.
type allReduceSaid struct {
	text, failed string
	seen         *evidence
}

// runAllReduce runs one with the tool of the run.
func (m *measuring) runAllReduce(ctx context.Context, run bench.AllReduceRun) (allReduceSaid, error) {
	port := m.port(m.batches.Add(1))
	env := []string{
		"RAILHEAD_MODE=" + run.Mode, "RAILHEAD_QUIET=true", fmt.Sprintf("MASTER_PORT=%d", port), fmt.Sprintf("PET_MASTER_PORT=%d", port), insistMark + "=1",
	}
	if run.Algorithm != "" {
		env = append(env, "NCCL_ALGO="+run.Algorithm)
	}
	if run.Tool == string(bench.AllReducePerf) {
		return m.runMPI(ctx, env)
	}
	var out bytes.Buffer
	l := m.newRun(m.targets, bench.TorchAllReduce(), env, Streams{Out: &out, Err: io.Discard})
	o, err := l.through(ctx)
	return allReduceSaid{out.String(), why(o), l.seen}, err
}

// newRun is a launch whose output is taken in.
func (m *measuring) newRun(targets []target, argv, env []string, streams Streams) *launch {
	l := newLaunch(m.pods, streams, targets, argv)
	l.env, l.limit, l.patience, l.force = env, allReduceTime, newPatience(10*time.Second), m.flags.force
	return l
}

// through prepares, runs and finishes; the error says why it was not started.
func (l *launch) through(ctx context.Context) (outcome, error) {
	if err := l.prepare(ctx); err != nil {
		l.clear(ctx)
		return outcome{}, err
	}
	o := l.run(ctx)
	l.finish(ctx, o)
	return o, nil
}

// why is why a run failed, in the words of the rank that was the first; "" when none did.
func why(o outcome) string {
	switch {
	case errors.Is(o.why, errTimeout):
		return fmt.Sprintf("it hangs: it did not end within %v", o.limit)
	case o.first == nil:
		return ""
	}
	text := o.first.rank.String() + " " + o.first.words()
	const most = 3
	if last := o.first.rank.errors.last(); len(last) > 0 {
		text += ": " + strings.Join(last[max(0, len(last)-most):], "; ")
	}
	return text
}

// portBytes are the bytes that each pod's rails have sent so far; nil where the counters are not to be seen.
func (m *measuring) portBytes(ctx context.Context) []int64 {
	sent := make([]int64, len(m.targets))
	m.each(func(i int) {
		s, err := m.snapshot(ctx, i)
		if sent[i] = -1; err == nil {
			sent[i] = bench.SentBytes(m.fleet.Pods[i], s)
		}
	})
	for _, n := range sent {
		if n < 0 {
			return nil
		}
	}
	return sent
}

// leastMoved is what the pod that sent least has sent.
func leastMoved(before, after []int64) int64 {
	least := int64(-1)
	for i := range before {
		if n := after[i] - before[i]; least < 0 || n < least {
			least = max(n, 0)
		}
	}
	return least
}
