package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Fleet is the pods that are measured, and how. Its pods have the same rails in the same order.
type Fleet struct {
	Pods     []Pod
	Duration time.Duration // of one measurement, in whole seconds
	Spare    time.Duration // that a process may take longer: to start, to connect and to register its memory
	Size     int           // bytes of a message
	QPs      int           // queue pairs of a link
}

// Rails is how many rails every pod has.
func (f Fleet) Rails() int {
	if len(f.Pods) == 0 {
		return 0
	}
	return len(f.Pods[0].Rails)
}

// PodOf is a pod as its snapshot shows it.
func PodOf(name, node, ip string, tools Tools, s host.Snapshot) Pod {
	p := Pod{Name: name, Node: node, IP: ip, Tools: tools, NoPeermem: len(s.GPUs) > 0 && len(s.GPUDirect.Peermem) == 0}
	for _, r := range rail.Resolve(s, rail.Pod).Rails {
		p.Rails = append(p.Rails, railOf(s, r))
	}
	return p
}

func railOf(s host.Snapshot, r rail.Rail) PodRail {
	const noGID, widest = -1, 4096 // IB's active MTU is not in sysfs; switches and HCAs run with 4096
	p := PodRail{
		Name: railName(s, r), Device: r.Device, Port: r.Port, Netdev: r.Netdev, GID: noGID, Layer: InfiniBand, MTU: widest,
		Rate: Gbps(r.Rate.Value.Gbps), NUMA: r.Function.Value.NUMANode,
	}
	if p.NUMA.Value < 0 {
		p.NUMA = host.Fact[int]{}
	}
	if len(r.Nearest) > 0 {
		p.GPU = host.Know(r.Nearest[0].GPU)
	}
	p.Address = addressOf(s, r.Netdev)
	if r.GID != nil {
		p.GID, p.Layer, p.MTU = r.GID.Index, RoCEv2, RDMAMTU(r.MTU.Value)
		if p.Address = r.GID.IP().String(); !r.GID.IP().Is4() {
			p.Layer = RoCEv2IPv6
		}
	}
	link := r.Function.Value.Link.Value
	slot := Slot{GTs: link.GTs, Lanes: link.Width, MaxPayload: r.Function.Value.Config.MaxPayload.Value}
	if c, err := (Path{Rate: p.Rate, Layer: p.Layer, MTU: p.MTU, Slot: slot}).Ceiling(); err == nil {
		p.Ceiling = c
	}
	return p
}

// addressOf is an address of an interface by which others can reach it.
func addressOf(s host.Snapshot, netdev string) string {
	link, _ := s.Link(netdev)
	for _, p := range link.Addresses.Value {
		if p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	return ""
}

// railName is what the rail is called on every node: its attachment, else its interface, else its device.
func railName(s host.Snapshot, r rail.Rail) string {
	for _, n := range s.NetworkStatus {
		here := r.Netdev != "" && n.Interface == r.Netdev || n.RDMADevice != "" && n.RDMADevice == r.Device
		if here && n.Name != "" && !n.Default {
			return n.Name[strings.LastIndexByte(n.Name, '/')+1:]
		}
	}
	if r.Netdev != "" {
		return r.Netdev
	}
	return r.Name()
}

// Align gives all pods the same rails in the same order, those that all have; what is left out is said. Where no name is in
// common, as with other names of interfaces on every node, the order counts.
func Align(pods []Pod) (aligned []Pod, left []string) {
	if len(pods) == 0 {
		return nil, nil
	}
	aligned = slices.Clone(pods)
	var names []string
	for _, r := range pods[0].Rails {
		if !slices.Contains(names, r.Name) && everyOne(pods, r.Name) {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return byOrder(aligned)
	}
	for i, p := range pods {
		aligned[i].Rails = nil
		for _, name := range names {
			at := slices.IndexFunc(p.Rails, func(r PodRail) bool { return r.Name == name })
			aligned[i].Rails = append(aligned[i].Rails, p.Rails[at])
		}
		for _, r := range p.Rails {
			if !slices.Contains(names, r.Name) {
				left = append(left, fmt.Sprintf("rail %s of %s: not every pod has it", r.Name, p.Name))
			}
		}
	}
	return aligned, left
}

func everyOne(pods []Pod, name string) bool {
	return !slices.ContainsFunc(pods, func(p Pod) bool {
		return !slices.ContainsFunc(p.Rails, func(r PodRail) bool { return r.Name == name })
	})
}

func byOrder(pods []Pod) (aligned []Pod, left []string) {
	least := len(pods[0].Rails)
	for _, p := range pods {
		least = min(least, len(p.Rails))
	}
	for i, p := range pods {
		if len(p.Rails) > least {
			left = append(left, fmt.Sprintf("%d of %d rails of %s: not every pod has so many", len(p.Rails)-least, len(p.Rails), p.Name))
		}
		pods[i].Rails = slices.Clone(p.Rails[:least])
		for r := range pods[i].Rails {
			pods[i].Rails[r].Name = fmt.Sprintf("rail%d", r+1)
		}
	}
	if least > 0 {
		left = append(left, "names of rails: no name is the same on all nodes, so that their order counts")
	}
	return pods, left
}

// at is a rail of a pod.
func (f Fleet) at(e End) PodRail { return f.Pods[e.Pod].Rails[e.Rail] }

// Ceiling is that of a link: of its lower end.
func (f Fleet) Ceiling(l Link) Ceiling { return Between(f.at(l.From).Ceiling, f.at(l.To).Ceiling) }

// Place is a pod by its node, which outlives it, so that the numbers of two days can be held against each other.
func (p Pod) Place() string {
	if p.Node != "" {
		return p.Node
	}
	return p.Name
}

// SentBytes are the bytes that a pod's rails have sent so far, by port_xmit_data, which counts words of four bytes (Linux
// Documentation/ABI/stable/sysfs-class-infiniband); -1 where a rail's counter is not to be seen, as in shared RDMA mode.
func SentBytes(p Pod, s host.Snapshot) int64 {
	const word = 4
	sum := int64(0)
	for _, r := range p.Rails {
		device, _ := s.Device(r.Device)
		at := slices.IndexFunc(device.Ports, func(port host.Port) bool { return port.Number == r.Port })
		if at < 0 {
			return -1
		}
		sent, seen := device.Ports[at].Counters["port_xmit_data"]
		if !seen {
			return -1
		}
		sum += int64(sent) * word
	}
	if len(p.Rails) == 0 {
		return -1
	}
	return sum
}
