package host

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const pciDevices = "sys/bus/pci/devices"

// functionPath resolves a PCI address to its /sys/devices path; "" when the machine does not have it.
func (r *reader) functionPath(address string) string {
	target, err := fs.ReadLink(r.root, path.Join(pciDevices, address))
	if err != nil {
		return ""
	}
	return path.Join(pciDevices, target)
}

// function reads one PCI function once; real is its resolved path or one below it.
func (r *reader) function(a PCIAddress, real string) Function {
	if f, ok := r.functions[a]; ok {
		return f
	}
	f := Function{Address: a}
	if p, ok := parsePCIPath(real); ok {
		f.Path, f.Present = Know(p), true
	}
	if r.brief {
		return f
	}
	dir := path.Join(pciDevices, a.String())
	f.PhysFn = r.physFn(a)
	f.Driver = r.target(path.Join(dir, "driver"))
	f.NUMANode = parsed(r, path.Join(dir, "numa_node"), parseInt)
	if f.NUMANode.IsKnown() && f.NUMANode.Value < 0 { // -1: the firmware does not say
		f.NUMANode = Fact[int]{}
	}
	f.IOMMUGroup = convert(r.target(path.Join(dir, "iommu_group")), parseInt)
	if group, ok := f.IOMMUGroup.Get(); ok {
		f.IOMMUType = r.text("sys/kernel/iommu_groups/" + strconv.Itoa(group) + "/type")
	}
	f.Class = r.text(path.Join(dir, "class"))
	f.Vendor = r.text(path.Join(dir, "vendor"))
	f.Device = r.text(path.Join(dir, "device"))
	f.NumVFs = parsed(r, path.Join(dir, "sriov_numvfs"), parseInt)
	f.TotalVFs = parsed(r, path.Join(dir, "sriov_totalvfs"), parseInt)
	f.Link = r.pciLink(f)
	r.functions[a] = f
	return f
}

// physFn is the PF of a VF; software over a VF's interface counts as the VF.
func (r *reader) physFn(a PCIAddress) Fact[PCIAddress] {
	return convert(r.target(pciDevices+"/"+a.String()+"/physfn"), ParsePCIAddress)
}

// pciLink reads the link of the function; a VF shows its PF's, since its own registers read as zero
// (PCIe Base Specification, SR-IOV: Link Status of a VF).
func (r *reader) pciLink(f Function) Fact[PCILink] {
	dir := path.Join(pciDevices, f.PhysFn.Or(f.Address).String())
	speed := parsed(r, path.Join(dir, "current_link_speed"), parseGTs)
	width := parsed(r, path.Join(dir, "current_link_width"), parseInt)
	maxSpeed := parsed(r, path.Join(dir, "max_link_speed"), parseGTs)
	maxWidth := parsed(r, path.Join(dir, "max_link_width"), parseInt)
	if !speed.IsKnown() || !width.IsKnown() || width.Value <= 0 || width.Value == 255 || speed.Value == 0 {
		return Fact[PCILink]{}
	}
	return Know(PCILink{speed.Value, width.Value, maxSpeed.Value, maxWidth.Value})
}

// parseGTs reads "32.0 GT/s PCIe"; "Unknown" is 0.
func parseGTs(s string) (float64, error) {
	if strings.HasPrefix(s, "Unknown") {
		return 0, nil
	}
	number, _, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || v > 1e4 {
		return 0, fmt.Errorf("%q is not a link speed", clip(s))
	}
	return v, nil
}

// namedFunctions reads the PCI functions that a device plugin, DRA or multus names and that carry no RDMA device of
// the list: a missing, renamed or non-RDMA function is recognised by them.
func (r *reader) namedFunctions(s Snapshot) []Function {
	named := map[PCIAddress]bool{}
	for name, value := range s.Env {
		if plain := strings.TrimSuffix(name, "_INFO"); plain != name && s.Env[plain] != "" { // it names the same ones
			continue
		}
		if strings.HasPrefix(name, "PCIDEVICE_") || strings.HasPrefix(name, "SRIOVNETWORK_") || isPluginInfo(value) {
			for _, a := range findPCIAddresses(value) {
				named[a] = true
			}
		}
	}
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
	functions := make([]Function, 0, len(named))
	for a := range named {
		functions = append(functions, r.function(a, r.functionPath(a.String())))
	}
	sort.Slice(functions, func(i, j int) bool { return functions[i].Address.Compare(functions[j].Address) < 0 })
	return functions
}

// findPCIAddresses returns every PCI address in a text, torn or not.
func findPCIAddresses(text string) []PCIAddress {
	var found []PCIAddress
	for field := range strings.FieldsFuncSeq(text, notInAddress) {
		if a, ok := parsePCIAddress(field); ok && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}

func notInAddress(c rune) bool {
	return !strings.ContainsRune("0123456789abcdefABCDEF:.", c)
}

func (r *reader) iommu() IOMMU {
	groups := r.list("sys/kernel/iommu_groups")
	m := IOMMU{Units: r.list("sys/class/iommu")}
	if r.exists("sys/kernel/iommu_groups") {
		m.Groups = Know(len(groups))
	}
	return m
}

func (r *reader) numaNodes() Fact[int] {
	n := 0
	for _, name := range r.list("sys/devices/system/node") {
		if prefix, number := splitNumber(name); prefix == "node" && number >= 0 {
			n++
		}
	}
	if n == 0 {
		return Fact[int]{}
	}
	return Know(n)
}
