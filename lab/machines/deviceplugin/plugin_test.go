package deviceplugin

import (
	"context"
	"errors"
	"log"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/testing/protocmp"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/yaml"
)

// kubelet is the kubelet's side of the registration.
type kubelet struct {
	api.UnimplementedRegistrationServer
	server     *grpc.Server
	registered chan *api.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	k.registered <- r
	return &api.Empty{}, nil
}

// startKubelet makes the kubelet's socket and removes all others, as a kubelet that starts.
func startKubelet(t *testing.T, folder string) *kubelet {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(folder, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{server: grpc.NewServer(), registered: make(chan *api.RegisterRequest, 8)}
	api.RegisterRegistrationServer(k.server, k)
	go func() { _ = k.server.Serve(l) }()
	t.Cleanup(k.server.Stop)
	return k
}

// next is the next resource that is registered.
func (k *kubelet) next(t *testing.T) *api.RegisterRequest {
	t.Helper()
	select {
	case r := <-k.registered:
		return r
	case <-time.After(5 * time.Minute): // it hangs
		t.Fatal("nothing was registered")
		return nil
	}
}

// ask connects to the plugin's socket of a resource.
func ask(t *testing.T, folder, endpoint string) api.DevicePluginClient {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+filepath.Join(folder, endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return api.NewDevicePluginClient(conn)
}

func run(t *testing.T, p *Plugin) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(p.Info)
		if err != nil || len(left) > 0 {
			t.Errorf("device information that is left behind: %v, %v", left, err)
		}
	})
}

func newPlugin(t *testing.T) *Plugin {
	t.Helper()
	root, _ := machine(t)
	// A socket's path has at most 108 characters: the test's own folder may be longer.
	folder, err := os.MkdirTemp("", "plugin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return &Plugin{
		Resources: []Resource{{"openshift.io/eno5np0rdma", "eno5np0"}, {"openshift.io/eno6np0rdma", "eno6np0"}},
		Root:      root, Sockets: filepath.Join(folder, "device-plugins"), Info: filepath.Join(t.TempDir(), "dp"),
		Log: log.New(t.Output(), "", 0),
	}
}

func TestPlugin(t *testing.T) {
	p := newPlugin(t)
	k := startKubelet(t, p.Sockets)
	run(t, p)
	want := &api.RegisterRequest{
		Version: "v1beta1", Endpoint: "openshift.io_eno5np0rdma.sock",
		ResourceName: "openshift.io/eno5np0rdma", Options: &api.DevicePluginOptions{},
	}
	first, second := k.next(t), k.next(t)
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if second.ResourceName != "openshift.io/eno6np0rdma" {
		t.Errorf("second resource: %v", second)
	}
	c := ask(t, p.Sockets, second.Endpoint)
	stream, err := c.ListAndWatch(t.Context(), &api.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	devices := []*api.Device{{ID: "0000:02:10.0", Health: "Healthy"}, {ID: "0000:02:10.2", Health: "Healthy"}}
	if diff := cmp.Diff(devices, list.Devices, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	allocates(t, c)
	informs(t, p)
}

// allocates asks for two containers at once, and for a device that is not there.
func allocates(t *testing.T, c api.DevicePluginClient) {
	t.Helper()
	answer, err := c.Allocate(t.Context(), &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{
		{DevicesIds: []string{"0000:02:10.2"}}, {DevicesIds: []string{"0000:02:10.2", "0000:02:10.0"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(file string) *api.DeviceSpec {
		return &api.DeviceSpec{
			ContainerPath: "/dev/infiniband/" + file,
			HostPath:      "/dev/infiniband/" + file,
			Permissions:   "rw",
		}
	}
	var addresses []string
	var specs [][]*api.DeviceSpec
	for _, one := range answer.ContainerResponses {
		addresses = append(addresses, one.Envs["PCIDEVICE_OPENSHIFT_IO_ENO6NP0RDMA"])
		specs = append(specs, one.Devices)
	}
	if diff := cmp.Diff([]string{"0000:02:10.2", "0000:02:10.2,0000:02:10.0"}, addresses); diff != "" {
		t.Error(diff)
	}
	wantSpecs := [][]*api.DeviceSpec{
		{spec("uverbs3"), spec("rdma_cm")},
		{spec("uverbs3"), spec("rdma_cm"), spec("uverbs2")},
	}
	if diff := cmp.Diff(wantSpecs, specs, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	_, err = c.Allocate(t.Context(), &api.AllocateRequest{
		ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: []string{"0000:09:10.2"}}},
	})
	if err == nil {
		t.Error("a device that is not there was given away")
	}
}

// informs reads the device information as Multus does.
func informs(t *testing.T, p *Plugin) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Info, "openshift.io-eno6np0rdma-0000:02:10.2-device.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got networksv1.DeviceInfo
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	want := networksv1.DeviceInfo{
		Type:    "pci",
		Version: "1.1.0",
		Pci:     &networksv1.PciDevice{PciAddress: "0000:02:10.2", RdmaDevice: "mlx5_3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestKubeletComesLater starts the plugin before there is a kubelet, and the kubelet a second time.
func TestKubeletComesLater(t *testing.T) {
	p := newPlugin(t)
	times := make(chan struct{}, 8)
	p.Registered = func() { times <- struct{}{} }
	run(t, p)
	for range 2 {
		k := startKubelet(t, p.Sockets)
		k.next(t)
		last := k.next(t)
		<-times
		options, err := ask(t, p.Sockets, last.Endpoint).GetDevicePluginOptions(t.Context(), &api.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&api.DevicePluginOptions{}, options, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		k.server.Stop()
	}
}

// TestNothingToOffer leaves out the resource of a card whose functions have no RDMA device.
func TestNothingToOffer(t *testing.T) {
	p := newPlugin(t)
	root, folder := machine(t)
	for _, vf := range []string{"0000:01:10.0", "0000:01:10.2"} {
		remove(t, folder, "sys/devices/pci0000:00/0000:00:05.0/"+vf+"/infiniband")
	}
	p.Root = root
	k := startKubelet(t, p.Sockets)
	run(t, p)
	if got := k.next(t).ResourceName; got != "openshift.io/eno6np0rdma" {
		t.Errorf("registered %s", got)
	}
}
