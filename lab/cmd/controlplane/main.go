// Controlplane runs the lab's control plane until it is interrupted, to play with:
//
//	go run ./cmd/controlplane up
//	go run ./cmd/controlplane up --plain --nodes 20
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
	"time"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/addon"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("controlplane up", flag.ContinueOnError)
	flags.SetOutput(stderr)
	plain := flags.Bool("plain", false, "plain Kubernetes instead of OpenShift")
	nodes := flags.Int(
		"nodes",
		0,
		"number of GPU nodes; 0: 13 nodes on OpenShift, 4 on plain Kubernetes",
	)
	full := flags.Bool("full", false, "with the JobSet controller and the network-resources-injector")
	workloads := flags.Bool("workloads", false, "with all controllers of training workloads")
	reboot := flags.Duration("reboot", 2*time.Second, "how long a node takes to reboot in a rollout")
	if len(args) == 0 || args[0] != "up" {
		return errors.New("usage: controlplane up [--plain] [--nodes N] [--full] [--workloads] [--reboot 2s]")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	options, cluster := controlplane.OpenShift(), shape.Born()
	switch {
	case *plain && *nodes == 0:
		options, cluster = controlplane.Plain(), shape.Plain(4)
	case *plain:
		options, cluster = controlplane.Plain(), shape.Plain(*nodes)
	case *nodes > 0:
		cluster = shape.Scale(*nodes)
	}
	options.Injector, options.Reboot = *full, *reboot
	switch {
	case *workloads:
		options.Workloads = addon.Workloads()
	case *full:
		options.Workloads = []assets.Program{assets.JobSet}
	}
	options.Progress = func(line string) { fmt.Fprintln(stderr, line) }
	return up(ctx, options, cluster, stdout, stderr)
}

// up starts the control plane, prints where it is and waits for ctx to end.
func up(
	ctx context.Context,
	options controlplane.Options,
	cluster shape.Cluster,
	stdout, stderr io.Writer,
) (err error) {
	start := time.Now()
	p, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := cluster.Create(ctx, p.Client()); err != nil {
		return err
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	kubeconfig, err := p.Users.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "up after %s with %d nodes, logs in %s; ends with Ctrl-C\n",
		time.Since(start).Round(100*time.Millisecond), len(cluster.Nodes), p.Logs())
	fmt.Fprintf(stdout, "export KUBECONFIG=%s\n", kubeconfig)
	<-ctx.Done()
	return nil
}
