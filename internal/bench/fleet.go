package bench

import (
	"cmp"
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
	Spare    time.Duration // for a process to start, to connect and to register its memory
	Size     int           // bytes of a message
	QPs      int           // queue pairs of a link
}

// Rails returns the number of rails of each pod.
func (f Fleet) Rails() int {
	if len(f.Pods) == 0 {
		return 0
	}
	return len(f.Pods[0].Rails)
}

// PodOf returns the pod that a snapshot shows.
func PodOf(name, node, ip string, tools Tools, s host.Snapshot) Pod {
	p := Pod{
		Name:      name,
		Node:      node,
		IP:        ip,
		Tools:     tools,
		NoPeermem: len(s.GPUs) > 0 && len(s.GPUDirect.Peermem) == 0,
	}
	named := map[string]int{}
	rails := rail.Resolve(s, rail.Pod).Rails
	for _, r := range rails {
		p.Rails = append(p.Rails, railOf(s, r))
		named[p.Rails[len(p.Rails)-1].Name]++
	}
	for i, r := range p.Rails {
		if named[r.Name] > 1 { // the pod lists one attachment for several rails
			p.Rails[i].Name = cmp.Or(r.Netdev, fmt.Sprintf("%s:%d", r.Device, r.Port))
		}
	}
	shareSlots(p.Rails, rails)
	return p
}

// shareSlots divides the slot of each card between its ports, by their rates.
func shareSlots(rails []PodRail, resolved []rail.Rail) {
	sum := map[host.PCIAddress]Gbps{}
	for i, r := range rails {
		sum[resolved[i].Function.Value.Slot()] += r.Rate
	}
	for i, r := range rails {
		f, known := resolved[i].Function.Get()
		if all := sum[f.Slot()]; known && r.Rate < all {
			rails[i].SlotShare = float64(r.Rate / all)
		}
	}
}

func railOf(s host.Snapshot, r rail.Rail) PodRail {
	const noGID, widest = -1, 4096 // the active MTU of InfiniBand is not in sysfs; switches and HCAs use 4096
	p := PodRail{
		Name:   railName(s, r),
		Device: r.Device,
		Port:   r.Port,
		Netdev: r.Netdev,
		GID:    noGID,
		Layer:  InfiniBand,
		MTU:    widest,
		Rate:   Gbps(r.Rate.Value.Gbps),
		NUMA:   r.Function.Value.NUMANode,
	}
	if p.NUMA.Value < 0 {
		p.NUMA = host.Fact[int]{}
	}
	if len(r.Nearest) > 0 {
		p.GPU = host.Know(r.Nearest[0].GPU)
	}
	p.Address = addressOf(s, r.Netdev)
	if r.GID != nil {
		p.GID, p.Layer, p.MTU = r.GID.Index, RoCEv2, rail.RDMAMTU(r.MTU.Value)
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

func addressOf(s host.Snapshot, netdev string) string {
	link, _ := s.Link(netdev)
	for _, p := range link.Addresses.Value {
		if p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	return ""
}

// railName returns a name that the rail has on every node: its attachment, or else its interface or device.
func railName(s host.Snapshot, r rail.Rail) string {
	for _, n := range s.NetworkStatus {
		here := r.Netdev != "" && n.Interface == r.Netdev || n.RDMADevice != "" && n.RDMADevice == r.Device
		if here && n.Name != "" && !n.Default {
			return n.Name[strings.LastIndexByte(n.Name, '/')+1:]
		}
	}
	return cmp.Or(r.Netdev, r.Name())
}

// Align reduces the pods to the rails that all have, in the same order, and returns a line for each rail left out. If
// the pods have no rail name in common, because interface names differ between nodes, rails are matched by their
// order.
func Align(pods []Pod) (aligned []Pod, left []string) {
	if len(pods) == 0 {
		return nil, nil
	}
	aligned = slices.Clone(pods)
	var names []string
	for _, r := range pods[0].Rails {
		if !slices.Contains(names, r.Name) && allHave(pods, r.Name) {
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

func allHave(pods []Pod, name string) bool {
	return !slices.ContainsFunc(pods, func(p Pod) bool {
		return !slices.ContainsFunc(p.Rails, func(r PodRail) bool { return r.Name == name })
	})
}

func byOrder(pods []Pod) (aligned []Pod, left []string) {
	least := len(slices.MinFunc(pods, func(a, b Pod) int { return len(a.Rails) - len(b.Rails) }).Rails)
	for i, p := range pods {
		if len(p.Rails) > least {
			left = append(left, fmt.Sprintf("%d of %d rails of %s: other pods have only %d",
				len(p.Rails)-least, len(p.Rails), p.Name, least))
		}
		pods[i].Rails = slices.Clone(p.Rails[:least])
		for r := range pods[i].Rails {
			pods[i].Rails[r].Name = fmt.Sprintf("rail%d", r+1)
		}
	}
	if least > 0 {
		left = append(left, "names of rails: the pods have none in common, so rails are matched by their order")
	}
	return pods, left
}

func (f Fleet) at(e End) PodRail { return f.Pods[e.Pod].Rails[e.Rail] }

// Ceiling returns the ceiling of a link.
func (f Fleet) Ceiling(l Link) Ceiling { return Between(f.at(l.From).Ceiling, f.at(l.To).Ceiling) }

// CeilingOfAll returns the ceiling of a link while all rails of its pods carry data.
func (f Fleet) CeilingOfAll(l Link) Ceiling {
	return Between(f.at(l.From).CeilingOfAll(), f.at(l.To).CeilingOfAll())
}

// Place returns the node of a pod, or else its name: nodes outlive pods, so that results of two days can be compared.
func (p Pod) Place() string { return cmp.Or(p.Node, p.Name) }

// SentBytes returns the bytes that the rails of a pod have sent, from port_xmit_data, which counts words of four
// bytes (Linux Documentation/ABI/stable/sysfs-class-infiniband). It is -1 if a rail has no visible counter, as in
// shared RDMA mode.
func SentBytes(p Pod, s host.Snapshot) int64 {
	const word = 4
	if len(p.Rails) == 0 {
		return -1
	}
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
	return sum
}
