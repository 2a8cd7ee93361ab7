package rail

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// attribute finds the RDMA device of every claim and rejects claims without one. A device that one source gives for an
// address counts for all sources that name the address.
func (j *judge) attribute() {
	j.given, j.misplaced = map[string][]string{}, map[string]claim{}
	j.own, j.certain = map[string]bool{}, map[string]bool{}
	devices, byAddress := make([][]string, len(j.claims)), make([]bool, len(j.claims))
	ofID := map[string][]string{}
	for i, c := range j.claims {
		devices[i], byAddress[i] = devicesOf(j, c)
		if len(ofID[c.id]) == 0 && c.id != "" {
			ofID[c.id] = devices[i]
		}
	}
	unmet := map[string][]claim{}
	for i, c := range j.claims {
		names := devices[i]
		if len(names) == 0 {
			names = ofID[c.id]
		}
		switch {
		case c.witness && (len(names) == 0 || len(j.given[names[0]]) == 0):
			continue // another container's, or not for RDMA
		case isOtherHardware(j, c):
			continue
		case len(names) == 0 || c.nonRDMA:
			key := cmp.Or(c.id, c.rdmaDevice)
			unmet[key] = append(unmet[key], c)
			continue
		}
		j.give(c, names, byAddress[i])
	}
	for _, id := range slices.Sorted(maps.Keys(unmet)) {
		j.unmet(id, unmet[id])
	}
}

// give records the devices of a claim.
func (j *judge) give(c claim, names []string, byAddress bool) {
	for _, name := range names {
		if !slices.Contains(j.given[name], c.source) {
			j.given[name] = append(j.given[name], c.source)
		}
		j.own[name] = j.own[name] || !c.ofPod
		j.certain[name] = j.certain[name] || byAddress
	}
	j.compare(c, names, byAddress)
}

// compare reports a source that sysfs contradicts.
func (j *judge) compare(c claim, names []string, byAddress bool) {
	d, _ := j.s.Device(names[0])
	f, onPCI := d.Function.Get()
	if _, err := host.ParsePCIAddress(c.id); err == nil && !byAddress && onPCI {
		if _, reported := j.misplaced[d.Name]; !reported {
			j.conflict(misplaced(c, d.Name, f.Address))
		}
		j.misplaced[d.Name] = c
		return
	}
	if c.rdmaDevice != "" && !slices.Contains(names, c.rdmaDevice) {
		j.conflict(renamed(c, names[0]))
	}
}

// devicesOf finds the devices of a claim by what cannot be renamed first: the address, then the verbs node, then the
// name.
func devicesOf(j *judge, c claim) (names []string, byAddress bool) {
	for i := range j.s.Devices {
		if d := &j.s.Devices[i]; c.locates(d) {
			names = append(names, d.Name)
		}
	}
	if len(names) > 0 {
		return names, true
	}
	byNode := ""
	for _, u := range j.s.Uverbs {
		if u.Name == c.uverbs {
			byNode = u.Device.Or("")
		}
	}
	for _, name := range []string{byNode, c.rdmaDevice} {
		if _, listed := j.s.Device(name); listed {
			return []string{name}, false
		}
	}
	return nil, false
}

// locates reports whether the claim has the device's PCI address or, for a subfunction, its auxiliary device.
func (c claim) locates(d *host.Device) bool {
	if aux, ok := d.Auxiliary.Get(); ok {
		return aux == c.id
	}
	address, err := host.ParsePCIAddress(c.id)
	return err == nil && d.Function.State == host.Known && d.Function.Value.Address == address
}

// misplaced reports a name that is at another address than the source says: it may now be another device's.
func misplaced(c claim, name string, at host.PCIAddress) check.Finding {
	return check.Finding{
		Check: AllocationConsistent, Status: check.Warn, Subject: check.DeviceRef(name),
		Summary: fmt.Sprintf("%s gives %s as %s, but no RDMA device is there; %s is at %s",
			c.source, c.id, name, name, at),
		Evidence: []check.Evidence{
			{Source: c.source, Got: c.id, Want: at.String()},
			{Source: "/sys/class/infiniband/" + name + "/device", Got: at.String(), Want: c.id},
		},
		Fix: fixes[AllocationConsistent],
	}
}

func renamed(c claim, now string) check.Finding {
	return check.Finding{
		Check: AllocationConsistent, Status: check.Warn, Subject: check.DeviceRef(now),
		Summary: fmt.Sprintf("%s calls %s %s, but sysfs calls it %s: "+
			"it was renamed after the device plugin read it, and sysfs is right", c.source, c.id, c.rdmaDevice, now),
		Evidence: []check.Evidence{
			{Source: c.source, Got: c.rdmaDevice, Want: now},
			{Source: "/sys/bus/pci/devices/" + c.id + "/infiniband", Got: now},
		},
		Fix: check.ByAdmin("Restart the SR-IOV device plugin on this node, so that it reads the names again.",
			"oc -n openshift-sriov-network-operator delete pod -l app=sriov-device-plugin "+
				"--field-selector spec.nodeName=NODE"),
	}
}

// unmet rejects an allocation that has no RDMA device here.
func (j *judge) unmet(id string, claims []claim) {
	r := Rejected{Device: id, Cause: DeviceAllocated}
	for _, c := range claims {
		if !slices.Contains(r.Sources, c.source) {
			r.Sources = append(r.Sources, c.source)
		}
		r.Missed = r.Missed || !c.ofPod
	}
	f, known := functionByID(j, id)
	name, pci := namedDevice(claims), "/sys/bus/pci/devices/"+id
	switch {
	case slices.ContainsFunc(claims, func(c claim) bool { return c.nonRDMA }):
		r.Missed, r.Reason = false, "allocated for vfio, vdpa or uio, not for RDMA"
	case name != "":
		r.Cause = AllocationConsistent
		r.Reason = "allocated as RDMA device " + name + ", which this container does not show"
		r.Evidence = []check.Evidence{{Source: "/sys/class/infiniband", Got: deviceNames(j), Want: name}}
	case known && slices.Contains(userSpaceDrivers, f.Driver.Value):
		r.Missed, r.Reason = false, "allocated, but bound to "+f.Driver.Value+": not for RDMA"
	case known && !f.Present:
		r.Reason = "allocated, but this machine has no such PCI function"
		r.Evidence = []check.Evidence{{Source: pci, Got: "absent"}}
	case known:
		interfaceOnly := slices.ContainsFunc(claims, func(c claim) bool { return c.plain })
		r.Missed = r.Missed && !interfaceOnly
		r.Reason = "allocated, but has no RDMA device"
		r.Evidence = []check.Evidence{
			{Source: pci + "/infiniband", Got: "absent", Want: "an RDMA device"},
			{Source: pci + "/driver", Got: f.Driver.String()},
		}
	default:
		r.Reason = "allocated, but this machine shows no such device"
	}
	j.result.Rejected = append(j.result.Rejected, r)
}

// userSpaceDrivers give a function to a program or a virtual machine.
var userSpaceDrivers = []string{"vfio-pci", "uio_pci_generic", "igb_uio"}

// namedDevice returns the RDMA device that the claims name.
func namedDevice(claims []claim) string {
	for _, c := range claims {
		if c.rdmaDevice != "" {
			return c.rdmaDevice
		}
		if c.uverbs != "" {
			return "of " + c.uverbs
		}
	}
	return ""
}

// isOtherHardware reports whether a claim is to a function that is no network controller (PCI class 02), such as a GPU.
func isOtherHardware(j *judge, c claim) bool {
	f, known := functionByID(j, c.id)
	return known && f.Class.IsKnown() && !strings.HasPrefix(f.Class.Value, "0x02")
}

func functionByID(j *judge, id string) (host.Function, bool) {
	address, err := host.ParsePCIAddress(id)
	i := slices.IndexFunc(j.s.Functions, func(f host.Function) bool { return err == nil && f.Address == address })
	if i < 0 {
		return host.Function{}, false
	}
	return j.s.Functions[i], true
}

func deviceNames(j *judge) string {
	names := make([]string, 0, len(j.s.Devices))
	for _, d := range j.s.Devices {
		names = append(names, d.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "no device")
}
