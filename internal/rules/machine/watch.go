package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// Watch judges the port counters of a machine between two readings.
func Watch(before, after host.Snapshot) check.Report {
	return run(watchChecks, &subject{Snapshot: after, before: &before})
}

// Counters of ports by their meaning (Linux Documentation/ABI/stable/sysfs-class-infiniband; the mlx5 and rxe drivers'
// hw_counters). Not among them is rxe's completer_retry_err: for that it is enough that a processor is late.
var (
	linkCounters   = []string{"link_downed", "link_error_recovery"}
	symbolCounters = []string{"symbol_error", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "rx_icrc_encapsulated"}
	packetCounters = []string{
		"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err", "rnr_nak_retry_err", // mlx5
		"out_of_seq_request", "rcvd_seq_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err", // rxe
		"roce_adp_retrans", "req_transport_retries_exceeded", "port_xmit_discards",
	}
	congestionCounters = []string{"np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "port_xmit_wait"}
)

var watchChecks = []check.Check[*subject]{
	{ID: LinkStable, Title: "no link goes down and up", Run: linkStable},
	{ID: SymbolErrors, Title: "no port receives damaged packets", Run: symbolErrors},
	{ID: PacketsInTurn, Title: "no packet is lost or comes out of turn", Run: packetsInTurn},
	{ID: Congestion, Title: "no congestion is signalled", Run: congestion},
}

func symbolErrors(t *subject) []check.Finding {
	return t.counted(SymbolErrors, check.Warn, symbolCounters, "packets arrive damaged: what they carried is sent again, and the link may go down",
		forAdmin("Clean or change cable and transceiver.", "mlxlink -d PCI -m -c"))
}

func packetsInTurn(t *subject) []check.Finding {
	return t.counted(PacketsInTurn, check.Warn, packetCounters, "packets are lost or overtake each other: RoCE sends all that followed again, and crawls",
		forAdmin("Look at PFC and ECN on switches and NICs: one traffic class, lossless, on the whole way; and for a firewall that drops UDP port 4791.", "mlnx_qos -i INTERFACE", "ethtool -S INTERFACE | grep -E 'discard|pause'"))
}

// congestion is a remark: that senders slow down is how RoCE is meant to share a port.
func congestion(t *subject) []check.Finding {
	return t.counted(Congestion, check.Pass, congestionCounters, "the network signals congestion: senders slow down, as they should, and the job with them",
		forAdmin("Where it lasts, look for more senders than receivers of one port, and for ECMP that puts flows on one link."))
}

// grown are the counters of a list that are larger in the later reading; looked says whether there are any.
func (t *subject) grown(names []string) (evidence []check.Evidence, ports []check.Ref, looked bool) {
	for _, d := range t.Devices {
		earlier, _ := t.before.Device(d.Name)
		for i, p := range d.Ports {
			if i >= len(earlier.Ports) {
				continue
			}
			for _, name := range names {
				now, counts := p.Counters[name]
				then := earlier.Ports[i].Counters[name]
				looked = looked || counts
				if now > then { // less: the counters were reset
					port := check.PortRef(d.Name, p.Number)
					evidence = append(evidence, check.Evidence{Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d %s", d.Name, p.Number, name), Got: fmt.Sprintf("+%d in %s", now-then, t.period()), Want: "+0"})
					if !slices.Contains(ports, port) {
						ports = append(ports, port)
					}
				}
			}
		}
	}
	return evidence, ports, looked
}

func joined(refs []check.Ref) string {
	var names []string
	for _, r := range refs {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

func (t *subject) period() string {
	return t.Taken.Sub(t.before.Taken).Round(1e8).String()
}

// counted judges by how much the counters of a list grew.
func (t *subject) counted(id check.ID, status check.Status, names []string, means string, fix *check.Fix) []check.Finding {
	evidence, ports, looked := t.grown(names)
	switch {
	case !looked:
		return uncounted(id)
	case len(ports) == 0:
		return nil
	}
	return about(one(id, status, check.Ref{Kind: check.Node}, joined(ports)+": "+means, fix, evidence...), ports)
}

// uncounted: where HCAs are shared by network namespaces, others than the first see no counters
// (drivers/infiniband/core/sysfs.c setup_port).
func uncounted(id check.ID) []check.Finding {
	return []check.Finding{{Check: id, Status: check.Skipped, Summary: "the kernel shows no such counters here: of HCAs that network namespaces share, the node's own alone has them"}}
}

func linkStable(t *subject) []check.Finding {
	evidence, ports, looked := t.grown(linkCounters)
	for _, l := range t.Links {
		earlier, there := t.before.Link(l.Name)
		now, counts := l.CarrierChanges.Get()
		looked = looked || counts && l.PCI.IsKnown()
		if then, ok := earlier.CarrierChanges.Get(); there && ok && counts && l.PCI.IsKnown() && now > then {
			ports = append(ports, check.LinkRef(l.Name))
			evidence = append(evidence, check.Evidence{Source: "/sys/class/net/" + l.Name + "/carrier_changes", Got: fmt.Sprintf("+%d in %s", now-then, t.period()), Want: "+0"})
		}
	}
	switch {
	case !looked:
		return uncounted(LinkStable)
	case len(ports) == 0:
		return nil
	}
	return about(one(LinkStable, check.Fail, check.Ref{Kind: check.Node}, joined(ports)+": the link goes down and up: every queue pair on it breaks, and the job with them",
		forAdmin("Change cable or transceiver; look at the switch port.", "ethtool -m INTERFACE", "dmesg | grep -i link"), evidence...), ports)
}
