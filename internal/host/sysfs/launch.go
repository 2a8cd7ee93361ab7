package sysfs

import "github.com/railhead/railhead/internal/host"

func readWantedDevices(in *input, s *host.Snapshot) {
	for _, name := range deviceNames(in.tree) {
		s.Devices = append(s.Devices, locate(in.tree, name, locateFunction))
	}
	wanted, reaches := in.wanted(*s), s.ReachesDevice()
	ports := launchPorts{ownLinks: s.Links, wholeTable: choosesGID(s)}
	_, _, setsLink := s.UserSetting("NCCL_SOCKET_IFNAME")
	for i := range s.Devices {
		d := &s.Devices[i]
		if wanted(d.Name) {
			d.Ports = readPorts(in.tree, classInfiniBand+"/"+d.Name+"/ports", ports.describe)
		}
		if wanted(d.Name) || !reaches {
			addPhysFn(in.tree, d)
		}
		if setsLink || len(s.Routes) == 0 || !reaches { // then it matters which interfaces belong to devices
			d.Netdevs = netdevsOf(in.tree, *d)
		}
	}
	distinguishCards(in.tree, s.Devices)
}

// readRDMANetnsIfUnreachable reads what explains that this container reaches no device.
func readRDMANetnsIfUnreachable(in *input, s *host.Snapshot) {
	if !s.ReachesDevice() {
		readRDMANetns(in, s)
	}
}

func addPhysFn(t *tree, d *host.Device) {
	if f, ok := d.Function.Get(); ok && !d.IsSoftware() {
		f.PhysFn = host.Convert(t.target(classInfiniBand+"/"+d.Name+"/device/physfn"), host.ParsePCIAddress)
		d.Function = host.Know(f)
	}
}

// choosesGID reports whether the user influences which GID NCCL takes. Every slot has to be known then.
func choosesGID(s *host.Snapshot) bool {
	settings := []string{
		"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM",
	}
	for _, name := range settings {
		if _, _, set := s.UserSetting(name); set {
			return true
		}
	}
	return false
}

// launchPorts reads the facts of a port that a launch needs.
type launchPorts struct {
	ownLinks   []host.Link // of this network namespace
	wholeTable bool        // of GIDs
}

func (l launchPorts) describe(t *tree, at string, p host.Port) host.Port {
	if p.State.Value != "ACTIVE" {
		p.PhysState = parsed(t, at+"/phys_state", afterNumber)
		return p
	}
	p.GIDs = l.gids(t, at, p.LinkLayer.Value)
	return p
}

// maxGIDs bounds the walk over a GID table: no kernel has a longer one.
const maxGIDs = 4096

// gids reads the table up to the first slot that NCCL can use here: a RoCE version 2 slot with an IPv4 address of this
// namespace. InfiniBand needs none. If no slot fits, it reads the whole table as Read does.
func (l launchPorts) gids(t *tree, at, linkLayer string) []host.GID {
	if linkLayer == host.InfiniBand {
		return nil
	}
	if l.wholeTable {
		return gidsIn(t, at, t.list(at+"/gids"))
	}
	var gids []host.GID
	for n := range maxGIDs {
		g, filled, exists := gidSlot(t, at, n)
		if !exists {
			break
		}
		if !filled {
			continue
		}
		if g.Addr.Is4In6() {
			g.Type = gidAttribute(t, at, "types", n)
		}
		gids = append(gids, g)
		if g.IsRoCEv2() { // only IPv4 slots have a type here
			if link, _ := host.OwnAddress(l.ownLinks, g.IP()); link != "" {
				return gids
			}
		}
	}
	return gidsIn(t, at, t.list(at+"/gids"))
}

// distinguishCards reads sys_image_guid of devices that share a PCI bus. Nothing depends on it for other devices.
func distinguishCards(t *tree, devices []host.Device) {
	busOf := func(d host.Device) host.PCIAddress {
		a := d.Function.Value.Address
		return host.PCIAddress{Domain: a.Domain, Bus: a.Bus}
	}
	count := map[host.PCIAddress]int{}
	for _, d := range devices {
		if len(d.Ports) > 0 && d.Function.IsKnown() {
			count[busOf(d)]++
		}
	}
	for i := range devices {
		if d := &devices[i]; len(d.Ports) > 0 && count[busOf(*d)] > 1 {
			d.SysImageGUID = t.text(classInfiniBand + "/" + d.Name + "/sys_image_guid")
		}
	}
}
