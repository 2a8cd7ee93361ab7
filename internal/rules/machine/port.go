package machine

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// allocated tells why there is no rail. Where no port is ACTIVE for a reason that is seen, that reason is told.
func allocated(t *subject) []check.Finding {
	if len(t.noRail) == 0 || t.noRail[0].Check != rail.PortActive {
		return t.noRail
	}
	if why := append(physicalUp(t), vfGUID(t)...); len(why) > 0 {
		return why
	}
	return t.noRail
}

// allocations adds, where there are rails, what else was allocated and is none: that keeps nobody from judging the
// rails.
func allocations(t *subject) []check.Finding {
	all := t.made(rail.AllocationConsistent)
	if len(t.rails) > 0 {
		all = append(all, t.made(rail.DeviceAllocated)...)
	}
	return all
}

// portActive leaves out the ports whose reason another finding is.
func portActive(t *subject) []check.Finding {
	down := downPhysical(&t.Snapshot)
	var all []check.Finding
	for _, f := range t.made(rail.PortActive) {
		d, _ := t.Device(f.Subject.DeviceName())
		pf, virtual := d.Function.Value.PhysFn.Get()
		if explained := virtual && isDown(down, pf) || withoutGUID(&d); !explained {
			all = append(all, f)
		}
	}
	return all
}

// withoutGUID reports whether a virtual function of an InfiniBand card was given no GUID: its port stays DOWN
// (sriov-network-operator, ib-kubernetes).
func withoutGUID(d *host.Device) bool {
	guid, known := d.NodeGUID.Get()
	return d.IsVirtual() && known && strings.Trim(guid, "0:") == "" && len(d.Ports) > 0 && d.Ports[0].LinkLayer.Value == host.InfiniBand
}

func vfGUID(t *subject) []check.Finding {
	var names []string
	var devices []check.Ref
	var evidence []check.Evidence
	for i := range t.Devices {
		d := &t.Devices[i]
		if access := t.AccessTo(d.Name); withoutGUID(d) && (access == host.Openable || access == host.NotProbed) {
			names, devices = append(names, d.Name), append(devices, check.DeviceRef(d.Name))
			evidence = append(evidence, check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/node_guid", Got: d.NodeGUID.Value, Want: "a GUID that the subnet manager knows"})
		}
	}
	if len(names) == 0 {
		return nil
	}
	return about(one(VFGUID, check.Fail, check.Ref{Kind: check.Pod}, fmt.Sprintf("%s: InfiniBand virtual function without a GUID: its port never becomes ACTIVE", strings.Join(names, ", ")),
		forAdmin("Give virtual functions GUIDs (ib-kubernetes, or by hand), and let the subnet manager serve them (opensm: virt_enabled 2).",
			"ip link set PF vf N node_guid GUID port_guid GUID", "SriovIBNetwork spec:\n  linkState: enable"), evidence...), devices)
}
