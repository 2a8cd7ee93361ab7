// Demo shows railhead at work on a cluster that it starts on this machine: from a cluster without RDMA to a running
// job, and back. It runs in the root of the repository.
//
//	demo            on a real control plane, with stand-ins for the nodes
//	demo --rdma     on two nodes with RDMA, in virtual machines
//	demo --keep     the cluster stays, to play with
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "demo: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	keep := flags.Bool("keep", false, "leave the cluster up")
	rdma := flags.Bool("rdma", false, "use two nodes with RDMA, in virtual machines")
	reboot := flags.Duration("reboot", time.Second, "how long the stand-in for a node's daemon takes to reboot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	programs, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	if err := os.Setenv("PATH", programs+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	if *rdma {
		return showMachines(ctx, w, *keep)
	}
	return controlPlaneDemo{reboot: *reboot, keep: *keep, page: filepath.Join(programs, "demo.html")}.show(ctx, w)
}
