package sysfs

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

const pciDevices = "sys/bus/pci/devices"

// functionPath resolves a PCI address to its /sys/devices path; "" when the machine does not have it.
func functionPath(t *tree, address string) string {
	target, err := fs.ReadLink(t.root, pciDevices+"/"+address)
	if err != nil {
		return ""
	}
	return path.Join(pciDevices, target)
}

// pciFunctions reads each PCI function once.
type pciFunctions struct {
	*tree
	known map[host.PCIAddress]host.Function
}

// locateFunction returns only the place of a function; resolved is its path in /sys/devices, or a path below it.
func locateFunction(a host.PCIAddress, resolved string) host.Function {
	f := host.Function{Address: a}
	if p, ok := host.ParsePCIPath(resolved); ok {
		f.Path, f.Present = host.Know(p), true
	}
	return f
}

func (p pciFunctions) read(a host.PCIAddress, resolved string) host.Function {
	if f, ok := p.known[a]; ok {
		return f
	}
	t := p.tree
	f := locateFunction(a, resolved)
	dir := pciDevices + "/" + a.String()
	f.PhysFn = physFn(t, a)
	f.Driver = t.target(dir + "/driver")
	f.NUMANode = parsed(t, dir+"/numa_node", parseInt)
	if f.NUMANode.IsKnown() && f.NUMANode.Value < 0 { // -1: the firmware does not say
		f.NUMANode = host.Fact[int]{}
	}
	f.IOMMUGroup = host.Convert(t.target(dir+"/iommu_group"), parseInt)
	if group, ok := f.IOMMUGroup.Get(); ok {
		f.IOMMUType = t.text("sys/kernel/iommu_groups/" + strconv.Itoa(group) + "/type")
	}
	f.Class = t.text(dir + "/class")
	f.Vendor = t.text(dir + "/vendor")
	f.Device = t.text(dir + "/device")
	f.NumVFs = parsed(t, dir+"/sriov_numvfs", parseInt)
	f.TotalVFs = parsed(t, dir+"/sriov_totalvfs", parseInt)
	f.Link = pciLink(t, f)
	p.known[a] = f
	return f
}

func physFn(t *tree, a host.PCIAddress) host.Fact[host.PCIAddress] {
	return host.Convert(t.target(pciDevices+"/"+a.String()+"/physfn"), host.ParsePCIAddress)
}

// pciLink reads the link of the function; a VF shows its PF's, since its own registers read as zero
// (PCIe Base Specification, SR-IOV: Link Status of a VF).
func pciLink(t *tree, f host.Function) host.Fact[host.PCILink] {
	dir := pciDevices + "/" + f.PhysFn.Or(f.Address).String()
	speed := parsed(t, dir+"/current_link_speed", parseGTs)
	width := parsed(t, dir+"/current_link_width", parseInt)
	maxSpeed := parsed(t, dir+"/max_link_speed", parseGTs)
	maxWidth := parsed(t, dir+"/max_link_width", parseInt)
	if !speed.IsKnown() || !width.IsKnown() || width.Value <= 0 || width.Value == 255 || speed.Value == 0 {
		return host.Fact[host.PCILink]{}
	}
	return host.Know(host.PCILink{
		GTs:      speed.Value,
		Width:    width.Value,
		MaxGTs:   maxSpeed.Value,
		MaxWidth: maxWidth.Value,
	})
}

// parseGTs reads "32.0 GT/s PCIe"; "Unknown" is 0.
func parseGTs(s string) (float64, error) {
	if strings.HasPrefix(s, "Unknown") {
		return 0, nil
	}
	number, _, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e4 {
		return 0, fmt.Errorf("%.60q is not a link speed", s)
	}
	return v, nil
}

// readNamedFunctions reads the PCI functions that a device plugin, DRA or multus names and that carry none of the RDMA
// devices: they show that a function is missing, renamed or without RDMA.
func readNamedFunctions(in *input, s *host.Snapshot) {
	named := namedByPlugins(s.Env)
	for _, n := range s.NetworkStatus {
		if a, ok := n.PCI.Get(); ok {
			named[a] = true
		}
	}
	for _, c := range s.Claims {
		if a, ok := c.PCI.Get(); ok {
			named[a] = true
		}
	}
	for _, d := range s.Devices {
		delete(named, d.Function.Value.Address)
	}
	s.Functions = make([]host.Function, 0, len(named))
	addresses := slices.Collect(maps.Keys(named))
	sort.Slice(addresses, func(i, k int) bool { return addresses[i].Compare(addresses[k]) < 0 })
	for _, a := range addresses {
		s.Functions = append(s.Functions, in.functions.read(a, functionPath(in.tree, a.String())))
	}
}

func namedByPlugins(env map[string]string) map[host.PCIAddress]bool {
	named := map[host.PCIAddress]bool{}
	for name, value := range env {
		if plain := strings.TrimSuffix(name, "_INFO"); plain != name && env[plain] != "" { // it names the same ones
			continue
		}
		if strings.HasPrefix(name, "PCIDEVICE_") || strings.HasPrefix(name, "SRIOVNETWORK_") || isPluginInfo(value) {
			for _, a := range host.FindPCIAddresses(value) {
				named[a] = true
			}
		}
	}
	return named
}

func readIOMMU(in *input, s *host.Snapshot) {
	groups := in.list("sys/kernel/iommu_groups")
	s.IOMMU.Units = in.list("sys/class/iommu")
	if in.exists("sys/kernel/iommu_groups") {
		s.IOMMU.Groups = host.Know(len(groups))
	}
}

func readNUMANodes(in *input, s *host.Snapshot) {
	n := 0
	for _, name := range in.list("sys/devices/system/node") {
		if number, ok := strings.CutPrefix(name, "node"); ok && isDigits(number) {
			n++
		}
	}
	if n > 0 {
		s.NUMANodes = host.Know(n)
	}
}
