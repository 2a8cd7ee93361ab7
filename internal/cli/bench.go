package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/benchrun"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules/benchrules"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	matrix, allReduce, compare, quick bool
	pair                              []int
	minGbps                           float64
	leafLabel                         string
	options                           benchrun.Options
	own                               ownPods
	format, save, html                string
}

func newBench(a *app) *cobra.Command {
	f := benchFlags{format: "text", options: benchrun.Defaults()}
	cmd := &cobra.Command{
		Use:   "bench [[KIND/]NAME | --nodes NODE,NODE --image IMAGE]",
		Short: "Measure the network of a job or of nodes and name the parts that are slow",
		Long: `bench measures the network between the pods of a job, or between temporary pods on the given nodes. It
compares every number with its ceiling: the most that the link or the PCIe slot can carry.

By default it measures between two pods, layer by layer: RDMA with host memory, with GPU memory, all rails
at once, TCP, NCCL. The first step below target names the layer at fault.
--matrix measures all pairs of pods on all rails, between rails, and every HCA against itself. It names the slow NIC,
node, pair, rail or leaf switch, which a node label identifies. With --quick it only finds bad pods, in a few rounds.
--allreduce runs NCCL over all pods of the job. NCCL's log, the port counters or the kernel's queue pairs prove which
network it used.
--compare measures TCP and RDMA and shows how much faster RDMA is.

The image of the pods must contain the tools: perftest; iperf3 or python3; nccl-tests with Open MPI, or torchrun.
Measurements without a tool are listed as skipped. build/bench makes an image with the tools that need no GPU. bench
does not start while a 'railhead launch' runs in the pods. It stops its processes in the pods and removes temporary
pods at the end, also after Ctrl-C.

Exit status: 0 if every measurement is on target; 1 if one is below target or failed, other than TCP, a loopback or a
path between rails, which give a warning; 2 if the command line is wrong; 3 if nothing, or not every rail, could be
judged.`,
		Example: `  railhead bench h-kim -n train                               ladder between rank 0 and rank 1
  railhead bench h-kim -n train --pair 0,7                    between other ranks
  railhead bench h-kim -n train --matrix --save monday.json
  railhead bench h-kim -n train --matrix --html fabric.html
  railhead bench h-kim -n train --matrix --quick              find bad pods
  railhead bench h-kim -n train --compare
  railhead bench -n train --nodes gpu-1,gpu-2 --image IMAGE   without a job
  railhead bench h-kim -n train --min-gbps 350 -o json        for CI: exit status 1 below 350 Gb/s
  railhead bench diff monday.json today.json`,
		Args:              takes(0, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Gate.Gbps = bench.Gbps(f.minGbps)
			if err := cmp.Or(f.own.check(len(args) > 0), f.check()); err != nil {
				return err
			}
			f.options.Plan, f.options.Pair = f.plan(), [2]int(f.pair)
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.bench(ctx, args, f)
		},
	}
	f.add(cmd)
	a.completeFlag(cmd, "nodes", cluster.Nodes, nodeNames)
	cmd.AddCommand(newBenchDiff(a))
	return cmd
}

func (f *benchFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.BoolVar(&f.matrix, "matrix", false,
		"measure all pairs of pods on all rails, between rails, and every HCA against itself")
	flags.BoolVar(&f.allReduce, "allreduce", false, "measure NCCL's all-reduce over all pods of the job")
	flags.BoolVar(&f.compare, "compare", false, "measure TCP and RDMA, and compare them")
	flags.BoolVar(&f.quick, "quick", false, "with --matrix: find bad pods in a few rounds, without every pair")
	flags.StringVar(&f.leafLabel, "leaf-label", "",
		"with --matrix: node `label` whose value names the leaf switch (default: the labels of Topograph, GKE and OKE)")
	flags.IntSliceVar(&f.pair, "pair", o.Pair[:], "ranks of the ladder's two pods, or positions in --nodes: `FROM,TO`")
	flags.Lookup("pair").DefValue = "0,1" // as it is written
	flags.DurationVar(&o.Duration, "duration", 0, "time of a measurement (default: 5s; 2s for each round of a matrix)")
	flags.IntVar(&o.Size, "size", o.Size, "message size in `bytes`")
	flags.IntVar(&o.QPs, "qps", o.QPs, "`number` of queue pairs of each link")
	flags.IntVar(&o.Runs, "runs", o.Runs,
		"`number` of times to repeat every measurement; with 3 or more, 'bench diff' knows the noise")
	flags.Float64Var(&o.Gate.Efficiency, "min-efficiency", o.Gate.Efficiency,
		"target: the `fraction` of its ceiling that a link must reach")
	flags.Float64Var(&f.minGbps, "min-gbps", 0, "target: `Gb/s` that each rail must reach, instead of --min-efficiency")
	flags.BoolVar(&o.Force, "force", false, "measure even if a command is running in the pods; both are slower")
	f.own.add(cmd)
	outputFlag(cmd, &f.format, "text", "wide", "json", "yaml")
	flags.StringVar(&f.save, "save", "", "save the result to this `file`, as JSON, for 'bench diff' and 'report'")
	flags.StringVar(&f.html, "html", "", "also write the result to this `file`, as a page for a browser")
	_ = cmd.MarkFlagFilename("save", "json") // the flags exist
	_ = cmd.MarkFlagFilename("html", "html")
	cmd.MarkFlagsMutuallyExclusive("matrix", "allreduce", "compare")
	cmd.MarkFlagsMutuallyExclusive("min-efficiency", "min-gbps")
}

// check reads the flags.
func (f *benchFlags) check() error {
	o := f.options
	switch {
	case f.quick && !f.matrix:
		return errors.New("--quick needs --matrix")
	case f.leafLabel != "" && !f.matrix:
		return errors.New("--leaf-label needs --matrix")
	case !isPair(f.pair):
		return errors.New("--pair needs two different ranks, such as --pair 0,1")
	case o.Duration != 0 && o.Duration < time.Second || min(o.Runs, o.Size, o.QPs) < 1:
		return errors.New("--duration must be at least 1s, and --runs, --size and --qps at least 1")
	case o.Gate.Efficiency < 0 || o.Gate.Efficiency > 1 || o.Gate.Gbps < 0:
		return errors.New("--min-efficiency must be between 0 and 1, and --min-gbps not negative")
	}
	return nil
}

func isPair(ranks []int) bool {
	return len(ranks) == 2 && ranks[0] != ranks[1] && slices.Min(ranks) >= 0
}

func (f *benchFlags) plan() benchrun.Plan {
	switch {
	case f.compare:
		return benchrun.Compare
	case f.quick:
		return benchrun.Quick
	case f.matrix:
		return benchrun.Matrix
	case f.allReduce:
		return benchrun.AllReduce
	}
	return benchrun.Ladder
}

// bench measures, saves the result, and prints it.
func (a *app) bench(ctx context.Context, args []string, f benchFlags) error {
	if err := cmp.Or(checkWritable("--save", f.save), checkWritable("--html", f.html)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { a.say("Interrupted: stopping all processes in the pods") })()
	var r bench.Result
	var err error
	if len(args) > 0 {
		r, err = a.benchJob(ctx, args[0], f)
	} else {
		r, err = a.benchNodes(ctx, f)
	}
	var coded exit.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &coded):
		return err
	case err != nil:
		return exit.Failed(err)
	}
	r = judged(r, args)
	if f.save != "" {
		if err := saveJSON(f.save, r); err != nil {
			return exit.Failed(fmt.Errorf("--save: %w", err))
		}
		a.say("Saved to %s", f.save)
	}
	if f.html != "" {
		if err := writePage(f.html, html.FromBench(r, f.save)); err != nil {
			return exit.Failed(fmt.Errorf("--html: %w", err))
		}
		a.say("Page written to %s", f.html)
	}
	return a.showBench(r, f.format)
}

// showBench prints a result and returns its exit code.
func (s Streams) showBench(r bench.Result, format string) error {
	write := func(out io.Writer, wide bool) error { return text.Bench(out, r, wide) }
	if err := s.print(format, r, write); err != nil {
		return err
	}
	return verdict(r.Findings)
}

// judged returns a result with its job and its findings.
func judged(r bench.Result, args []string) bench.Result {
	r.Job = strings.Join(args, "")
	r.Findings = benchrules.Judge(r)
	return r
}

// benchJob measures between the pods of a job.
func (a *app) benchJob(ctx context.Context, name string, f benchFlags) (bench.Result, error) {
	client, targets, err := a.jobToLaunch(ctx, name, f.options.Force)
	if err != nil {
		return bench.Result{}, err
	}
	return a.benchPods(ctx, client, targets, []string{name}, f)
}

func (a *app) benchPods(
	ctx context.Context, client *kube.Client, targets []launch.Target, job []string, f benchFlags,
) (bench.Result, error) {
	b := benchrun.New(client, targets, f.options, a.live())
	if f.matrix {
		var err error
		if b.Leaves, err = benchrun.ReadLeaves(ctx, client, targets, f.leafLabel); err != nil {
			return bench.Result{}, err
		}
	}
	if f.save != "" {
		b.Keep = func(r bench.Result) { _ = saveJSON(f.save, judged(r, job)) } // the last save reports its error
	}
	return b.Run(ctx)
}
