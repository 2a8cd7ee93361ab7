package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

func pciConfig(t *subject) []check.Finding {
	read := false
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		size, address := f.Config.MaxPayload, f.Address.String()
		if size.IsUnreadable() {
			return []check.Finding{{
				Status: check.Unknown,
				Summary: "the PCI configuration space cannot be read, so ACS and the read request size are unknown: " +
					size.Why,
				Evidence: []check.Evidence{
					{Source: "/sys/bus/pci/devices/" + address + "/config", Got: size.Why, Want: "4096 bytes"},
				},
				Fix: check.ByAdmin("Read it with CAP_SYS_ADMIN on the node.",
					"oc debug node/NODE -- /host/usr/bin/setpci -s "+address+" ECAP_ACS+0x6.w"),
			}}
		}
		read = read || size.IsKnown()
	}
	if !read {
		return noData()
	}
	return nil
}

// between returns the bridges that two functions below one root port do not share. They decide whether traffic between
// the functions passes the root.
func between(a, b *host.Function) []host.PCIAddress {
	p, q := a.Path.Value, b.Path.Value
	common := rail.SharedHops(p, q)
	if p.HostBridge == "" || p.HostBridge != q.HostBridge || common == 0 {
		return nil // different host bridges or root ports: it always does
	}
	return slices.Concat(p.Hops[common:len(p.Hops)-1], q.Hops[common:len(q.Hops)-1])
}

// gpuPaths returns the bridges between the GPUs and the HCAs; known is false if the place of one is not known, or if
// there is nothing on one side.
func (t *subject) gpuPaths() (bridges []host.PCIAddress, known bool) {
	known = len(t.GPUs) > 0 && len(t.Devices) > 0
	for g := range t.GPUs {
		for d := range t.Devices {
			gpu, hca := &t.GPUs[g].Function, &t.Devices[d].Function.Value
			known = known && gpu.Path.IsKnown() && hca.Path.IsKnown()
			bridges = append(bridges, between(gpu, hca)...)
		}
	}
	return bridges, known
}

func acsRedirect(t *subject) []check.Finding {
	paths, read := t.gpuPaths()
	var g group
	var bridges, commands []string
	seen := map[host.PCIAddress]bool{}
	for i := range t.Bridges {
		b := &t.Bridges[i]
		seen[b.Address] = !b.Config.ACS.IsUnreadable()
		if !b.Config.Redirects() || !slices.Contains(paths, b.Address) {
			continue
		}
		command := "setpci -s " + b.Address.String() + " ECAP_ACS+0x6.w"
		bridges, commands = append(bridges, b.Address.String()), append(commands, command+"=0000")
		g.see(command, fmt.Sprintf("%04x: ReqRedir or CmpltRedir", b.Config.ACS.Value), "0000")
	}
	unread := func(a host.PCIAddress) bool { return !seen[a] }
	switch {
	case len(bridges) == 0 && (!read || slices.ContainsFunc(paths, unread)):
		return noData()
	case len(bridges) == 0:
		return nil
	}
	return []check.Finding{{
		Status: check.Warn,
		Summary: fmt.Sprintf("ACS of the bridges %s redirects traffic between GPU and NIC through the root: "+
			"GPUDirect RDMA is slow or fails (IBV_WC_LOC_PROT_ERR)", strings.Join(bridges, ", ")),
		Evidence: g.evidence,
		Fix: check.ByAdmin("On bare metal, disable ACS in the firmware, or on the bridges after every boot. "+
			"A virtual machine needs ACS: enable ATS instead.", commands...),
	}}
}

// readRequest: a card of 200 Gb/s and more does not reach its rate with requests of 512 bytes, the firmware's default.
func readRequest(t *subject) []check.Finding {
	const fast, small = 200, 512
	var g group
	var commands []string
	for _, d := range physical(&t.Snapshot) {
		c := d.Function.Value.Config
		request, ok := c.MaxReadRequest.Get()
		if !ok || request > small || d.Ports[0].Rate.Value.Gbps < fast {
			continue
		}
		command := "setpci -s " + d.Function.Value.Address.String() + " CAP_EXP+8.w"
		commands = append(commands, command+"=5000:7000")
		g.add(check.DeviceRef(d.Name), command,
			fmt.Sprintf("MaxReadReq %d bytes, MaxPayload %d", request, c.MaxPayload.Value), "MaxReadReq 4096")
	}
	if len(commands) == 0 {
		return nil
	}
	return []check.Finding{{
		Status: check.Warn, About: g.objects,
		Summary: fmt.Sprintf("%s read memory in requests of at most %d bytes: they may send below their rate",
			g.String(), small),
		Evidence: g.evidence,
		Fix: check.ByAdmin("Set 4096 (NicConfigurationTemplate of the Network Operator, or setpci after every boot).",
			commands...),
	}}
}
