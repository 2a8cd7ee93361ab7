package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/examine"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/probe"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/words"
)

// nodeProbe has the options of checking a node.
type nodeProbe struct {
	image    string
	binaries map[string]string
	retry    *time.Duration // of the probe pod; see waitOptions
}

func (n *nodeProbe) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&n.image, "verify-image", "",
		"with --verify-first: `image` with a shell for the pod that checks a node "+
			"(default: that of the node's machine-config-daemon, or openshift/cli)")
	binaryFlag(cmd, &n.binaries, "with --verify-first: ")
}

// verifier checks the first nodes of a rollout.
type verifier struct {
	*app
	client  *kube.Client
	plan    plan.Plan
	options setup.Options
	probe   nodeProbe
}

// verify checks every node that has the new configuration. On a fault the rollout stays paused.
func (v verifier) verify(ctx context.Context) error {
	s, err := v.client.Read(ctx, setupWant)
	if err != nil {
		return exit.Failed(err)
	}
	names := setup.FirstNodes(s, v.plan)
	if len(names) == 0 {
		return exit.Failed(errors.New("no node to check has the new configuration yet; the rollout stays paused"))
	}
	var checked []setup.CheckedNode
	for _, name := range names {
		snapshot, err := v.snapshot(ctx, s, name)
		if err != nil {
			return exit.Failed(fmt.Errorf("node %s could not be checked, so the rollout stays paused: %w\n"+
				"Try again with '%s', or undo it with 'railhead setup rollback'", name, err, v.again(err)))
		}
		checked = append(checked, setup.CheckedNode{Name: name, Snapshot: snapshot})
	}
	findings := setup.Verify(s, v.options, checked...)
	v.showFindings(findings...)
	if bad := (exit.Error{}); errors.As(verdict(findings), &bad) {
		result := "failed"
		if bad.Code == exit.Unknown {
			result = "is not conclusive"
		}
		bad.Err = fmt.Errorf("the check of %s %s: the rollout stays paused; undo it with "+
			"'railhead setup rollback'", words.Few(names, 6), result)
		return bad
	}
	v.say("  checked %s: no fault", words.Few(names, 6))
	return nil
}

// again is the command that checks the node again after an error.
func (v verifier) again(err error) string {
	const command = "railhead setup cluster --verify-first"
	switch {
	case v.probe.image != "":
		return command + " --verify-image " + v.probe.image
	case errors.Is(err, kube.ErrNoShellImage):
		return command + " --verify-image IMAGE"
	}
	return command
}

// snapshot runs railhead-pod on a node.
func (v verifier) snapshot(ctx context.Context, s cluster.State, name string) (host.Snapshot, error) {
	var none host.Snapshot
	node, _ := s.Node(name)
	carried, err := programs(v.probe.binaries)
	if err != nil {
		return none, err
	}
	ns, _, err := v.flags.Namespace()
	if err != nil {
		return none, err
	}
	image, err := examine.Probe{Image: v.probe.image, ImageFlag: "--verify-image"}.ImageFor(ctx, v.client, name)
	if err != nil {
		return none, err
	}
	const limit = 5 * time.Minute
	temporary := examine.NewTemporary(v.client, ns, v.sayLine)
	defer temporary.Remove(ctx)
	p := probe.Plan(probe.Options{
		ID:        temporary.ID,
		Node:      name,
		Namespace: ns,
		Image:     image,
		Arch:      node.Arch,
		Programs:  carried,
		Limit:     limit,
	})
	for _, change := range p.Changes() {
		if err := temporary.Create(ctx, change); err != nil {
			return none, err
		}
	}
	pod := kube.PodRef{Namespace: ns, Name: probe.Name(name, temporary.ID)}
	want := kube.Want{Kinds: p.Steps[0].Watch, Namespace: ns, Job: pod.Name}
	options := waitOptions{want: want, limit: limit, retry: v.probe.retry}
	if err := v.follow(ctx, v.client, p.Steps[0].Done, options); err != nil {
		return none, err
	}
	return examine.Snapshot(ctx, v.client, pod)
}
