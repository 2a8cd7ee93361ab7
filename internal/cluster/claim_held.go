package cluster

import (
	"maps"
	"slices"
)

// hiddenAttributes lists the attributes that dranet cannot read while a pod has the interface of a device.
var hiddenAttributes = []string{dranetInterface, dranetVF, dranetRDMA, dranetHasRDMA}

// hidden reports whether a pod may have the interface of a device. If dranet read its name just before it moved to the
// pod, only the RDMA device is missing, until the next scan (pkg/inventory/db.go, scan).
func (d DRADevice) hidden() bool {
	return d.Driver == DRANet && (d.Attribute[dranetInterface] == "" || !d.RDMA)
}

// RestoreHeld restores the attributes of devices that pods hold. While a pod has the interface, dranet publishes the
// device without ifName and isSriovVf, and without RDMA if the pod has the RDMA device, too. The claim says by which
// attributes it was selected. Sources: dranet pkg/inventory/db.go, and pkg/driver/nri_hooks.go of the conditions.
func (s *State) RestoreHeld() {
	hidden := map[deviceID]int{}
	for i, d := range s.DRADevices {
		if d.hidden() {
			hidden[d.id()] = i
		}
	}
	s.DRADevices = slices.Clone(s.DRADevices)
	for _, c := range s.ResourceClaims {
		for _, held := range c.Devices {
			if i, found := hidden[held.id()]; found {
				s.DRADevices[i] = s.restored(s.DRADevices[i], c, held.Request)
			}
		}
	}
}

// restored returns a device as it was before a claim held it, as far as the claim shows.
func (s *State) restored(d DRADevice, c ResourceClaim, request string) DRADevice {
	r, _ := find(c.Requests, func(r ClaimRequest) bool { return r.Name == request })
	class, _ := find(s.DeviceClasses, func(c DeviceClass) bool { return c.Name == r.Class })
	d.Attribute = maps.Clone(d.Attribute)
	noInterface := false // outside the pod, either
	for _, term := range Terms(slices.Concat(class.Selectors, r.Selectors)) {
		wanted := conditionOf(term)
		switch {
		case wanted.form == equals:
			d.Attribute[wanted.attribute] = wanted.value
		case wanted.form == begins && wanted.attribute == dranetAddress: // as Selector selects virtual functions
			d.Attribute[dranetVF] = "true"
		}
		noInterface = noInterface || wanted.attribute == dranetRDMA
	}
	d.RDMA = d.RDMA || d.Attribute[dranetHasRDMA] == "true"
	for _, reported := range c.Conditions {
		if reported.Driver == d.Driver && reported.Device == d.Name && reported.Status == "True" {
			noInterface = noInterface || reported.Reason == "RDMAOnlyDeviceReady"
			d.RDMA = d.RDMA || reported.Type == "RDMALinkReady"
		}
	}
	if !noInterface {
		delete(d.Attribute, dranetRDMA)
	}
	return d
}
