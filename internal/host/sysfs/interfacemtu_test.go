package sysfs

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
	"github.com/railhead/railhead/internal/host/replay"
)

// node has a device whose interface is in this network namespace, one whose interface is elsewhere, and one of
// InfiniBand.
const node = `
-- sys/class/infiniband/mlx5_0/ports/1/state --
4: ACTIVE
-- sys/class/infiniband/mlx5_0/ports/1/link_layer --
Ethernet
-- sys/class/infiniband/mlx5_0/device/net/eno5np0/ --
-- sys/class/infiniband/mlx5_1/ports/1/state --
4: ACTIVE
-- sys/class/infiniband/mlx5_1/ports/1/link_layer --
Ethernet
-- sys/class/infiniband/mlx5_2/ports/1/state --
4: ACTIVE
-- sys/class/infiniband/mlx5_2/ports/1/link_layer --
InfiniBand
`

// usedBy returns what RDMA netlink lists if these processes have a queue pair on a device each.
func usedBy(device string, pids ...int) host.WireDevice {
	all := []host.QueuePair{{Number: 1, Program: "ib_core", Kernel: true}, {Number: 2, Type: host.TypeRC}}
	for i, pid := range pids {
		all = append(all, host.QueuePair{Number: uint32(17 + i), Type: host.TypeRC, PID: host.Know(pid)})
	}
	return host.WireDevice{Name: device, QueuePairs: host.Know(all), Ports: []host.WirePort{{Number: 1}}}
}

// TestInterfaceMTUs: the MTU of an interface in the network namespace of a pod is read there, once. What is not read has
// a reason.
func TestInterfaceMTUs(t *testing.T) {
	const own, pod, other, refused, forbidden, ended = 70, 71, 72, 73, 74, 75
	root, err := replay.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	var asked []int
	probes := Probes{
		Namespace: func(pid int) (string, error) {
			switch pid {
			case own:
				return "", nil
			case refused:
				return "", &fs.PathError{Op: "readlink", Path: "/host/proc/73/ns/net", Err: syscall.EACCES}
			case ended:
				return "", &fs.PathError{Op: "readlink", Path: "/host/proc/75/ns/net", Err: syscall.ENOENT}
			case pod, other:
				return fmt.Sprintf("net:[%d]", pid), nil
			}
			return "net:[4026532000]", nil
		},
		InterfaceMTUs: func(pid int) (map[netlink.Port]host.Fact[int], error) {
			asked = append(asked, pid)
			switch pid {
			case forbidden:
				return nil, fmt.Errorf("enter /host/proc/74/ns/net: %w", syscall.EPERM)
			case pod:
				return map[netlink.Port]host.Fact[int]{{Device: "mlx5_1", Number: 1}: host.Know(1500)}, nil
			}
			return map[netlink.Port]host.Fact[int]{}, nil
		},
	}
	for name, c := range map[string]struct {
		device host.WireDevice
		want   host.Fact[int]
		asked  []int
	}{
		"a pod's interface":                 {usedBy("mlx5_1", pod, pod), host.Know(1500), []int{pod}},
		"after a process that ended":        {usedBy("mlx5_1", ended, pod), host.Know(1500), []int{pod}},
		"after a pod without the interface": {usedBy("mlx5_1", other, pod), host.Know(1500), []int{other, pod}},
		"in no namespace":                   {usedBy("mlx5_1", own, other), host.Fact[int]{}, []int{other}},
		"unused":                            {usedBy("mlx5_1"), host.Fact[int]{}, nil},
		"a process that ended":              {usedBy("mlx5_1", ended), host.Unread[int]("network namespace of process 75: no such file or directory"), nil},
		"a process that may not be traced":  {usedBy("mlx5_1", refused), host.Unread[int]("network namespace of process 73: permission denied"), nil},
		"a namespace that may not be entered": {usedBy("mlx5_1", forbidden), host.Unread[int]("network namespace of process 74: " +
			"enter /host/proc/74/ns/net: operation not permitted"), []int{forbidden}},
		"an interface of this namespace": {usedBy("mlx5_0", own, refused), host.Fact[int]{}, nil},
		"InfiniBand":                     {usedBy("mlx5_2", pod), host.Fact[int]{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			probes.Wire = func() (host.Wire, error) { return host.Wire{Devices: []host.WireDevice{c.device}}, nil }
			s := Read(root, probes)
			got := s.Wire.Value.Devices[0].Ports[0].InterfaceMTU
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("the namespaces that were entered: %s", diff)
			}
			for _, p := range s.Problems {
				if strings.Contains(p.Path, "/ns/") {
					t.Errorf("%+v", p)
				}
			}
			_, archive := Machine{Root: root, Probes: probes}.Record()
			replayed, err := Recorded(archive)
			if err != nil {
				t.Fatal(err)
			}
			if again := replayed.Snapshot().Wire; !cmp.Equal(s.Wire, again) {
				t.Error(cmp.Diff(s.Wire, again))
			}
		})
	}
}
