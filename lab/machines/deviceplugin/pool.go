package deviceplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// pool answers the kubelet for one resource.
type pool struct {
	api.UnimplementedDevicePluginServer
	resource string
	devices  []device
	log      *log.Logger
}

// GetDevicePluginOptions says that the plugin wants nothing but Allocate.
func (p *pool) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch says once which devices there are.
func (p *pool) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	var all []*api.Device
	for _, d := range p.devices {
		all = append(all, &api.Device{ID: d.address, Health: api.Healthy})
	}
	if err := stream.Send(&api.ListAndWatchResponse{Devices: all}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate returns the environment and device nodes for the devices that the kubelet chose.
func (p *pool) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		one, err := p.allocate(c.DevicesIds)
		if err != nil {
			return nil, err
		}
		p.log.Printf("%s: allocate %v: %v", p.resource, c.DevicesIds, one.Envs)
		answer.ContainerResponses = append(answer.ContainerResponses, one)
	}
	return answer, nil
}

func (p *pool) allocate(ids []string) (*api.ContainerAllocateResponse, error) {
	var chosen []device
	for _, id := range ids {
		i := slices.IndexFunc(p.devices, func(d device) bool { return d.address == id })
		if i < 0 {
			return nil, fmt.Errorf("allocate %s of %s: no such device", id, p.resource)
		}
		chosen = append(chosen, p.devices[i])
	}
	env, err := environment(p.resource, chosen)
	if err != nil {
		return nil, err
	}
	return &api.ContainerAllocateResponse{Envs: env, Devices: specs(chosen)}, nil
}

// specs are the character devices that a container gets, each once: it may read and write them, not make them
// (pkg/devices/rdma.go of the real one).
func specs(devices []device) []*api.DeviceSpec {
	var all []*api.DeviceSpec
	seen := map[string]bool{}
	for _, d := range devices {
		for _, f := range d.files {
			if !seen[f] {
				seen[f] = true
				all = append(all, &api.DeviceSpec{ContainerPath: f, HostPath: f, Permissions: "rw"})
			}
		}
	}
	return all
}

// deviceInfo is the device information of the Network Plumbing Working Group, version 1.1.0, for a PCI device.
type deviceInfo struct {
	Type    string  `json:"type"`
	Version string  `json:"version"`
	PCI     pciInfo `json:"pci"`
}

type pciInfo struct {
	PCIAddress string `json:"pci-address"`
	RDMADevice string `json:"rdma-device,omitempty"` // joined by commas if several
}

// inform writes the device information of all devices, for Multus.
func (p *pool) inform(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, d := range p.devices {
		text, err := json.Marshal(deviceInfo{"pci", "1.1.0", pciInfo{d.address, strings.Join(d.hcas, ",")}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(infoFile(folder, p.resource, d.address), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// infoFile returns the path at which Multus looks for the information about a device of a resource
// (getDPDeviceInfoPath in network-attachment-definition-client, pkg/utils/cniconfig.go).
func infoFile(folder, resource, id string) string {
	return filepath.Join(folder,
		strings.ReplaceAll(resource, "/", "-")+"-"+strings.ReplaceAll(id, "/", "-")+"-device.json")
}
