package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ErrNoShellImage says that no image is known that a node can run a shell from.
var ErrNoShellImage = errors.New("no image with a shell is known that the node has or can pull")

// Where OpenShift has such images.
const (
	daemon         = "machine-config-daemon" // the container and the label k8s-app of its pods, one on each node
	daemonPods     = "/api/v1/namespaces/openshift-machine-config-operator/pods"
	imageGroup     = "image.openshift.io"
	imageStreamTag = "/apis/image.openshift.io/v1/namespaces/openshift/imagestreamtags/cli:latest"
)

// ShellImage is an image with a shell for a node of OpenShift, in one call or two: that of the node's
// machine-config-daemon, which is there already and whose base is RHEL (machine-config-operator Dockerfile); else that
// of the image stream tag openshift/cli:latest, as `oc debug` takes that of openshift/tools:latest (openshift/oc
// pkg/cli/debug/debug.go). Both lie where the release lies, for which the kubelet of every node has the cluster's pull
// secret. The registry inside the cluster has none of them where it is Removed, as bare metal installs it (OpenShift
// docs, configuring-registry-storage-baremetal).
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

// daemonImage is the image of the machine-config-daemon of a node.
func (c *Client) daemonImage(ctx context.Context, node string) (string, error) {
	raw, err := c.get(ctx, daemonPods, map[string]string{"labelSelector": "k8s-app=" + daemon, "fieldSelector": "spec.nodeName=" + node})
	if err != nil {
		return "", fmt.Errorf("read the %s of node %s: %w", daemon, node, err)
	}
	var pods corev1.PodList
	if err := json.Unmarshal(raw, &pods); err != nil {
		return "", fmt.Errorf("read the %s of node %s: %w", daemon, node, err)
	}
	for _, p := range pods.Items {
		i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == daemon })
		if i >= 0 && p.Spec.Containers[i].Image != "" {
			return p.Spec.Containers[i].Image, nil
		}
	}
	return "", fmt.Errorf("node %s has no pod of the %s", node, daemon)
}

// taggedImage is the image of the image stream tag openshift/cli:latest.
func (c *Client) taggedImage(ctx context.Context) (string, error) {
	if _, ok := c.api.find(imageGroup, "imagestreamtags", "v1"); !ok {
		return "", errors.New("the server has no image streams")
	}
	raw, err := c.get(ctx, imageStreamTag, nil)
	if err != nil {
		return "", fmt.Errorf("read image stream tag openshift/cli:latest: %w", err)
	}
	var tag struct {
		Image struct {
			DockerImageReference string `json:"dockerImageReference"`
		} `json:"image"`
	}
	if err := json.Unmarshal(raw, &tag); err != nil {
		return "", fmt.Errorf("read image stream tag openshift/cli:latest: %w", err)
	}
	if tag.Image.DockerImageReference == "" {
		return "", errors.New("image stream tag openshift/cli:latest names no image")
	}
	return tag.Image.DockerImageReference, nil
}

// get reads a path as JSON, waiting for a server that is away.
func (c *Client) get(ctx context.Context, path string, parameters map[string]string) (raw []byte, err error) {
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		request := c.rest.Get().AbsPath(path).SetHeader("Accept", "application/json")
		for name, value := range parameters {
			request.Param(name, value)
		}
		raw, err = responseBody(request.Do(ctx))
		return err
	})
	return raw, err
}
