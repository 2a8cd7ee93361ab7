package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// PodRef names a pod.
type PodRef struct {
	Namespace, Name string
}

func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// ExecOptions is a command in a container and its streams; a nil stream is not opened.
type ExecOptions struct {
	Container string // empty: the pod's default
	Command   []string
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
}

// Exec runs a command in a pod and returns its exit code. It returns an error if the exit code is not known; the error
// names neither the pod nor the command. The end of the context closes the connection: the command loses its streams,
// but is not killed.
func (c *Client) Exec(ctx context.Context, pod PodRef, o ExecOptions) (exitCode int, err error) {
	if o.Stdin == nil && o.Stdout == nil && o.Stderr == nil {
		o.Stdout = io.Discard // the kubelet requires a stream
	}
	executor, err := c.executor(withOptions(c.rest.Post().AbsPath(podPath(pod), "exec"), &corev1.PodExecOptions{
		Container: o.Container,
		Command:   o.Command,
		Stdin:     o.Stdin != nil,
		Stdout:    o.Stdout != nil,
		Stderr:    o.Stderr != nil,
	}))
	if err != nil {
		return 0, err
	}
	err = executor.StreamWithContext(quiet(ctx), remotecommand.StreamOptions{
		Stdin:  o.Stdin,
		Stdout: o.Stdout,
		Stderr: o.Stderr,
	})
	var exit utilexec.CodeExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.Code, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, c.podError(err, pod)
}

// executor uses WebSocket, and SPDY for servers older than Kubernetes 1.30 and through proxies that refuse WebSocket,
// as kubectl does (kubectl pkg/cmd/exec/exec.go createExecutor).
func (c *Client) executor(request *rest.Request) (remotecommand.Executor, error) {
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return nil, err
	}
	webSocket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(webSocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// Capture keeps the first Limit bytes that are written to it.
type Capture struct {
	Limit int

	mu   sync.Mutex
	kept []byte
	full bool
}

// Write implements io.Writer.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(p), c.Limit-len(c.kept))
	c.kept = append(c.kept, p[:n]...)
	c.full = c.full || n < len(p)
	return len(p), nil
}

func (c *Capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.kept)
}

// truncated reports whether more than Limit bytes were written.
func (c *Capture) truncated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.full
}

// LogOptions select a part of a container's log; the zero value selects all of it so far.
type LogOptions struct {
	Container string // empty: the pod's default
	Follow    bool   // until the container ends
	Previous  bool   // of the run before the last restart
	Tail      int    // the number of last lines; 0: all
}

// Logs returns the log of a container. The caller closes it.
func (c *Client) Logs(ctx context.Context, pod PodRef, o LogOptions) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{Container: o.Container, Follow: o.Follow, Previous: o.Previous}
	if o.Tail > 0 {
		options.TailLines = new(int64(o.Tail))
	}
	log, err := withOptions(c.rest.Get().AbsPath(podPath(pod), "log"), options).Stream(quiet(ctx))
	if err != nil {
		return nil, fmt.Errorf("log of pod %s: %w", pod, c.podError(err, pod))
	}
	return log, nil
}

func podPath(pod PodRef) string {
	return "/api/v1/namespaces/" + pod.Namespace + "/pods/" + pod.Name
}

// podError returns an error about a pod as a *Forbidden or a reachError. The error of a refused upgrade of a connection
// has the server's response only as text.
func (c *Client) podError(err error, pod PodRef) error {
	if f := parseNoRight(err.Error(), pod.Name); f != nil {
		f.Err = err
		return f
	}
	return reachError(c.config.Host, err)
}
