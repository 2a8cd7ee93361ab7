package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// baselineMode makes this program the one that railhead is measured against.
const baselineMode = "baseline"

// baseline is the work of `kubectl get nodes,pods -A -o json`, without its discovery: lists in pieces of 500 as JSON, made
// unstructured objects, and printed together (k8s.io/kubectl pkg/cmd/get, --chunk-size).
func baseline(ctx context.Context, kubeconfig string, w io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	all := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}
	var items []any
	for _, resource := range []string{"nodes", "pods"} {
		options := metav1.ListOptions{Limit: 500}
		for {
			list, err := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).List(ctx, options)
			if err != nil {
				return err
			}
			for i := range list.Items {
				items = append(items, list.Items[i].Object)
			}
			if options.Continue = list.GetContinue(); options.Continue == "" {
				break
			}
		}
	}
	all["items"] = items
	printed := &unstructured.Unstructured{Object: all}
	text, err := json.MarshalIndent(printed.Object, "", "    ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

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
			Name: name, Image: "example.invalid/" + name + "@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
			Command: []string{"/bin/" + name, "--v=2", "--metrics-bind-address=0.0.0.0:9100"},
			Env:     []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "CLUSTER", Value: "lab"}},
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("daemon-%05d", i), Labels: map[string]string{"app": "daemon"}},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("gpu-%04d", node), Containers: []corev1.Container{container("agent"), container("proxy")},
		},
	}
}
