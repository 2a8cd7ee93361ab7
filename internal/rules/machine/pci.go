package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

func pciConfig(t *subject) []check.Finding {
	looked := false
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		if f.Config.MaxPayload.IsUnreadable() {
			return one(PCIConfig, check.Unknown, check.Ref{Kind: check.Node}, "the PCI configuration space cannot be read, so ACS and the size of read requests are not known: "+f.Config.MaxPayload.Why,
				forAdmin("Look with CAP_SYS_ADMIN on the node.", "oc debug node/NODE -- /host/usr/bin/setpci -s "+f.Address.String()+" ECAP_ACS+0x6.w"),
				check.Evidence{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/config", Got: f.Config.MaxPayload.Why, Want: "4096 bytes"})
		}
		looked = looked || f.Config.MaxPayload.IsKnown()
	}
	if !looked {
		return notLooked(PCIConfig)
	}
	return nil
}

// between are the bridges that two functions below one port do not share: those that decide whether the functions reach
// each other without the root.
func between(a, b *host.Function) []host.PCIAddress {
	p, q := a.Path.Value, b.Path.Value
	if p.HostBridge == "" || p.HostBridge != q.HostBridge {
		return nil
	}
	common := 0
	for common < len(p.Hops)-1 && common < len(q.Hops)-1 && p.Hops[common] == q.Hops[common] {
		common++
	}
	if common == 0 {
		return nil // they meet at the root in any case
	}
	return append(slices.Clone(p.Hops[common:len(p.Hops)-1]), q.Hops[common:len(q.Hops)-1]...)
}

// redirecting are the bridges between GPUs and HCAs whose ACS sends their traffic up to the root.
func redirecting(s *host.Snapshot) (bridges []string, evidence []check.Evidence) {
	var way []host.PCIAddress
	for g := range s.GPUs {
		for d := range s.Devices {
			way = append(way, between(&s.GPUs[g].Function, &s.Devices[d].Function.Value)...)
		}
	}
	for i := range s.Bridges {
		f := &s.Bridges[i]
		if !f.Config.Redirects() || !slices.Contains(way, f.Address) {
			continue
		}
		name := f.Address.String()
		bridges = append(bridges, name)
		evidence = append(evidence, check.Evidence{
			Source: "setpci -s " + name + " ECAP_ACS+0x6.w", Got: fmt.Sprintf("%04x: ReqRedir or CmpltRedir", f.Config.ACS.Value), Want: "0000",
		})
	}
	return bridges, evidence
}

func acsRedirect(t *subject) []check.Finding {
	bridges, evidence := redirecting(&t.Snapshot)
	if len(bridges) == 0 {
		return nil
	}
	commands := make([]string, 0, len(bridges))
	for _, b := range bridges {
		commands = append(commands, "setpci -s "+b+" ECAP_ACS+0x6.w=0000")
	}
	return one(ACSRedirect, check.Warn, check.Ref{Kind: check.Node},
		fmt.Sprintf("ACS of the bridges %s sends what GPU and NIC exchange through the root: GPUDirect RDMA is slow or fails (IBV_WC_LOC_PROT_ERR)", strings.Join(bridges, ", ")),
		forAdmin("On bare metal switch ACS off in the firmware, or on the bridges after every boot. In a virtual machine it is needed: use ATS.", commands...), evidence...)
}

// readRequest: a card of 200 Gb/s and more does not fill its rate with requests of 512 bytes, the size that firmware
// gives.
func readRequest(t *subject) []check.Finding {
	const fast, small = 200, 512
	var names, commands []string
	var devices []check.Ref
	var evidence []check.Evidence
	for _, d := range physical(&t.Snapshot) {
		c := d.Function.Value.Config
		if c.MaxReadRequest.IsKnown() && c.MaxReadRequest.Value <= small && d.Ports[0].Rate.Value.Gbps >= fast {
			address := d.Function.Value.Address.String()
			devices = append(devices, check.DeviceRef(d.Name))
			names, commands = append(names, d.Name), append(commands, "setpci -s "+address+" CAP_EXP+8.w=5000:7000")
			evidence = append(evidence, check.Evidence{Source: "setpci -s " + address + " CAP_EXP+8.w", Got: fmt.Sprintf("MaxReadReq %d bytes, MaxPayload %d", c.MaxReadRequest.Value, c.MaxPayload.Value), Want: "MaxReadReq 4096"})
		}
	}
	if len(names) == 0 {
		return nil
	}
	return about(one(ReadRequest, check.Warn, check.Ref{Kind: check.Node}, fmt.Sprintf("%s read memory in requests of at most %d bytes: what they send may stay below their rate", strings.Join(names, ", "), small),
		forAdmin("Set 4096 (NicConfigurationTemplate of the Network Operator, or setpci after every boot).", commands...), evidence...), devices)
}
