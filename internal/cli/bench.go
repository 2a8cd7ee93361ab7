package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/rules"
)

// benchFlags are what is measured, how, and what becomes of it.
type benchFlags struct {
	ladder, matrix, allReduce, quick bool
	compare                          []string
	pair                             []int
	duration                         time.Duration
	size, qps, runs                  int
	gate                             bench.Gate
	minGbps                          float64
	leafLabel                        string
	force                            bool

	own ownPods

	format, save, html string
}

// benchDefaults are what is measured with where nothing is said.
func benchDefaults() benchFlags {
	return benchFlags{format: "text", gate: bench.Gate{Efficiency: 0.9}, pair: []int{0, 1}, size: 64 << 10, qps: 4, runs: 1}
}

// Durations of one measurement: of a ladder, and of a round of a matrix, which has many.
const (
	ladderTime = 5 * time.Second
	roundTime  = 2 * time.Second
)

func (a *app) newBench() *cobra.Command {
	f := benchDefaults()
	cmd := &cobra.Command{
		Use:   "bench [NAME | --nodes NODE,NODE --image IMAGE]",
		Short: "Measure the network of a job or of nodes against what physics allows, and name what is slow",
		Long: `bench measures between the pods of a job, or between pods of its own on nodes that are named, and sets every number beside its
ceiling: what the link carries as payload, or the PCIe slot, whichever is less.

--ladder, the default, climbs from the wire to the training job between two pods: RDMA with host memory, with GPU memory, all
rails at once, TCP, NCCL. The first step that falls short names the layer that is broken.
--matrix measures all pairs of pods on all rails, in the fewest rounds, whether rails reach each other, and every HCA against
itself; it names the NIC, node, pair, rail or leaf that is slow. Leaves are known by a label of the nodes. --quick finds bad
pods in a few rounds instead.
--allreduce runs NCCL over all pods of the job, in its own image; NCCL's log, and the ports' counters where they are to be
seen, prove which network it used.
--compare tcp,rdma does both ways, and says how many times faster RDMA is than which TCP.

The tools are those of the image: perftest; iperf3 or python3; nccl-tests with Open MPI, or torchrun. What is missing is
skipped, and said; build/bench has an image with those that need no GPU. It does not begin beside a 'railhead launch'.
Nothing is left in the pods, also after Ctrl-C; pods of its own are removed.

Exit status: 0 when all that was measured is above the gate; 1 when something is not, or failed; 3 when nothing could be
judged.`,
		Example: `  railhead bench h-kim -n train                               the ladder between rank 0 and rank 1
  railhead bench h-kim -n train --pair 0,7                    between these two
  railhead bench h-kim -n train --matrix --save monday.json
  railhead bench h-kim -n train --matrix --html fabric.html
  railhead bench h-kim -n train --matrix --quick              which pods are bad
  railhead bench h-kim -n train --compare tcp,rdma
  railhead bench -n train --nodes gpu-1,gpu-2 --image IMAGE   without a job
  railhead bench h-kim -n train --min-gbps 350 -o json        for CI: exit status 1 below it
  railhead bench diff monday.json today.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.bench(ctx, args, f)
		},
	}
	f.flags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("nodes", a.completeNodes) // the flag exists
	cmd.AddCommand(a.newBenchDiff())
	return cmd
}

func (f *benchFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ladder, "ladder", false, "between two pods, from the wire to the training job (the default)")
	flags.BoolVar(&f.matrix, "matrix", false, "all pairs of pods on all rails, rails across, and every HCA against itself")
	flags.BoolVar(&f.allReduce, "allreduce", false, "NCCL's all-reduce over all pods of the job")
	flags.StringSliceVar(&f.compare, "compare", nil, "tcp,rdma: both ways, and the factor between them")
	flags.BoolVar(&f.quick, "quick", false, "with --matrix: find the bad pods in a few rounds, without every pair")
	flags.StringVar(&f.leafLabel, "leaf-label", "", "with --matrix: label of nodes whose value the nodes of one leaf switch share (default those of Topograph, GKE and OKE)")
	flags.IntSliceVar(&f.pair, "pair", f.pair, "ranks of the two pods of the ladder, or places of --nodes: FROM,TO")
	flags.DurationVar(&f.duration, "duration", 0, "of each measurement (default 5s, of each round of a matrix 2s)")
	flags.IntVar(&f.size, "size", f.size, "bytes of a message")
	flags.IntVar(&f.qps, "qps", f.qps, "queue pairs of each link")
	flags.IntVar(&f.runs, "runs", f.runs, "how often all is measured; with three or more, 'bench diff' knows the noise")
	flags.Float64Var(&f.gate.Efficiency, "min-efficiency", f.gate.Efficiency, "part of its ceiling that a link must reach")
	flags.Float64Var(&f.minGbps, "min-gbps", 0, "Gb/s that each rail must reach, instead of --min-efficiency")
	flags.BoolVar(&f.force, "force", false, "measure although a command runs in the pods; both are slower then")
	f.own.flags(cmd)
	choiceFlag(cmd, &f.format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	flags.StringVar(&f.save, "save", "", "keep the result in this file, as JSON, for 'bench diff' and 'report'")
	flags.StringVar(&f.html, "html", "", "write the result as a page for a browser, too")
	_ = cmd.MarkFlagFilename("save", "json") // the flags exist
	_ = cmd.MarkFlagFilename("html", "html")
	_ = cmd.RegisterFlagCompletionFunc("compare", cobra.FixedCompletions([]string{"tcp,rdma"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsMutuallyExclusive("ladder", "matrix", "allreduce", "compare")
	cmd.MarkFlagsMutuallyExclusive("min-efficiency", "min-gbps")
}

// check reads the command line.
func (f *benchFlags) check(args []string) error {
	if f.gate.Gbps = bench.Gbps(f.minGbps); f.duration == 0 {
		if f.duration = ladderTime; f.matrix {
			f.duration = roundTime
		}
	}
	switch {
	case len(args) == 0 && len(f.own.nodes) == 0:
		return errors.New("name a job, or nodes: railhead bench NAME, or railhead bench --nodes NODE,NODE --image IMAGE")
	case len(args) > 0 && len(f.own.nodes) > 0:
		return errors.New("name a job or --nodes, not both")
	case len(f.own.nodes) > 0 && f.own.image == "":
		return errors.New("--nodes makes pods: say with --image of which image; build/bench has one with perftest")
	case f.quick && !f.matrix:
		return errors.New("--quick is for --matrix")
	case f.leafLabel != "" && !f.matrix:
		return errors.New("--leaf-label is for --matrix")
	case len(f.pair) != 2 || f.pair[0] == f.pair[1] || f.pair[0] < 0 || f.pair[1] < 0:
		return errors.New("--pair is two different ranks: --pair 0,1")
	case f.duration < time.Second || f.runs < 1 || f.size < 1 || f.qps < 1:
		return errors.New("--duration must be a second or more, and --runs, --size and --qps 1 or more")
	case f.gate.Efficiency < 0 || f.gate.Efficiency > 1 || f.gate.Gbps < 0:
		return errors.New("--min-efficiency is a part of 1, and --min-gbps not negative")
	}
	if f.compare != nil {
		modes := slices.Sorted(slices.Values(f.compare))
		if !slices.Equal(modes, []string{"rdma", "tcp"}) {
			return errors.New("--compare takes tcp,rdma")
		}
	}
	return nil
}

// bench measures, keeps what it measured where that is wanted, and judges.
func (a *app) bench(ctx context.Context, args []string, f benchFlags) error {
	for flag, name := range map[string]string{"--save": f.save, "--html": f.html} { // before the work of minutes
		if name == "" {
			continue
		}
		if err := writable(name); err != nil {
			return exitError{exitUsage, fmt.Errorf("%s: %w", flag, err)}
		}
	}
	talk := context.AfterFunc(ctx, func() { a.say("Interrupted: what runs in the pods is ended") })
	defer talk()
	job := ""
	if len(args) > 0 {
		job = args[0]
	}
	judged := func(r bench.Result) bench.Result {
		r.Job = job
		r.Findings = rules.Bench(r)
		return r
	}
	var r bench.Result
	measure := func(b *bencher) error {
		if f.save != "" {
			b.keep = func(r bench.Result) { _ = saveBench(f.save, judged(r)) } // what cannot be written is said at the end
		}
		var err error
		r, err = b.measure(ctx, a.streams, f)
		return err
	}
	var err error
	if len(args) > 0 {
		err = a.benchJob(ctx, args[0], f, measure)
	} else {
		err = a.benchNodes(ctx, f, measure)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	r = judged(r)
	if f.save != "" {
		if err := saveBench(f.save, r); err != nil {
			return fault(fmt.Errorf("--save: %w", err))
		}
		a.say("Kept in %s", f.save)
	}
	if f.html != "" {
		if err := writePage(f.html, html.FromBench(r, f.save)); err != nil {
			return fault(fmt.Errorf("--html: %w", err))
		}
		a.say("Shown in %s", f.html)
	}
	return a.tellBench(r, f.format)
}

// benchJob measures between the pods of a job.
func (a *app) benchJob(ctx context.Context, name string, f benchFlags, measure func(*bencher) error) error {
	client, targets, err := a.jobToLaunch(ctx, name, f.force)
	if err != nil {
		return err
	}
	b := newBencher(client, targets)
	if b.leaves, err = a.readLeaves(ctx, client, targets, f); err != nil {
		return err
	}
	return measure(b)
}

// tellBench writes a result, and ends with its exit code.
func (a *app) tellBench(r bench.Result, format string) error {
	var err error
	switch format {
	case "json", "yaml":
		err = report.Encode(a.streams.Out, format, r)
	default:
		err = benchWriter{a.streams.Out, r, format == "wide"}.write()
	}
	if err != nil {
		return err
	}
	switch check.Worst(r.Findings) {
	case check.Fail:
		return exitError{code: exitFault}
	case check.Unknown:
		return exitError{code: exitUnknown}
	case check.Pass, check.Skipped, check.Warn:
	}
	return nil
}
