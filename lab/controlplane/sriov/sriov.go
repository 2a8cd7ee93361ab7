// Package sriov has NICs as the SR-IOV network operator's node states show them.
package sriov

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// PF is a physical function: one entry of a SriovNetworkNodeState's status.interfaces (k8snetworkplumbingwg/
// sriov-network-operator, api/v1/sriovnetworknodestate_types.go).
type PF struct {
	Name           string `json:"name,omitempty"`
	Mac            string `json:"mac,omitempty"`
	Driver         string `json:"driver,omitempty"`
	PciAddress     string `json:"pciAddress"`
	Vendor         string `json:"vendor,omitempty"`
	DeviceID       string `json:"deviceID,omitempty"`
	NetFilter      string `json:"netFilter,omitempty"`
	Mtu            int    `json:"mtu,omitempty"`
	NumVfs         int    `json:"numVfs,omitempty"`
	LinkSpeed      string `json:"linkSpeed,omitempty"`
	LinkType       string `json:"linkType,omitempty"`
	LinkAdminState string `json:"linkAdminState,omitempty"`
	EswitchMode    string `json:"eSwitchMode,omitempty"`
	TotalVfs       int    `json:"totalvfs,omitempty"`
	VFs            []VF   `json:"Vfs,omitempty"`
}

// VF is a virtual function of a PF.
type VF struct {
	Name       string `json:"name,omitempty"`
	Mac        string `json:"mac,omitempty"`
	Driver     string `json:"driver,omitempty"`
	PciAddress string `json:"pciAddress"`
	Vendor     string `json:"vendor,omitempty"`
	DeviceID   string `json:"deviceID,omitempty"`
	Mtu        int    `json:"mtu,omitempty"`
	VfID       int    `json:"vfID"`
}

// VFs returns the first n VFs of a PF, at the PCI addresses that ConnectX NICs give them: from function 2 on, eight
// functions to a device.
func VFs(pf PF, n int) []VF {
	bus := strings.TrimSuffix(pf.PciAddress, ":00.0")
	var all []VF
	for i := range n {
		at := i + 2
		all = append(all, VF{
			Name: fmt.Sprintf("%sv%d", strings.TrimSuffix(pf.Name, "np0"), i), Mac: MAC(pf.Mac, pf.Name, fmt.Sprint(i)),
			Driver: pf.Driver, PciAddress: fmt.Sprintf("%s:%02x.%d", bus, at/8, at%8),
			Vendor: pf.Vendor, DeviceID: "101e", Mtu: pf.Mtu, VfID: i,
		})
	}
	return all
}

// MAC returns a locally administered address made from names, the same every time.
func MAC(names ...string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(names, "\x00")))
	s := h.Sum(nil)
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", s[0], s[1], s[2], s[3], s[4])
}
