// Package rail decides which RDMA devices this pod really owns and can use, and says why for each.
package rail

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// Scope says whose devices to use.
type Scope string

// A pod uses the devices that it was given; a host (bare metal, host network) uses the physical functions.
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
	Sources   []string                 `json:"sources,omitempty"` // that say that the pod was given it
	Evidence  []check.Evidence         `json:"evidence"`
	Health    []check.Finding          `json:"health,omitempty"`
}

// Name returns the rail as NCCL_IB_HCA writes it: mlx5_6:1.
func (r Rail) Name() string { return r.Device + ":" + strconv.Itoa(r.Port) }

// Rejected is a device, or an allocation that matches no device, that the pod does not use, with the reason.
type Rejected struct {
	Device   string           `json:"device"` // RDMA device; for an allocation without one, its PCI address or ID
	Port     int              `json:"port,omitempty"`
	Cause    check.ID         `json:"cause"`
	Reason   string           `json:"reason"`
	Sources  []string         `json:"sources,omitempty"` // that say that the pod was given it
	Missed   bool             `json:"missed,omitempty"`  // this container was given it for RDMA: it should be a rail
	Evidence []check.Evidence `json:"evidence,omitempty"`

	reason reason
	own    *check.Fix // if the fix of the Cause does not apply
}

// reason is a rejection that other judgements depend on. Rejected.Reason is its sentence.
type reason int

const (
	otherReason   reason = iota
	nodeMissing          // usual in shared RDMA mode, where every pod sees every HCA of the node in sysfs
	nodeDenied           // the container's cgroup or the file's mode forbids opening the verbs node
	besideVirtual        // a physical function next to virtual ones; nothing says what was allocated
	elasticFabric        // AWS EFA that this container can open
)

func (r Rejected) fix() *check.Fix { return cmp.Or(r.own, fixes[r.Cause]) }

// Name returns the device, with its port if only that is rejected.
func (r Rejected) Name() string { return r.ref().String() }

func (r Rejected) ref() check.Ref {
	if r.Port == 0 {
		return check.DeviceRef(r.Device)
	}
	return check.PortRef(r.Device, r.Port)
}

// Resolution has the pod's rails and the rejected devices.
type Resolution struct {
	Scope     Scope           `json:"scope"`
	Rails     []Rail          `json:"rails"`
	Rejected  []Rejected      `json:"rejected,omitempty"`
	Conflicts []check.Finding `json:"conflicts,omitempty"`
}

// Findings returns the faults next to usable rails: devices that should also have been rails, conflicts between
// sources, and the rails' health. Without a rail, NoRail reports the devices.
func (r Resolution) Findings() []check.Finding {
	var findings []check.Finding
	for _, x := range r.Rejected {
		if x.Missed && len(r.Rails) > 0 {
			findings = append(findings, check.Finding{
				Check: x.Cause, Status: check.Fail, Subject: x.ref(),
				Summary: "given to this pod but not used: " + x.Reason, Evidence: x.Evidence, Fix: x.fix(),
			})
		}
	}
	findings = append(findings, r.Conflicts...)
	for _, rail := range r.Rails {
		findings = append(findings, rail.Health...)
	}
	return findings
}

// Devices returns the names of the rails' devices, each once.
func (r Resolution) Devices() []string {
	var names []string
	for _, rail := range r.Rails {
		names = append(names, rail.Device)
	}
	return slices.Compact(names)
}

// Names returns the names of the rails.
func (r Resolution) Names() []string {
	names := make([]string, 0, len(r.Rails))
	for _, rail := range r.Rails {
		names = append(names, rail.Name())
	}
	return names
}

// Resolve finds the rails. A device is the pod's when its uverbs node is there and opens, its port is ACTIVE and, for
// RoCE, a GID's interface and address live in this network namespace. The device plugins, DRA and multus add evidence,
// and if they name devices that this container can reach, the others are rejected.
func Resolve(s host.Snapshot, scope Scope) Resolution {
	j := judge{s: &s, scope: scope, result: Resolution{Scope: scope, Rails: []Rail{}}}
	j.claims = j.collect()
	j.attribute()
	j.restrict()
	for _, d := range s.Devices {
		j.device(d)
	}
	j.unifyLinkLayer()
	j.dropManagementNICs()
	j.health()
	j.proximity()
	j.foreignDevices()
	j.unassignedNamespace()
	j.unusedPhysical()
	return j.result
}

// Wanted returns which devices can become rails or matter to the user's filter, from a Snapshot that has only their
// names and addresses: the devices that an allocation names, otherwise those whose verbs node is in this container.
func Wanted(s host.Snapshot) func(device string) bool {
	j := judge{s: &s, idsOnly: true}
	j.claims = j.collect()
	if j.attribute(); len(j.result.Rejected) > 0 { // the plain list names no device: read the other sources, too
		j = judge{s: &s}
		j.claims = j.collect()
		j.attribute()
	}
	j.restrict()
	_, _, filter := s.UserSetting("NCCL_IB_HCA")
	return func(device string) bool {
		return s.AccessTo(device) != host.Missing && (filter || !j.restricted || len(j.given[device]) > 0)
	}
}

// judge carries one resolution from step to step.
type judge struct {
	s       *host.Snapshot
	scope   Scope
	idsOnly bool // names and verbs nodes next to PCI addresses are not needed
	claims  []claim

	given     map[string][]string // device -> sources that say that the pod was given it
	own       map[string]bool     // given to this container, not only to the pod
	certain   map[string]bool     // given by an address, which cannot be renamed
	misplaced map[string]claim    // given by a name that is at another address than the claim says

	restricted   bool // only given devices are the pod's
	virtualGiven bool // the pod has VFs or subfunctions: a PF is then its own only if given by its address
	result       Resolution
}

func (j *judge) conflict(f check.Finding) { j.result.Conflicts = append(j.result.Conflicts, f) }

func (j *judge) reject(device string, port int, r Rejected) {
	r.Device, r.Port, r.Sources, r.Missed = device, port, j.given[device], j.missed(device)
	j.result.Rejected = append(j.result.Rejected, r)
}

// missed reports whether a rejected device should have been a rail. A device that only the pod was given may be another
// container's, unless its node is here.
func (j *judge) missed(device string) bool {
	return len(j.given[device]) > 0 && (j.own[device] || j.s.AccessTo(device) != host.Missing)
}

// restrict decides whether the given devices exclude the others. An allocation that this container cannot reach, such
// as a storage NIC's without isRdma, says nothing about the nodes that a shared device plugin mounts next to it.
func (j *judge) restrict() {
	for name := range j.given {
		j.restricted = j.restricted || j.s.AccessTo(name) != host.Missing
	}
	for _, d := range j.s.Devices {
		access := j.s.AccessTo(d.Name)
		given := access != host.Missing && len(j.given[d.Name]) > 0
		if !j.restricted {
			given = access.MayOpen()
		}
		j.virtualGiven = j.virtualGiven || d.IsVirtual() && given
	}
}
