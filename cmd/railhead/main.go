// Command railhead sets clusters up for RDMA, deploys training jobs, starts them and says which network they used.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/railhead/railhead/internal/cli"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(cli.Main(ctx, os.Args[0], os.Args[1:], version, cli.Terminal(os.Stdin, os.Stdout, os.Stderr)))
}
