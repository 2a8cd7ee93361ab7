package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/service"
)

// Node is a machine that is becoming a node.
type Node struct {
	Config   guest.Config
	Services *service.Services
	Env      []string     // of all programs
	Stage    func(string) // called with the name of each stage
	Init     string       // this program
}

// Runtime starts the container runtime and waits until it serves.
func (n *Node) Runtime(ctx context.Context) error {
	if err := n.write(); err != nil {
		return err
	}
	// A container may lock as much memory as the runtime: containerd has no default for it as CRI-O has in its
	// default_ulimits, and limits that a container's own specification does not set are inherited.
	err := n.Services.Start(service.Program{
		Service: guest.Containerd,
		Path:    guest.ProgramFolder + "/containerd",
		Args:    []string{"--config", containerdConfig},
		Env:     n.Env, Memlock: n.Config.Node.Memlock,
	})
	if err != nil {
		return err
	}
	err = n.until(ctx, guest.Containerd, "serves", func() error {
		conn, err := net.Dial("unix", containerdSocket)
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err == nil {
		n.Stage("containerd")
	}
	return err
}

// write writes the configuration of all programs.
func (n *Node) write() error {
	cni, err := os.ReadFile(filepath.Join(guest.OwnFolder, n.Config.Node.CNIKubeconfig))
	if err != nil {
		return err
	}
	files, err := Files(n.Config, string(cni))
	if err != nil {
		return err
	}
	cert, key, err := serving(n.Config.Name, address(n.Config))
	if err != nil {
		return err
	}
	for _, f := range append(files, cert, key) {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.Path, []byte(f.Content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Join starts the programs of a node, the kubelet first: the others would only make it wait for the
// processor.
func (n *Node) Join(ctx context.Context) error {
	kubelet := service.Program{
		Service: guest.Kubelet,
		Path:    guest.ProgramFolder + "/kubelet",
		Args:    n.kubeletArguments(),
		Env:     n.Env,
	}
	if err := n.Services.Start(kubelet); err != nil {
		return err
	}
	if err := n.Services.Start(n.devicePlugin()); err != nil {
		return err
	}
	if err := n.until(ctx, guest.Kubelet, "is healthy", healthy); err != nil {
		return err
	}
	n.Stage("kubelet")
	if err := n.images(ctx); err != nil {
		return err
	}
	n.Stage("images")
	if err := keepPlugins(); err != nil {
		return err
	}
	n.Stage("plugins")
	if err := n.until(ctx, guest.DevicePlugin, "is registered", n.registered); err != nil {
		return err
	}
	n.Stage("resources")
	// It serves seconds before the first pod runs that could ask it.
	return n.Services.Start(service.Program{
		Service: guest.DNS, Path: guest.ProgramFolder + "/coredns", Args: []string{"-conf", corefile}, Env: n.Env,
	})
}

func (n *Node) kubeletArguments() []string {
	args := []string{
		"--config=" + kubeletConfig, "--kubeconfig=" + filepath.Join(guest.OwnFolder, n.Config.Node.Kubeconfig),
		"--hostname-override=" + n.Config.Name, "--node-ip=" + address(n.Config).String(),
		// The node's addresses are whatever the Node object says: the external one is that of a port of the host.
		"--cloud-provider=external", "--v=2",
	}
	if labels := n.Config.Node.Labels; len(labels) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, key+"="+labels[key])
		}
		args = append(args, "--node-labels="+strings.Join(pairs, ","))
	}
	return args
}

// healthy asks the kubelet whether it is.
func healthy() error {
	asker := http.Client{Timeout: 10 * time.Second}
	answer, err := asker.Get("http://127.0.0.1:10248/healthz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("healthz: %s", answer.Status)
	}
	return nil
}

func (n *Node) devicePlugin() service.Program {
	p := service.Program{
		Service: guest.DevicePlugin,
		Path:    n.Init,
		Args:    standInArguments(n.Config.Node.Resources),
		Env:     n.Env,
	}
	if n.real() {
		p.Path, p.Args = realPluginProgram, []string{"-config-file", realPluginConfig, "-logtostderr", "-v", "5"}
	}
	return p
}

// real reports whether the device plugin is the real one.
func (n *Node) real() bool {
	_, err := os.Stat(realPluginProgram)
	return err == nil
}

// registered is an error until the device plugin is. Of the real one only its log tells.
func (n *Node) registered() error {
	if len(n.Config.Node.Resources) == 0 {
		return nil
	}
	if !n.real() {
		_, err := os.Stat(RegisteredFile)
		return err
	}
	text, err := os.ReadFile(filepath.Join(n.Services.Logs, string(guest.DevicePlugin)+".log"))
	if err == nil && strings.Count(string(text), "registered") < len(n.Config.Node.Resources) {
		err = errors.New("not all resources are registered")
	}
	return err
}

// images gives the runtime the images: there is no registry. The client does the work itself (--local), which takes
// half the time of having the runtime do it.
func (n *Node) images(ctx context.Context) error {
	for _, name := range n.Config.Node.Images {
		archive := filepath.Join(guest.ProgramFolder, name)
		cmd := exec.CommandContext(ctx, guest.ProgramFolder+"/ctr", "--namespace=k8s.io", "images", "import", "--local",
			archive)
		cmd.Env = n.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("import image %s: %w: %s", archive, err, out)
		}
	}
	return nil
}

// keepPlugins reads the CNI plugins and the container runtime, so that they stay in the page cache. Multus asks its
// plugins for their work with 2.5 seconds for all of it, and they would first come through the share.
func keepPlugins() error {
	names := []string{guest.ProgramFolder + "/containerd-shim-runc-v2", guest.ProgramFolder + "/crun"}
	entries, err := os.ReadDir(plugins)
	if err != nil {
		return err
	}
	for _, e := range entries {
		names = append(names, filepath.Join(plugins, e.Name()))
	}
	for _, name := range names {
		if err := keep(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func keep(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// until asks until there is no error, or until the service that it asks about has ended too often.
func (n *Node) until(ctx context.Context, service guest.Service, what string, ask func() error) error {
	const often = 3
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if times, how := n.Services.Ends(service); times >= often {
			return fmt.Errorf("wait until %s %s: it ended %d times: %s: %s", service, what, times, how,
				n.lastWords(service))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s %s: %w: %w", service, what, context.Cause(ctx), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// lastWords is the last line of a service's log.
func (n *Node) lastWords(service guest.Service) string {
	text, err := os.ReadFile(filepath.Join(n.Services.Logs, string(service)+".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
