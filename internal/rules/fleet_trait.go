package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/words"
)

// trait is one thing that all machines of a job should have alike.
type trait struct {
	id     check.ID
	title  string // the healthy fact
	noun   string // "MTU of the rails"
	source string // where it was read, on each machine
	status check.Status
	cost   string // what it costs when they differ
	needs  []check.ID
	causes []check.ID // faults of one machine that explain a difference
	fix    check.Fix
	of     func(member) (value string, known bool)
}

// traits are ordered so that what others follow from comes first.
var traits = []trait{
	{
		causes: []check.ID{
			rail.DeviceAllocated, rail.UverbsOpenable, rail.PortActive, rail.GIDUsable, rail.CarrierPresent,
			rail.AllocationConsistent, rail.RDMANamespace, nccl.LibraryDevices, "pod-resources", machine.VerbsLibrary,
			machine.PhysicalUp, machine.VFGUID,
		},
		id: FleetRails, title: "every pod has as many rails as the others", noun: "number of rails", source: "rails", status: check.Warn,
		cost: "the pod with the fewest sets the pace of all",
		fix:  check.Fix{Text: "Give every pod the same rails: compare what the nodes offer.", Who: check.User, Commands: []string{"railhead inventory -o wide"}},
		of:   func(m member) (string, bool) { return fmt.Sprint(len(m.rails)), true },
	},
	{
		causes: []check.ID{rail.LinkLayerUniform},
		id:     FleetLinkLayer, title: "all rails have one link layer", noun: "link layer", source: "/sys/class/infiniband/*/ports/*/link_layer", status: check.Fail,
		cost: "InfiniBand and RoCE cannot talk to each other",
		fix:  check.Fix{Text: "Keep the job on nodes with one kind of fabric.", Who: check.User, Commands: []string{"railhead deploy NAME --node-selector KEY=VALUE"}},
		of:   ofRails(func(r rail.Rail) string { return r.LinkLayer }),
	},
	{
		causes: []check.ID{rail.GIDUsable},
		id:     FleetGIDType, title: "all rails use one type of GID", noun: "GID type", source: "/sys/class/infiniband/*/ports/*/gid_attrs/types", status: check.Fail,
		cost: "RoCE v1 and v2 cannot talk to each other: the connection times out", needs: []check.ID{FleetLinkLayer},
		fix: check.Fix{Text: "Give every rail an address, so that it has a RoCE v2 GID.", Who: check.Admin},
		of: ofRails(func(r rail.Rail) string {
			if r.GID == nil {
				return ""
			}
			return r.GID.Type.Value
		}),
	},
	{
		causes: []check.ID{machine.RailMTU},
		id:     FleetMTU, title: "all rails have one MTU", noun: "MTU of the rails", source: "/sys/class/net/*/mtu", status: check.Fail,
		cost: "queue pairs take their MTU from their own side: from NCCL 2.20 on it hangs or ends with LOC_LEN_ERR", needs: []check.ID{FleetLinkLayer},
		fix: check.Fix{Text: "Set one MTU: in the SriovNetworkNodePolicy and, with the tuning plugin, in the network attachment.", Who: check.Admin, Commands: []string{
			"kubectl get sriovnetworknodepolicies -A -o custom-columns=NAME:.metadata.name,MTU:.spec.mtu",
		}},
		of: ofRails(func(r rail.Rail) string { return known(r.MTU) }),
	},
	{
		causes: []check.ID{machine.RateExpected, rail.RateUniform, rail.PortActive, machine.PhysicalUp},
		id:     FleetRate, title: "all rails have one rate", noun: "rate of the rails", source: "/sys/class/infiniband/*/ports/*/rate", status: check.Warn,
		cost: "the slowest rail sets the pace of all",
		fix:  check.Fix{Text: "Look at the cable, the transceiver and the switch port of the rails that differ.", Who: check.Admin, Commands: []string{"ethtool INTERFACE", "mlxlink -d DEVICE"}},
		of: ofRails(func(r rail.Rail) string {
			if rate, ok := r.Rate.Get(); ok {
				return fmt.Sprintf("%g Gb/s", rate.Gbps)
			}
			return ""
		}),
	},
	{
		id: FleetNCCL, title: "all pods have one NCCL", noun: "NCCL version", source: "libnccl.so of the image", status: check.Fail,
		cost: "ranks of different versions refuse each other, or speak different protocols",
		fix:  check.Fix{Text: "Start all pods from one image: delete the pods that are from before a change.", Who: check.User, Commands: []string{"kubectl get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image"}},
		of: func(m member) (string, bool) {
			var versions []string
			for _, l := range m.s.NCCL.Libraries {
				versions = append(versions, l.Version)
			}
			return distinct(versions)
		},
	},
	{
		causes: []check.ID{machine.VerbsLibrary},
		id:     FleetVerbs, title: "all pods have one rdma-core", noun: "version of rdma-core", source: "libibverbs.so.1 of the image", status: check.Warn,
		cost: "what one version's provider can do the other's cannot",
		fix:  check.Fix{Text: "Start all pods from one image.", Who: check.User, Commands: []string{"kubectl get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image"}},
		of: func(m member) (string, bool) {
			if m.s.Verbs == nil {
				return "", false
			}
			return m.s.Verbs.RDMACore, m.s.Verbs.RDMACore != ""
		},
	},
	{
		causes: []check.ID{machine.MemlockLimit, machine.RuntimeMemlock, machine.IPCLockEffective, "node-memlock"},
		id:     FleetMemlock, title: "all pods may lock as much memory", noun: "locked-memory limit", source: "/proc/self/limits Max locked memory, soft", status: check.Warn,
		cost: "a rank with a small limit cannot register its buffers (ENOMEM), and the others wait for it",
		fix:  check.Fix{Text: "Lift the limit on the nodes that differ.", Who: check.Admin, Commands: []string{"railhead setup status", "railhead setup cluster"}},
		of: func(m member) (string, bool) {
			limit, ok := m.s.Limits.MemlockSoft.Get()
			if machine.LocksEnough(*m.s) { // by the limit, or by a capability
				return "all that is needed", true
			}
			return machine.Size(limit), ok
		},
	},
	{
		causes: []check.ID{nccl.GPUDirectPossible, machine.PeermemRegistered},
		id:     FleetGPUDirect, title: "GPUDirect RDMA works the same way everywhere", noun: "way of GPUDirect RDMA", source: "/sys/module/nvidia_peermem, /proc/driver/nvidia/version", status: check.Warn,
		cost: "ranks without it copy through host memory, and set the pace of all",
		fix:  check.Fix{Text: "Load the peer-memory module, or NVIDIA's open kernel modules (DMA-BUF), on the nodes that differ.", Who: check.Admin, Commands: []string{"modprobe nvidia_peermem"}},
		of:   gpuDirect,
	},
}

// ofRails is a trait of every rail: the values of a machine's rails, each once.
func ofRails(value func(rail.Rail) string) func(member) (string, bool) {
	return func(m member) (string, bool) {
		var values []string
		for _, r := range m.rails {
			if v := value(r); v != "" {
				values = append(values, v)
			}
		}
		return distinct(values)
	}
}

// known is a fact's value, "" where it is not known.
func known[T any](f host.Fact[T]) string {
	if v, ok := f.Get(); ok {
		return fmt.Sprint(v)
	}
	return ""
}

// gpuDirect returns the way in which NICs could reach GPU memory, by the files that NCCL looks at
// (src/transport/net_ib, ncclIbGdrSupport and ncclIbDmaBufSupport): a peer-memory module, or NVIDIA's open kernel
// modules.
func gpuDirect(m member) (string, bool) {
	g := m.s.GPUDirect
	open, knownModules := g.OpenModules.Get()
	switch {
	case len(rail.GPUs(*m.s)) == 0:
		return "", false
	case len(g.Peermem) > 0:
		return "peer-memory module", true
	case open:
		return "DMA-BUF", true
	}
	return "none", knownModules
}

// compare says where machines differ in a trait.
func (t trait) compare(members []member) []check.Finding {
	d := divide(members, t.of)
	if len(d.groups) < 2 {
		return nil
	}
	fix := t.fix
	return []check.Finding{d.finding(check.Finding{Check: t.id, Status: t.status, Fix: &fix}, t.noun, t.source, t.cost)}
}

// division is the machines by what they have.
type division struct {
	kind   check.Kind // Pods or Nodes
	groups []group    // the largest first
	known  int
}

type group struct {
	value string
	names []string
	refs  []check.Ref
}

// divide sorts machines into groups, in one pass.
func divide(members []member, of func(member) (string, bool)) division {
	d := division{kind: check.Pods}
	at := map[string]int{}
	for _, m := range members {
		if m.ref.Kind == check.Node {
			d.kind = check.Nodes
		}
		value, ok := of(m)
		if !ok {
			continue
		}
		i, seen := at[value]
		if !seen {
			i = len(d.groups)
			at[value] = i
			d.groups = append(d.groups, group{value: value})
		}
		d.groups[i].names = append(d.groups[i].names, m.place())
		d.groups[i].refs = append(d.groups[i].refs, m.ref)
		d.known++
	}
	slices.SortStableFunc(d.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(b.names), len(a.names)), cmp.Compare(a.value, b.value))
	})
	return d
}

// norm reports whether most machines are in the largest group.
func (d division) norm() bool { return len(d.groups) > 0 && 2*len(d.groups[0].names) > d.known }

// finding says what is the norm and who differs; where no value has the majority, that there is none.
func (d division) finding(f check.Finding, noun, source, cost string) check.Finding {
	f.Subject = check.Ref{Kind: d.kind}
	most := d.groups[0]
	if !d.norm() {
		var parts []string
		for _, g := range d.groups {
			f.About = append(f.About, g.refs...)
			parts = append(parts, fmt.Sprintf("%s on %d (%s)", g.value, len(g.names), words.Few(g.names, 6)))
			f.Evidence = append(f.Evidence, check.Evidence{Source: source, Got: g.value + " on " + words.Few(g.names, 6), Want: "one value on all " + string(d.kind)})
		}
		f.Summary = fmt.Sprintf("the %s do not agree on the %s, and no value has the majority: %s; %s", d.kind, noun, strings.Join(parts, ", and "), cost)
		return f
	}
	var odd []string
	for _, g := range d.groups[1:] {
		odd = append(odd, fmt.Sprintf("%s on %s", g.value, words.Few(g.names, 6)))
		f.About = append(f.About, g.refs...)
		f.Evidence = append(f.Evidence, check.Evidence{Source: source, Got: g.value + " on " + words.Few(g.names, 6), Want: most.value})
		if len(d.groups) == 2 && len(g.names) == 1 {
			f.Subject = g.refs[0]
		}
	}
	f.Summary = fmt.Sprintf("on %d of %d %s the %s is %s, but %s: %s", len(most.names), d.known, d.kind, noun, most.value, strings.Join(odd, ", "), cost)
	return f
}

// firmware compares NICs of one kind with each other, also within one machine.
func firmware(members []member) []check.Finding {
	var boards []string
	kinds := map[string]bool{}
	for _, m := range members {
		for _, d := range m.s.Devices {
			if board := boardOf(d); board != "" && !kinds[board] {
				kinds[board] = true
				boards = append(boards, board)
			}
		}
	}
	slices.Sort(boards)
	var findings []check.Finding
	for _, board := range boards {
		d := divide(members, func(m member) (string, bool) { return firmwareOf(m, board) })
		if len(d.groups) < 2 {
			continue
		}
		findings = append(findings, d.finding(check.Finding{Check: FleetFirmware, Status: check.Warn, Fix: &check.Fix{
			Text: "Bring the NICs to one firmware.", Who: check.Admin, Commands: []string{"mlxfwmanager --query", "ethtool -i INTERFACE"},
		}}, "firmware of "+board, "/sys/class/infiniband/*/fw_ver", "what one version mends the other does not"))
	}
	return findings
}

// boardOf is the kind of NIC that a firmware is for.
func boardOf(d host.Device) string {
	if board := d.BoardID.Value; board != "" {
		return board
	}
	return d.HCAType.Value
}

// firmwareOf is the firmware of a machine's own NICs of one kind.
func firmwareOf(m member, board string) (string, bool) {
	var versions []string
	for _, r := range m.rails {
		if d, ok := m.s.Device(r.Device); ok && boardOf(d) == board && d.Firmware.Value != "" {
			versions = append(versions, d.Firmware.Value)
		}
	}
	return distinct(versions)
}
