package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Watch judges the port counters of a machine between two readings.
func Watch(before, after host.Snapshot) check.Report {
	return run(watchChecks, check.Node, &subject{Snapshot: after, before: &before})
}

// Counters of ports by their meaning (Linux Documentation/ABI/stable/sysfs-class-infiniband; the mlx5 and rxe drivers'
// hw_counters). rxe's completer_retry_err is left out: a processor that is late is enough to raise it.
var (
	linkCounters   = []string{"link_downed", "link_error_recovery"}
	symbolCounters = []string{
		"symbol_error", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
		"rx_icrc_encapsulated",
	}
	packetCounters = []string{
		// mlx5
		"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err", "rnr_nak_retry_err",
		// rxe
		"out_of_seq_request", "rcvd_seq_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err",
		// mlx5, and the port itself
		"roce_adp_retrans", "req_transport_retries_exceeded", "port_xmit_discards",
	}
	congestionCounters = []string{"np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "port_xmit_wait"}
)

var watchChecks = []check.Check[*subject]{
	{ID: LinkStable, Title: "no link goes down", ExplainedBy: byPhysical, Run: linkStable},
	{ID: SymbolErrors, Title: "no port receives damaged packets", Run: symbolErrors},
	{ID: PacketsInTurn, Title: "no packet is lost or arrives out of order", Run: packetsInTurn},
	{ID: Congestion, Title: "no congestion is signalled", Run: congestion},
}

func linkStable(t *subject) []check.Finding {
	g := t.growth(linkCounters)
	for _, l := range t.Links {
		earlier, _ := t.before.Link(l.Name)
		now, counts := l.CarrierChanges.Get()
		then, counted := earlier.CarrierChanges.Get()
		if !counts || !counted || !l.PCI.IsKnown() {
			continue
		}
		if g.read = true; now > then {
			g.grew(check.LinkRef(l.Name), "/sys/class/net/"+l.Name+"/carrier_changes", uint64(now-then))
		}
	}
	t.lostPorts(g)
	return g.finding(check.Fail, "the link goes down and up: every queue pair on it breaks, and the job with them",
		check.ByAdmin("Replace the cable or the transceiver; check the switch port.",
			"ethtool -m INTERFACE", "dmesg | grep -i link"))
}

// lostPorts adds the ports of physical functions that were ACTIVE and are not any more. A virtual function goes down
// with its pod.
func (t *subject) lostPorts(g *growth) {
	for _, d := range t.before.Devices {
		now, here := t.Device(d.Name)
		for i, p := range d.Ports {
			at := fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/state", d.Name, p.Number)
			switch {
			case d.IsVirtual() || p.State.Value != "ACTIVE":
			case !here:
				g.add(check.DeviceRef(d.Name), at, "absent", "ACTIVE")
			case i < len(now.Ports) && now.Ports[i].State.Or("ACTIVE") != "ACTIVE":
				g.add(check.PortRef(d.Name, p.Number), at, now.Ports[i].State.Value, "ACTIVE")
			}
		}
	}
	g.read = g.read || len(g.objects) > 0
}

func symbolErrors(t *subject) []check.Finding {
	return t.growth(symbolCounters).finding(check.Warn,
		"packets arrive damaged: their data is sent again, and the link may go down",
		check.ByAdmin("Clean or replace the cable and the transceiver.", "mlxlink -d PCI -m -c"))
}

func packetsInTurn(t *subject) []check.Finding {
	return t.growth(packetCounters).finding(check.Warn,
		"packets are lost or reordered: RoCE sends everything after them again, which is very slow",
		check.ByAdmin("Check PFC and ECN on switches and NICs: one lossless traffic class on the whole path. "+
			"Also check for a firewall that drops UDP port 4791.",
			"mlnx_qos -i INTERFACE", "ethtool -S INTERFACE | grep -E 'discard|pause'"))
}

// congestion is a remark: RoCE senders that share a port are meant to slow down.
func congestion(t *subject) []check.Finding {
	return t.growth(congestionCounters).finding(check.Pass,
		"the network signals congestion: senders slow down, as they should, and the job with them",
		check.ByAdmin("If it lasts, look for several senders to one port, or flows that ECMP puts on one link."))
}

// growth has the counters that are larger in the later reading.
type growth struct {
	group
	period string
	read   bool // at least one of the counters exists
}

func (g *growth) grew(object check.Ref, source string, n uint64) {
	g.add(object, source, fmt.Sprintf("+%d in %s", n, g.period), "+0")
}

func (t *subject) growth(counters []string) *growth {
	g := &growth{period: t.Taken.Sub(t.before.Taken).Round(time.Second / 10).String()}
	for _, d := range t.Devices {
		earlier, _ := t.before.Device(d.Name)
		for i, p := range d.Ports[:min(len(d.Ports), len(earlier.Ports))] {
			source := fmt.Sprintf("/sys/class/infiniband/%s/ports/%d ", d.Name, p.Number)
			g.compare(check.PortRef(d.Name, p.Number), source, counters, earlier.Ports[i].Counters, p.Counters)
		}
	}
	if !g.read {
		t.growthOfRails(g, counters)
	}
	return g
}

// growthOfRails reads the counters from RDMA netlink, which has them where sysfs does not. It also shows the devices of
// other pods: only rails count.
func (t *subject) growthOfRails(g *growth, counters []string) {
	rails := rail.Resolve(t.Snapshot, rail.Pod).Devices()
	for _, d := range t.Wire.Value.Devices {
		if !slices.Contains(rails, d.Name) {
			continue
		}
		earlier, _ := t.before.Wire.Value.Device(d.Name)
		for i, p := range d.Ports[:min(len(d.Ports), len(earlier.Ports))] {
			source := fmt.Sprintf("RDMA netlink, %s port %d ", d.Name, p.Number)
			then, now := earlier.Ports[i].Counters.Value, p.Counters.Value
			g.compare(check.PortRef(d.Name, p.Number), source, counters, then, now)
		}
	}
}

// compare adds the counters of a port that grew. One that is less was reset.
func (g *growth) compare(port check.Ref, source string, names []string, before, after map[string]uint64) {
	for _, name := range names {
		then, counted := before[name]
		now, counts := after[name]
		if !counts || !counted {
			continue
		}
		if g.read = true; now > then {
			g.grew(port, source+name, now-then)
		}
	}
}

// finding judges the growth. If network namespaces share HCAs, only the first one sees counters
// (drivers/infiniband/core/sysfs.c setup_port).
func (g *growth) finding(status check.Status, effect string, fix *check.Fix) []check.Finding {
	switch {
	case !g.read:
		return []check.Finding{{
			Status:  check.Skipped,
			Summary: "no such counters here: if network namespaces share HCAs, only the node's own namespace has them",
		}}
	case len(g.objects) == 0:
		return nil
	}
	return []check.Finding{{
		Status: status, About: g.objects,
		Summary: g.String() + ": " + effect, Evidence: g.evidence, Fix: fix,
	}}
}
