package main

import (
	"fmt"
	"path"
)

// rdma writes one HCA: its virtual function, the RDMA device and the verbs device.
func (t *tree) rdma(m spec, h hca) {
	vf := vfPath(h)
	t.function(vf, pciFunction{class: "0x020000", vendor: "0x15b3", device: "0x101e", driver: "mlx5_core"},
		numaNode(h.card))
	pf := nicPath(h.card, 0)
	t.link(vf+"/physfn", pf)
	t.link(fmt.Sprintf("%s/virtfn%d", pf, h.vf), vf)

	device := vf + "/infiniband/" + h.name()
	t.link("sys/class/infiniband/"+h.name(), device)
	t.link(device+"/device", vf)
	t.files(device, map[string]string{
		"node_type":      "1: CA",
		"fw_ver":         "28.43.1014",
		"hca_type":       "MT4126",
		"board_id":       "MT_0000000838",
		"hw_rev":         "0x0",
		"node_guid":      fmt.Sprintf("02f3:a1ff:fe%02x:%04x", h.card, h.vf),
		"sys_image_guid": fmt.Sprintf("b83f:d203:00aa:%04x", h.card),
	})
	t.port(m, h, device+"/ports/1")

	verbs := vf + "/infiniband_verbs/" + h.uverbs()
	t.link("sys/class/infiniband_verbs/"+h.uverbs(), verbs)
	t.link(verbs+"/device", vf)
	t.files(verbs, map[string]string{"ibdev": h.name(), "dev": fmt.Sprintf("231:%d", 192+h.index), "abi_version": "1"})
	if h.owned || m.privileged {
		t.file("dev/infiniband/"+h.uverbs(), "")
	}
}

func (t *tree) port(m spec, h hca, at string) {
	t.files(at, map[string]string{
		"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "Ethernet",
		"lid": "0x0", "sm_lid": "0x0", "cap_mask": "0x04010000",
	})
	// A table starts with the link-local address and the interface's own, each as RoCE v1 and v2 (kernel
	// drivers/infiniband/core/roce_gid_mgmt.c).
	t.gid(at, 0, linkLocal(h), h)
	t.gid(at, 1, linkLocal(h), h)
	t.gid(at, 2, mapped(address(h)), h)
	t.gid(at, 3, mapped(address(h)), h)
	for slot := 4; slot < m.gids; slot++ {
		if m.crowded {
			t.gid(at, slot, mapped([4]byte{10, byte(200 + h.card), byte(slot / 2), byte(10 + h.vf)}), h)
			continue
		}
		t.file(fmt.Sprintf("%s/gids/%d", at, slot), "0000:0000:0000:0000:0000:0000:0000:0000")
		t.unreadable(fmt.Sprintf("%s/gid_attrs/types/%d", at, slot))
		t.unreadable(fmt.Sprintf("%s/gid_attrs/ndevs/%d", at, slot))
	}
}

// gid fills a slot. Other pods' interfaces have the same names, each in its own namespace.
func (t *tree) gid(at string, slot int, gid string, h hca) {
	version := "IB/RoCE v1"
	if slot%2 == 1 {
		version = "RoCE v2"
	}
	n := fmt.Sprint(slot)
	t.file(path.Join(at, "gids", n), gid)
	t.file(path.Join(at, "gid_attrs/types", n), version)
	t.file(path.Join(at, "gid_attrs/ndevs", n), netdev(h))
}

func linkLocal(h hca) string {
	return fmt.Sprintf("fe80:0000:0000:0000:00f3:a1ff:fe%02x:%04x", h.card, h.vf)
}

func mapped(a [4]byte) string {
	return fmt.Sprintf("0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a[0], a[1], a[2], a[3])
}

// address is the HCA's own: one subnet per rail.
func address(h hca) [4]byte { return [4]byte{10, byte(100 + h.card), 7, byte(10 + h.vf)} }

func netdev(h hca) string { return fmt.Sprintf("net%d", h.index+1) }
