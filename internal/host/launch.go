package host

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// ReadForLaunch reads only what the environment of a command depends on, and closely only the devices that wanted
// names once allocations, verbs nodes and the devices' places are known. It leads to the same variables as Read; what
// only a person asks is left out: GPUs, IOMMU, firmware, counters, GID slots after the one that will be used.
func ReadForLaunch(root fs.FS, p Probes, wanted func(Snapshot) func(device string) bool) Snapshot {
	r := newReader(root, p)
	r.brief = true
	s := Snapshot{SchemaVersion: SchemaVersion}
	s.Env = r.environment()
	s.Links, s.Routes = r.links(), r.defaultRoutes()
	r.own = ownAddresses(s.Links)
	s.NCCL = r.nccl(s.Env)
	if !namesDevices(s.Env) { // multus and DRA only repeat what a device plugin says
		s.NetworkStatus = r.networkStatus()
		s.Claims = r.claims()
	}
	s.Uverbs = r.uverbs()
	s.Devices = r.devices(func(string) bool { return false })
	closely := wanted(s)
	userIndex, _, _ := s.UserSetting("NCCL_IB_GID_INDEX")
	for i := range s.Devices {
		if d := &s.Devices[i]; closely(d.Name) {
			r.describe(d)
			r.addUserSlot(d, userIndex)
		}
	}
	r.tellCardsApart(s.Devices)
	if len(s.Routes) == 0 || s.Env["NCCL_SOCKET_IFNAME"] != "" || r.needsInet6(s.Devices) {
		s.Links = r.addInet6(s.Links)
	}
	s.Problems = r.problems
	return s
}

// needsInet6 reports whether a RoCE port has no GID of an IPv4 address of this namespace.
func (r *reader) needsInet6(devices []Device) bool {
	for _, d := range devices {
		for _, p := range d.Ports {
			own := slices.ContainsFunc(p.GIDs, func(g GID) bool { return g.Addr.Is4In6() && r.own[g.IP()] })
			if p.LinkLayer.Value == Ethernet && !own {
				return true
			}
		}
	}
	return false
}

// namesDevices reports whether a device plugin set its variables.
func namesDevices(env map[string]string) bool {
	for name := range env {
		if strings.HasPrefix(name, "PCIDEVICE_") {
			return true
		}
	}
	return false
}

// Limits reads what the kernel allows this process.
func (m Machine) Limits() Limits { return newReader(m.Root, m.Probes).limits() }

// Privileges reads the part of Limits that says what this process may do beyond its limits.
func (m Machine) Privileges() Limits { return newReader(m.Root, m.Probes).privileges() }

// gidsForLaunch reads the table up to the first slot that NCCL can use here: its RoCE version 2 and an IPv4 address of
// this namespace. InfiniBand needs none. Where no slot fits, the whole table is read as Read does.
func (r *reader) gidsForLaunch(at, linkLayer string) []GID {
	if linkLayer == InfiniBand {
		return nil
	}
	var gids []GID
	for n := range maxRange {
		g, filled, exists := r.slot(at, n)
		if !exists {
			break
		}
		if !filled {
			continue
		}
		if g.Addr.Is4In6() {
			g.Type = r.gidAttribute(at, "types", n)
		}
		if own := r.own[g.IP()]; own && g.Addr.Is4In6() && g.IsRoCEv2() {
			return append(gids, g)
		}
		gids = append(gids, g)
	}
	return r.gids(at, r.list(at+"/gids"))
}

// addUserSlot reads the slot that NCCL_IB_GID_INDEX names as well, since it has to be judged.
func (r *reader) addUserSlot(d *Device, userIndex string) {
	index, err := strconv.Atoi(userIndex)
	if err != nil || index < 0 {
		return
	}
	for i := range d.Ports {
		p := &d.Ports[i]
		at := classInfiniBand + "/" + d.Name + "/ports/" + strconv.Itoa(p.Number)
		g, filled, _ := r.slot(at, index)
		if !filled {
			continue
		}
		g.Type, g.Netdev = r.gidAttribute(at, "types", index), r.gidAttribute(at, "ndevs", index)
		if last := len(p.GIDs) - 1; last < 0 || p.GIDs[last].Index < index {
			p.GIDs = append(p.GIDs, g)
			continue
		}
		for k := range p.GIDs {
			if p.GIDs[k].Index == index {
				p.GIDs[k] = g
			}
		}
	}
}

// tellCardsApart reads sys_image_guid where two devices share a PCI bus: only then does anything depend on it.
func (r *reader) tellCardsApart(devices []Device) {
	type bus struct {
		domain uint32
		number uint8
	}
	count := map[bus]int{}
	of := func(d Device) bus { return bus{d.Function.Value.Address.Domain, d.Function.Value.Address.Bus} }
	for _, d := range devices {
		if len(d.Ports) > 0 && d.Function.IsKnown() {
			count[of(d)]++
		}
	}
	for i := range devices {
		if d := &devices[i]; len(d.Ports) > 0 && count[of(*d)] > 1 {
			d.SysImageGUID = r.text(classInfiniBand + "/" + d.Name + "/sys_image_guid")
		}
	}
}
