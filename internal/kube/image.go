package kube

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNoShellImage means that the cluster has no image with a shell that a node can surely run.
var ErrNoShellImage = errors.New("found no image with a shell that the node has or can pull")

// Where OpenShift has images with a shell.
const (
	daemon         = "machine-config-daemon" // the container and the label k8s-app of its pods, one on each node
	daemonPods     = "/api/v1/namespaces/openshift-machine-config-operator/pods"
	imageGroup     = "image.openshift.io"
	imageStreamTag = "/apis/image.openshift.io/v1/namespaces/openshift/imagestreamtags/cli:latest"
)

// ShellImage returns an image with a shell for a node of OpenShift. It is the image of the machine-config-daemon, which
// the node has already and whose base is RHEL (machine-config-operator Dockerfile), or else the image of the image
// stream tag openshift/cli:latest, as `oc debug` uses openshift/tools:latest (openshift/oc pkg/cli/debug/debug.go).
// Both are in the registry of the release, for which every kubelet has the pull secret. The registry inside the cluster
// is no alternative: bare metal installs it as Removed (OpenShift docs, configuring-registry-storage-baremetal).
func (c *Client) ShellImage(ctx context.Context, node string) (string, error) {
	image, err := c.daemonImage(ctx, node)
	if err == nil || fatal(err) != nil {
		return image, err
	}
	image, second := c.taggedImage(ctx)
	if second == nil || fatal(second) != nil {
		return image, second
	}
	return "", fmt.Errorf("%w: %w; %w", ErrNoShellImage, err, second)
}

func (c *Client) daemonImage(ctx context.Context, node string) (string, error) {
	var pods corev1.PodList
	options := metav1.ListOptions{LabelSelector: "k8s-app=" + daemon, FieldSelector: "spec.nodeName=" + node}
	if err := c.get(ctx, daemonPods, options, &pods); err != nil {
		return "", fmt.Errorf("read the %s of node %s: %w", daemon, node, err)
	}
	for _, p := range pods.Items {
		for _, container := range p.Spec.Containers {
			if container.Name == daemon && container.Image != "" {
				return container.Image, nil
			}
		}
	}
	return "", fmt.Errorf("node %s has no pod of the %s", node, daemon)
}

func (c *Client) taggedImage(ctx context.Context) (string, error) {
	if _, ok := c.api.find(imageGroup, "imagestreamtags", "v1"); !ok {
		return "", errors.New("the server has no image streams")
	}
	var tag struct {
		Image struct {
			DockerImageReference string `json:"dockerImageReference"`
		} `json:"image"`
	}
	if err := c.get(ctx, imageStreamTag, metav1.ListOptions{}, &tag); err != nil {
		return "", fmt.Errorf("read image stream tag openshift/cli:latest: %w", err)
	}
	if tag.Image.DockerImageReference == "" {
		return "", errors.New("image stream tag openshift/cli:latest names no image")
	}
	return tag.Image.DockerImageReference, nil
}

// get reads a path as JSON, and waits for a server that does not answer.
func (c *Client) get(ctx context.Context, path string, options metav1.ListOptions, response any) error {
	return c.persist(ctx, func(ctx context.Context) error {
		return callJSON(ctx, withOptions(c.rest.Get().AbsPath(path), &options), response)
	})
}
