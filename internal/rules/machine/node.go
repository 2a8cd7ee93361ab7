package machine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// nodeChecks need the node's view. Equally severe findings are listed in this order.
var nodeChecks = []check.Check[*subject]{
	{ID: rail.DeviceAllocated, Title: "the node has RDMA devices", Run: noDevice},
	{ID: PhysicalUp, Title: physicalUpTitle, Needs: needsDevice, Run: physicalUp},
	{ID: rail.PortActive, Title: portActiveTitle, Needs: needsDevice, Run: cardsActive},
	{
		ID: VFSettings, Title: "the physical function's settings let its virtual functions work",
		Needs: needsDevice, Run: vfSettings,
	},
	{
		ID: VFTrust, Title: "no virtual function is trusted, because RDMA does not need it",
		Needs: needsDevice, Run: vfTrust,
	},
	{ID: VFCount, Title: "all cards have the same number of virtual functions", Needs: needsDevice, Run: vfCount},
	{ID: IOMMUPresent, Title: "a node with virtual functions has an IOMMU", Needs: needsDevice, Run: iommuPresent},
	{
		ID: IOMMUOptions, Title: "kernel IOMMU options are valid",
		Needs: []check.ID{rail.DeviceAllocated, IOMMUPresent}, Run: iommuOptions,
	},
	{ID: nccl.IOMMUPassthrough, Title: passthroughTitle, Needs: []check.ID{IOMMUOptions}, Run: iommuPassthrough},
	{ID: PCIConfig, Title: "the PCI configuration space can be read", Needs: needsDevice, Run: pciConfig},
	{
		ID: ACSRedirect, Title: "no bridge between a GPU and its NIC redirects their traffic",
		Needs: []check.ID{PCIConfig}, Run: acsRedirect,
	},
	{ID: ReadRequest, Title: "fast cards read in large requests", Needs: []check.ID{PCIConfig}, Run: readRequest},
	{ID: PCIeLink, Title: pcieLinkTitle, Needs: needsDevice, Run: cardLinks},
	{ID: FirmwareUniform, Title: "cards of one model have the same firmware", Needs: needsDevice, Run: firmware},
	{ID: PeermemRegistered, Title: "a loaded peer-memory module is registered", Run: peermem},
	{ID: ModuleConflict, Title: "no two modules do the same job", Run: modules},
	{ID: RuntimeMemlock, Title: "the container runtime sets unlimited locked memory", Run: runtimeMemlock},
}

func noDevice(t *subject) []check.Finding {
	if len(t.Devices) > 0 {
		return nil
	}
	return []check.Finding{rail.Resolution{Scope: rail.Host}.NoRail(t.Snapshot)}
}

// physical returns the RDMA devices of physical functions.
func physical(s *host.Snapshot) []*host.Device {
	var all []*host.Device
	for i := range s.Devices {
		if d := &s.Devices[i]; d.Function.IsKnown() && !d.IsVirtual() && !d.IsSoftware() && len(d.Ports) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// downFunction is a physical function that gives its virtual functions no carrier.
type downFunction struct {
	pf                host.PCIAddress
	ref               check.Ref
	why, fix, command string
	source, got, want string // the evidence
}

const (
	setUp      = "Set the interface up."
	checkCable = "Check the cable, the transceiver and the switch port."
)

// downPhysical returns the physical functions that have virtual functions and are down, each once.
func downPhysical(s *host.Snapshot) []downFunction {
	vfs := map[host.PCIAddress]bool{}
	for i := range s.Devices {
		if pf, ok := s.Devices[i].Function.Value.PhysFn.Get(); ok {
			vfs[pf] = true
		}
	}
	cards := physical(s)
	infiniBand := map[host.PCIAddress]bool{} // whose interface has nothing to do with RDMA: it carries only IP
	for _, d := range cards {
		infiniBand[d.Function.Value.Address] = d.Ports[0].LinkLayer.Value == host.InfiniBand
	}
	var down []downFunction
	for i := range s.Links {
		l := &s.Links[i]
		pf, onPCI := l.PCI.Get()
		gives := onPCI && !infiniBand[pf] && (vfs[pf] || len(l.VFs) > 0)
		if gives && !isDown(down, pf) && !slices.ContainsFunc(uplinks(s, pf), isUp) {
			down = append(down, downLink(pf, l))
		}
	}
	for _, d := range cards {
		pf := d.Function.Value.Address
		gives := vfs[pf] || d.Function.Value.NumVFs.Value > 0
		if gives && !isDown(down, pf) {
			down = append(down, downPorts(d)...)
		}
	}
	return down
}

// downPorts describes a card that has no ACTIVE port.
func downPorts(d *host.Device) []downFunction {
	up := func(p host.Port) bool { return p.State.Or("ACTIVE") == "ACTIVE" }
	if slices.ContainsFunc(d.Ports, up) {
		return nil
	}
	state := d.Ports[0].State.Value
	return []downFunction{{
		pf: d.Function.Value.Address, ref: check.DeviceRef(d.Name), why: "has port state " + state,
		fix: checkCable, command: "rdma link show " + d.Name + "/1",
		source: "/sys/class/infiniband/" + d.Name + "/ports/1/state", got: state, want: "ACTIVE",
	}}
}

// uplinks returns the interfaces of a physical function. In switchdev mode the representors of its virtual functions
// have its address, too, but only its own interface lists the virtual functions (net/core/rtnetlink.c rtnl_fill_vf).
func uplinks(s *host.Snapshot, pf host.PCIAddress) []host.Link {
	var all, listing []host.Link
	for _, l := range s.Links {
		if l.PCI.IsKnown() && l.PCI.Value == pf {
			all = append(all, l)
			if len(l.VFs) > 0 {
				listing = append(listing, l)
			}
		}
	}
	if len(listing) > 0 {
		return listing
	}
	return all
}

func isUp(l host.Link) bool { return l.Up.Or(true) && l.Carrier.Or(true) }

// downLink describes an interface of a physical function that is down.
func downLink(pf host.PCIAddress, l *host.Link) downFunction {
	if !l.Up.Or(true) {
		return downFunction{
			pf: pf, ref: check.LinkRef(l.Name), why: "is down", fix: setUp, command: "ip link set " + l.Name + " up",
			source: "IFF_UP of " + l.Name, got: "off", want: "on",
		}
	}
	return downFunction{
		pf: pf, ref: check.LinkRef(l.Name), why: "has no carrier", fix: checkCable, command: "ethtool " + l.Name,
		source: "/sys/class/net/" + l.Name + "/carrier", got: "0", want: "1",
	}
}

func isDown(down []downFunction, pf host.PCIAddress) bool {
	return slices.ContainsFunc(down, func(f downFunction) bool { return f.pf == pf })
}

func physicalUp(t *subject) []check.Finding {
	var g group
	var names, fixes, commands []string
	for _, f := range downPhysical(&t.Snapshot) {
		names = append(names, fmt.Sprintf("%s (%s) %s", f.ref, f.pf, f.why))
		fixes, commands = append(fixes, f.fix), append(commands, f.command)
		g.add(f.ref, f.source, f.got, f.want)
	}
	if len(names) == 0 {
		return nil
	}
	return []check.Finding{{
		Check: PhysicalUp, Status: check.Fail, Subject: check.Ref{Kind: check.Node}, About: g.objects,
		Summary: "physical function " + strings.Join(names, ", ") +
			": its virtual functions have no carrier and no RDMA",
		Evidence: g.evidence,
		Fix:      check.ByAdmin(strings.Join(distinct(fixes), " "), distinct(commands)...),
	}}
}

func firmware(t *subject) []check.Finding {
	versions := map[string][]string{}
	var g group
	cards := physical(&t.Snapshot)
	for _, d := range cards {
		if board, version := d.BoardID.Value, d.Firmware.Value; board != "" && version != "" {
			versions[board] = append(versions[board], version)
			g.see("/sys/class/infiniband/"+d.Name+"/fw_ver", version+" on "+board, "")
		}
	}
	for _, board := range slices.Sorted(maps.Keys(versions)) {
		if all := distinct(versions[board]); len(all) > 1 {
			return []check.Finding{{
				Status: check.Warn,
				Summary: fmt.Sprintf("cards of board %s have different firmware (%s): a rail may behave differently",
					board, strings.Join(all, ", ")),
				Evidence: g.evidence,
				Fix:      check.ByAdmin("Update all cards to one version.", "mlxfwmanager --query", "mlxfwmanager -u"),
			}}
		}
	}
	if len(g.evidence) < len(cards) {
		return noData()
	}
	return nil
}

// peermem: nvidia_peermem registers with MOFED's ib_core as nv_mem (nvidia-peermem.c). Without that it does nothing,
// but NCCL 2.23 and later rely on the loaded module for GPUDirect RDMA.
func peermem(t *subject) []check.Finding {
	clients := t.GPUDirect.PeerClients
	registered := slices.ContainsFunc(clients, func(name string) bool {
		return name == "nv_mem" || name == "nv_mem_nc" || name == "nvidia-peermem"
	})
	if !slices.Contains(t.Modules, "nvidia_peermem") || registered {
		return nil
	}
	status, effect := check.Warn, ": NCCL uses it for GPUDirect RDMA, "+
		"and registering GPU memory fails with \"Bad address\""
	if nccl.GPUDirectWay(t.Snapshot) == nccl.DMABuf {
		status, effect = check.Pass, "; DMA-BUF works, and NCCL prefers it"
	}
	return []check.Finding{{
		Status:  status,
		Summary: "nvidia_peermem is loaded but not registered with ib_core" + effect,
		Evidence: []check.Evidence{
			{Source: "/sys/module/nvidia_peermem", Got: "loaded"},
			{Source: "/sys/kernel/mm/memory_peers", Got: orNone(strings.Join(clients, ", ")), Want: "nv_mem"},
		},
		Fix: check.ByAdmin("Reload it after the network driver. If that fails, the GPU driver was built against "+
			"another network driver.", "rmmod nvidia_peermem", "modprobe nvidia_peermem", "dmesg | grep -i peermem"),
	}}
}

func orNone(s string) string { return cmp.Or(s, "none") }

func modules(t *subject) []check.Finding {
	for _, pair := range []struct{ older, newer, effect string }{
		{"nv_peer_mem", "nvidia_peermem", "both register GPU memory, and the one loaded second has no effect"},
		{"i40iw", "irdma", "both drive the RDMA of Intel's X722, and only one of them gets it"},
	} {
		if slices.Contains(t.Modules, pair.older) && slices.Contains(t.Modules, pair.newer) {
			return []check.Finding{{
				Status:  check.Warn,
				Summary: fmt.Sprintf("modules %s and %s are loaded: %s", pair.older, pair.newer, pair.effect),
				Evidence: []check.Evidence{
					{Source: "/sys/module", Got: pair.older + ", " + pair.newer, Want: pair.newer},
				},
				Fix: check.ByAdmin("Keep the newer one.", "modprobe -r "+pair.older,
					"echo blacklist "+pair.older+" > /etc/modprobe.d/"+pair.older+".conf"),
			}}
		}
	}
	intel := slices.ContainsFunc(t.Devices, func(d host.Device) bool { return provider(&d) == "irdma" })
	if intel || len(t.Devices) == 0 || !slices.Contains(t.Modules, "irdma") {
		return nil
	}
	return []check.Finding{{
		Summary: "irdma is loaded without a device of its own: " +
			"it prevents NVIDIA's network driver (DOCA-OFED) from being reloaded",
		Evidence: []check.Evidence{{Source: "/sys/module/irdma", Got: "loaded"}},
		Fix: check.ByAdmin("Before you install that driver, block irdma.",
			"MachineConfig spec:\n  kernelArguments: [module_blacklist=irdma]"),
	}}
}

func runtimeMemlock(t *subject) []check.Finding {
	r := t.Runtime
	switch {
	case r == nil:
		return noData()
	case r.Unlimited() && r.Refused != "" && r.Name == "CRI-O":
		return []check.Finding{{
			Status:   check.Fail,
			Summary:  "CRI-O does not accept " + r.Refused + ": it does not start again",
			Evidence: check.Observed("default_ulimits", r.Refused, "name=soft:hard, whole numbers, -1 for unlimited"),
			Fix:      check.ByAdmin("Correct the entry before CRI-O or the node restarts.", "crio config >/dev/null"),
		}}
	case r.Unlimited():
		return nil
	}
	summary := fmt.Sprintf("%s limits containers to memlock=%s in %s", r.Name, r.Memlock, r.File)
	if r.Memlock == "" {
		summary = r.Name + " sets no locked-memory limit: containers get systemd's default, 8 MiB"
	}
	summary += "; registering more fails with ENOMEM, unless a pod may lift the limit"
	evidence := []check.Evidence{{
		Source: orNone(r.File), Got: "memlock=" + orNone(r.Memlock),
		Want: "memlock=-1:-1 (CRI-O), LimitMEMLOCK=infinity (containerd)",
	}}
	if r.Refused != "" {
		summary += ". It does not accept " + r.Refused
		evidence = append(evidence, check.Evidence{Source: r.Name, Got: "refused: " + r.Refused})
	}
	return []check.Finding{{Status: check.Warn, Summary: summary, Evidence: evidence, Fix: memlockFix(r)}}
}
