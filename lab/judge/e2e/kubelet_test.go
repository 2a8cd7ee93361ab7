package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// launcher stands for railhead-pod, whose run would write to this machine's /run: it only starts the command behind
// `run --`. The other commands are its own.
const launcher = "#!/bin/sh\n[ \"$1\" = run ] || exec %s \"$@\"\nshift 2\nexec \"$@\"\n"

// startKubelet lets commands in the pods of the nodes run on this machine, until the test ends: as their container
// would run them, with its environment, and a /dev/shm of their own.
func startKubelet(t *testing.T, log func(kubelet.Container) string, nodes ...string) {
	t.Helper()
	shm := t.TempDir()
	program := filepath.Join(shm, "railhead-pod")
	if err := os.WriteFile(program, fmt.Appendf(nil, launcher, podBinary), 0o700); err != nil {
		t.Fatal(err)
	}
	k := &kubelet.Kubelet{Log: log, Command: func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
		own := filepath.Join(shm, c.Pod)
		pod, err := podWith(ctx, c)
		if err := errors.Join(err, os.MkdirAll(own, 0o755)); err != nil {
			return exec.CommandContext(ctx, "false")
		}
		there := map[string]string{"/dev/shm": own}
		if slices.ContainsFunc(pod.Spec.InitContainers, installs) {
			there[launch.PodProgram] = program
		}
		for i, word := range words {
			if here, ok := there[word]; ok {
				words[i] = here
			}
		}
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "TMPDIR=" + own, "HOSTNAME=" + c.Pod, "CONTAINER=" + c.Name,
		}, environment(ctx, c)...)
		return cmd
	}}
	serves(t, k, nodes...)
}

// serves starts a kubelet for nodes, until the test ends.
func serves(t *testing.T, k *kubelet.Kubelet, nodes ...string) {
	t.Helper()
	if err := k.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() }) // the connections of a launch that was broken off are of no interest
	if err := k.Serve(t.Context(), openShift.Client(), nodes...); err != nil {
		t.Fatal(err)
	}
}

// installs reports whether a container gives railhead-pod to its pod.
func installs(c corev1.Container) bool { return c.Name == "railhead-pod-install" }

var ofMetadata = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.*)'\]$`)

// podWith returns the pod of a container.
func podWith(ctx context.Context, c kubelet.Container) (pod corev1.Pod, err error) {
	err = openShift.Client().Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Pod}, &pod)
	return pod, err
}

// environment returns a container's environment, as a kubelet makes it.
func environment(ctx context.Context, c kubelet.Container) []string {
	pod, err := podWith(ctx, c)
	if err != nil {
		return nil
	}
	var env []string
	for _, own := range pod.Spec.Containers {
		for _, v := range own.Env {
			if own.Name != c.Name {
				continue
			}
			if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
				if m := ofMetadata.FindStringSubmatch(v.ValueFrom.FieldRef.FieldPath); m != nil {
					v.Value = map[string]map[string]string{"labels": pod.Labels, "annotations": pod.Annotations}[m[1]][m[2]]
				}
			}
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}
