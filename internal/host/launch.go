package host

import (
	"io/fs"
	"strings"
)

// ReadForLaunch reads only what the environment of a command depends on, and closely only the devices that wanted
// names once allocations, verbs nodes and the devices' places are known. It leads to the same variables as Read, and to
// the same findings but for those about GPUs. What only a person asks is left out: GPUs, IOMMU, firmware, counters, GID slots after the one that will be used.
func ReadForLaunch(root fs.FS, p Probes, wanted func(Snapshot) func(device string) bool) Snapshot {
	r := newReader(root, p)
	r.brief = true
	s := Snapshot{SchemaVersion: SchemaVersion}
	s.Env = r.environment()
	s.Links, s.Routes = r.links(), r.defaultRoutes()
	s.NCCL = r.nccl(s.Env)
	if !namesDevices(s.Env) || len(s.Routes) == 0 { // multus only repeats what a device plugin says of devices
		s.NetworkStatus = r.networkStatus()
	}
	s.Claims = r.claims()
	s.Uverbs, s.VerbsNodes = r.uverbs()
	r.netns, r.everyGID = s.Links, s.setsGID()
	s.Devices = r.devices(func(string) bool { return false })
	closely := wanted(s)
	_, _, setsLink := s.UserSetting("NCCL_SOCKET_IFNAME")
	for i := range s.Devices {
		d := &s.Devices[i]
		if closely(d.Name) {
			r.describe(d)
		}
		if setsLink || len(s.Routes) == 0 { // then it matters which interfaces are rails
			d.Netdevs = r.netdevsOf(*d)
		}
	}
	r.tellCardsApart(s.Devices)
	r.brief = false // what was allocated and is no device here, is judged by its driver
	s.Functions = r.namedFunctions(s)
	s.Limits.ShmBytes = r.shm()
	s.Problems = r.problems
	return s
}

// setsGID reports whether the user has a say in which GID NCCL takes: then every slot has to be known.
func (s *Snapshot) setsGID() bool {
	for _, name := range []string{"NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"} {
		if _, _, set := s.UserSetting(name); set {
			return true
		}
	}
	return false
}

// namesDevices reports whether a device plugin lists a device.
func namesDevices(env map[string]string) bool {
	for name, value := range env {
		if strings.HasPrefix(name, "PCIDEVICE_") && !strings.HasSuffix(name, "_INFO") && strings.Trim(value, ", ") != "" {
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
	switch {
	case linkLayer == InfiniBand:
		return nil
	case r.everyGID:
		return r.gids(at, r.list(at+"/gids"))
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
		gids = append(gids, g)
		if g.IsRoCEv2() { // read of IPv4 slots alone
			if link, _ := ownAddress(r.netns, g.IP()); link != "" {
				return gids
			}
		}
	}
	return r.gids(at, r.list(at+"/gids"))
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
