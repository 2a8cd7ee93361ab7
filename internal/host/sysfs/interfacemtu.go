package sysfs

import (
	"fmt"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

// namespaces answers for the network namespaces of processes. It asks each process and each namespace once.
type namespaces struct {
	probes      Probes
	ofProcess   map[int]portMTUs
	inNamespace map[string]portMTUs
}

type portMTUs struct {
	mtus map[netlink.Port]host.Fact[int]
	err  error
}

// readInterfaceMTUs reads the MTU of interfaces that are in the network namespaces of processes with queue pairs. Only
// the kernel's answer there says which interface a device has: names repeat from namespace to namespace, and a
// container may have the sysfs of another one, or none.
func readInterfaceMTUs(in *input, w host.Wire, s *host.Snapshot) {
	if in.probes.Namespace == nil || in.probes.InterfaceMTUs == nil {
		return // a recording has them
	}
	others := namespaces{in.probes, map[int]portMTUs{}, map[string]portMTUs{}}
	for _, d := range w.Devices {
		device, _ := s.Device(d.Name)
		for i := range d.Ports {
			if i >= len(device.Ports) || device.Ports[i].LinkLayer.Value != host.Ethernet {
				continue // a port of InfiniBand has no interface
			}
			mtu := others.mtu(d, d.Ports[i].Number)
			if mtu.IsKnown() || len(device.Netdevs) == 0 {
				d.Ports[i].InterfaceMTU = mtu
			}
		}
	}
}

// mtu looks for the interface of a port where the processes are that use the device. Absent: none is elsewhere.
func (n namespaces) mtu(d host.WireDevice, port int) (mtu host.Fact[int]) {
	for _, q := range d.QueuePairs.Value {
		pid, known := q.PID.Get()
		if q.Kernel || !known {
			continue
		}
		all := n.portsOf(pid)
		if all.err != nil {
			mtu = host.Unread[int](fmt.Sprintf("network namespace of process %d: %s", pid, reason(all.err)))
		}
		if there := all.mtus[netlink.Port{Device: d.Name, Number: port}]; !there.IsZero() {
			return there
		}
	}
	return mtu
}

// portsOf returns the ports with an interface in the network namespace of a process; none if it is this one.
func (n namespaces) portsOf(pid int) portMTUs {
	ports, asked := n.ofProcess[pid]
	if !asked {
		name, err := n.probes.Namespace(pid)
		ports = portMTUs{err: err}
		if err == nil && name != "" {
			ports = n.portsIn(name, pid)
		}
		n.ofProcess[pid] = ports
	}
	return ports
}

func (n namespaces) portsIn(name string, pid int) portMTUs {
	ports, asked := n.inNamespace[name]
	if !asked {
		ports.mtus, ports.err = n.probes.InterfaceMTUs(pid)
		n.inNamespace[name] = ports
	}
	return ports
}
