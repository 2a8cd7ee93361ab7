package rail

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// whyDown returns the reason why a port is not ACTIVE, judged by its interface in this network namespace, with the
// fix. The port's own phys_state does not tell: mlx5 says Disabled of a port without carrier, too
// (mlx5_query_port_roce).
func (j *judge) whyDown(d host.Device, p host.Port) (*check.Fix, []check.Evidence) {
	var link host.Link
	if len(d.Netdevs) > 0 {
		link, _ = j.s.Link(d.Netdevs[0])
	}
	infiniBand := p.LinkLayer.Value == host.InfiniBand
	switch {
	case !p.State.IsKnown():
		return &check.Fix{
			Text: "See what its driver wrote to the node's kernel log.", Commands: []string{"dmesg"}, Who: check.Admin,
		}, nil
	case infiniBand && (p.State.Value == "INIT" || p.State.Value == "ARMED"):
		return &check.Fix{
			Text:     "No subnet manager has set the port up: see whether one runs, and serves virtual functions (opensm: virt_enabled 2).",
			Commands: []string{"sminfo -C " + d.Name}, Who: check.Admin,
		}, nil
	case !infiniBand && !link.Up.Or(true): // of an InfiniBand port it carries IP alone
		return raise(link.Name), []check.Evidence{{Source: "IFF_UP of " + link.Name, Got: "off", Want: "on"}}
	case d.IsVirtual() && infiniBand:
		return &check.Fix{
			Text:     "Enable the virtual function's link, and see that its physical function is up.",
			Commands: []string{"ip link set PF up", "ip link set PF vf N state enable", "SriovIBNetwork spec:\n  linkState: enable"}, Who: check.Admin,
		}, nil
	case d.IsVirtual():
		return &check.Fix{
			Text:     "It has the carrier of its physical function: raise that, look at its cable and switch port, and at the link state of the virtual function.",
			Commands: []string{"ip link set PF up", "ip link show PF", "SriovNetwork spec:\n  linkState: auto"}, Who: check.Admin,
		}, nil
	}
	return fixes[PortActive], nil
}

// raise is the cure of an interface that is down.
func raise(link string) *check.Fix {
	return &check.Fix{
		Text:     link + " itself is down. The CNI plugin of a new pod raises it: recreate the pod, or raise it from the node; PID is that of a process of the pod (crictl inspect).",
		Commands: []string{"nsenter -t PID -n ip link set " + link + " up"}, Who: check.Admin,
	}
}
