package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// nodeProbe is how a node is looked at.
type nodeProbe struct {
	image    string
	binaries map[string]string
	patience tolerance // with the pod that looks
}

func (n *nodeProbe) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&n.image, "verify-image", "", "image with a shell for the pod that checks the node, with --verify-first (default that of the node's machine-config-daemon, or else openshift/cli)")
	cmd.Flags().StringToStringVar(&n.binaries, "pod-binary", nil, "railhead-pod for the check, by architecture: amd64=FILE (default the one that railhead carries)")
}

// imageFor is the image in which a node is looked at.
func (n *nodeProbe) imageFor(ctx context.Context, client *kube.Client, node string) (string, error) {
	if n.image != "" {
		return n.image, nil
	}
	image, err := client.ShellImage(ctx, node)
	if errors.Is(err, kube.ErrNoShellImage) {
		return "", fmt.Errorf("%w; name one with --verify-image", err)
	}
	return image, err
}

// verifyFirst checks every node that has the new configuration. What is wrong leaves the rollout paused.
func (a *app) verifyFirst(ctx context.Context, client *kube.Client, p plan.Plan, o plan.ClusterOptions, probe nodeProbe) error {
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Nodes, cluster.Pools}})
	if err != nil {
		return fault(err)
	}
	names := plan.FirstNodes(s, p)
	if len(names) == 0 {
		return fault(errors.New("no node has the new configuration yet: nothing can be checked; the rollout stays paused"))
	}
	var findings []check.Finding
	for _, name := range names {
		snapshot, err := a.lookAt(ctx, client, s, name, probe)
		if err != nil {
			return fault(fmt.Errorf("node %s could not be checked, so the rollout stays paused: %w\nTry again with 'railhead setup cluster --verify-first', or take it back with 'railhead setup rollback'", name, err))
		}
		findings = append(findings, plan.VerifyNode(snapshot, o)...)
	}
	a.findings(findings...)
	if worst := check.Worst(findings); worst == check.Fail || verdict(findings) != nil {
		return fault(fmt.Errorf("the check of %s failed: the rollout stays paused; 'railhead setup rollback' takes it back", shorten(names)))
	}
	a.say("  checked %s: as it should be", shorten(names))
	return nil
}

// lookAt runs railhead-pod on a node and returns the Snapshot that it takes there.
func (a *app) lookAt(ctx context.Context, client *kube.Client, s cluster.State, name string, probe nodeProbe) (host.Snapshot, error) {
	node, _ := s.Node(name)
	carried, err := programs(probe.binaries)
	if err != nil {
		return host.Snapshot{}, err
	}
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return host.Snapshot{}, err
	}
	image, err := probe.imageFor(ctx, client, name)
	if err != nil {
		return host.Snapshot{}, err
	}
	p := plan.Probe(plan.ProbeOptions{Node: name, Namespace: ns, Image: image, Arch: node.Arch, Programs: carried})
	var made []plan.Change // parts of railhead-pod that jobs of the namespace share are not among them
	defer func() {         // also after Ctrl-C: nothing of a probe is left behind
		cleaning, cancel := afterwards(ctx)
		defer cancel()
		removeMade(cleaning, a, client, made)
	}()
	for _, change := range p.Changes() {
		outcome, err := client.Carry(ctx, change, false)
		if err != nil {
			return host.Snapshot{}, err
		}
		if outcome == kube.Created {
			made = append(made, change)
		}
	}
	pod := kube.PodRef{Namespace: ns, Name: plan.ProbeName(name)}
	want := kube.Want{Kinds: p.Steps[0].Watch, Namespace: ns, Job: pod.Name}
	if err := a.follow(ctx, client, p.Steps[0].Done, following{want: want, limit: 5 * time.Minute, patience: probe.patience}); err != nil {
		return host.Snapshot{}, err
	}
	return snapshotOf(ctx, client, pod)
}
