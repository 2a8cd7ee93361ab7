package nccl

import (
	"fmt"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// fusion keeps NCCL from joining rails of different cards into one virtual NIC. NCCL takes devices for ports of one
// card when their PCI paths are equal after the function digit, and with NCCL_IB_MERGE_VFS=1 (the default) the device
// digits too, are set to zero (NCCL src/transport/net_ib.cc ncclIbGetPciPath): true of VFs on real buses, wrong in VMs
// that put unrelated NICs on one bus.
func (c *computation) fusion() {
	busMates, ok := wronglyJoined(c.rails, c.s, sameBus)
	if !ok {
		return
	}
	c.require("NCCL_IB_MERGE_VFS", "0", busMates+" are different cards on one PCI bus; NCCL would join them")
	if slotMates, ok := wronglyJoined(c.rails, c.s, sameSlot); ok {
		reason := slotMates + " are different cards in one PCI slot; NCCL would join them"
		c.require("NCCL_NET_MERGE_LEVEL", "LOC", reason+" (2.24 and later)")
		c.require("NCCL_IB_MERGE_NICS", "0", reason+" (2.20 to 2.23)")
	}
}

func sameBus(a, b host.PCIAddress) bool { return a.Domain == b.Domain && a.Bus == b.Bus }

func sameSlot(a, b host.PCIAddress) bool { return sameBus(a, b) && a.Slot == b.Slot }

// wronglyJoined finds two rails on different cards that NCCL would join.
func wronglyJoined(rails []rail.Rail, s *host.Snapshot, joined func(a, b host.PCIAddress) bool) (string, bool) {
	for i, a := range rails {
		for _, b := range rails[i+1:] {
			fa, okA := a.Function.Get()
			fb, okB := b.Function.Get()
			if okA && okB && a.Device != b.Device && joined(fa.Address, fb.Address) && !sameCard(s, a, b) {
				return fmt.Sprintf("%s (%s) and %s (%s)", a.Device, fa.Address, b.Device, fb.Address), true
			}
		}
	}
	return "", false
}

// sameCard compares sys_image_guid, which all functions of a card share, or the slot of the PF if it is not readable.
func sameCard(s *host.Snapshot, a, b rail.Rail) bool {
	da, _ := s.Device(a.Device)
	db, _ := s.Device(b.Device)
	ga, okA := da.SysImageGUID.Get()
	gb, okB := db.SysImageGUID.Get()
	const empty = "0000:0000:0000:0000"
	if okA && okB && ga != empty && gb != empty {
		return ga == gb
	}
	pa, okA := da.Function.Value.PhysFn.Get()
	pb, okB := db.Function.Value.PhysFn.Get()
	return okA && okB && sameSlot(pa, pb)
}
