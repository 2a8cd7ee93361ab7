package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"
)

// machine collects the files of a recording.
type machine struct {
	comment string
	body    strings.Builder
	paths   map[string]string // PCI address -> folder below sys/devices
	probes  probes
	routes  []string // lines of proc/net/route
}

type probes struct {
	Taken     string              `json:"taken"`
	Environ   map[string]string   `json:"environ"`
	Open      map[string]string   `json:"open"`
	Addresses map[string][]string `json:"addresses"`
	ShmBytes  uint64              `json:"shmBytes"`
}

func newMachine() *machine {
	return &machine{
		paths: map[string]string{},
		probes: probes{
			Taken:     "2026-11-03T14:20:00Z",
			Environ:   map[string]string{},
			Open:      map[string]string{},
			Addresses: map[string][]string{},
			ShmBytes:  64 << 30,
		},
		routes: []string{"Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"},
	}
}

func (m *machine) file(name, content string) {
	fmt.Fprintf(&m.body, "-- %s --\n%s\n", name, strings.TrimSuffix(content, "\n"))
}

func (m *machine) fails(name, errno string) { fmt.Fprintf(&m.body, "-- %s ! %s --\n", name, errno) }

// link points from one path below the root to another, relatively as the kernel's links do.
func (m *machine) link(name, target string) {
	fmt.Fprintf(&m.body, "-- %s -> %s%s --\n", name, strings.Repeat("../", strings.Count(name, "/")), target)
}

func (m *machine) files(dir string, contents map[string]string) {
	for name, content := range contents {
		if content != "" {
			m.file(path.Join(dir, name), content)
		}
	}
}

func sectionsOf(m *machine) string {
	m.file("proc/net/route", strings.Join(m.routes, "\n"))
	data, err := json.MarshalIndent(m.probes, "", "  ")
	if err != nil {
		panic(err) // strings and numbers only
	}
	m.file("probes.json", string(data))
	return m.body.String()
}

// function is a PCI function. below is the folder of the port above it: "pci0000:16/0000:16:01.0".
type function struct {
	address, below        string
	class, vendor, device string
	driver                string
	numa                  int
	group                 int // IOMMU group; 0: none
	groupType             string
	physfn                string
	speed                 string // "32.0 GT/s PCIe"
}

func (m *machine) pci(f function) {
	dir := path.Join("sys/devices", f.below, f.address)
	m.paths[f.address] = dir
	m.link("sys/bus/pci/devices/"+f.address, dir)
	m.files(dir, map[string]string{
		"class": f.class, "vendor": f.vendor, "device": f.device, "numa_node": fmt.Sprint(f.numa),
	})
	if f.speed != "" {
		m.files(dir, map[string]string{
			"current_link_speed": f.speed,
			"max_link_speed":     f.speed,
			"current_link_width": "16",
			"max_link_width":     "16",
		})
	}
	if f.driver != "" {
		m.link(dir+"/driver", "sys/bus/pci/drivers/"+f.driver)
	}
	if f.physfn != "" {
		m.link(dir+"/physfn", m.paths[f.physfn])
	}
	if f.group > 0 {
		m.link(dir+"/iommu_group", fmt.Sprintf("sys/kernel/iommu_groups/%d", f.group))
		m.file(fmt.Sprintf("sys/kernel/iommu_groups/%d/type", f.group), f.groupType)
	}
}

// slot is one filled slot of a GID table.
type slot struct {
	index              int
	addr, kind, netdev string
}

// usualTable is the one that mlx5 makes for an interface with one IPv4 address.
func usualTable(netdev, mac, ip string) []slot {
	return []slot{
		{0, linkLocal(mac), "IB/RoCE v1", netdev}, {1, linkLocal(mac), "RoCE v2", netdev},
		{2, "::ffff:" + ip, "IB/RoCE v1", netdev}, {3, "::ffff:" + ip, "RoCE v2", netdev},
	}
}

// linkLocal is the modified EUI-64 address of a MAC.
func linkLocal(mac string) string {
	b, err := net.ParseMAC(mac)
	if err != nil {
		panic(err) // literals of the catalogue
	}
	return fmt.Sprintf("fe80::%02x%02x:%02xff:fe%02x:%02x%02x", b[0]^2, b[1], b[2], b[3], b[4], b[5])
}

// hca is an RDMA device with one port.
type hca struct {
	name, address, card string // card: sys_image_guid
	uverbs              int
	state, phys         string // "" is ACTIVE, LinkUp
	rate                string
	infiniband          bool
	lid                 string
	gids                []slot
	table               int    // slots; 0 is 16
	node                string // of /dev/infiniband: "ok", an error, "" is absent
	hcaType, firmware   string
}

func (m *machine) hca(h hca) {
	dir := path.Join(m.paths[h.address], "infiniband", h.name)
	m.link("sys/class/infiniband/"+h.name, dir)
	m.link(dir+"/device", m.paths[h.address])
	m.files(dir, map[string]string{
		"node_type":      "1: CA",
		"node_guid":      guid(h.name),
		"sys_image_guid": h.card,
		"fw_ver":         cmp.Or(h.firmware, "28.43.2566"),
		"hca_type":       cmp.Or(h.hcaType, "MT4130"),
		"board_id":       "MT_0000000838",
	})
	m.port(dir+"/ports/1", h)
	m.verbs(h)
}

func (m *machine) port(dir string, h hca) {
	layer := "Ethernet"
	if h.infiniband {
		layer = "InfiniBand"
	}
	m.files(dir, map[string]string{
		"state":      cmp.Or(h.state, "4: ACTIVE"),
		"phys_state": cmp.Or(h.phys, "5: LinkUp"),
		"rate":       cmp.Or(h.rate, "400 Gb/sec (4X NDR)"),
		"link_layer": layer,
		"lid":        cmp.Or(h.lid, "0x0"),
		"sm_lid":     cmp.Or(h.lid, "0x0"),
	})
	filled := map[int]bool{}
	for _, g := range h.gids {
		filled[g.index] = true
		m.file(fmt.Sprintf("%s/gids/%d", dir, g.index), expand(g.addr))
		m.file(fmt.Sprintf("%s/gid_attrs/types/%d", dir, g.index), g.kind)
		if g.netdev != "" {
			m.file(fmt.Sprintf("%s/gid_attrs/ndevs/%d", dir, g.index), g.netdev)
		} else {
			m.fails(fmt.Sprintf("%s/gid_attrs/ndevs/%d", dir, g.index), "EINVAL")
		}
	}
	table := h.table
	if table == 0 {
		table = 16
	}
	for i := range table {
		if !filled[i] {
			m.file(fmt.Sprintf("%s/gids/%d", dir, i), expand("::"))
			m.fails(fmt.Sprintf("%s/gid_attrs/types/%d", dir, i), "EINVAL")
			m.fails(fmt.Sprintf("%s/gid_attrs/ndevs/%d", dir, i), "EINVAL")
		}
	}
}

func (m *machine) verbs(h hca) {
	name := fmt.Sprintf("uverbs%d", h.uverbs)
	dir := path.Join(m.paths[h.address], "infiniband_verbs", name)
	m.link("sys/class/infiniband_verbs/"+name, dir)
	m.files(dir, map[string]string{"ibdev": h.name, "dev": fmt.Sprintf("231:%d", 192+h.uverbs)})
	if h.node != "" {
		m.file("dev/infiniband/"+name, "")
		m.probes.Open["dev/infiniband/"+name] = h.node
	}
}

// netdev is an interface; address "" is a software one.
type netdev struct {
	name, address, mac string
	index, lower, mtu  int
	down               bool
	addresses          []string
	gateway            bool
}

func (m *machine) netdev(n netdev) {
	dir := "sys/devices/virtual/net/" + n.name
	if n.address != "" {
		dir = path.Join(m.paths[n.address], "net", n.name)
		m.link(dir+"/device", m.paths[n.address])
	}
	m.link("sys/class/net/"+n.name, dir)
	flags, oper := "0x1003", "up"
	if n.down {
		flags, oper = "0x1002", "down"
	}
	if n.name == "lo" { // no broadcast or multicast, and no state that its driver tells
		flags, oper, n.mac = "0x9", "unknown", "00:00:00:00:00:00"
	}
	if n.lower == 0 {
		n.lower = n.index
	}
	m.files(dir, map[string]string{
		"ifindex": fmt.Sprint(n.index), "iflink": fmt.Sprint(n.lower), "mtu": fmt.Sprint(n.mtu), "flags": flags,
		"operstate": oper, "address": n.mac,
	})
	if n.down {
		m.fails(dir+"/carrier", "EINVAL")
	} else {
		m.file(dir+"/carrier", "1")
	}
	addresses := append([]string{}, n.addresses...)
	if n.mac != "" && !n.down && n.name != "lo" {
		addresses = append(addresses, linkLocal(n.mac)+"/64")
	}
	m.probes.Addresses[fmt.Sprint(n.index)] = addresses
	m.route(n)
}

func (m *machine) route(n netdev) {
	for _, text := range n.addresses {
		p := netip.MustParsePrefix(text)
		if !p.Addr().Is4() || p.Addr().IsLoopback() {
			continue
		}
		mask := uint32(0xffffffff) << (32 - p.Bits())
		m.routes = append(m.routes,
			fmt.Sprintf("%s\t%s\t00000000\t0001\t0\t0\t0\t%s\t0\t0\t0", n.name, littleEndian(p.Masked().Addr()),
				maskText(mask)))
		if n.gateway {
			m.routes = append(m.routes,
				fmt.Sprintf("%s\t00000000\t%s\t0003\t0\t0\t0\t00000000\t0\t0\t0", n.name,
					littleEndian(p.Masked().Addr().Next())))
		}
	}
}

func littleEndian(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("%02X%02X%02X%02X", b[3], b[2], b[1], b[0])
}

func maskText(mask uint32) string {
	return littleEndian(netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}))
}

func expand(addr string) string { return netip.MustParseAddr(addr).StringExpanded() }

func guid(name string) string {
	var sum uint32
	for _, c := range name {
		sum = sum*31 + uint32(c)
	}
	return fmt.Sprintf("b83f:d203:00%02x:%04x", sum>>16&0xff, sum&0xffff)
}
