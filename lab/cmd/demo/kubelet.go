package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// startKubelet answers for the kubelets of all nodes.
func startKubelet(ctx context.Context, p *controlplane.ControlPlane) (*kubelet.Kubelet, error) {
	empty := filepath.Join(p.Dir(), "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return nil, err
	}
	var nodes corev1.NodeList
	if err := p.Client().List(ctx, &nodes); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range nodes.Items {
		names = append(names, n.Name)
	}
	k := &kubelet.Kubelet{Command: inEmptyPod(empty)}
	if err := k.Start(); err != nil {
		return nil, err
	}
	if err := k.Serve(ctx, p.Client(), names...); err != nil {
		_ = k.Close() // the first error counts
		return nil, err
	}
	return k, nil
}

// refusal is the answer to commands in pods in which nothing runs.
const refusal = "nothing runs in the pods of this cluster, because its nodes are stand-ins"

// inEmptyPod returns the command that stands for one in a pod in which nothing runs. The question which commands launch
// left there is answered with an empty folder in place of the pod's; nothing else runs on this machine.
func inEmptyPod(empty string) func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
	question := launch.RunsCommand()
	return func(ctx context.Context, _ kubelet.Container, words []string) *exec.Cmd {
		if !slices.Equal(words, question) {
			const cannotInvoke = "126"
			return exec.CommandContext(ctx, "sh", "-c", `echo "$1" >&2; exit "$2"`, "sh", refusal, cannotInvoke)
		}
		words = slices.Clone(words)
		words[len(words)-1] = empty
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
}
