// Package rail decides which RDMA devices this pod really owns and can use, and says why for each.
package rail

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// Scope says whose devices are wanted.
type Scope string

// A pod takes what it was given; a host (bare metal, host network) takes the physical functions.
const (
	Pod  Scope = "pod"
	Host Scope = "host"
)

// Rail is one port of an RDMA device that this pod owns and can use.
type Rail struct {
	Device    string                   `json:"device"` // mlx5_6
	Port      int                      `json:"port"`
	Virtual   bool                     `json:"virtual"` // a VF or subfunction
	LinkLayer string                   `json:"linkLayer"`
	Rate      host.Fact[host.Rate]     `json:"rate,omitzero"`
	Netdev    string                   `json:"netdev,omitempty"`
	MTU       host.Fact[int]           `json:"mtu,omitzero"`  // of the netdev
	GID       *host.GID                `json:"gid,omitempty"` // the one to use; RoCE only
	Function  host.Fact[host.Function] `json:"function,omitzero"`
	Nearest   []Proximity              `json:"nearestGPUs,omitempty"`
	Sources   []string                 `json:"sources,omitempty"` // who says that the pod was given it
	Evidence  []check.Evidence         `json:"evidence"`
	Health    []check.Finding          `json:"health,omitempty"`
}

// Name is the rail as NCCL_IB_HCA writes it: mlx5_6:1.
func (r Rail) Name() string { return fmt.Sprintf("%s:%d", r.Device, r.Port) }

// TurnedAway is a device, or an allocation without one, that is not used, and why.
type TurnedAway struct {
	Device   string           `json:"device"` // RDMA device; of an allocation without one, its PCI address or id
	Port     int              `json:"port,omitempty"`
	Cause    check.ID         `json:"cause"`
	Reason   string           `json:"reason"`
	Sources  []string         `json:"sources,omitempty"` // who says that the pod was given it
	Evidence []check.Evidence `json:"evidence,omitempty"`
}

// Name is the device, with its port where that matters.
func (t TurnedAway) Name() string {
	if t.Port == 0 {
		return t.Device
	}
	return fmt.Sprintf("%s:%d", t.Device, t.Port)
}

// Resolution is what Resolve decided.
type Resolution struct {
	Scope      Scope           `json:"scope"`
	Rails      []Rail          `json:"rails"`
	TurnedAway []TurnedAway    `json:"turnedAway,omitempty"`
	Conflicts  []check.Finding `json:"conflicts,omitempty"`
}

// Findings returns everything that is not as it should be: the conflicts, then the rails' health.
func (r Resolution) Findings() []check.Finding {
	findings := append([]check.Finding(nil), r.Conflicts...)
	for _, rail := range r.Rails {
		findings = append(findings, rail.Health...)
	}
	return findings
}

// Devices are the names of the rails' devices, each once.
func (r Resolution) Devices() []string {
	var names []string
	for _, rail := range r.Rails {
		if len(names) == 0 || names[len(names)-1] != rail.Device {
			names = append(names, rail.Device)
		}
	}
	return names
}

// Resolve finds the rails. A device is the pod's when its uverbs node is there and opens, its port is ACTIVE and, for
// RoCE, a GID's interface and address live in this network namespace; what the device plugins, DRA and multus say is
// evidence beside that, and where they name devices, the others are turned away.
func Resolve(s host.Snapshot, scope Scope) Resolution {
	j := judge{s: &s, scope: scope, result: Resolution{Scope: scope, Rails: []Rail{}}}
	j.claims = j.collect()
	j.given = j.attribute()
	j.virtualGiven = j.hasVirtual()
	for _, d := range s.Devices {
		j.device(d)
	}
	j.unifyLinkLayer()
	j.dropSlowStrangers()
	j.health()
	j.proximity()
	j.notice()
	return j.result
}

// Wanted says which devices can become rails, from a Snapshot that holds no more of them than their places: those that
// an allocation names, else those whose verbs node is in this container.
func Wanted(s host.Snapshot) func(device string) bool {
	j := judge{s: &s, idsOnly: true}
	j.claims = j.collect()
	given := j.attribute()
	return func(device string) bool {
		u, ok := s.UverbsOf(device)
		reachable := ok && u.Access != host.Missing || len(s.Uverbs) == 0
		return reachable && (len(given) == 0 || len(given[device]) > 0)
	}
}

// judge carries one resolution from step to step.
type judge struct {
	s            *host.Snapshot
	scope        Scope
	idsOnly      bool // names and nodes beside the PCI addresses are not needed
	claims       []claim
	given        map[string][]string // device -> who says that the pod was given it
	virtualGiven bool
	result       Resolution
}

func (j *judge) conflict(f check.Finding) { j.result.Conflicts = append(j.result.Conflicts, f) }

func (j *judge) turnAway(d host.Device, port int, cause check.ID, reason string, evidence ...check.Evidence) {
	j.result.TurnedAway = append(j.result.TurnedAway, TurnedAway{
		Device: d.Name, Port: port, Cause: cause, Reason: reason, Sources: j.given[d.Name], Evidence: evidence,
	})
}

// hasVirtual reports whether the pod was given VFs or subfunctions: then physical functions are never its own.
func (j *judge) hasVirtual() bool {
	for _, d := range j.s.Devices {
		if !d.IsVirtual() {
			continue
		}
		if len(j.given) > 0 {
			if len(j.given[d.Name]) > 0 {
				return true
			}
			continue
		}
		if access, _ := j.access(d); access == host.Openable || access == host.NotProbed {
			return true
		}
	}
	return false
}

// device judges one device; the first reason that holds is the one given.
func (j *judge) device(d host.Device) {
	if cause, reason, evidence := j.refuse(d); reason != "" {
		j.turnAway(d, 0, cause, reason, evidence...)
		return
	}
	if len(d.Ports) == 0 {
		j.turnAway(d, 0, PortActive, "no port could be read",
			check.Evidence{Source: "/sys/class/infiniband/" + d.Name + "/ports", Got: "nothing"})
	}
	for _, p := range d.Ports {
		j.port(d, p)
	}
}

// refuse gives the reason for which the whole device is out; "" when it is not.
func (j *judge) refuse(d host.Device) (check.ID, string, []check.Evidence) {
	sources := j.given[d.Name]
	if access, evidence := j.access(d); access != host.Openable && access != host.NotProbed {
		return UverbsOpenable, accessReason(access, evidence), []check.Evidence{evidence}
	}
	switch {
	case len(sources) == 0 && len(j.given) > 0:
		return DeviceAllocated, "not allocated to this pod, which was given " + strings.Join(j.givenNames(), ", "), nil
	case j.scope == Pod && j.virtualGiven && !d.IsVirtual() && !hasVirtualParent(d):
		return DeviceAllocated, "physical function, in a pod that was given virtual functions", physicalEvidence(d)
	case j.scope == Host && d.IsVirtual() && len(sources) == 0:
		return DeviceAllocated, "virtual function; --scope host takes the physical ones", virtualEvidence(d)
	case d.NodeType.Value == "RNIC":
		return TransportSupported, "iWARP; NCCL needs InfiniBand or RoCE",
			[]check.Evidence{{Source: attr(d, "node_type"), Got: "RNIC", Want: "CA"}}
	case d.Function.Value.Driver.Value == "efa":
		return TransportSupported, "AWS EFA; NCCL reaches it only through the aws-ofi-nccl plugin",
			[]check.Evidence{{Source: "driver of " + d.Name, Got: "efa"}}
	}
	return "", "", nil
}

// hasVirtualParent keeps Soft-RoCE over a VF's interface with the virtual ones.
func hasVirtualParent(d host.Device) bool { return d.IsSoftware() && d.Function.Value.IsVF() }

func physicalEvidence(d host.Device) []check.Evidence {
	f := d.Function.Value
	return []check.Evidence{{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/physfn", Got: "absent", Want: "a link to the PF"}}
}

func virtualEvidence(d host.Device) []check.Evidence {
	f := d.Function.Value
	return []check.Evidence{{Source: "/sys/bus/pci/devices/" + f.Address.String() + "/physfn", Got: f.PhysFn.String()}}
}

// access says whether this process can open the device's verbs node, and where that was seen.
func (j *judge) access(d host.Device) (host.Access, check.Evidence) {
	u, ok := j.s.UverbsOf(d.Name)
	if !ok {
		e := check.Evidence{Source: "/sys/class/infiniband_verbs", Got: "no node belongs to " + d.Name}
		if len(j.s.Uverbs) == 0 {
			return host.NotProbed, e
		}
		return host.Missing, e
	}
	got := string(u.Access)
	if u.Why != "" {
		got += ": " + u.Why
	}
	return u.Access, check.Evidence{Source: "/dev/infiniband/" + u.Name, Got: got, Want: string(host.Openable)}
}

// notHere is the usual reason in shared RDMA mode, where every pod sees every HCA of the node in sysfs.
const notHere = "its verbs node is not in this container"

func accessReason(access host.Access, e check.Evidence) string {
	node := strings.TrimPrefix(e.Source, "/dev/infiniband/")
	switch {
	case access == host.Missing:
		return notHere
	case access == host.Denied:
		return node + " not permitted"
	default:
		return node + ": " + e.Got
	}
}

func (j *judge) givenNames() []string {
	var names []string
	for _, d := range j.s.Devices {
		if len(j.given[d.Name]) > 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// port judges one port of a device that is the pod's.
func (j *judge) port(d host.Device, p host.Port) {
	at := portPath(d, p)
	if state, ok := p.State.Get(); !ok || state != "ACTIVE" {
		reason := fmt.Sprintf("port %d %s", p.Number, state)
		if !ok {
			reason = fmt.Sprintf("state of port %d could not be read: %s", p.Number, p.State.Why)
		} else if phys, known := p.PhysState.Get(); known {
			reason += " (" + phys + ")"
		}
		j.turnAway(d, p.Number, PortActive, reason,
			check.Evidence{Source: at + "/state", Got: p.State.String(), Want: "ACTIVE"},
			check.Evidence{Source: at + "/phys_state", Got: p.PhysState.String(), Want: "LinkUp"})
		return
	}
	rail := Rail{
		Device: d.Name, Port: p.Number, Virtual: d.IsVirtual(), LinkLayer: p.LinkLayer.Value, Rate: p.Rate,
		Function: d.Function, Sources: j.given[d.Name],
	}
	_, access := j.access(d)
	rail.Evidence = append(rail.Evidence, access, check.Evidence{Source: at + "/state", Got: "ACTIVE", Want: "ACTIVE"})
	switch p.LinkLayer.Value {
	case host.InfiniBand:
		if len(d.Netdevs) > 0 {
			rail.Netdev = d.Netdevs[0]
		}
	case host.Ethernet:
		choice := j.chooseGID(p)
		if choice.gid == nil {
			j.turnAway(d, p.Number, GIDUsable, choice.reason, choice.evidence(at)...)
			return
		}
		rail.GID, rail.Netdev = choice.gid, choice.netdev
		rail.Evidence = append(rail.Evidence, choice.evidence(at)...)
		rail.Health = append(rail.Health, choice.findings(rail)...)
	default:
		j.turnAway(d, p.Number, TransportSupported, fmt.Sprintf("link layer %s is neither InfiniBand nor Ethernet", p.LinkLayer),
			check.Evidence{Source: at + "/link_layer", Got: p.LinkLayer.String()})
		return
	}
	if link, ok := j.s.Link(rail.Netdev); ok {
		rail.MTU = link.MTU
	}
	for _, source := range rail.Sources {
		rail.Evidence = append(rail.Evidence, check.Evidence{Source: source, Got: "names " + d.Name})
	}
	j.result.Rails = append(j.result.Rails, rail)
}

func attr(d host.Device, name string) string { return "/sys/class/infiniband/" + d.Name + "/" + name }

func portPath(d host.Device, p host.Port) string {
	return fmt.Sprintf("/sys/class/infiniband/%s/ports/%d", d.Name, p.Number)
}
