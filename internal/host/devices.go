package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

const (
	classInfiniBand = "sys/class/infiniband"
	classVerbs      = "sys/class/infiniband_verbs"
	devInfiniBand   = "dev/infiniband"
)

// uverbs lists the verbs devices of the kernel and the nodes of this container: either may be without the other.
// count is the number of the nodes, where that could be seen: a probed process without /dev/infiniband has none.
func (r *reader) uverbs() (all []Uverbs, count Fact[int]) {
	nodes, count := r.verbsNodes()
	kernel := []string{}
	if !r.brief { // a node that is not in this container leads to no device
		kernel = r.list(classVerbs)
	}
	for _, name := range kernel {
		if !strings.HasPrefix(name, "uverbs") { // abi_version
			continue
		}
		u := r.verbs(name)
		switch {
		case nodes[name]:
			u.Access, u.Why = r.open(path.Join(devInfiniBand, name))
		case count.IsKnown():
			u.Access = Missing
		}
		all = append(all, u)
		delete(nodes, name)
	}
	for name := range nodes {
		u := r.verbs(name)
		u.Access, u.Why = r.open(path.Join(devInfiniBand, name))
		all = append(all, u)
	}
	sort.Slice(all, func(i, j int) bool { return compareNatural(all[i].Name, all[j].Name) < 0 })
	return all, count
}

// verbsNodes are the verbs nodes of this container and, where that could be seen, their number.
func (r *reader) verbsNodes() (map[string]bool, Fact[int]) {
	names, err := listNames(r.root, devInfiniBand)
	switch {
	case err == nil:
	case !isAbsent(err):
		return nil, Unread[int](r.problem(devInfiniBand, "list", err))
	case r.probes.OpenDevice == nil: // a captured /sys without /dev says nothing about the nodes
		return nil, Fact[int]{}
	}
	nodes := map[string]bool{}
	for _, name := range names {
		if strings.HasPrefix(name, "uverbs") {
			nodes[name] = true
		}
	}
	return nodes, Know(len(nodes))
}

func (r *reader) verbs(name string) Uverbs {
	return Uverbs{Name: name, Device: r.text(path.Join(classVerbs, name, "ibdev")), Access: NotProbed}
}

func (r *reader) open(node string) (Access, string) {
	if r.probes.OpenDevice == nil {
		return NotProbed, ""
	}
	err := r.probes.OpenDevice(node)
	switch {
	case err == nil:
		return Openable, ""
	case errors.Is(err, errNotProbed):
		return NotProbed, ""
	case errors.Is(err, fs.ErrNotExist):
		return Missing, ""
	case errors.Is(err, fs.ErrPermission):
		return Denied, reason(err)
	default:
		return Broken, r.problem(node, "open", err)
	}
}

// devices lists /sys/class/infiniband and reads the wanted ones closely.
func (r *reader) devices(wanted func(string) bool) []Device {
	names := r.list(classInfiniBand)
	sort.Slice(names, func(i, j int) bool { return compareNatural(names[i], names[j]) < 0 })
	devices := make([]Device, 0, len(names))
	for _, name := range names {
		d := r.place(name)
		if wanted(name) {
			r.describe(&d)
		}
		devices = append(devices, d)
	}
	return devices
}

// place finds where a device sits: on a PCI function, on a subfunction of one, or on a network interface.
func (r *reader) place(name string) Device {
	d := Device{Name: name}
	dir := path.Join(classInfiniBand, name)
	target, err := fs.ReadLink(r.root, dir)
	real := path.Join(classInfiniBand, target)
	if err != nil { // a capture with folders in place of the links: the device link names the function
		if address := r.target(path.Join(dir, "device")); address.IsKnown() {
			real = r.functionPath(address.Value)
		}
	}
	pciPath, ok := parsePCIPath(real)
	if !ok {
		return r.placeSoftware(d)
	}
	d.Auxiliary = auxiliaryName(real)
	address := pciPath.Hops[len(pciPath.Hops)-1]
	d.Function = Know(r.function(address, real))
	return d
}

// placeSoftware puts a Soft-RoCE or siw device on the function of the interface that it runs over.
func (r *reader) placeSoftware(d Device) Device {
	d.Parent = r.text(path.Join(classInfiniBand, d.Name, "parent"))
	if parent, ok := d.Parent.Get(); ok {
		address := convert(r.target(path.Join(classNet, parent, "device")), ParsePCIAddress)
		if a, known := address.Get(); known {
			f := r.function(a, r.functionPath(a.String()))
			f.PhysFn = r.physFn(a)
			d.Function = Know(f)
		}
	}
	return d
}

// auxiliaryName finds "mlx5_core.sf.4" between the PCI function and the infiniband folder.
func auxiliaryName(real string) Fact[string] {
	before, _, ok := strings.Cut(real, "/infiniband/")
	if name := path.Base(before); ok && strings.Contains(name, ".sf.") {
		return Know(name)
	}
	return Fact[string]{}
}

// describe reads a device closely.
func (r *reader) describe(d *Device) {
	dir := classInfiniBand + "/" + d.Name
	d.Ports = r.ports(dir + "/ports")
	if r.brief {
		if f, ok := d.Function.Get(); ok && !d.IsSoftware() {
			f.PhysFn = convert(r.target(dir+"/device/physfn"), ParsePCIAddress)
			d.Function = Know(f)
		}
		return
	}
	d.NodeType = parsed(r, dir+"/node_type", afterNumber)
	d.NodeGUID = r.text(dir + "/node_guid")
	d.SysImageGUID = r.text(dir + "/sys_image_guid")
	d.Firmware = r.text(dir + "/fw_ver")
	d.HCAType = r.text(dir + "/hca_type")
	d.BoardID = r.text(dir + "/board_id")
	d.Netdevs = r.netdevsOf(*d)
}

// netdevsOf lists the device's interfaces in this namespace.
func (r *reader) netdevsOf(d Device) []string {
	if aux, ok := d.Auxiliary.Get(); ok {
		return r.list("sys/bus/auxiliary/devices/" + aux + "/net")
	}
	if parent, ok := d.Parent.Get(); ok {
		if r.exists(classNet + "/" + parent) {
			return []string{parent}
		}
		return nil
	}
	return r.list(classInfiniBand + "/" + d.Name + "/device/net")
}

// afterNumber reads the word of "4: ACTIVE", "1: CA".
func afterNumber(s string) (string, error) {
	number, word, ok := strings.Cut(s, ": ")
	if _, err := strconv.Atoi(number); !ok || err != nil || word == "" {
		return "", fmt.Errorf("%q is not of the form \"4: ACTIVE\"", clip(s))
	}
	return word, nil
}

func (r *reader) rdmaNetns() Fact[string] {
	// The parameter follows "rdma system set netns" (kernel drivers/infiniband/core/device.c ib_devices_shared_netns).
	return parsed(r, "sys/module/ib_core/parameters/netns_mode", func(s string) (string, error) {
		switch s {
		case "Y", "1":
			return "shared", nil
		case "N", "0":
			return "exclusive", nil
		default:
			return "", fmt.Errorf("%q is neither Y nor N", clip(s))
		}
	})
}

// compareNatural orders mlx5_9 before mlx5_10.
func compareNatural(a, b string) int {
	prefixA, numberA := splitNumber(a)
	prefixB, numberB := splitNumber(b)
	if prefixA != prefixB || numberA < 0 || numberB < 0 {
		return strings.Compare(a, b)
	}
	return numberA - numberB
}

func splitNumber(s string) (prefix string, number int) {
	prefix = strings.TrimRight(s, "0123456789")
	number, err := strconv.Atoi(s[len(prefix):])
	if err != nil {
		return s, -1
	}
	return prefix, number
}
