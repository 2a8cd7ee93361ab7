package deviceplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Resource is a resource and the card whose virtual functions it offers.
type Resource struct {
	Name string // openshift.io/eno5np0rdma
	Card string // name of the physical function: eno5np0
}

// ParseResource reads "openshift.io/eno5np0rdma=eno5np0".
func ParseResource(text string) (Resource, error) {
	name, card, ok := strings.Cut(text, "=")
	prefix, rest, slash := strings.Cut(name, "/")
	if !ok || !slash || card == "" || prefix == "" || rest == "" {
		return Resource{}, fmt.Errorf("resource %q: not of the form PREFIX/NAME=CARD", text)
	}
	return Resource{name, card}, nil
}

func (r Resource) String() string { return r.Name + "=" + r.Card }

// device is a virtual function.
type device struct {
	address string   // 0000:01:10.0
	hcas    []string // its RDMA devices: mlx5_0
	files   []string // their character devices and the common one: /dev/infiniband/uverbs0
}

// find reads the virtual functions of a card that have an RDMA device, in the order of their numbers. What it reads
// is the machine's root: sys and dev.
//
// A pool of the real device plugin with isRdma leaves out virtual functions without one, too (pkg/netdevice,
// rf.GetDeviceFilter), and takes its character devices from github.com/Mellanox/rdmamap, which looks for the classes
// that are listed in classes.
func find(root fs.FS, card string) ([]device, error) {
	folder := path.Join("sys/class/net", card, "device")
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil, err
	}
	byNumber := map[int]device{}
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "virtfn"))
		if err != nil || !strings.HasPrefix(e.Name(), "virtfn") {
			continue
		}
		d, err := read(root, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		if len(d.hcas) > 0 {
			byNumber[n] = d
		}
	}
	var all []device
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		all = append(all, byNumber[n])
	}
	return all, nil
}

// read reads the virtual function of a folder.
func read(root fs.FS, folder string) (device, error) {
	uevent, err := fs.ReadFile(root, path.Join(folder, "uevent"))
	if err != nil {
		return device{}, err
	}
	var d device
	for line := range strings.Lines(string(uevent)) {
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "PCI_SLOT_NAME="); ok {
			d.address = address
		}
	}
	if d.address == "" {
		return device{}, fmt.Errorf("read %s/uevent: no PCI_SLOT_NAME", folder)
	}
	hcas, err := fs.ReadDir(root, path.Join(folder, "infiniband"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return device{}, err
	}
	for _, h := range hcas {
		d.hcas = append(d.hcas, h.Name())
		files, err := characterDevices(root, h.Name())
		if err != nil {
			return device{}, err
		}
		for _, f := range files {
			if !slices.Contains(d.files, f) {
				d.files = append(d.files, f)
			}
		}
	}
	return d, nil
}

// classes are the classes of character devices that an RDMA device may have, with the beginnings of their names.
var classes = []struct{ folder, prefix string }{
	{"sys/class/infiniband_cm", "ucm"},
	{"sys/class/infiniband_mad", "issm"},
	{"sys/class/infiniband_mad", "umad"},
	{"sys/class/infiniband_verbs", "uverbs"},
}

const (
	infiniband        = "/dev/infiniband/"
	connectionManager = infiniband + "rdma_cm"
)

// characterDevices are the files in /dev of an RDMA device.
func characterDevices(root fs.FS, hca string) ([]string, error) {
	var all []string
	for _, class := range classes {
		entries, err := fs.ReadDir(root, class.folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), class.prefix) {
				continue
			}
			owner, err := fs.ReadFile(root, path.Join(class.folder, e.Name(), "ibdev"))
			if err == nil && strings.TrimSpace(string(owner)) == hca {
				all = append(all, infiniband+e.Name())
			}
		}
	}
	if _, err := fs.Stat(root, strings.TrimPrefix(connectionManager, "/")); err == nil {
		all = append(all, connectionManager)
	}
	return all, nil
}

// environment returns the variables of a container that was given devices of a resource, as
// sriov-network-device-plugin v3.11.0 writes it: the addresses in the order of the kubelet's request, and the
// information about each, as JSON with sorted keys (pkg/resources/server.go, getEnvs; pkg/infoprovider). Of several
// RDMA devices of one function it names the first.
func environment(resource string, devices []device) (map[string]string, error) {
	prefix, name, _ := strings.Cut(resource, "/")
	key := "PCIDEVICE_" + strings.ToUpper(strings.ReplaceAll(prefix+"_"+name, ".", "_"))
	var addresses []string
	info := map[string]map[string]map[string]string{}
	for _, d := range devices {
		addresses = append(addresses, d.address)
		info[d.address] = map[string]map[string]string{
			"generic": {"deviceID": d.address},
			"rdma":    rdmaInfo(d),
		}
	}
	text, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	return map[string]string{key: strings.Join(addresses, ","), key + "_INFO": string(text)}, nil
}

// rdmaInfo has the character devices by their kind. A kind that the device has none of is missing.
func rdmaInfo(d device) map[string]string {
	info := map[string]string{"rdma_dev": d.hcas[0]}
	for _, f := range d.files {
		if f == connectionManager {
			info["rdma_cm"] = f
			continue
		}
		info[strings.TrimRight(path.Base(f), "0123456789")] = f
	}
	return info
}
