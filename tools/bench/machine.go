package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host/replay"
)

// spec describes a machine and a pod on it: eight GPUs, eight RoCE cards with hcas/8 virtual functions each, and about
// 300 other PCI functions, with the names and formats of the mlx5 driver.
type spec struct {
	hcas       int  // virtual functions in /sys/class/infiniband
	owned      int  // of them allocated to the pod
	gids       int  // slots of each GID table
	crowded    bool // all slots are filled, with the addresses of other pods
	privileged bool // the nodes of all HCAs are in /dev and open
}

func (m spec) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d HCAs with %d GID slots each", m.hcas, m.gids)
	if m.crowded {
		b.WriteString(", filled by other pods")
	}
	fmt.Fprintf(&b, "; the pod owns %d", m.owned)
	if m.privileged {
		b.WriteString(" and is privileged")
	}
	return b.String()
}

// cards is the number of NICs and of GPUs: one of each below every PCI Express switch.
const cards = 8

// hca is one virtual function of a card.
type hca struct {
	index, card, vf int
	owned           bool
}

func (h hca) name() string   { return fmt.Sprintf("mlx5_%d", h.index) }
func (h hca) uverbs() string { return fmt.Sprintf("uverbs%d", h.index) }

// list returns the HCAs. It spreads the pod's HCAs over the cards, as one resource per rail does.
func (m spec) list() []hca {
	perCard := max(1, m.hcas/cards)
	all := make([]hca, 0, m.hcas)
	for i := range m.hcas {
		all = append(all, hca{index: i, card: i / perCard, vf: i % perCard, owned: i%(m.hcas/m.owned) == 0})
	}
	return all
}

// ownedHCAs returns the HCAs that the device plugin allocated to the pod.
func (m spec) ownedHCAs() []hca {
	return slices.DeleteFunc(m.list(), func(h hca) bool { return !h.owned })
}

// ownedDevices returns their names, sorted as text.
func (m spec) ownedDevices() []string {
	var names []string
	for _, h := range m.ownedHCAs() {
		names = append(names, h.name())
	}
	slices.Sort(names)
	return names
}

// archive returns the machine in the form of replay.Archive.
func (m spec) archive() (string, error) {
	var t tree
	t.pci(m)
	for _, h := range m.list() {
		t.rdma(m, h)
	}
	t.pod(m)
	t.system(m)
	text := t.b.String()
	if _, err := replay.Parse(text); err != nil {
		return "", fmt.Errorf("%s: %w", m, err)
	}
	return text, nil
}

// tree collects the sections of an archive.
type tree struct {
	b      strings.Builder
	groups int // IOMMU groups so far
}

func (t *tree) file(name, content string) { fmt.Fprintf(&t.b, "-- %s --\n%s\n", name, content) }

func (t *tree) unreadable(name string) { fmt.Fprintf(&t.b, "-- %s ! EINVAL --\n", name) }

// link writes the shortest relative link, as the kernel does: it does not leave /sys.
func (t *tree) link(name, target string) {
	from, to := strings.Split(path.Dir(name), "/"), strings.Split(target, "/")
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	fmt.Fprintf(&t.b, "-- %s -> %s%s --\n", name, strings.Repeat("../", len(from)), strings.Join(to, "/"))
}

func (t *tree) files(dir string, contents map[string]string) {
	for name, content := range contents {
		t.file(path.Join(dir, name), content)
	}
}

// system writes the files that a machine has once.
func (t *tree) system(m spec) {
	netns := "N" // exclusive: the pod sees its own HCAs only
	if m.owned < m.hcas {
		netns = "Y"
	}
	t.file("sys/module/ib_core/parameters/netns_mode", netns)
	t.file("sys/module/nvidia_peermem/version", "570.124.06")
	t.file("sys/devices/system/node/node0/cpulist", "0-55,112-167")
	t.file("sys/devices/system/node/node1/cpulist", "56-111,168-223")
	t.file("sys/devices/virtual/iommu/dmar0/intel-iommu/version", "6:0")
	t.link("sys/class/iommu/dmar0", "sys/devices/virtual/iommu/dmar0")
	t.file("proc/cmdline", "BOOT_IMAGE=(hd0,gpt3)/vmlinuz intel_iommu=on iommu=pt")
	t.file("proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build")
	const lib = "usr/lib/x86_64-linux-gnu/libnccl.so.2"
	t.file(lib+".26.2", "not a library")
	t.b.WriteString("-- " + lib + " -> libnccl.so.2.26.2 --\n")
}
