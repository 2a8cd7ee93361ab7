package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// createPods puts pods onto the nodes, in turn.
func createPods(ctx context.Context, c client.Client, f flags) error {
	const atOnce = 16
	todo, failed := make(chan int), make(chan error, f.pods)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range todo {
				if err := c.Create(ctx, pod(i, i%f.nodes)); err != nil {
					failed <- fmt.Errorf("create pod %d: %w", i, err)
				}
			}
		})
	}
	for i := range f.pods {
		todo <- i
	}
	close(todo)
	workers.Wait()
	close(failed)
	return <-failed // nil when there was none
}

// pod is one as daemons have: two containers, some settings, and a node of its own.
func pod(i, node int) *corev1.Pod {
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name:    name,
			Image:   "example.invalid/" + name + "@sha256:" + strings.Repeat("c", 64),
			Command: []string{"/bin/" + name, "--v=2", "--metrics-bind-address=0.0.0.0:9100"},
			Env:     []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "CLUSTER", Value: "lab"}},
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      fmt.Sprintf("daemon-%05d", i),
			Labels:    map[string]string{"app": "daemon"},
		},
		Spec: corev1.PodSpec{
			NodeName:   fmt.Sprintf("gpu-%04d", node),
			Containers: []corev1.Container{container("agent"), container("proxy")},
		},
	}
}
