// Package deviceplugin is the lab's stand-in for sriov-network-device-plugin v3.11.0, which cannot be had as a Go
// module.
//
// It speaks the kubelet's real device-plugin API, v1beta1: a pod's devices go through scheduler, kubelet and runtime
// as in any cluster. It offers the virtual functions with an RDMA device of the cards that it is told, gives a
// container the environment and the character devices that the real one gives with isRdma, and writes the device
// information from which Multus copies its information into a pod's network-status.
//
// It leaves out: all other selectors and kinds of devices, the health of devices, the topology of NUMA, CDI, and the
// kubelet's plugin watcher, instead of which it registers at the kubelet's socket.
package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Plugin is the device plugin of a machine.
type Plugin struct {
	Resources []Resource
	Root      fs.FS  // the machine's: its sys and dev
	Sockets   string // folder of the kubelet's socket and of the plugin's own; SocketFolder
	Info      string // folder of the device information; InfoFolder
	Log       *log.Logger
	// Registered is called whenever the kubelet knows all resources.
	Registered func()
}

// Where a kubelet and Multus look.
const (
	SocketFolder = api.DevicePluginPath
	// InfoFolder is fixed in github.com/k8snetworkplumbingwg/network-attachment-definition-client,
	// pkg/utils/cniconfig.go.
	InfoFolder = "/var/run/k8s.cni.cncf.io/devinfo/dp"
)

// Run serves until the context ends. It looks for devices once, at its start, as the real one does.
func (p *Plugin) Run(ctx context.Context) error {
	p.Log.Print("stand-in of the lab for sriov-network-device-plugin v3.11.0")
	pools, err := p.pools()
	if err != nil {
		return err
	}
	defer func() { p.forget(pools) }()
	if err := os.MkdirAll(p.Sockets, 0o755); err != nil {
		return err
	}
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", p.Sockets, err)
	}
	defer watch.Close()
	if err := watch.Add(p.Sockets); err != nil {
		return fmt.Errorf("watch %s: %w", p.Sockets, err)
	}
	return p.follow(ctx, watch, pools)
}

// pools finds the devices of all resources. One without devices is not offered.
func (p *Plugin) pools() ([]*pool, error) {
	var pools []*pool
	for _, r := range p.Resources {
		devices, err := find(p.Root, r.Card)
		if err != nil {
			return nil, fmt.Errorf("find the devices of %s: %w", r, err)
		}
		if len(devices) == 0 {
			p.Log.Printf("%s: no virtual function with an RDMA device; it is not offered", r)
			continue
		}
		p.Log.Printf("%s: %+v", r, devices)
		pools = append(pools, &pool{resource: r.Name, devices: devices, log: p.Log})
	}
	return pools, nil
}

// follow serves the pools, and does so anew whenever the kubelet makes its socket: a kubelet that starts removes the
// plugins' sockets and knows none of them.
func (p *Plugin) follow(ctx context.Context, watch *fsnotify.Watcher, pools []*pool) error {
	kubelet := filepath.Join(p.Sockets, filepath.Base(api.KubeletSocket))
	var servers []*grpc.Server
	stop := func() {
		for _, s := range servers {
			s.Stop()
		}
		servers = nil
	}
	defer stop()
	_, err := os.Stat(kubelet)
	for made := err == nil; ; {
		if made {
			stop()
			if servers, err = p.serve(ctx, kubelet, pools); err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-watch.Events:
			made = e.Name == kubelet && e.Has(fsnotify.Create)
		case err := <-watch.Errors:
			return fmt.Errorf("watch %s: %w", p.Sockets, err)
		}
	}
}

// serve serves each pool on a socket of its own and tells the kubelet. The servers are returned with an error, too.
func (p *Plugin) serve(ctx context.Context, kubelet string, pools []*pool) (servers []*grpc.Server, err error) {
	for _, pool := range pools {
		if err := pool.inform(p.Info); err != nil {
			return servers, err
		}
		endpoint := strings.ReplaceAll(pool.resource, "/", "_") + ".sock"
		path := filepath.Join(p.Sockets, endpoint)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return servers, err
		}
		listener, err := net.Listen("unix", path)
		if err != nil {
			return servers, err
		}
		server := grpc.NewServer()
		servers = append(servers, server)
		api.RegisterDevicePluginServer(server, pool)
		go func() {
			if err := server.Serve(listener); err != nil {
				p.Log.Printf("serve %s: %v", path, err)
			}
		}()
		if err := register(ctx, kubelet, endpoint, pool.resource); err != nil {
			return servers, fmt.Errorf("register %s: %w", pool.resource, err)
		}
		p.Log.Printf("%s: registered with %d devices", pool.resource, len(pool.devices))
	}
	if p.Registered != nil {
		p.Registered()
	}
	return servers, nil
}

// register tells the kubelet of a resource. It makes its socket somewhat before it serves there.
func register(ctx context.Context, kubelet, endpoint, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("unix:"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = api.NewRegistrationClient(conn).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource, Options: &api.DevicePluginOptions{},
	}, grpc.WaitForReady(true))
	return err
}

// forget removes the device information of all pools.
func (p *Plugin) forget(pools []*pool) {
	for _, pool := range pools {
		for _, d := range pool.devices {
			_ = os.Remove(infoFile(p.Info, pool.resource, d.address))
		}
	}
}
