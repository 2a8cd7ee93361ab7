package sysfs

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

const classInfiniBand = "sys/class/infiniband"

func readDevices(in *input, s *host.Snapshot) {
	for _, name := range deviceNames(in.tree) {
		d := locate(in.tree, name, in.functions.read)
		describe(in.tree, &d)
		s.Devices = append(s.Devices, d)
	}
}

func deviceNames(t *tree) []string {
	names := t.list(classInfiniBand)
	sort.Slice(names, func(i, k int) bool { return words.Natural(names[i], names[k]) < 0 })
	return names
}

// locate finds the PCI function or subfunction that a device belongs to, or the network interface that it runs over.
func locate(t *tree, name string, read functionReader) host.Device {
	d := host.Device{Name: name}
	dir := classInfiniBand + "/" + name
	target, err := fs.ReadLink(t.root, dir)
	resolved := path.Join(classInfiniBand, target)
	if err != nil { // a capture with folders in place of the links: the device link names the function
		if address := t.target(dir + "/device"); address.IsKnown() {
			resolved = functionPath(t, address.Value)
		}
	}
	pciPath, ok := host.ParsePCIPath(resolved)
	if !ok {
		return locateSoftware(t, d, read)
	}
	d.Auxiliary = auxiliaryName(resolved)
	d.Function = host.Know(read(pciPath.Hops[len(pciPath.Hops)-1], resolved))
	return d
}

type functionReader func(a host.PCIAddress, resolved string) host.Function

// locateSoftware gives a Soft-RoCE or siw device the function of the interface that it runs over. Over the interface of
// a VF it counts as the VF.
func locateSoftware(t *tree, d host.Device, read functionReader) host.Device {
	d.Parent = t.text(classInfiniBand + "/" + d.Name + "/parent")
	parent, ok := d.Parent.Get()
	if !ok {
		return d
	}
	address := host.Convert(t.target(classNet+"/"+parent+"/device"), host.ParsePCIAddress)
	if a, known := address.Get(); known {
		f := read(a, functionPath(t, a.String()))
		f.PhysFn = physFn(t, a)
		d.Function = host.Know(f)
	}
	return d
}

// auxiliaryName finds "mlx5_core.sf.4" between the PCI function and the infiniband folder.
func auxiliaryName(resolved string) host.Fact[string] {
	before, _, ok := strings.Cut(resolved, "/infiniband/")
	if name := path.Base(before); ok && strings.Contains(name, ".sf.") {
		return host.Know(name)
	}
	return host.Fact[string]{}
}

func describe(t *tree, d *host.Device) {
	dir := classInfiniBand + "/" + d.Name
	d.Ports = readPorts(t, dir+"/ports", describePort)
	d.NodeType = parsed(t, dir+"/node_type", afterNumber)
	d.NodeGUID = t.text(dir + "/node_guid")
	d.SysImageGUID = t.text(dir + "/sys_image_guid")
	d.Firmware = t.text(dir + "/fw_ver")
	d.HCAType = t.text(dir + "/hca_type")
	d.BoardID = t.text(dir + "/board_id")
	d.Netdevs = netdevsOf(t, *d)
}

func netdevsOf(t *tree, d host.Device) []string {
	if aux, ok := d.Auxiliary.Get(); ok {
		return t.list("sys/bus/auxiliary/devices/" + aux + "/net")
	}
	if parent, ok := d.Parent.Get(); ok {
		if t.exists(classNet + "/" + parent) {
			return []string{parent}
		}
		return nil
	}
	return t.list(classInfiniBand + "/" + d.Name + "/device/net")
}

// afterNumber reads the word of "4: ACTIVE", "1: CA".
func afterNumber(s string) (string, error) {
	number, word, ok := strings.Cut(s, ": ")
	if _, err := strconv.Atoi(number); !ok || err != nil || word == "" {
		return "", fmt.Errorf("%.60q is not of the form \"4: ACTIVE\"", s)
	}
	return word, nil
}

func readRDMANetns(in *input, s *host.Snapshot) {
	// The parameter follows "rdma system set netns" (kernel drivers/infiniband/core/device.c ib_devices_shared_netns).
	s.RDMANetns = parsed(in.tree, "sys/module/ib_core/parameters/netns_mode", func(s string) (string, error) {
		switch s {
		case "Y", "1":
			return "shared", nil
		case "N", "0":
			return "exclusive", nil
		default:
			return "", fmt.Errorf("%.60q is neither Y nor N", s)
		}
	})
}
