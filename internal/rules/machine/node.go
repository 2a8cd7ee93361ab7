package machine

import (
	"fmt"
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
	{ID: PhysicalUp, Title: "the physical functions are up", Needs: []check.ID{rail.DeviceAllocated}, Run: physicalUp},
	{ID: VFSettings, Title: "no setting of the physical function keeps its virtual functions from working", Needs: []check.ID{rail.DeviceAllocated}, Run: vfSettings},
	{ID: VFTrust, Title: "no virtual function is trusted, since RDMA needs none to be", Needs: []check.ID{rail.DeviceAllocated}, Run: vfTrust},
	{ID: VFCount, Title: "the cards have equally many virtual functions", Needs: []check.ID{rail.DeviceAllocated}, Run: vfCount},
	{ID: IOMMUPresent, Title: "a node that gives out virtual functions has an IOMMU", Needs: []check.ID{rail.DeviceAllocated}, Run: iommuPresent},
	{ID: IOMMUOptions, Title: "the kernel's IOMMU options are such that it knows", Needs: []check.ID{rail.DeviceAllocated, IOMMUPresent}, Run: iommuOptions},
	{ID: nccl.IOMMUPassthrough, Title: "the IOMMU group of the HCA is of type identity", Needs: []check.ID{IOMMUOptions}, Run: iommuPassthrough},
	{ID: PCIConfig, Title: "the PCI configuration space can be read", Needs: []check.ID{rail.DeviceAllocated}, Run: pciConfig},
	{ID: ACSRedirect, Title: "no bridge between a GPU and its NIC redirects their traffic", Needs: []check.ID{PCIConfig}, Run: acsRedirect},
	{ID: ReadRequest, Title: "fast cards read in large requests", Needs: []check.ID{PCIConfig}, Run: readRequest},
	{ID: PCIeLink, Title: "the PCIe link carries what the port can", Needs: []check.ID{rail.DeviceAllocated}, Run: cardLinks},
	{ID: FirmwareUniform, Title: "cards of one kind have one firmware", Needs: []check.ID{rail.DeviceAllocated}, Run: firmware},
	{ID: PeermemRegistered, Title: "a peer-memory module that is loaded has registered", Run: peermem},
	{ID: ModuleConflict, Title: "no two modules do the same job", Run: modules},
	{ID: RuntimeMemlock, Title: "the container runtime is told to let containers lock all memory", Run: runtimeMemlock},
}

func noDevice(t *subject) []check.Finding {
	if len(t.Devices) > 0 {
		return nil
	}
	return []check.Finding{rail.Resolution{Scope: rail.Host}.NoRail(t.Snapshot)}
}

// virtual counts the VFs that have RDMA devices by their physical function.
func virtual(s *host.Snapshot) map[host.PCIAddress]int {
	all := map[host.PCIAddress]int{}
	for i := range s.Devices {
		if pf, ok := s.Devices[i].Function.Value.PhysFn.Get(); ok {
			all[pf]++
		}
	}
	return all
}

// downFunction is a physical function that is down.
type downFunction struct {
	pf       host.PCIAddress
	ref      check.Ref
	why      string
	cure     string
	command  string
	evidence check.Evidence
}

// downPhysical are the physical functions with virtual ones that are seen to be down, each once: never raised, or
// raised and without a link partner. An InfiniBand port is judged by itself, since its interface carries IP alone.
func downPhysical(s *host.Snapshot) []downFunction {
	const raise, look = "raise it", "look at cable, transceiver and switch port"
	var down []downFunction
	note := func(f downFunction) {
		if !isDown(down, f.pf) {
			down = append(down, f)
		}
	}
	vfs, infiniBand := virtual(s), map[host.PCIAddress]bool{}
	for _, d := range physical(s) {
		infiniBand[d.Function.Value.Address] = d.Ports[0].LinkLayer.Value == host.InfiniBand
	}
	for i := range s.Links {
		l := &s.Links[i]
		pf, onPCI := l.PCI.Get()
		switch {
		case !onPCI || vfs[pf] == 0 && len(l.VFs) == 0 || infiniBand[pf]:
		case !l.Up.Or(true):
			note(downFunction{pf, check.LinkRef(l.Name), "is down", raise, "ip link set " + l.Name + " up", check.Evidence{Source: "IFF_UP of " + l.Name, Got: "off", Want: "on"}})
		case !l.Carrier.Or(true):
			note(downFunction{pf, check.LinkRef(l.Name), "has no carrier", look, "ethtool " + l.Name, check.Evidence{Source: "/sys/class/net/" + l.Name + "/carrier", Got: "0", Want: "1"}})
		}
	}
	for _, d := range physical(s) {
		pf := d.Function.Value.Address
		if state, ok := d.Ports[0].State.Get(); ok && state != "ACTIVE" && (vfs[pf] > 0 || d.Function.Value.NumVFs.Value > 0) {
			note(downFunction{pf, check.DeviceRef(d.Name), "has the port state " + state, look, "rdma link show " + d.Name + "/1", check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/ports/1/state", Got: state, Want: "ACTIVE"}})
		}
	}
	return down
}

func isDown(down []downFunction, pf host.PCIAddress) bool {
	for i := range down {
		if down[i].pf == pf {
			return true
		}
	}
	return false
}

func physicalUp(t *subject) []check.Finding {
	var names, cures, commands []string
	var refs []check.Ref
	var evidence []check.Evidence
	for _, f := range downPhysical(&t.Snapshot) {
		names = append(names, fmt.Sprintf("%s (%s) %s", f.ref, f.pf, f.why))
		refs = append(refs, f.ref)
		cures, commands, evidence = append(cures, f.why+": "+f.cure), append(commands, f.command), append(evidence, f.evidence)
	}
	if len(names) == 0 {
		return nil
	}
	return about(one(PhysicalUp, check.Fail, check.Ref{Kind: check.Node}, "physical function "+strings.Join(names, ", ")+": its virtual functions have no carrier either, and no RDMA",
		forAdmin("What "+strings.Join(distinct(cures), "; what ")+".", distinct(commands)...), evidence...), refs)
}

func cardLinks(t *subject) []check.Finding {
	var all []check.Finding
	for _, d := range physical(&t.Snapshot) {
		all = append(all, linkOf(check.DeviceRef(d.Name), &d.Function.Value, d.Ports[0].Rate)...)
	}
	return all
}

func firmware(t *subject) []check.Finding {
	versions := map[string][]string{}
	var evidence []check.Evidence
	for _, d := range physical(&t.Snapshot) {
		if board, version := d.BoardID.Value, d.Firmware.Value; board != "" && version != "" {
			versions[board] = append(versions[board], version)
			evidence = append(evidence, check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/fw_ver", Got: version + " on " + board})
		}
	}
	for board, all := range versions {
		if all = distinct(all); len(all) > 1 {
			return one(FirmwareUniform, check.Warn, check.Ref{Kind: check.Node}, fmt.Sprintf("cards of board %s have different firmware (%s): a rail may behave unlike the others", board, strings.Join(all, ", ")),
				forAdmin("Bring all cards to one version.", "mlxfwmanager --query", "mlxfwmanager -u"), evidence...)
		}
	}
	return nil
}

// peermem: nvidia_peermem registers with MOFED's ib_core as nv_mem (nvidia-peermem.c); loaded without that it does
// nothing, and NCCL 2.23 and later take its presence for GPUDirect RDMA.
func peermem(t *subject) []check.Finding {
	clients := t.GPUDirect.PeerClients
	registered := slices.Contains(clients, "nv_mem") || slices.Contains(clients, "nv_mem_nc") || slices.Contains(clients, "nvidia-peermem")
	if !slices.Contains(t.Modules, "nvidia_peermem") || registered {
		return nil
	}
	status, otherwise := check.Warn, ": NCCL takes it for GPUDirect RDMA, and registering GPU memory fails with \"Bad address\""
	if works, _ := nccl.DMABuf(t.Snapshot); works {
		status, otherwise = check.Pass, "; DMA-BUF works, and NCCL prefers it"
	}
	return one(PeermemRegistered, status, check.Ref{Kind: check.Node}, "nvidia_peermem is loaded and has not registered with ib_core"+otherwise,
		forAdmin("Load it again after the network driver; if that fails, the GPU driver was built against another one.", "rmmod nvidia_peermem", "modprobe nvidia_peermem", "dmesg | grep -i peermem"),
		check.Evidence{Source: "/sys/module/nvidia_peermem", Got: "loaded"},
		check.Evidence{Source: "/sys/kernel/mm/memory_peers", Got: orNone(strings.Join(clients, ", ")), Want: "nv_mem"})
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func modules(t *subject) []check.Finding {
	for _, pair := range [][3]string{
		{"nv_peer_mem", "nvidia_peermem", "both register GPU memory, and the one that came second serves nobody"},
		{"i40iw", "irdma", "both drive the RDMA of Intel's X722, and only one of them gets it"},
	} {
		if slices.Contains(t.Modules, pair[0]) && slices.Contains(t.Modules, pair[1]) {
			return one(ModuleConflict, check.Warn, check.Ref{Kind: check.Node}, fmt.Sprintf("modules %s and %s are loaded: %s", pair[0], pair[1], pair[2]),
				forAdmin("Keep the newer one.", "modprobe -r "+pair[0], "echo blacklist "+pair[0]+" > /etc/modprobe.d/"+pair[0]+".conf"),
				check.Evidence{Source: "/sys/module", Got: pair[0] + ", " + pair[1], Want: pair[1]})
		}
	}
	intel := false
	for i := range t.Devices {
		intel = intel || provider(&t.Devices[i]) == "irdma"
	}
	if slices.Contains(t.Modules, "irdma") && len(t.Devices) > 0 && !intel {
		return one(ModuleConflict, check.Pass, check.Ref{Kind: check.Node}, "irdma is loaded and drives no RDMA device: it keeps NVIDIA's network driver (DOCA-OFED) from being loaded anew",
			forAdmin("Where that driver is to be installed, keep irdma away.", "MachineConfig spec:\n  kernelArguments: [module_blacklist=irdma]"),
			check.Evidence{Source: "/sys/module/irdma", Got: "loaded"})
	}
	return nil
}

func runtimeMemlock(t *subject) []check.Finding {
	r := t.Runtime
	switch {
	case r == nil:
		return notLooked(RuntimeMemlock)
	case r.Unlimited():
		return nil
	}
	summary := fmt.Sprintf("%s gives containers memlock=%s by %s", r.Name, r.Memlock, r.File)
	if r.Memlock == "" {
		summary = "nothing tells " + r.Name + " how much memory containers may lock: they get systemd's default, 8 MiB"
	}
	return one(RuntimeMemlock, check.Warn, check.Ref{Kind: check.Node}, summary+": registering more fails with ENOMEM, unless a pod may lift it",
		forAdmin(memlockFix, memlockMachineConfig),
		check.Evidence{Source: orNone(r.File), Got: "memlock=" + orNone(r.Memlock), Want: "memlock=-1:-1 (CRI-O), LimitMEMLOCK=infinity (containerd)"})
}
