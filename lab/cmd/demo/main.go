// Demo shows railhead at work on a real control plane that it starts on this machine: from a cluster without RDMA to a
// running job, and back.
//
//	go run ./cmd/demo            the demo
//	go run ./cmd/demo --keep     the cluster stays until Ctrl-C, to play with
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
	"strings"
	"syscall"
	"time"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	keep := flags.Bool("keep", false, "leave the cluster up until Ctrl-C")
	program := flags.String("railhead", "../bin/railhead", "the program to show")
	reboot := flags.Duration("reboot", time.Second, "how long the stand-in for a node's daemon takes to reboot")
	if err := flags.Parse(args); err != nil {
		return err
	}
	railhead, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	options := controlplane.OpenShift()
	options.Reboot = *reboot
	options.Progress = func(line string) { fmt.Fprintln(w, line) }
	return show(ctx, w, options, railhead, *keep)
}

const stage = `
A cluster is up. etcd, kube-apiserver with OpenShift's SCC admission, kube-controller-manager, kube-scheduler and the
machine-config-controller are the real programs. These are stand-ins: the nodes (kwok's: pods become ready, nothing runs
in them), the machine-config-daemons, the SR-IOV operator and the cluster-policy-controller.
`

func show(ctx context.Context, w io.Writer, options controlplane.Options, railhead string, keep bool) (err error) {
	fmt.Fprintln(w, "Starting the control plane. The first run builds its programs, in about 10 minutes on two cores.")
	p, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := shape.Born().Create(ctx, p.Client()); err != nil {
		return err
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	kubeconfig, err := p.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		return err
	}
	fmt.Fprint(w, stage)
	page := filepath.Join(filepath.Dir(railhead), "demo.html")
	for _, step := range story(page) {
		if err := step.play(ctx, w, railhead, kubeconfig); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nThe report of this run: file://%s\n", page)
	if keep {
		fmt.Fprintf(w, "\nThe cluster stays until Ctrl-C:\n  export KUBECONFIG=%s PATH=%s:$PATH\n", kubeconfig,
			filepath.Dir(railhead))
		<-ctx.Done()
	}
	return nil
}

// scene is one command of the demo.
type scene struct {
	why  string
	args string
	code int // that the command ends with
}

// story returns the scenes; one of them writes a page to this file.
func story(page string) []scene {
	return []scene{
		{"The cluster, and anything that is missing:", "inventory", 0},
		{"Once, as an administrator. Every node reboots once:", "setup cluster --yes", 0},
		{"The second time there is nothing to do:", "setup cluster --yes", 0},
		{"A namespace for the training:", "setup namespace train --yes", 0},
		{
			"The job: two pods, each with eight GPUs and four rails, without privileges:",
			"deploy h-kim -n train --type multi --nodes 2 --image example.invalid/pytorch:2.9 --yes",
			0,
		},
		{"Where it runs:", "status h-kim -n train", 0},
		{
			"The cluster has no third node with GPUs, and railhead says so before it writes anything:",
			"deploy big -n train --nodes 3 --image example.invalid/pytorch:2.9 --yes",
			1,
		},
		{"Everything on one page, to read and to send:", "report -o " + page, 0},
		{"Delete removes exactly what deploy created:", "delete h-kim -n train --yes", 0},
		{"And rollback would remove everything that setup created:", "setup rollback --dry-run=client", 0},
	}
}

// play runs the command as a user would, and wants it to end as the story says.
func (s scene) play(ctx context.Context, w io.Writer, railhead, kubeconfig string) error {
	fmt.Fprintf(w, "\n%s\n$ railhead %s\n", s.why, s.args)
	cmd := exec.CommandContext(ctx, railhead, strings.Fields(s.args)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, w, w
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	code := 0
	if errors.As(err, &ended) {
		code, err = ended.ExitCode(), nil
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case code != s.code:
		return fmt.Errorf("railhead %s ended with %d, not with %d", s.args, code, s.code)
	}
	return nil
}
