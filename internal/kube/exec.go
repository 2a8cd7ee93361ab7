package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

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

// Size of a terminal.
type Size struct {
	Width, Height uint16
}

// ExecOptions is a command in a container and its streams; a nil stream is not opened.
type ExecOptions struct {
	Container string // "": the pod's default
	Command   []string
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer   // with TTY everything comes on Stdout
	TTY       bool        // the command gets a terminal
	Sizes     <-chan Size // of the terminal, whenever it changes
}

// Exec runs a command in a pod and returns its exit code. It returns an error when the command did not run to its end.
// When the context ends the connection is closed: the command is not killed by that, it loses its streams.
func (c *Client) Exec(ctx context.Context, pod PodRef, o ExecOptions) (exitCode int, err error) {
	if o.TTY {
		o.Stderr = nil
	}
	if o.Stdin == nil && o.Stdout == nil && o.Stderr == nil {
		o.Stdout = io.Discard // the kubelet wants one stream
	}
	request := c.rest.Post().AbsPath(podPath(pod), "exec")
	for _, word := range o.Command {
		request.Param("command", word)
	}
	for name, wanted := range map[string]bool{
		"stdin": o.Stdin != nil, "stdout": o.Stdout != nil, "stderr": o.Stderr != nil, "tty": o.TTY,
	} {
		if wanted {
			request.Param(name, "true")
		}
	}
	if o.Container != "" {
		request.Param("container", o.Container)
	}
	executor, err := c.executor(request)
	if err != nil {
		return 0, fmt.Errorf("run %q in pod %s: %w", o.Command, pod, err)
	}
	streams := remotecommand.StreamOptions{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}
	if o.Sizes != nil {
		streams.TerminalSizeQueue = sizes(o.Sizes)
	}
	err = executor.StreamWithContext(quiet(ctx), streams)
	var exit utilexec.CodeExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.Code, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("run %q in pod %s: %w", o.Command, pod, c.podError(err, pod))
}

// executor speaks WebSocket and, to servers older than Kubernetes 1.30 and through proxies that refuse it, SPDY, as
// kubectl does (kubectl pkg/cmd/exec/exec.go createExecutor).
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

// sizes is a remotecommand.TerminalSizeQueue.
type sizes <-chan Size

// Next waits for the next size; nil ends.
func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &remotecommand.TerminalSize{Width: size.Width, Height: size.Height}
}

// LogOptions is which part of a container's log is wanted; the zero value is all of it so far.
type LogOptions struct {
	Container string // "": the pod's default
	Follow    bool   // until the container ends
	Previous  bool   // of the container's run before this one
	Tail      int    // only so many last lines; 0: all
}

// Logs returns the log of a container, to be closed by whoever asked.
func (c *Client) Logs(ctx context.Context, pod PodRef, o LogOptions) (io.ReadCloser, error) {
	request := c.rest.Get().AbsPath(podPath(pod), "log")
	if o.Container != "" {
		request.Param("container", o.Container)
	}
	if o.Follow {
		request.Param("follow", "true")
	}
	if o.Previous {
		request.Param("previous", "true")
	}
	if o.Tail > 0 {
		request.Param("tailLines", strconv.Itoa(o.Tail))
	}
	log, err := request.Stream(quiet(ctx))
	if err != nil {
		return nil, fmt.Errorf("log of pod %s: %w", pod, c.podError(err, pod))
	}
	return log, nil
}

func podPath(pod PodRef) string {
	return "/api/v1/namespaces/" + pod.Namespace + "/pods/" + pod.Name
}

// podError gives the server's answer about a pod its type. A refused upgrade of a connection holds it as text alone.
func (c *Client) podError(err error, pod PodRef) error {
	if f := parseNoRight(err.Error(), pod.Name); f != nil {
		f.Err = err
		return f
	}
	return reachError(c.config.Host, err)
}
