package html

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
)

// machineFacts has one row for each port of each machine.
func machineFacts(all []rules.Machine) Table {
	t := Table{
		Title: "Ports of the machines",
		Columns: []string{
			"Machine", "Kernel", "Device", "Model", "Firmware", "State",
			"Rate", "Layer", "Interface", "MTU", "PCIe", "NUMA",
		},
	}
	for _, m := range all {
		for _, d := range m.Snapshot.Devices { // none if the machine was not reached
			for _, port := range d.Ports {
				t.Rows = append(t.Rows, portRow(m, d, port))
			}
		}
	}
	return t
}

func portRow(m rules.Machine, d host.Device, port host.Port) []string {
	netdev, mtu := "", ""
	if len(d.Netdevs) > 0 {
		netdev = d.Netdevs[0]
		if link, ok := m.Snapshot.Link(netdev); ok {
			mtu = known(link.MTU)
		}
	}
	rate := ""
	if r, ok := port.Rate.Get(); ok {
		rate = fmt.Sprintf("%g Gb/s", r.Gbps)
	}
	model := cmp.Or(d.HCAType.Value, d.BoardID.Value)
	if d.IsSoftware() {
		model = cmp.Or(model, "software")
	}
	return []string{
		m.Ref.String(),
		m.Snapshot.Kernel.Value,
		fmt.Sprintf("%s:%d", d.Name, port.Number),
		model,
		d.Firmware.Value,
		port.State.Value,
		rate,
		linkName(port.LinkLayer.Value),
		netdev,
		mtu,
		pcieText(d.Function.Value),
		known(d.Function.Value.NUMANode),
	}
}

func known[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return fmt.Sprint(v)
	}
	return ""
}
