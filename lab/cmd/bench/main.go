// Bench measures railhead against a real API server with many nodes: how long the program takes to start, and an inventory
// beside what `kubectl get nodes,pods -A -o json` does with the same server. It prints times, ratios and memory and asserts
// none.
//
//	go run ./cmd/bench
//	go run ./cmd/bench --nodes 1000 --pods 3000 --kubectl "$(command -v kubectl)"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/shape"
)

// flags are what is measured.
type flags struct {
	nodes, pods, runs int
	railhead, kubectl string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == baselineMode:
		err = baseline(ctx, os.Args[2], os.Stdout)
	case len(os.Args) > 2 && os.Args[1] == measureMode:
		err = measure(os.Args[2:], os.Stdout)
	default:
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
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
	set.StringVar(&f.railhead, "railhead", "", "measure this program instead of building ../cmd/railhead")
	set.StringVar(&f.kubectl, "kubectl", "", "measure this kubectl, too, beside the stand-in for it")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || f.nodes < 1 || f.pods < 0 || f.runs < 1 {
		return errors.New("usage: bench [--nodes N] [--pods N] [-n RUNS] [--railhead FILE] [--kubectl FILE]")
	}
	dir, err := os.MkdirTemp("", "railhead-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if f.railhead == "" {
		f.railhead = filepath.Join(dir, "railhead")
		if err := build(ctx, f.railhead); err != nil {
			return err
		}
	}
	return bench(ctx, f, stdout, stderr)
}

// build builds railhead as it is published. It runs in folder lab, where go run was called.
func build(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/railhead")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build railhead: %w\n%s", err, out)
	}
	return nil
}

func bench(ctx context.Context, f flags, stdout, stderr io.Writer) (err error) {
	options := controlplane.OpenShift()
	options.Scheduler, options.MachineConfig = false, false // nothing is placed or rolled out
	options.Progress = func(line string) { fmt.Fprintln(stderr, line) }
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
	kubeconfig, err := p.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d nodes, %d pods; medians of %d runs, in turn\n", f.nodes, f.pods, f.runs)
	return compare(ctx, f, kubeconfig, stdout)
}
