// Bench measures railhead against a real API server with many nodes: how long the program takes to start, and an
// inventory next to `kubectl get nodes,pods -A -o json` on the same server. It prints times, ratios and memory and
// asserts none.
//
//	make -C .. build && go run ./cmd/bench
//	go run ./cmd/bench --nodes 4000 --pods 8000 -n 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// flags of the command line.
type flags struct {
	nodes, pods, runs int
	railhead, kubectl string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	switch {
	case len(os.Args) > 2 && os.Args[1] == measureMode:
		err = measure(os.Args[2:], os.Stdout)
	default:
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f flags
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.IntVar(&f.nodes, "nodes", 1000, "GPU nodes of the cluster")
	set.IntVar(&f.pods, "pods", 2000, "pods on them")
	set.IntVar(&f.runs, "n", 9, "timed runs of each program, in turn; the median is printed")
	set.StringVar(&f.railhead, "railhead", "../bin/railhead", "the program to measure")
	set.StringVar(&f.kubectl, "kubectl", "",
		"measure against this kubectl instead of the one that lab/modules/kubectl pins")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || f.nodes < 1 || f.pods < 0 || f.runs < 1 {
		return errors.New("usage: bench [--nodes N] [--pods N] [-n RUNS] [--railhead FILE] [--kubectl FILE]")
	}
	progress := func(line string) { fmt.Fprintln(stderr, line) }
	if f.kubectl == "" {
		built, err := assets.Build(ctx, progress, assets.Kubectl)
		if err != nil {
			return err
		}
		f.kubectl = built[assets.Kubectl]
	}
	return bench(ctx, f, stdout, progress)
}

func bench(ctx context.Context, f flags, stdout io.Writer, progress func(string)) (err error) {
	options := controlplane.OpenShift()
	options.Scheduler, options.MachineConfig = false, false // nothing is placed or rolled out
	options.Progress = progress
	p, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := shape.Scale(f.nodes).Create(ctx, p.Client()); err != nil {
		return err
	}
	if err := createPods(ctx, p.Client(), f); err != nil {
		return err
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	kubeconfig, err := p.Users.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d nodes, %d pods; medians of %d runs, in turn\n", f.nodes, f.pods, f.runs)
	return compare(ctx, f, kubeconfig, stdout)
}
