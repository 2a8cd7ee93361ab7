// Package vm runs the virtual machines of the lab: QEMU with SR-IOV cards, an IOMMU, and no part of the host's network.
package vm

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/image"
)

// IOMMU is which one a machine has.
type IOMMU string

// The IOMMUs that QEMU emulates on a q35.
const (
	NoIOMMU IOMMU = "none"
	Intel   IOMMU = "intel"
	AMD     IOMMU = "amd"
)

// Spec is a machine.
type Spec struct {
	Parts  image.Parts
	Init   string // file of the program lab/cmd/guest
	Dir    string // folder of this machine alone; its config and whatever it names lie in OwnFolder
	Config guest.Config

	Accel     Accel // "": TCG
	Memory    int   // MiB
	IOMMU     IOMMU
	Arguments []string // of the kernel, besides those that the lab needs
	// Segments are the sockets of the segments that the machine's cards are on, by the cards' MACs.
	Segments map[string]string
	// Forwards leads ports of the host's loopback address to ports of the machine.
	Forwards map[int]int
}

// OwnFolder is the folder in Dir that is the machine's share guest.OwnShare.
const OwnFolder = "own"

// arguments returns QEMU's arguments.
func (s Spec) arguments(initrd, console string) []string {
	args := []string{
		"-M", "q35", "-smp", "1", "-m", fmt.Sprint(s.Memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "file:" + console,
		"-qmp", "unix:" + s.qmpSocket() + ",server=on,wait=off",
		"-kernel", s.Parts.Kernel, "-initrd", initrd,
		"-append", strings.Join(append(s.Accel.kernelArguments(), s.Arguments...), " "),
	}
	cache := codeOfMachine
	if s.Config.Node != nil {
		cache = codeOfNode
	}
	args = append(args, s.Accel.arguments(cache)...)
	args = append(args, share(guest.OwnShare, s.Dir+"/"+OwnFolder)...)
	args = append(args, share(guest.ProgramShare, s.Parts.Programs)...)
	switch s.IOMMU {
	case Intel:
		args = append(args, "-device", "intel-iommu,intremap=on")
	case AMD:
		// With its interrupt remapping Linux panics under emulation: "timer doesn't work through Interrupt-remapped
		// IO-APIC".
		args = append(args, "-device", "amd-iommu,intremap=off")
	case NoIOMMU:
	}
	args = append(args, s.management()...)
	if pods := s.Config.Pods; pods != nil {
		args = append(args, "-netdev", s.wire("pods", pods.MAC), "-device",
			"virtio-net-pci,netdev=pods,mac="+pods.MAC+",host_mtu=9000")
	}
	for i, card := range s.Config.Cards {
		id := cardID(i)
		args = append(args, "-device",
			fmt.Sprintf("pcie-root-port,id=root%d,bus=pcie.0,chassis=%d,slot=%d", i, i+1, i+1), "-netdev",
			s.wire(id, card.MAC), "-device", fmt.Sprintf("igb,bus=root%d,netdev=%s,mac=%s", i, id, card.MAC))
	}
	return args
}

// cardID returns QEMU's name for the network of a card.
func cardID(card int) string { return fmt.Sprintf("card%d", card) }

func share(tag, folder string) []string {
	return []string{
		"-virtfs",
		fmt.Sprintf("local,path=%s,mount_tag=%s,security_model=none,readonly=on,id=%s", folder, tag, tag),
	}
}

// wire is the card's way to its segment. It connects again when the segment was away.
func (s Spec) wire(id, mac string) string {
	return fmt.Sprintf("stream,id=%s,server=off,reconnect-ms=200,addr.type=unix,addr.path=%s", id, s.Segments[mac])
}

// management is the card to the host: QEMU's own network, in which the gateway is the host's loopback address.
func (s Spec) management() []string {
	net := s.Config.Management.Address.Masked()
	user := "user,id=management,ipv6=off,net=" + net.String() + ",host=" + s.Config.Gateway.String()
	for _, port := range sortedKeys(s.Forwards) {
		user += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-%s:%d", port, s.Config.Management.Address.Addr(),
			s.Forwards[port])
	}
	return []string{"-netdev", user, "-device", "virtio-net-pci,netdev=management,mac=" + s.Config.Management.MAC}
}

// MAC is the address of a card: locally administered, distinguished by its purpose and the machine.
func MAC(kind, card, machine byte) string {
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", kind, card, machine)
}

// Management returns the addresses of a machine's management network: its own and the gateway's, which is the host.
func Management(machine int) (own netip.Prefix, gateway netip.Addr) {
	at := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(machine), last}) }
	return netip.PrefixFrom(at(15), 24), at(2)
}
