package wire

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// OnNode tells from the two readings of a node what each of its pods does. Its other processes are the node's own. pods
// has the pods of the node by their UID.
func OnNode(node check.Ref, s host.Snapshot, pods map[string]check.Ref) []Member {
	if s.Earlier == nil || !s.Earlier.Wire.IsKnown() || !s.Wire.IsKnown() {
		return []Member{{Ref: node, Motion: Of(s)}}
	}
	machine := Machine{Before: s.Earlier.Wire.Value, After: s.Wire.Value, Ports: portsOf(s)}
	members, at := []Member{{Ref: node}}, map[check.Ref]int{}
	of := func(pid int) *Member {
		i := 0
		if pod, known := pods[machine.After.Pods[pid]]; known {
			if i = at[pod]; i == 0 {
				i, members = len(members), append(members, Member{Ref: pod, Node: node.Name})
				at[pod] = i
			}
		}
		return &members[i]
	}
	all := machine.Ends()
	for _, e := range all {
		m := of(e.PID)
		m.ends = append(m.ends, e)
	}
	for _, o := range openers(machine.After, all) {
		m := of(o.PID)
		m.Openers = append(m.Openers, o)
	}
	own := &members[0]
	own.unread(machine.After)
	if why := hidden(s); why != "" {
		own.Unread = append(own.Unread, check.Evidence{Source: "other pods", Got: why})
	}
	own.outOfSequence(machine)
	for i := range members {
		m := &members[i]
		m.ports = machine.Ports
		m.Usages = usages(m.ends, m.ports)
		m.judge()
	}
	return members
}

// hidden says why a node may have queue pairs that it does not show.
func hidden(s host.Snapshot) string {
	switch {
	case s.RDMANetns.Value == "exclusive":
		return "their RDMA devices are in their network namespaces (rdma system: exclusive): name these pods instead"
	case !s.Limits.CapEff.Value.Has(host.CapSysAdmin):
		return "without a privileged pod the kernel may hide the queue pairs of other processes"
	}
	return ""
}
