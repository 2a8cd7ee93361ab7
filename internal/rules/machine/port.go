package machine

import (
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// allocated returns why there is no rail: if no port is ACTIVE, the cause of that where it is visible.
func allocated(t *subject) []check.Finding {
	if f, only := t.options.Rails.OnlyEFA(); only {
		return []check.Finding{f}
	}
	if len(t.noRail) == 0 || t.noRail[0].Check != rail.PortActive {
		return t.noRail
	}
	if causes := append(physicalUp(t), vfGUID(t)...); len(causes) > 0 {
		return causes
	}
	return t.noRail
}

// allocations also reports the unusable allocations if there are rails: the other checks need not be skipped for them.
func allocations(t *subject) []check.Finding {
	all := t.found(rail.AllocationConsistent)
	if len(t.rails) > 0 {
		all = append(all, t.found(rail.DeviceAllocated)...)
	}
	return all
}

// portActive leaves out the ports that another finding explains. Where nothing allocates devices, the machine's own
// cards show which ports should be rails.
func portActive(t *subject) []check.Finding {
	down := downPhysical(&t.Snapshot)
	var all []check.Finding
	for _, f := range t.found(rail.PortActive) {
		d, _ := t.Device(f.Subject.DeviceName())
		pf, virtual := d.Function.Value.PhysFn.Get()
		if explained := virtual && isDown(down, pf) || withoutGUID(&d); !explained {
			all = append(all, f)
		}
	}
	return append(all, lostPorts(&t.Snapshot, func(device string, port int) bool {
		return unallocatedDown(t, device, port)
	})...)
}

func carrier(t *subject) []check.Finding {
	return t.ifRead(t.found(rail.CarrierPresent), func(r rail.Rail) bool {
		link, _ := t.Link(r.Netdev)
		return r.LinkLayer != host.Ethernet || link.Running.IsKnown()
	})
}

// withoutGUID reports whether a virtual function of an InfiniBand card was given no GUID: its port stays DOWN
// (sriov-network-operator, ib-kubernetes).
func withoutGUID(d *host.Device) bool {
	guid, known := d.NodeGUID.Get()
	return d.IsVirtual() && known && strings.Trim(guid, "0:") == "" &&
		len(d.Ports) > 0 && d.Ports[0].LinkLayer.Value == host.InfiniBand
}

func vfGUID(t *subject) []check.Finding {
	var g group
	for i := range t.Devices {
		d := &t.Devices[i]
		if withoutGUID(d) && t.AccessTo(d.Name).MayOpen() {
			g.add(check.DeviceRef(d.Name), "/sys/class/infiniband/"+d.Name+"/node_guid", d.NodeGUID.Value,
				"a GUID that the subnet manager knows")
		}
	}
	if len(g.objects) == 0 {
		return nil
	}
	return []check.Finding{{
		Check: VFGUID, Status: check.Fail, About: g.objects,
		Summary:  g.String() + ": InfiniBand virtual function without a GUID: its port never becomes ACTIVE",
		Evidence: g.evidence,
		Fix: check.ByAdmin("Assign GUIDs to virtual functions (ib-kubernetes, or by hand), "+
			"and let the subnet manager serve them (opensm: virt_enabled 2).",
			"ip link set PF vf N node_guid GUID port_guid GUID", "SriovIBNetwork spec:\n  linkState: enable"),
	}}
}
