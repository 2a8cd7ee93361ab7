package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/controlplane/user"
)

// server is etcd or kube-apiserver: it can be killed and started again on the same port.
type server struct {
	name    string
	program string
	args    []string
	port    int
	reserve *os.File // holds the port while the server is down
	process *process.Process
}

func (s *server) close() {
	if s != nil {
		s.process.Kill()
		s.reserve.Close()
	}
}

// reserve binds a free port without listening on it. With SO_REUSEPORT on both sockets a server of ours can listen
// there, no other process gets the port while the server is down, and connections are refused then.
func reserve() (*os.File, int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), "reserved port")
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var bound unix.Sockaddr
	if err == nil {
		bound, err = unix.Getsockname(fd)
	}
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("reserve a port on 127.0.0.1: %w", err)
	}
	return f, bound.(*unix.SockaddrInet4).Port, nil
}

// newServer reserves a port and starts the program with the arguments, in which %d is the port.
func (p *ControlPlane) newServer(program assets.Program, args ...string) (*server, error) {
	held, port, err := reserve()
	if err != nil {
		return nil, err
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "%d", fmt.Sprint(port))
	}
	s := &server{name: string(program), program: p.programs[program], args: args, port: port, reserve: held}
	s.process, err = p.launch(s.name, s.program, s.args)
	if err != nil {
		held.Close()
		return nil, err
	}
	return s, nil
}

func (p *ControlPlane) startEtcd(ctx context.Context) error {
	const url = "http://127.0.0.1:%d"
	var err error
	p.etcd, err = p.newServer(assets.Etcd, "--data-dir="+filepath.Join(p.dir, "etcd"), "--socket-reuse-port",
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync", "--quota-backend-bytes=4294967296")
	if err != nil {
		return err
	}
	return p.healthy(ctx, p.etcd.process, http.DefaultClient, fmt.Sprintf(url+"/health", p.etcd.port))
}

// serviceAddress belongs to the Service kubernetes, which has the first of --service-cluster-ip-range.
const serviceAddress = "172.30.0.1"

// The plugins of lab/modules/controlplane/apiserver.
const sccPlugins = "security.openshift.io/SecurityContextConstraint,security.openshift.io/SCCExecRestrictions"

func (p *ControlPlane) startAPIServer(ctx context.Context) error {
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", p.etcd.port),
		"--bind-address=127.0.0.1", "--secure-port=%d", "--permit-port-sharing",
		"--tls-cert-file=" + p.files.serverCert, "--tls-private-key-file=" + p.files.serverKey,
		"--client-ca-file=" + p.files.ca,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.files.tokenPublic, "--service-account-signing-key-file=" + p.files.tokenKey,
		"--authorization-mode=Node,RBAC", "--allow-privileged", "--service-cluster-ip-range=172.30.0.0/16",
		"--endpoint-reconciler-type=none", // else it wants an address that pods can reach
		// A node's external address, where a test gives it one, is where its kubelet listens; its others lead nowhere.
		"--kubelet-client-certificate=" + p.files.kubeletCert, "--kubelet-client-key=" + p.files.kubeletKey,
		"--kubelet-preferred-address-types=ExternalIP,InternalIP",
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
	}
	var off []string
	if !p.options.SCC {
		off = append(off, sccPlugins)
	}
	if !p.options.Controllers {
		off = append(off, "ServiceAccount")
	}
	if len(off) > 0 {
		args = append(args, "--disable-admission-plugins="+strings.Join(off, ","))
	}
	var err error
	if p.api, err = p.newServer(assets.APIServer, args...); err != nil {
		return err
	}
	p.Users = user.Issuer{Authority: p.authority, Port: p.api.port, Folder: filepath.Join(p.dir, "pki")}
	if p.options.Early != nil {
		if err := p.options.Early(p); err != nil {
			return err
		}
	}
	return p.apiReady(ctx)
}

// apiReady waits until the API server says that it is ready.
func (p *ControlPlane) apiReady(ctx context.Context) error {
	cfg, err := p.Users.Config("system:admin", "system:masters")
	if err != nil {
		return err
	}
	c, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	return p.healthy(ctx, p.api.process, c, cfg.Host+"/readyz")
}

// healthy waits until the URL answers 200.
func (p *ControlPlane) healthy(ctx context.Context, proc *process.Process, c *http.Client, url string) error {
	return process.Until(ctx, proc.Name+" is ready", proc, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	})
}

// KillAPIServer kills the API server, as a crash would. Until RestartAPIServer, connections to it are refused.
func (p *ControlPlane) KillAPIServer() { p.api.process.Kill() }

// RestartAPIServer starts the API server again after KillAPIServer, on the same port with the same data, and waits
// until it is ready.
//
// It also restarts the controllers and the scheduler: in a cluster the end of their leader election makes the
// processes end, and the kubelet starts them again. Otherwise the drain controller of the machine-config-controller
// forgets a node whose cordon failed meanwhile, the scheduler crashes if a pod was replaced before it sees pods again
// (pkg/scheduler backend/cache UpdatePod), and watches of the kube-controller-manager stay away for as long as they
// back off, 30 s and more. The injector, which would crash sooner or later, is ended, so that it is known when it
// answers again.
func (p *ControlPlane) RestartAPIServer(ctx context.Context) error {
	p.api.process.Kill()
	var err error
	p.api.process, err = p.launch(p.api.name, p.api.program, p.api.args)
	if err != nil {
		return err
	}
	if err := p.apiReady(ctx); err != nil {
		return err
	}
	for _, c := range p.clients {
		switch c.name {
		case assets.ControllerManager, assets.MachineConfigController, assets.Scheduler:
			if err := p.restart(c); err != nil {
				return err
			}
		}
	}
	return p.Addons.RestartInjector(ctx)
}
