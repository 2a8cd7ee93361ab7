// Command lab boots a fabric on this machine: Kubernetes nodes in virtual machines with SR-IOV, an IOMMU and RDMA.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/railhead/railhead/lab/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
