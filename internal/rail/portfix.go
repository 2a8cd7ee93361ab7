package rail

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// findPF says how to find the physical function, which a pod does not see.
const findPF = " 'railhead doctor JOB --nodes' names the physical function and its node."

// WhyDown returns the fix for a port that is not ACTIVE, with evidence of its interface in this network namespace. The
// port's own phys_state is not enough: mlx5 also reports Disabled for a port without a carrier
// (mlx5_query_port_roce).
func WhyDown(s *host.Snapshot, scope Scope, d host.Device, p host.Port) (*check.Fix, []check.Evidence) {
	var link host.Link
	if len(d.Netdevs) > 0 {
		link, _ = s.Link(d.Netdevs[0])
	}
	infiniBand := p.LinkLayer.Value == host.InfiniBand
	switch {
	case !p.State.IsKnown():
		return check.ByAdmin("Look for messages of its driver in the node's kernel log.", "dmesg"), nil
	case infiniBand && (p.State.Value == "INIT" || p.State.Value == "ARMED"):
		return check.ByAdmin("No subnet manager has configured the port: "+
			"check that one runs and serves virtual functions (opensm: virt_enabled 2).", "sminfo -C "+d.Name), nil
	case !infiniBand && !link.Up.Or(true): // the interface of an InfiniBand port carries only IP
		fix := setUp(link.Name)
		if scope == Host && !d.IsVirtual() {
			fix = check.ByAdmin("Set the interface up.", "ip link set "+link.Name+" up")
		}
		return fix, []check.Evidence{{Source: "IFF_UP of " + link.Name, Got: "off", Want: "on"}}
	case d.IsVirtual() && infiniBand:
		return check.ByAdmin("Enable the virtual function's link, and check that its physical function is up."+findPF,
			"ip link set PF up", "ip link set PF vf N state enable", "SriovIBNetwork spec:\n  linkState: enable"), nil
	case d.IsVirtual():
		return check.ByAdmin("A virtual function has the carrier of its physical function: set that up, check its "+
			"cable and switch port, and check the link state of the virtual function."+findPF,
			"ip link set PF up", "ip link show PF", "SriovNetwork spec:\n  linkState: auto"), nil
	case scope == Host:
		return cableOf(d, p, link), nil
	}
	return fixes[PortActive], nil
}

// cableOf returns the fix for a port of a physical function of this machine.
func cableOf(d host.Device, p host.Port, link host.Link) *check.Fix {
	fix := check.ByAdmin("Check the cable, the transceiver and the port of the switch.",
		fmt.Sprintf("rdma link show %s/%d", d.Name, p.Number))
	if link.Name != "" {
		fix.Commands = append(fix.Commands, "ethtool "+link.Name)
	}
	return fix
}

func setUp(link string) *check.Fix {
	return check.ByAdmin(link+" itself is down. Recreate the pod, whose CNI plugin sets it up, or set it up from the "+
		"node; PID is a process of the pod (crictl inspect).", "nsenter -t PID -n ip link set "+link+" up")
}
