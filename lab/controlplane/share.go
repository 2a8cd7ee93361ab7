package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Share starts one control plane for all tests of a package, gives it to ready, runs the tests, stops it, and returns
// the tests' exit code, for a TestMain whose tests share one control plane. It also stops it when it is interrupted.
// When tests fail it keeps the logs and says where.
func Share(m interface{ Run() int }, o Options, ready func(context.Context, *ControlPlane) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if o.Progress == nil {
		o.Progress = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	p, err := Start(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := make(chan int, 1)
	go func() {
		if err := ready(ctx, p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code <- 1
			return
		}
		code <- m.Run()
	}()
	result := 1
	select {
	case result = <-code:
	case <-ctx.Done(): // the tests end with the process
	}
	if result != 0 && ctx.Err() == nil {
		p.keep = true
		fmt.Fprintln(os.Stderr, "logs of the control plane:", p.Logs())
	}
	if err := p.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return result
}
