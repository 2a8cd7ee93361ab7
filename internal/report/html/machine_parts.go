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

// nic is one port of a device in the picture: a rail, or a rejected device.
type nic struct {
	name     string // mlx5_6:1
	device   host.Device
	physical string // interface of a virtual function's physical function, if it is here
	rail     *rail.Rail
	rejected *rail.Rejected
}

func (n nic) refs() []check.Ref {
	refs := []check.Ref{check.RailRef(n.name), check.DeviceRef(n.device.Name)}
	if n.rail != nil {
		refs = append(refs, check.LinkRef(n.rail.Netdev))
	}
	refs = append(refs, check.LinkRef(n.physical))
	return slices.DeleteFunc(refs, func(r check.Ref) bool { return !r.Specific() })
}

// nicsOf returns the rails, and the rejected devices that should be rails. Without any rail it returns all rejected
// devices.
func nicsOf(s host.Snapshot, resolved rail.Resolution) []nic {
	var all []nic
	add := func(name, device string, rail *rail.Rail, rejected *rail.Rejected) {
		d, _ := s.Device(device)
		all = append(all, nic{name: name, device: d, physical: physicalLink(s, d), rail: rail, rejected: rejected})
	}
	for _, r := range resolved.Rails {
		add(r.Name(), r.Device, &r, nil)
	}
	for _, r := range resolved.Rejected {
		if r.Missed || len(resolved.Rails) == 0 {
			add(r.Name(), r.Device, nil, &r)
		}
	}
	return all
}

// physicalLink returns the interface of the physical function of a virtual one.
func physicalLink(s host.Snapshot, d host.Device) string {
	pf, virtual := d.Function.Value.PhysFn.Get()
	for _, l := range s.Links {
		if at, ok := l.PCI.Get(); virtual && ok && at == pf {
			return l.Name
		}
	}
	return ""
}

// group has the devices below one PCIe switch, or below one host bridge without a switch.
type group struct {
	key           string
	name, address string
	numa          string
	gpus          []Part
	nics          []nic
}

// groups assigns GPUs and NICs to the highest PCIe switch above them, in the order of NUMA nodes.
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
		g.gpus = append(g.gpus, gpuPart(i, gpu))
	}
	for _, n := range nics {
		g := at(n.device.Function)
		g.nics = append(g.nics, n)
	}
	slices.SortStableFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.numa, b.numa), cmp.Compare(a.key, b.key))
	})
	return all
}

// groupOf finds the switch above a function. With a switch the path is: root port, upstream port, downstream port,
// function.
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

// short omits the usual PCI domain.
func short(a host.PCIAddress) string { return strings.TrimPrefix(a.String(), "0000:") }

func gpuPart(index int, g host.GPU) Part {
	return Part{
		Column:  gpuColumn,
		Label:   fmt.Sprintf("GPU %d", index),
		Below:   short(g.Function.Address),
		Details: []string{cmp.Or(g.Model.Value, "unknown model"), pcieText(g.Function)},
	}
}

// nicPart describes a port. A rejected device is a fault only if it should have been a rail, or if a finding is about
// it: a pod sees the devices of its whole node, and a node leaves its virtual functions to pods.
func nicPart(n nic, scope rail.Scope) Part {
	p := Part{Column: nicColumn, Label: n.name}
	if n.rail != nil {
		if rate, ok := n.rail.Rate.Get(); ok {
			p.Below = fmt.Sprintf("%g Gb/s %s", rate.Gbps, linkName(n.rail.LinkLayer))
		}
	}
	if f, ok := n.device.Function.Get(); ok {
		p.Details = append(p.Details, f.Address.String()+", "+pcieText(f))
	}
	if firmware := n.device.Firmware.Value; firmware != "" {
		p.Details = append(p.Details, "firmware "+firmware)
	}
	switch r := n.rejected; {
	case r == nil:
	case r.Missed:
		p.Below, p.Status = "not used", check.Fail
		p.Details = append(p.Details, r.Reason)
	case scope == rail.Host && n.device.IsVirtual():
		p.Below = "for pods"
		p.Details = append(p.Details, "virtual function, which pods use")
	default:
		p.Below = "not used"
		p.Details = append(p.Details, r.Reason)
	}
	return p
}

func linkName(layer string) string {
	if layer == host.Ethernet {
		return "RoCE"
	}
	return layer
}

func pcieText(f host.Function) string {
	l, ok := f.Link.Get()
	if !ok || l.Width == 0 {
		return "PCIe link unknown"
	}
	speed := fmt.Sprintf("%g GT/s", l.GTs)
	generations := map[float64]string{2.5: "Gen1", 5: "Gen2", 8: "Gen3", 16: "Gen4", 32: "Gen5", 64: "Gen6"}
	text := fmt.Sprintf("PCIe %s ×%d", cmp.Or(generations[l.GTs], speed), l.Width)
	if l.MaxWidth > l.Width || l.MaxGTs > l.GTs {
		text += fmt.Sprintf(" (capable of %g GT/s ×%d)", l.MaxGTs, l.MaxWidth)
	}
	return text
}

// addRail draws the rail and the subnet behind a NIC.
func (d *drawing) addRail(s host.Snapshot, r rail.Rail, nic int) {
	p := Part{
		Column: railColumn,
		Row:    d.Parts[nic].Row,
		Label:  cmp.Or(r.Netdev, r.Name()),
		Status: d.Parts[nic].Status,
	}
	if mtu, ok := r.MTU.Get(); ok {
		p.Details = append(p.Details, fmt.Sprintf("MTU %d", mtu))
	}
	name := ""
	if r.GID != nil {
		address := r.GID.IP()
		p.Below = address.String()
		p.Details = append(p.Details, fmt.Sprintf("GID %d, %s", r.GID.Index, r.GID.Type.Value))
		name = subnetOf(s, r.Netdev, address)
	} else if r.LinkLayer == host.InfiniBand {
		name = infinibandSubnet(s, r)
	}
	at := d.add(p)
	d.join(nic, at)
	if name != "" {
		d.addToSubnet(name, at)
	}
}

// subnetOf returns the network of an address of an interface.
func subnetOf(s host.Snapshot, netdev string, address netip.Addr) string {
	link, _ := s.Link(netdev)
	for _, prefix := range link.Addresses.Value {
		if prefix.Addr().Unmap() == address {
			return netip.PrefixFrom(address, prefix.Bits()).Masked().String()
		}
	}
	return ""
}

// infinibandSubnet returns the subnet prefix of the first GID of a port.
func infinibandSubnet(s host.Snapshot, r rail.Rail) string {
	device, _ := s.Device(r.Device)
	for _, port := range device.Ports {
		if port.Number == r.Port && len(port.GIDs) > 0 {
			return netip.PrefixFrom(port.GIDs[0].Addr, 64).Masked().String()
		}
	}
	return ""
}
