// Package fabric is the whole lab: a control plane with nodes that are virtual machines, whose SR-IOV cards carry RDMA.
package fabric

import (
	"fmt"
	"net/netip"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// Options of the lab. The zero value is two nodes on OpenShift, with an Intel IOMMU that lets DMA through.
type Options struct {
	// PodsOnly makes machines without Kubernetes: their virtual functions have addresses, as if each machine were a
	// pod.
	PodsOnly bool
	// Plain makes it a Kubernetes without OpenShift's admission and operators.
	Plain bool
	// Rollout runs the machine-config-controller; a rollout takes effect when its nodes reboot.
	Rollout bool
	// SeparateRDMA gives each RDMA device to one network namespace.
	SeparateRDMA bool

	Machines  int      // 0: 2
	IOMMU     vm.IOMMU // "": Intel
	Arguments []string // of the kernels; nil: passthrough
	Memory    int      // MiB of each machine; 0: enough
	Memlock   uint64   // bytes that the runtime lets containers lock; 0: its default

	// Workloads are the controllers of training workloads that run with the control plane.
	Workloads []assets.Program

	// DevicePlugin is a sriov-network-device-plugin of the user's, which the nodes run in the stand-in's place; "":
	// the stand-in.
	DevicePlugin string
	// DRADriver puts dranet, the DRA driver of NICs, among the nodes' programs, where it waits to be started.
	DRADriver bool

	Dir      string // for everything that the lab keeps
	Progress func(line string)
}

func (o Options) withDefaults() Options {
	if o.Machines == 0 {
		o.Machines = 2
	}
	if o.IOMMU == "" {
		o.IOMMU = vm.Intel
	}
	if o.Arguments == nil {
		o.Arguments = []string{"iommu=pt"}
		if o.IOMMU == vm.Intel {
			o.Arguments = append(o.Arguments, "intel_iommu=on")
		}
	}
	if o.Memory == 0 {
		if o.Memory = 704; o.PodsOnly {
			o.Memory = 512
		}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Rails are the cards of every machine, one rail each.
func Rails() []string { return []string{"eno5np0", "eno6np0"} }

// Resource returns the name under which the device plugin offers the virtual functions of a rail.
func Resource(rail string) string { return "openshift.io/" + rail + "rdma" }

// VirtualFunctions is the number on each card.
const VirtualFunctions = 2

// name returns the name of a machine: node-a.
func name(machine int) string { return "node-" + string(rune('a'+machine-1)) }

// Subnet is the network of a rail: 192.168.5.0/24.
func Subnet(rail int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(5 + rail), 0}), 24)
}

// podNetwork is the network between the nodes, with a part for the pods of each.
func podNetwork(machine int) (node netip.Prefix, pods netip.Prefix) {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 8, byte(machine)}), 24),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(machine), 0}), 24)
}

// What the cards of a machine are for, in their MACs.
const (
	managementCard = 0xcc
	podCard        = 0xbb
	railCard       = 0xa0
	vfCard         = 0x50
)

// config returns the description of a machine.
func (o Options) config(machine int, token string) guest.Config {
	own, gateway := vm.Management(machine)
	c := guest.Config{
		Name: name(machine), Token: token, Gateway: gateway, SharedRDMA: !o.SeparateRDMA,
		Management: guest.Link{Name: "mgmt", MAC: vm.MAC(managementCard, 0, byte(machine)), Address: own},
	}
	for rail, card := range Rails() {
		c.Cards = append(c.Cards, o.card(machine, rail, card))
	}
	if o.PodsOnly {
		return c
	}
	node, _ := podNetwork(machine)
	c.Pods = &guest.Link{Name: "pods", MAC: vm.MAC(podCard, 0, byte(machine)), Address: node}
	for other := 1; other <= o.Machines; other++ {
		if other != machine {
			via, pods := podNetwork(other)
			c.Peers = append(c.Peers, guest.Route{To: pods, Via: via.Addr()})
		}
	}
	return c
}

// card has HCAs whose names differ from one machine to the next, as they do where machines have other cards besides.
func (o Options) card(machine, rail int, name string) guest.Card {
	card := guest.Card{Link: guest.Link{Name: name, MAC: vm.MAC(railCard, byte(rail), byte(machine))}}
	for v := range VirtualFunctions {
		function := guest.VF{
			MAC: vm.MAC(vfCard+byte(v), byte(rail), byte(machine)),
			HCA: fmt.Sprintf("mlx5_%d", (machine-1)*3+rail*VirtualFunctions+v),
		}
		if o.PodsOnly {
			at := Subnet(rail).Addr().As4()
			at[3] = byte(100*v + machine)
			function.Address = netip.PrefixFrom(netip.AddrFrom4(at), 24)
		}
		card.VFs = append(card.VFs, function)
	}
	return card
}
