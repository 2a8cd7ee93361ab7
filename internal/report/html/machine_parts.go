package html

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// nic is one port of a device in the picture: a rail, or what should be one and is not.
type nic struct {
	name     string // mlx5_6:1
	device   host.Device
	function host.Fact[host.Function]
	rail     *rail.Rail
	away     *rail.Rejected
}

func (n nic) refs() []check.Ref {
	refs := []check.Ref{check.RailRef(n.name), check.DeviceRef(n.device.Name)}
	if n.rail != nil {
		refs = append(refs, check.LinkRef(n.rail.Netdev))
	}
	return slices.DeleteFunc(refs, func(r check.Ref) bool { return !r.Specific() })
}

// nicsOf are the rails, and the devices that were meant to be some; where there is no rail, everything that was
// rejected.
func nicsOf(s host.Snapshot, r rail.Resolution) []nic {
	var all []nic
	for i := range r.Rails {
		device, _ := s.Device(r.Rails[i].Device)
		all = append(all, nic{name: r.Rails[i].Name(), device: device, function: r.Rails[i].Function, rail: &r.Rails[i]})
	}
	for i, t := range r.Rejected {
		if t.Missed || len(r.Rails) == 0 {
			device, _ := s.Device(t.Device)
			all = append(all, nic{name: t.Name(), device: device, function: device.Function, away: &r.Rejected[i]})
		}
	}
	return all
}

// group has the devices below one PCIe switch, or below one host bridge without a switch.
type group struct {
	key           string
	name, address string
	numa          string
	gpus          []numbered
	nics          []nic
}

type numbered struct {
	host.GPU
	index int
}

// groups puts GPUs and NICs under the highest PCIe switch above them, in the order of NUMA nodes.
func groups(gpus []host.GPU, nics []nic) []group {
	var all []group
	at := func(f host.Fact[host.Function]) *group {
		g := groupOf(f)
		i := slices.IndexFunc(all, func(known group) bool { return known.key == g.key })
		if i < 0 {
			all = append(all, g)
			i = len(all) - 1
		}
		return &all[i]
	}
	for i, gpu := range gpus {
		g := at(host.Know(gpu.Function))
		g.gpus = append(g.gpus, numbered{gpu, i})
	}
	for _, n := range nics {
		g := at(n.function)
		g.nics = append(g.nics, n)
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Or(cmp.Compare(a.numa, b.numa), cmp.Compare(a.key, b.key)) })
	return all
}

// groupOf finds the switch of a function: its path is root port, upstream port, downstream port, itself.
func groupOf(f host.Fact[host.Function]) group {
	function, known := f.Get()
	path, placed := function.Path.Get()
	if !known || !placed {
		return group{}
	}
	g := group{key: path.HostBridge, name: "Host bridge", address: path.HostBridge}
	if len(path.Hops) >= 4 {
		g.name, g.address = "PCIe switch", short(path.Hops[1])
		g.key += path.Hops[1].String()
	}
	if numa, ok := function.NUMANode.Get(); ok && numa >= 0 {
		g.numa = fmt.Sprintf("NUMA node %d", numa)
		g.address += fmt.Sprintf(" · NUMA %d", numa)
	}
	return g
}

// short is an address without the domain, where that is the usual one.
func short(a host.PCIAddress) string { return strings.TrimPrefix(a.String(), "0000:") }

func gpuPart(g numbered, row float64) Part {
	return Part{
		Column: gpuColumn, Row: row, Label: fmt.Sprintf("GPU %d", g.index), Below: short(g.Function.Address),
		Says: []string{cmp.Or(g.Model.Value, "model not known"), pcieText(g.Function)},
	}
}

// nicPart says what the port is; a device that should be a rail and is not is red by itself.
func nicPart(n nic, row float64) Part {
	p := Part{Column: nicColumn, Row: row, Label: n.name}
	if n.rail != nil {
		if rate, ok := n.rail.Rate.Get(); ok {
			p.Below = fmt.Sprintf("%g Gb/s %s", rate.Gbps, linkName(n.rail.LinkLayer))
		}
	}
	if f, ok := n.function.Get(); ok {
		p.Says = append(p.Says, f.Address.String()+", "+pcieText(f))
	}
	if fw := n.device.Firmware.Value; fw != "" {
		p.Says = append(p.Says, "firmware "+fw)
	}
	if n.away != nil {
		p.Below, p.Status = "not used", check.Fail
		if !n.away.Missed {
			p.Status = check.Warn
		}
		p.Says = append(p.Says, n.away.Reason)
	}
	return p
}

func linkName(layer string) string {
	if layer == host.Ethernet {
		return "RoCE"
	}
	return layer
}

// generations of PCI Express by GT/s a lane.
var generations = map[float64]int{2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}

func pcieText(f host.Function) string {
	l, ok := f.Link.Get()
	if !ok || l.Width == 0 {
		return "PCIe link not known"
	}
	text := fmt.Sprintf("PCIe %g GT/s ×%d", l.GTs, l.Width)
	if gen := generations[l.GTs]; gen > 0 {
		text = fmt.Sprintf("PCIe Gen%d ×%d", gen, l.Width)
	}
	if l.MaxWidth > l.Width || l.MaxGTs > l.GTs {
		text += fmt.Sprintf(" (could be %g GT/s ×%d)", l.MaxGTs, l.MaxWidth)
	}
	return text
}

// railAndSubnet draws what lies behind a NIC.
func (d *drawing) railAndSubnet(s host.Snapshot, r rail.Rail, nic int, row float64, subnets []subnet) []subnet {
	p := Part{Column: railColumn, Row: row, Label: cmp.Or(r.Netdev, r.Name()), Status: d.Parts[nic].Status}
	if mtu, ok := r.MTU.Get(); ok {
		p.Says = append(p.Says, fmt.Sprintf("MTU %d", mtu))
	}
	name := ""
	if r.GID != nil {
		address := r.GID.IP()
		p.Below = address.String()
		p.Says = append(p.Says, fmt.Sprintf("GID %d, %s", r.GID.Index, r.GID.Type.Value))
		name = subnetOf(s, r.Netdev, address)
	} else if r.LinkLayer == host.InfiniBand {
		name = ibSubnet(s, r)
	}
	at := d.add(p)
	d.tie(nic, at)
	if name == "" {
		return subnets
	}
	return joinSubnet(subnets, name, at)
}

// subnetOf is the network of an address by its interface.
func subnetOf(s host.Snapshot, netdev string, address netip.Addr) string {
	link, _ := s.Link(netdev)
	for _, prefix := range link.Addresses.Value {
		if prefix.Addr().Unmap() == address {
			return netip.PrefixFrom(address, prefix.Bits()).Masked().String()
		}
	}
	return ""
}

// ibSubnet is an InfiniBand subnet by the prefix of its GIDs.
func ibSubnet(s host.Snapshot, r rail.Rail) string {
	device, _ := s.Device(r.Device)
	for _, port := range device.Ports {
		if port.Number == r.Port && len(port.GIDs) > 0 {
			return netip.PrefixFrom(port.GIDs[0].Addr, 64).Masked().String()
		}
	}
	return ""
}
