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

// nodeChecks are what is to be seen on the node only. Their order is that in which equally grave findings are read.
var nodeChecks = []check.Check[*subject]{
	{ID: rail.DeviceAllocated, Title: "the node has RDMA devices", Run: noDevice},
	{ID: PhysicalUp, Title: "the physical functions are up", Needs: []check.ID{rail.DeviceAllocated}, Run: physicalUp},
	{ID: VFSettings, Title: "no setting of the physical function keeps its virtual functions from working", Needs: []check.ID{rail.DeviceAllocated}, Run: vfSettings},
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

// downPhysical are the physical functions that are seen to be down, each with why.
func downPhysical(s *host.Snapshot) (down []host.PCIAddress, evidence []check.Evidence) {
	note := func(pf host.PCIAddress, e check.Evidence) {
		if !slices.Contains(down, pf) {
			down = append(down, pf)
		}
		evidence = append(evidence, e)
	}
	vfs := virtual(s)
	for i := range s.Links {
		l := &s.Links[i]
		pf, onPCI := l.PCI.Get()
		if !onPCI || vfs[pf] == 0 && len(l.VFs) == 0 {
			continue
		}
		switch {
		case !l.Up.Or(true):
			note(pf, check.Evidence{Source: "/sys/class/net/" + l.Name + "/operstate", Got: "down: ip link set " + l.Name + " up was never said", Want: "up"})
		case !l.Carrier.Or(true):
			note(pf, check.Evidence{Source: "/sys/class/net/" + l.Name + "/carrier", Got: "0", Want: "1"})
		}
	}
	for _, d := range physical(s) {
		pf := d.Function.Value.Address
		if state, ok := d.Ports[0].State.Get(); ok && state != "ACTIVE" && (vfs[pf] > 0 || d.Function.Value.NumVFs.Value > 0) {
			note(pf, check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/ports/1/state", Got: state, Want: "ACTIVE"})
		}
	}
	return down, evidence
}

func physicalUp(t *subject) []check.Finding {
	down, evidence := downPhysical(&t.Snapshot)
	if len(down) == 0 {
		return nil
	}
	names := make([]string, 0, len(down))
	commands := []string{}
	for _, pf := range down {
		names = append(names, pf.String())
		for _, l := range t.Links {
			if l.PCI.Value == pf {
				commands = append(commands, "ip link set "+l.Name+" up")
			}
		}
	}
	return one(PhysicalUp, check.Fail, "node", fmt.Sprintf("physical function(s) %s are down or without carrier: their virtual functions have none either, and no RDMA", strings.Join(names, ", ")),
		forAdmin("Bring them up: interface, cable, switch port.", commands...), evidence...)
}

func vfSettings(t *subject) []check.Finding {
	var all []check.Finding
	for i := range t.Links {
		l := &t.Links[i]
		var macs, disabled []string
		spoof := false
		for k := range l.VFs {
			vf := &l.VFs[k]
			if vf.MAC != "" {
				macs = append(macs, vf.MAC)
			}
			if vf.LinkState == "disable" {
				disabled = append(disabled, fmt.Sprintf("vf %d", vf.Index))
			}
			spoof = spoof || vf.SpoofChk
		}
		source, about := "ip link show "+l.Name, check.Subject(l.Name)
		if len(disabled) > 0 {
			all = append(all, one(VFSettings, check.Fail, about, fmt.Sprintf("%s of %s have the link state disable: their ports never become ACTIVE", strings.Join(disabled, ", "), l.Name),
				forAdmin("Enable it in the network that pods attach to.", "SriovNetwork spec:\n  linkState: enable"),
				check.Evidence{Source: source, Got: "link-state disable", Want: "auto or enable"})...)
		}
		if spoof && len(macs) == len(l.VFs) {
			all = append(all, t.notPermitted(l, macs)...)
		}
	}
	return all
}

// notPermitted are the virtual functions seen here whose MAC is none of those that their physical function gave out.
func (t *subject) notPermitted(pf *host.Link, macs []string) []check.Finding {
	var all []check.Finding
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		for k := range t.Links {
			vf := &t.Links[k]
			mac := vf.MAC.Value
			if !f.PhysFn.IsKnown() || f.PhysFn.Value != pf.PCI.Value || vf.PCI.Value != f.Address || mac == "" || slices.Contains(macs, mac) {
				continue
			}
			all = append(all, one(VFSettings, check.Fail, check.Subject(vf.Name), fmt.Sprintf("%s has the MAC %s, which its physical function %s does not permit: what it sends is dropped", vf.Name, mac, pf.Name),
				forAdmin("Give the virtual function the MAC that its physical function knows, or have it not checked.", "ip link set "+pf.Name+" vf N mac "+mac, "SriovNetwork spec:\n  spoofChk: \"off\""),
				check.Evidence{Source: "ip link show " + pf.Name, Got: strings.Join(macs, ", "), Want: mac})...)
		}
	}
	return all
}

func vfCount(t *subject) []check.Finding {
	var counts []string
	var evidence []check.Evidence
	for _, d := range physical(&t.Snapshot) {
		f := d.Function.Value
		if n, ok := f.NumVFs.Get(); ok && n > 0 {
			counts = append(counts, fmt.Sprint(n))
			evidence = append(evidence, check.Evidence{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/sriov_numvfs", Got: fmt.Sprintf("%d of %s", n, f.TotalVFs), Want: "the same on every card"})
		}
	}
	all := distinct(counts)
	if len(all) < 2 {
		return nil
	}
	return one(VFCount, check.Warn, "node", fmt.Sprintf("the cards have different numbers of virtual functions (%s): only as many pods as the smallest number get a rail of each", strings.Join(all, ", ")),
		forAdmin("Set one numVfs in the policies of all rails.", "SriovNetworkNodePolicy spec:\n  numVfs: 8"), evidence...)
}

func cardLinks(t *subject) []check.Finding {
	var all []check.Finding
	for _, d := range physical(&t.Snapshot) {
		all = append(all, linkOf(d.Name, &d.Function.Value, d.Ports[0].Rate)...)
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
			return one(FirmwareUniform, check.Warn, "node", fmt.Sprintf("cards of board %s have different firmware (%s): a rail may behave unlike the others", board, strings.Join(all, ", ")),
				forAdmin("Bring all cards to one version.", "mlxfwmanager --query", "mlxfwmanager -u"), evidence...)
		}
	}
	return nil
}

// peermem: nvidia_peermem registers with MOFED's ib_core as nv_mem (nvidia-peermem.c); loaded without that it does nothing,
// and NCCL 2.23 and later take its presence for GPUDirect RDMA.
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
	return one(PeermemRegistered, status, "node", "nvidia_peermem is loaded and has not registered with ib_core"+otherwise,
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
			return one(ModuleConflict, check.Warn, "node", fmt.Sprintf("modules %s and %s are loaded: %s", pair[0], pair[1], pair[2]),
				forAdmin("Keep the newer one.", "modprobe -r "+pair[0], "echo blacklist "+pair[0]+" > /etc/modprobe.d/"+pair[0]+".conf"),
				check.Evidence{Source: "/sys/module", Got: pair[0] + ", " + pair[1], Want: pair[1]})
		}
	}
	intel := false
	for i := range t.Devices {
		intel = intel || provider(&t.Devices[i]) == "irdma"
	}
	if slices.Contains(t.Modules, "irdma") && len(t.Devices) > 0 && !intel {
		return one(ModuleConflict, check.Pass, "node", "irdma is loaded and drives no RDMA device: it keeps NVIDIA's network driver (DOCA-OFED) from being loaded anew",
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
	return one(RuntimeMemlock, check.Warn, "node", summary+": registering more fails with ENOMEM, unless a pod may lift it",
		forAdmin(memlockFix, memlockMachineConfig),
		check.Evidence{Source: orNone(r.File), Got: "memlock=" + orNone(r.Memlock), Want: "memlock=-1:-1 (CRI-O), LimitMEMLOCK=infinity (containerd)"})
}
