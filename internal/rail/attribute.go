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

// attribute ties every claim to an RDMA device of this machine and reports those that it cannot tie. What one source
// says of an address holds for all that name it.
func (j *judge) attribute() {
	j.given, j.own, j.certain, j.misplaced = map[string][]string{}, map[string]bool{}, map[string]bool{}, map[string]claim{}
	devices, byAddress := make([][]string, len(j.claims)), make([]bool, len(j.claims))
	ofID := map[string][]string{}
	for i, c := range j.claims {
		devices[i], byAddress[i] = j.devicesOf(c)
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
			continue // another container's, or what is not for RDMA
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

// give notes that a claim is about devices of this machine.
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
		if _, said := j.misplaced[d.Name]; !said {
			j.conflict(misplaced(c, d.Name, f.Address))
		}
		j.misplaced[d.Name] = c
		return
	}
	if c.rdmaDevice != "" && !slices.Contains(names, c.rdmaDevice) {
		j.conflict(renamed(c, names[0]))
	}
}

// devicesOf finds the device by what cannot be renamed first: PCI address or auxiliary device, then verbs node, then
// name.
func (j *judge) devicesOf(c claim) (names []string, byAddress bool) {
	address, err := host.ParsePCIAddress(c.id)
	for _, d := range j.s.Devices {
		f, onPCI := d.Function.Get()
		aux, isAux := d.Auxiliary.Get()
		if isAux && aux == c.id || onPCI && !isAux && err == nil && f.Address == address {
			names = append(names, d.Name)
		}
	}
	if len(names) > 0 {
		return names, true
	}
	for _, u := range j.s.Uverbs {
		name, known := u.Device.Get()
		if _, listed := j.s.Device(name); known && listed && c.uverbs != "" && u.Name == c.uverbs {
			return []string{name}, false
		}
	}
	if _, ok := j.s.Device(c.rdmaDevice); ok && c.rdmaDevice != "" {
		return []string{c.rdmaDevice}, false
	}
	return nil, false
}

// misplaced is about a name that stands at another place than the source says: it may be another device's by now.
func misplaced(c claim, name string, at host.PCIAddress) check.Finding {
	return check.Finding{
		Check: AllocationConsistent, Status: check.Warn, Subject: check.DeviceRef(name),
		Summary: fmt.Sprintf("%s gives %s as %s, where no RDMA device is; %s sits at %s", c.source, c.id, name, name, at),
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
		Summary: fmt.Sprintf("%s calls %s %s, sysfs calls it %s: renamed after the device plugin read it; sysfs is right", c.source, c.id, c.rdmaDevice, now),
		Evidence: []check.Evidence{
			{Source: c.source, Got: c.rdmaDevice, Want: now},
			{Source: "/sys/bus/pci/devices/" + c.id + "/infiniband", Got: now},
		},
		Fix: &check.Fix{
			Text: "Restart the SR-IOV device plugin on this node, so that it reads the names again.", Who: check.Admin,
			Commands: []string{"oc -n openshift-sriov-network-operator delete pod -l app=sriov-device-plugin --field-selector spec.nodeName=NODE"},
		},
	}
}

// unmet turns away an allocation that carries no RDMA device here.
func (j *judge) unmet(id string, claims []claim) {
	t := Rejected{Device: id, Cause: DeviceAllocated}
	for _, c := range claims {
		if !slices.Contains(t.Sources, c.source) {
			t.Sources = append(t.Sources, c.source)
		}
		t.Missed = t.Missed || !c.ofPod
	}
	f, known := j.functionByID(id)
	switch {
	case anyNonRDMA(claims):
		t.Missed = false
		t.Reason = "allocated for vfio, vdpa or uio, not for RDMA"
	case namedDevice(claims) != "":
		t.Cause = AllocationConsistent
		t.Reason = fmt.Sprintf("allocated as RDMA device %s, which this container does not show", namedDevice(claims))
		t.Evidence = []check.Evidence{{Source: "/sys/class/infiniband", Got: j.deviceNames(), Want: namedDevice(claims)}}
	case known && forUserSpace(f):
		t.Missed = false
		t.Reason = "allocated, and bound to " + f.Driver.Value + ": not for RDMA"
	case known && !f.Present:
		t.Reason = "allocated, but this machine has no such PCI function"
		t.Evidence = []check.Evidence{{Source: "/sys/bus/pci/devices/" + id, Got: "absent"}}
	case known:
		t.Missed = t.Missed && !slices.ContainsFunc(claims, func(c claim) bool { return c.plain }) // an interface and no more
		t.Reason = "allocated, but carries no RDMA device"
		t.Evidence = []check.Evidence{
			{Source: "/sys/bus/pci/devices/" + id + "/infiniband", Got: "absent", Want: "an RDMA device"},
			{Source: "/sys/bus/pci/devices/" + id + "/driver", Got: f.Driver.String()},
		}
	default:
		t.Reason = "allocated, but is no device that this machine shows"
	}
	j.result.Rejected = append(j.result.Rejected, t)
}

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

func anyNonRDMA(claims []claim) bool {
	return slices.ContainsFunc(claims, func(c claim) bool { return c.nonRDMA })
}

// forUserSpace reports whether the function is bound to a driver that hands it to a program or a virtual machine.
func forUserSpace(f host.Function) bool {
	return slices.Contains([]string{"vfio-pci", "uio_pci_generic", "igb_uio"}, f.Driver.Value)
}

func (j *judge) functionByID(id string) (host.Function, bool) {
	address, err := host.ParsePCIAddress(id)
	for _, f := range j.s.Functions {
		if err == nil && f.Address == address {
			return f, true
		}
	}
	return host.Function{}, false
}

func (j *judge) deviceNames() string {
	if len(j.s.Devices) == 0 {
		return "no device"
	}
	names := make([]string, 0, len(j.s.Devices))
	for _, d := range j.s.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
