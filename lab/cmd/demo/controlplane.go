package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

const controlPlaneIntro = `
A cluster is up. etcd, kube-apiserver with OpenShift's SCC admission and ten of the controllers of
kube-controller-manager are the real ones. These are stand-ins: kube-scheduler and the machine-config-controller (make
test runs the real ones), the nodes (kwok's: pods become ready, nothing runs in them), their kubelets (which say so) and
machine-config-daemons, the SR-IOV operator and the cluster-policy-controller.
`

// controlPlaneDemo shows railhead on a control plane.
type controlPlaneDemo struct {
	reboot time.Duration // of each node
	keep   bool          // the cluster stays until ctx ends
	page   string        // the file of the page that the story writes
}

func (d controlPlaneDemo) show(ctx context.Context, w io.Writer) (err error) {
	fmt.Fprintln(w, "Starting the control plane. The first run builds its programs, in about 5 minutes on two cores.")
	options := controlplane.OpenShift()
	options.Reboot = d.reboot
	options.Demo = true
	options.Progress = func(line string) { fmt.Fprintln(w, line) }
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
	k, err := startKubelet(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	kubeconfig, err := p.Users.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		return err
	}
	if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
		return err
	}
	fmt.Fprint(w, controlPlaneIntro)
	if err := playAll(ctx, w, story(d.page)); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe report of this run: file://%s\n", d.page)
	if d.keep {
		fmt.Fprintf(w, "\nThe cluster stays until Ctrl-C:\n  export KUBECONFIG=%s PATH=%s:$PATH\n", kubeconfig,
			filepath.Dir(d.page))
		<-ctx.Done()
	}
	return nil
}

// story returns the scenes; one of them writes a page to this file.
func story(page string) []scene {
	return []scene{
		{why: "The cluster, and anything that is missing:", line: "railhead inventory"},
		{why: "Once, as an administrator. Every node reboots once:", line: "railhead setup cluster --yes"},
		{why: "The second time there is nothing to do:", line: "railhead setup cluster --yes"},
		{why: "A namespace for the training:", line: "railhead setup namespace train --yes"},
		{
			why:  "The job: two pods, each with eight GPUs and four rails, without privileges:",
			line: "railhead deploy h-kim -n train --type multi --nodes 2 --image example.invalid/pytorch:2.9 --yes",
		},
		{why: "Where it runs:", line: "railhead status h-kim -n train"},
		{
			why:  "The cluster has no third node with GPUs, and railhead says so before it writes anything:",
			line: "railhead deploy big -n train --nodes 3 --image example.invalid/pytorch:2.9 --yes",
			code: 1,
		},
		{why: "Everything on one page, to read and to send:", line: "railhead report -o " + page},
		{why: "Delete removes exactly what deploy created:", line: "railhead delete h-kim -n train --yes"},
		{
			why:  "And rollback would undo what setup cluster did; setup rollback namespace removes the rest:",
			line: "railhead setup rollback --dry-run=client",
		},
	}
}
