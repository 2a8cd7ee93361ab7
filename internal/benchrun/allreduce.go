package benchrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/rules/benchrules"
)

// way is a mode of railhead-pod, and the algorithm of NCCL; "" leaves it to NCCL.
type way struct{ mode, algorithm string }

// allReduceTime bounds one run: CUDA and NCCL take a minute to start in large jobs, and TCP is slow.
const allReduceTime = 10 * time.Minute

// allReduces runs NCCL over all pods of the job.
func (b *Bench) allReduces(ctx context.Context, ways ...way) error {
	skipped := b.noAllReduce()
	b.total += len(ways) * b.options.Runs
	for _, w := range ways {
		run := bench.AllReduceRun{
			Mode:      w.mode,
			Algorithm: w.algorithm,
			Tool:      b.allReduceTool(),
			Ranks:     len(b.targets) * max(b.gpus, 1),
			Nodes:     len(b.targets),
			PortBytes: -1,
			Skipped:   skipped,
		}
		if skipped != "" {
			b.done += b.options.Runs
			b.result.AllReduces = append(b.result.AllReduces, run)
			continue
		}
		b.ringCeiling(&run)
		var best bench.AllReduceRun
		for range b.options.Runs {
			once, err := b.allReduce(ctx, run)
			if err != nil {
				return err
			}
			b.result.Series = bench.Merge(b.result.Series, once.Series())
			if best.Mode == "" || once.Failed != "" || best.Failed == "" && peak(once) > peak(best) {
				best = once
			}
		}
		b.result.AllReduces = append(b.result.AllReduces, best)
		b.soFar()
	}
	return nil
}

func peak(r bench.AllReduceRun) bench.GBps {
	best, _ := r.Best()
	return best.Busbw
}

// noAllReduce returns why NCCL cannot run, "" if it can.
func (b *Bench) noAllReduce() string {
	switch {
	case len(b.targets) < 2:
		return "the job has one pod: there is no network between its ranks"
	case b.gpus == 0:
		return "the pods have no GPU, which NCCL needs"
	case b.allReduceTool() == "":
		return "not every image has nccl-tests with MPI and mpirun, or torchrun (PyTorch)"
	}
	return ""
}

// allReduceTool returns a tool in the image of every pod: nccl-tests, or else PyTorch; "" if there is none.
func (b *Bench) allReduceTool() string {
	every := func(tool bench.Tool) bool {
		return !slices.ContainsFunc(b.fleet.Pods, func(p bench.Pod) bool { return !p.Tools.Has(tool) })
	}
	switch {
	case every(bench.AllReducePerf) && every(bench.Mpirun):
		return string(bench.AllReducePerf)
	case every(bench.Torchrun):
		return "torch"
	}
	return ""
}

// ringCeiling sets the ceiling of a ring over RDMA.
func (b *Bench) ringCeiling(run *bench.AllReduceRun) {
	nodes := make([][]bench.Ceiling, len(b.fleet.Pods))
	for i, p := range b.fleet.Pods {
		for _, r := range p.Rails {
			nodes[i] = append(nodes[i], r.CeilingOfAll())
		}
	}
	if ceiling, err := bench.RingCeiling(nodes); err == nil && run.Mode == "rdma" {
		run.Ceiling = ceiling
	}
}

// allReduce runs NCCL once. NCCL's log, the counters of the ports or the queue pairs prove which network it used.
func (b *Bench) allReduce(ctx context.Context, run bench.AllReduceRun) (bench.AllReduceRun, error) {
	b.progress(strings.TrimSpace(fmt.Sprintf("NCCL all-reduce, %s %s", run.Mode, run.Algorithm)))
	before := b.portBytes(ctx)
	var output allReduceOutput
	var err error
	readings := b.reading(ctx, func() { output, err = b.runAllReduce(ctx, run) })
	if ctx.Err() != nil {
		return run, ctx.Err()
	}
	run.Take(output.text)
	if run.Failed = output.failed; err != nil {
		run.Failed = err.Error()
	}
	if after := b.portBytes(ctx); before != nil && after != nil {
		run.PortBytes = leastMoved(before, after)
	}
	if output.evidence == nil {
		return run, ctx.Err()
	}
	run.Proof = output.evidence.Proof
	log := explain.Log(output.evidence.Log()).Last()
	return benchrules.JudgeTransport(run, log, kernelProof(run, readings)), ctx.Err()
}

// kernelProof returns what proves RDMA on all pods, from queue pairs that sent at least half of what the rate of the
// run needs; "" if nothing does.
func kernelProof(run bench.AllReduceRun, r launch.Readings) string {
	need := float64(peak(run)) * 1e9 * float64(run.Nodes) / 2
	if need == 0 || !r.Proves() || r.Best.Sent.Rate < need {
		return ""
	}
	return r.String()
}

// reading reads the queue pairs of the pods while do runs. Those of another launch would be no proof.
func (b *Bench) reading(ctx context.Context, do func()) (r launch.Readings) {
	ctx, stop := context.WithCancel(ctx)
	var g errgroup.Group
	if !b.options.Force {
		g.Go(func() error {
			r = launch.ReadWire(ctx, b.pods, b.targets, b.firstReading)
			return nil
		})
	}
	do()
	stop()
	_ = g.Wait() // what failed is in the readings
	return r
}

// allReduceOutput is the output of an all-reduce, with NCCL's log.
type allReduceOutput struct {
	text, failed string
	evidence     *launch.Evidence
}

// runAllReduce runs the tool of a run.
func (b *Bench) runAllReduce(ctx context.Context, run bench.AllReduceRun) (allReduceOutput, error) {
	port := b.port(b.batches.Add(1))
	env := []string{
		"RAILHEAD_MODE=" + run.Mode,
		"RAILHEAD_QUIET=true",
		fmt.Sprintf("MASTER_PORT=%d", port),
		fmt.Sprintf("PET_MASTER_PORT=%d", port),
		launch.InsistVariable + "=1",
	}
	if run.Algorithm != "" {
		env = append(env, "NCCL_ALGO="+run.Algorithm)
	}
	if run.Tool == string(bench.AllReducePerf) {
		return b.runMPI(ctx, env)
	}
	var out bytes.Buffer
	l := b.launch(b.targets, bench.TorchAllReduce(), env, launch.Streams{Out: &out, Err: io.Discard})
	o, err := l.Run(ctx)
	return allReduceOutput{out.String(), o.Cause(), l.Evidence}, err
}

func (b *Bench) launch(targets []launch.Target, argv, env []string, streams launch.Streams) *launch.Session {
	const grace = 10 * time.Second
	l := launch.New(b.pods, streams, targets, argv)
	l.Env, l.Limit, l.Patience, l.Force = env, allReduceTime, launch.NewPatience(grace), b.options.Force
	l.FirstReading = 0 // reading does it for all pods
	return l
}

// portBytes returns the bytes that the rails of each pod have sent so far, nil if a counter is not visible.
func (b *Bench) portBytes(ctx context.Context) []int64 {
	sent := make([]int64, len(b.targets))
	b.each(func(i int) {
		s, err := b.snapshot(ctx, i)
		if sent[i] = -1; err == nil {
			sent[i] = bench.SentBytes(b.fleet.Pods[i], s)
		}
	})
	for _, n := range sent {
		if n < 0 {
			return nil
		}
	}
	return sent
}

// leastMoved returns the bytes sent by the pod that sent the least.
func leastMoved(before, after []int64) int64 {
	least := int64(-1)
	for i := range before {
		if n := after[i] - before[i]; least < 0 || n < least {
			least = max(n, 0)
		}
	}
	return least
}
