// Package kubelet answers for the kubelets of nodes on which nothing runs: commands in their pods run on this
// machine, over the streaming protocols of the real kubelet (k8s.io/cri-streaming), with its exit codes.
package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/pki"
	"github.com/railhead/railhead/tools/process"
)

// Container names a container.
type Container struct {
	Namespace, Pod, Name string
}

// Kubelet is one for all nodes; its fields but Port are set before Start. It listens on the loopback address. It serves
// a node when the first of its status.addresses that the API server takes is 127.0.0.1, and its
// status.daemonEndpoints.kubeletEndpoint.Port is Port: Serve does that.
type Kubelet struct {
	Port int // set by Start

	// Command makes the process that stands for a command; nil runs it as it is.
	Command func(ctx context.Context, c Container, words []string) *exec.Cmd
	// Log returns the log of a container; nil: all logs are empty.
	Log func(c Container) string

	server *http.Server
	done   chan struct{}

	mu            sync.Mutex
	running, most int // commands
}

// AtOnce returns the largest number of commands that ran at the same time.
func (k *Kubelet) AtOnce() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.most
}

// count adds to the commands that run.
func (k *Kubelet) count(by int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running += by
	k.most = max(k.most, k.running)
}

// Start starts to listen.
func (k *Kubelet) Start() error {
	authority, err := pki.New()
	if err != nil {
		return err
	}
	pair, err := authority.Server("kubelet")
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k.Port = listener.Addr().(*net.TCPAddr).Port
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.exec)
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", k.log)
	k.server = &http.Server{
		Handler:   mux,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	k.done = make(chan struct{})
	go func() {
		defer close(k.done)
		_ = k.server.ServeTLS(listener, "", "") // ends by Close
	}()
	return nil
}

// Serve makes the API server ask this kubelet about the pods of nodes.
func (k *Kubelet) Serve(ctx context.Context, c client.Client, nodes ...string) error {
	here := fmt.Appendf(nil, `{"status":{"addresses":[{"type":"ExternalIP","address":"127.0.0.1"}],`+
		`"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, k.Port)
	for _, name := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		patch := client.RawPatch(types.StrategicMergePatchType, here)
		if err := c.Status().Patch(ctx, node, patch); err != nil {
			return fmt.Errorf("kubelet of node %s: %w", name, err)
		}
	}
	return nil
}

// Close ends it, with the commands that run.
func (k *Kubelet) Close() error {
	err := k.server.Close()
	<-k.done
	return err
}

func container(r *http.Request) Container {
	return Container{r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")}
}

func (k *Kubelet) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := container(r)
	remotecommand.ServeExec(w, r, runner{k, c}, c.Pod, "", c.Name, r.URL.Query()["command"], options,
		time.Hour, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// runner is a remotecommand.Executor.
type runner struct {
	kubelet   *Kubelet
	container Container
}

// ExecInContainer runs a command and returns how it ended.
func (r runner) ExecInContainer(
	ctx context.Context,
	_, _, _ string,
	words []string,
	in io.Reader,
	out, errs io.WriteCloser,
	_ bool,
	_ <-chan remotecommand.TerminalSize,
	_ time.Duration,
) error {
	if len(words) == 0 {
		return errors.New("no command")
	}
	r.kubelet.count(1)
	defer r.kubelet.count(-1)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	if r.kubelet.Command != nil {
		cmd = r.kubelet.Command(ctx, r.container, words)
	}
	return ended(run(cmd, in, out, errs))
}

// run feeds the input itself: os/exec would wait for its end after the command's.
func run(cmd *exec.Cmd, in io.Reader, out, errs io.Writer) error {
	var pipe io.WriteCloser
	if in != nil {
		var err error
		if pipe, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	wait, err := process.Start(cmd, out, errs)
	if err != nil {
		return err
	}
	if in != nil {
		go func() {
			defer pipe.Close()
			_, _ = io.Copy(pipe, in) // ends with the command or the connection
		}()
	}
	return wait()
}

// ended turns the end of a process into the kubelet's report.
func ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

func (k *Kubelet) log(w http.ResponseWriter, r *http.Request) {
	if k.Log != nil {
		fmt.Fprint(w, k.Log(container(r)))
	}
}
