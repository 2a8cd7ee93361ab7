package main

import (
	"fmt"
	"path"
)

// otherFunctions is how many PCI functions a two-socket server has besides GPUs, NICs and the switches above them:
// mostly the uncore units of the processors.
const otherFunctions = 300

// A card's place: its own host bridge, root port and PCI Express switch, below which the NIC and a GPU sit.

func bus(card int) int { return 0x10 + 0x18*card }

func numaNode(card int) int { return card / (cards / 2) }

func switchPath(card int) string {
	b := bus(card)
	return fmt.Sprintf("sys/devices/pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", b, b, b+1)
}

func nicPath(card, function int) string {
	b := bus(card)
	return fmt.Sprintf("%s/0000:%02x:00.0/0000:%02x:00.%d", switchPath(card), b+2, b+3, function)
}

func gpuPath(card int) string {
	b := bus(card)
	return fmt.Sprintf("%s/0000:%02x:01.0/0000:%02x:00.0", switchPath(card), b+2, b+4)
}

// vfPath is the function of an HCA: function 0 is the physical one.
func vfPath(h hca) string { return nicPath(h.card, h.vf+1) }

// pci writes every PCI function but the virtual ones.
func (t *tree) pci(m spec) {
	bridge := pciFunction{class: "0x060400", vendor: "0x1000", device: "0xc030", driver: "pcieport"}
	for card := range cards {
		node := numaNode(card)
		nic, gpu := nicPath(card, 0), gpuPath(card)
		for _, at := range []string{
			path.Dir(switchPath(card)), switchPath(card), path.Dir(nic), path.Dir(gpu),
		} {
			t.function(at, bridge, node)
		}
		t.function(nic, pciFunction{class: "0x020000", vendor: "0x15b3", device: "0x1021", driver: "mlx5_core"}, node)
		t.file(nic+"/sriov_numvfs", fmt.Sprint(m.hcas/cards))
		t.function(gpu, pciFunction{class: "0x030200", vendor: "0x10de", device: "0x2330", driver: "nvidia"}, node)
		t.gpu(card, path.Base(gpu))
	}
	unit := pciFunction{class: "0x088000", vendor: "0x8086", device: "0x3258"}
	for i := range otherFunctions {
		b := []int{0x00, 0x7e, 0xfe}[i%3]
		at := fmt.Sprintf("sys/devices/pci0000:%02x/0000:%02x:%02x.%d", b, b, i/3/8, i/3%8)
		t.function(at, unit, i%3/2)
	}
}

type pciFunction struct{ class, vendor, device, driver string }

func (t *tree) function(at string, f pciFunction, node int) {
	t.files(at, map[string]string{
		"class": f.class, "vendor": f.vendor, "device": f.device, "numa_node": fmt.Sprint(node),
		"current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
		"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16",
	})
	t.link("sys/bus/pci/devices/"+path.Base(at), at)
	if f.driver != "" {
		t.link(at+"/driver", "sys/bus/pci/drivers/"+f.driver)
		t.link("sys/bus/pci/drivers/"+f.driver+"/"+path.Base(at), at)
	}
	group := fmt.Sprintf("sys/kernel/iommu_groups/%d", t.groups)
	t.groups++
	t.file(group+"/type", "identity")
	t.link(group+"/devices/"+path.Base(at), at)
	t.link(at+"/iommu_group", group)
}

// gpu writes what the NVIDIA driver and the container runtime show of a GPU.
func (t *tree) gpu(card int, address string) {
	t.file("proc/driver/nvidia/gpus/"+address+"/information", fmt.Sprintf(
		"Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t %d\n"+
			"GPU UUID: \t GPU-00000000-0000-0000-0000-%012d\nBus Type: \t PCIe\n"+
			"Bus Location: \t %s\nDevice Minor: \t %d",
		200+card,
		card,
		address,
		card,
	))
	t.file(fmt.Sprintf("dev/nvidia%d", card), "")
}
