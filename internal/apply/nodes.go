package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/probe"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/words"
)

// NodeCheck describes the check of the first nodes of a rollout.
type NodeCheck struct {
	Setup     setup.Options                      // of the plan
	Namespace string                             // of the pods that take snapshots
	Image     string                             // of these pods; "": that of examine.Probe
	Programs  func() ([]delivery.Program, error) // railhead-pod for these pods
}

// ErrInconclusive is the error of a check of nodes that could not read something.
var ErrInconclusive = errors.New("is not conclusive")

// checkFirstNodes checks every node that has the new configuration. On a fault the rollout stays paused.
func (r *run) checkFirstNodes(ctx context.Context) error {
	err := r.verify(ctx)
	if ctx.Err() != nil {
		r.say("Interrupted: the rollout stays paused. " +
			"The same command checks again; 'railhead setup rollback' undoes it")
		return ErrInterrupted
	}
	return err
}

func (r *run) verify(ctx context.Context) error {
	s, err := r.cluster.Read(ctx, kube.Want{Kinds: setup.Kinds(), Setup: true})
	if err != nil {
		return err
	}
	if p := s.Problem(cluster.Nodes); p != nil {
		return fmt.Errorf("the nodes could not be read, so the rollout stays paused: %s", p.Err)
	}
	names := setup.FirstNodes(s, r.plan)
	if len(names) == 0 {
		return errors.New("no node to check has the new configuration yet; the rollout stays paused")
	}
	var checked []setup.CheckedNode
	for _, name := range names {
		snapshot, err := r.snapshot(ctx, s, name)
		if err != nil {
			return fmt.Errorf("node %s could not be checked, so the rollout stays paused: %w\n"+
				"Try again with '%s', or undo it with 'railhead setup rollback'", name, err, r.Check.again(err))
		}
		checked = append(checked, setup.CheckedNode{Name: name, Snapshot: snapshot})
	}
	findings := setup.Verify(s, r.Check.Setup, checked...)
	r.showFindings(findings...)
	result := errors.New("failed")
	switch unknown := func(f check.Finding) bool { return f.Status == check.Unknown }; {
	case check.Worst(findings) == check.Fail:
	case slices.ContainsFunc(findings, unknown):
		result = ErrInconclusive
	default:
		r.say("  checked %s: no fault", words.Few(names, 6))
		return nil
	}
	return fmt.Errorf("the check of %s %w: the rollout stays paused; undo it with 'railhead setup rollback'",
		words.Few(names, 6), result)
}

// again is the command that checks the node again after an error.
func (c NodeCheck) again(err error) string {
	const command = "railhead setup cluster --verify-first"
	switch {
	case c.Image != "":
		return command + " --verify-image " + c.Image
	case errors.Is(err, kube.ErrNoShellImage):
		return command + " --verify-image IMAGE"
	}
	return command
}

// snapshot runs railhead-pod on a node.
func (r *run) snapshot(ctx context.Context, s cluster.State, name string) (host.Snapshot, error) {
	var none host.Snapshot
	node, _ := s.Node(name)
	programs, err := r.Check.Programs()
	if err != nil {
		return none, err
	}
	image, err := collect.Probe{Image: r.Check.Image, ImageFlag: "--verify-image"}.ImageFor(ctx, r.cluster, name)
	if err != nil {
		return none, err
	}
	const limit = 5 * time.Minute
	ns := r.Check.Namespace
	temporary := collect.NewTemporary(r.cluster, ns, r.Live.Say)
	defer temporary.Remove(ctx)
	p := probe.Plan(probe.Options{
		ID:        temporary.ID,
		Node:      name,
		Namespace: ns,
		Image:     image,
		Arch:      node.Arch,
		Programs:  programs,
		Limit:     limit,
	})
	for _, change := range p.Changes() {
		if err := temporary.Create(ctx, change); err != nil {
			return none, err
		}
	}
	pod := kube.PodRef{Namespace: ns, Name: probe.Name(name, temporary.ID)}
	wait := Wait{Limit: limit, Patience: r.Patience, Live: r.Live}
	wait.Want = kube.Want{Kinds: p.Steps[0].Watch, Namespace: ns, Job: pod.Name}
	if err := Follow(ctx, r.cluster, p.Steps[0].Done, wait); err != nil {
		return none, err
	}
	return collect.Snapshot(ctx, r.cluster, pod)
}
