package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/words"
)

// trait is something that all machines of a job should have in common.
type trait struct {
	id     check.ID
	title  string // the healthy fact
	status check.Status
	comparison
	causes []check.ID // faults of one machine that explain a difference
	fix    *check.Fix
	of     func(examined) (value string, known bool)
}

// comparison has the words for a difference.
type comparison struct {
	noun   string // "MTU of the rails"
	source string // of the value, on each machine
	cost   string // consequence of a difference
}

// podResources is a check of package rules/clusterrules.
const podResources = "pod-resources"

const showImages = "kubectl get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image"

// traits are ordered so that a cause precedes its effects.
var traits = []trait{
	{
		id: Rails, title: "every pod has as many rails as the others", status: check.Warn,
		comparison: comparison{
			noun:   "number of rails",
			source: "number of rails",
			cost:   "the pod with the fewest rails slows down all",
		},
		causes: []check.ID{
			rail.DeviceAllocated, rail.UverbsOpenable, rail.PortActive, rail.GIDUsable, rail.CarrierPresent,
			rail.AllocationConsistent, rail.RDMANamespace, nccl.LibraryDevices, podResources, machine.VerbsLibrary,
			machine.PhysicalUp, machine.VFGUID,
		},
		fix: check.ByUser("Give every pod the same rails: compare what the nodes offer.", "railhead inventory -o wide"),
		of:  func(m examined) (string, bool) { return fmt.Sprint(len(m.rails)), true },
	},
	{
		id: LinkLayer, title: "all rails have one link layer", status: check.Fail,
		comparison: comparison{
			noun:   "link layer",
			source: "/sys/class/infiniband/*/ports/*/link_layer",
			cost:   "InfiniBand and RoCE cannot connect to each other",
		},
		causes: []check.ID{rail.LinkLayerUniform},
		fix: check.ByUser("Keep the job on nodes with one kind of fabric.",
			"railhead deploy NAME --node-selector KEY=VALUE"),
		of: ofRails(func(r rail.Rail) string { return r.LinkLayer }),
	},
	{
		id: GIDType, title: "all rails use one type of GID", status: check.Fail,
		comparison: comparison{
			noun:   "GID type",
			source: "/sys/class/infiniband/*/ports/*/gid_attrs/types",
			cost:   "RoCE v1 and v2 cannot connect to each other: the connection times out",
		},
		causes: []check.ID{rail.GIDUsable},
		fix:    check.ByAdmin("Give every rail an address, so that it has a RoCE v2 GID."),
		of: ofRails(func(r rail.Rail) string {
			if r.GID == nil {
				return ""
			}
			return r.GID.Type.Value
		}),
	},
	{
		id: MTU, title: "all rails have one MTU", status: check.Fail,
		comparison: comparison{
			noun:   "MTU of the rails",
			source: "/sys/class/net/*/mtu",
			cost:   "since NCCL 2.20 each rank uses its own MTU, so they hang or end with LOC_LEN_ERR",
		},
		causes: []check.ID{machine.RailMTU},
		fix: check.ByAdmin("Set one MTU in the SriovNetworkNodePolicy and, with the tuning plugin, "+
			"in the network attachment.",
			"kubectl get sriovnetworknodepolicies -A -o custom-columns=NAME:.metadata.name,MTU:.spec.mtu"),
		of: ofRails(func(r rail.Rail) string {
			if mtu, known := r.MTU.Get(); known && r.LinkLayer == host.Ethernet { // IPoIB's MTU is not RDMA's
				return fmt.Sprint(mtu)
			}
			return ""
		}),
	},
	{
		id: Rate, title: "all rails have one rate", status: check.Warn,
		comparison: comparison{
			noun:   "rate of the rails",
			source: "/sys/class/infiniband/*/ports/*/rate",
			cost:   "the slowest rail slows down all",
		},
		causes: []check.ID{machine.RateExpected, rail.RateUniform, rail.PortActive, machine.PhysicalUp},
		fix: check.ByAdmin("Check the cable, the transceiver and the switch port of the rails that differ.",
			"ethtool INTERFACE", "mlxlink -d DEVICE"),
		of: ofRails(func(r rail.Rail) string {
			if rate, known := r.Rate.Get(); known {
				return fmt.Sprintf("%g Gb/s", rate.Gbps)
			}
			return ""
		}),
	},
	{
		id: NCCL, title: "all pods have one NCCL", status: check.Fail,
		comparison: comparison{
			noun:   "NCCL version",
			source: "libnccl.so of the image",
			cost:   "ranks with different versions refuse to connect, or use different protocols",
		},
		fix: check.ByUser("Start all pods from one image: delete the pods that still have the old one.", showImages),
		of: func(m examined) (string, bool) {
			var versions []string
			for _, l := range m.Snapshot.NCCL.Libraries {
				versions = append(versions, l.Version)
			}
			return distinct(versions)
		},
	},
	{
		id: RDMACore, title: "all pods have one rdma-core", status: check.Warn,
		comparison: comparison{
			noun:   "version of rdma-core",
			source: "libibverbs.so.1 of the image",
			cost:   "the older one may lack a feature that the other uses",
		},
		causes: []check.ID{machine.VerbsLibrary},
		fix:    check.ByUser("Start all pods from one image.", showImages),
		of: func(m examined) (string, bool) {
			if m.Snapshot.Verbs == nil {
				return "", false
			}
			return m.Snapshot.Verbs.RDMACore, m.Snapshot.Verbs.RDMACore != ""
		},
	},
	{
		id: Memlock, title: "all pods may lock as much memory", status: check.Warn,
		comparison: comparison{
			noun:   "locked-memory limit",
			source: "/proc/self/limits Max locked memory, soft",
			cost:   "a rank with a small limit cannot register its buffers (ENOMEM), and the others wait for it",
		},
		causes: []check.ID{machine.MemlockLimit, machine.RuntimeMemlock, machine.IPCLockEffective},
		fix: check.ByAdmin("Lift the limit on the nodes that differ.", "railhead setup status",
			"railhead setup cluster"),
		of: func(m examined) (string, bool) {
			if machine.LocksEnough(m.Snapshot) { // by the limit, or by a capability
				return "all that is needed", true
			}
			limit, known := m.Snapshot.Limits.MemlockSoft.Get()
			return machine.Size(limit), known
		},
	},
	{
		id: GPUDirect, title: "GPUDirect RDMA works the same way in all pods", status: check.Warn,
		comparison: comparison{
			noun:   "way of GPUDirect RDMA",
			source: "/sys/module/nvidia_peermem, /proc/driver/nvidia/version",
			cost:   "ranks without it copy through host memory and slow down all others",
		},
		causes: []check.ID{nccl.GPUDirectPossible, machine.PeermemRegistered},
		fix: check.ByAdmin("Load the peer-memory module, or NVIDIA's open kernel modules (DMA-BUF), on the nodes "+
			"that differ.",
			"modprobe nvidia_peermem"),
		of: gpuDirect,
	},
}

// ofRails returns the distinct values of a machine's rails.
func ofRails(value func(rail.Rail) string) func(examined) (string, bool) {
	return func(m examined) (string, bool) {
		var values []string
		for _, r := range m.rails {
			values = append(values, value(r))
		}
		return distinct(values)
	}
}

// distinct joins the values that are known, each once; ok is false if none is.
func distinct(values []string) (joined string, ok bool) {
	slices.Sort(values)
	values = slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
	return strings.Join(values, ", "), len(values) > 0
}

// gpuDirect returns the way that NCCL takes from NICs to GPU memory.
func gpuDirect(m examined) (string, bool) {
	way := nccl.GPUDirectWay(m.Snapshot)
	return string(way), way != ""
}

// compare finds where machines differ in a trait. Pods are not known to agree if some do not show it.
func (t trait) compare(members []Member) []check.Finding {
	d := divide(members, func(m Member) string { return m.traits[t.id] })
	switch {
	case len(d.groups) > 1:
	case d.kind == check.Pods && d.known < len(members) && len(members) > 1:
		summary := fmt.Sprintf("%d of %d pods show it", d.known, len(members))
		return []check.Finding{{Status: check.Skipped, Summary: summary}}
	default:
		return nil
	}
	fix := *t.fix
	return []check.Finding{d.finding(check.Finding{Check: t.id, Status: t.status, Fix: &fix}, t.comparison)}
}

// division groups the machines whose value is known by it.
type division struct {
	kind   check.Kind // Pods or Nodes
	groups []group    // the largest first
	known  int        // machines in all groups
}

type group struct {
	value string
	names []string
	refs  []check.Ref
}

func divide(members []Member, of func(Member) string) division {
	d := division{kind: check.Pods}
	at := map[string]int{}
	for _, m := range members {
		if m.IsNode() {
			d.kind = check.Nodes
		}
		value := of(m)
		if value == "" {
			continue
		}
		i, seen := at[value]
		if !seen {
			i = len(d.groups)
			at[value] = i
			d.groups = append(d.groups, group{value: value})
		}
		d.groups[i].names = append(d.groups[i].names, m.place())
		d.groups[i].refs = append(d.groups[i].refs, m.Ref)
		d.known++
	}
	slices.SortStableFunc(d.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(b.names), len(a.names)), cmp.Compare(a.value, b.value))
	})
	return d
}

// hasNorm reports whether most machines are in the largest group.
func (d division) hasNorm() bool { return len(d.groups) > 0 && 2*len(d.groups[0].names) > d.known }

// The most that a finding lists; About has every machine.
const (
	mostValues = 4 // of the summary
	mostLines  = 8 // of the evidence: one for each value
	mostNames  = 3 // of machines
)

// finding completes a finding about the machines that differ from the norm, or about all if no value has a majority.
// The summary names machines only if they are few; the evidence has a line for each value, with the first machines.
func (d division) finding(f check.Finding, c comparison) check.Finding {
	f.Subject = check.Ref{Kind: d.kind}
	most := d.groups[0]
	odd, want := d.groups[1:], most.value
	if !d.hasNorm() {
		odd, want = d.groups, "one value on all "+string(d.kind)
	}
	for i, g := range odd {
		f.About = append(f.About, g.refs...)
		if i < mostLines {
			got := g.value + " on " + d.machines(g)
			f.Evidence = append(f.Evidence, check.Evidence{Source: c.source, Got: got, Want: want})
		}
	}
	if more := len(odd) - mostLines; more > 0 {
		f.Evidence = append(f.Evidence, check.Evidence{Source: c.source, Got: words.Count(more, "other value")})
	}
	if !d.hasNorm() {
		f.Summary = fmt.Sprintf("the %s do not have the same %s, and no value has the majority: %s; %s",
			d.kind, c.noun, d.differences(odd, len(f.About)), c.cost)
		return f
	}
	if len(f.About) == 1 {
		f.Subject = f.About[0]
	}
	f.Summary = fmt.Sprintf("on %d of %d %s the %s is %s, but %s: %s",
		len(most.names), d.known, d.kind, c.noun, most.value, d.differences(odd, len(f.About)), c.cost)
	return f
}

// differences lists the values that machines have, and the machines if all of them are few.
func (d division) differences(groups []group, machines int) string {
	var parts []string
	for _, g := range groups {
		on := d.count(g)
		if machines <= mostNames {
			on = words.Few(g.names, mostNames)
		}
		parts = append(parts, g.value+" on "+on)
	}
	return words.Few(parts, mostValues)
}

func (d division) count(g group) string {
	return words.Count(len(g.names), strings.TrimSuffix(string(d.kind), "s"))
}

// machines names the machines of a group, and counts them if they are several: "9 pods: a, b, c and 6 more".
func (d division) machines(g group) string {
	if len(g.names) == 1 {
		return g.names[0]
	}
	return d.count(g) + ": " + words.Few(g.names, mostNames)
}

// firmware compares the NICs of each model, also within one machine.
func firmware(members []Member) []check.Finding {
	models := map[string]bool{}
	for _, m := range members {
		for model := range m.firmware {
			models[model] = true
		}
	}
	var findings []check.Finding
	for _, model := range slices.Sorted(maps.Keys(models)) {
		d := divide(members, func(m Member) string { return m.firmware[model] })
		if len(d.groups) < 2 {
			continue
		}
		fix := check.ByAdmin("Install the same firmware on all of these NICs.", "mlxfwmanager --query",
			"ethtool -i INTERFACE")
		findings = append(findings, d.finding(check.Finding{Check: Firmware, Status: check.Warn, Fix: fix}, comparison{
			noun:   "firmware of " + model,
			source: "/sys/class/infiniband/*/fw_ver",
			cost:   "the older one may have a bug that the other does not have",
		}))
	}
	return findings
}
