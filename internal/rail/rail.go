// Package rail decides which RDMA devices this pod really owns and can use, and says why for each.
package rail

import (
	"cmp"
	"fmt"
	"strconv"

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
func (r Rail) Name() string { return r.Device + ":" + strconv.Itoa(r.Port) }

// Rejected is a device, or an allocation that matches no device, that the pod does not use, with the reason.
type Rejected struct {
	Device   string           `json:"device"` // RDMA device; of an allocation without one, its PCI address or id
	Port     int              `json:"port,omitempty"`
	Cause    check.ID         `json:"cause"`
	Reason   string           `json:"reason"`
	Sources  []string         `json:"sources,omitempty"` // who says that the pod was given it
	Missed   bool             `json:"missed,omitempty"`  // this container was given it for RDMA, so that it should be a rail
	Evidence []check.Evidence `json:"evidence,omitempty"`

	reason reason
	own    *check.Fix // if the fix of the Cause does not apply
}

// reason tells the rejections apart that others depend on. Reason is its sentence.
type reason int

const (
	otherReason   reason = iota
	nodeMissing          // usual in shared RDMA mode, where every pod sees every HCA of the node in sysfs
	nodeDenied           // the container's cgroup or the file's mode forbids to open the verbs node
	besideVirtual        // a physical function, and nothing says what was allocated
)

// fix returns how to make the device usable.
func (r Rejected) fix() *check.Fix { return cmp.Or(r.own, fixes[r.Cause]) }

// Name is the device, with its port where that matters.
func (r Rejected) Name() string {
	if r.Port == 0 {
		return r.Device
	}
	return fmt.Sprintf("%s:%d", r.Device, r.Port)
}

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
	Rejected  []Rejected      `json:"turnedAway,omitempty"`
	Conflicts []check.Finding `json:"conflicts,omitempty"`
}

// Findings returns everything that is not as it should be beside a rail: the devices that should have been rails, too,
// the conflicts, the rails' health. Without a rail NoRail speaks of the devices.
func (r Resolution) Findings() []check.Finding {
	var findings []check.Finding
	for _, t := range r.Rejected {
		if t.Missed && len(r.Rails) > 0 {
			findings = append(findings, check.Finding{
				Check: t.Cause, Status: check.Fail, Subject: t.ref(),
				Summary: "given to this pod and not used: " + t.Reason, Evidence: t.Evidence, Fix: t.fix(),
			})
		}
	}
	findings = append(findings, r.Conflicts...)
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
// evidence beside that, and where they name devices that this container can reach, the others are rejected.
func Resolve(s host.Snapshot, scope Scope) Resolution {
	j := judge{s: &s, scope: scope, result: Resolution{Scope: scope, Rails: []Rail{}}}
	j.claims = j.collect()
	j.attribute()
	j.restrict()
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

// Wanted says which devices can become rails, or take part in the judgement of the user's filter, from a Snapshot that
// holds no more of them than their places: those that an allocation names, else those whose verbs node is in this
// container.
func Wanted(s host.Snapshot) func(device string) bool {
	j := judge{s: &s, idsOnly: true}
	j.claims = j.collect()
	if j.attribute(); len(j.result.Rejected) > 0 { // a plain list leads to no device: what else is said of it counts
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
	idsOnly bool // names and nodes beside the PCI addresses are not needed
	claims  []claim

	given     map[string][]string // device -> who says that the pod was given it
	own       map[string]bool     // given, not just to the pod but to this container
	certain   map[string]bool     // given by what cannot be renamed
	misplaced map[string]claim    // given by a name that stands at another place than the claim says

	restricted   bool // only what was given is the pod's
	virtualGiven bool // the pod has VFs or subfunctions: then physical functions are never its own
	result       Resolution
}

func (j *judge) conflict(f check.Finding) { j.result.Conflicts = append(j.result.Conflicts, f) }

// reject adds a rejection of a device, or of one of its ports.
func (j *judge) reject(device string, port int, r Rejected) {
	r.Device, r.Port, r.Sources, r.Missed = device, port, j.given[device], j.missed(device)
	j.result.Rejected = append(j.result.Rejected, r)
}

// missed reports whether a device that is no rail should have been one. What only the pod was given may be another
// container's, unless its node is here.
func (j *judge) missed(device string) bool {
	return len(j.given[device]) > 0 && (j.own[device] || j.s.AccessTo(device) != host.Missing)
}

// restrict decides whether what was given rules the other devices out. An allocation that this container cannot reach,
// a storage NIC's without isRdma, says nothing about the nodes that a shared device plugin mounts beside it.
func (j *judge) restrict() {
	for name := range j.given {
		j.restricted = j.restricted || j.s.AccessTo(name) != host.Missing
	}
	for _, d := range j.s.Devices {
		access := j.s.AccessTo(d.Name)
		given := access != host.Missing && len(j.given[d.Name]) > 0
		if !j.restricted {
			given = access == host.Openable || access == host.NotProbed
		}
		j.virtualGiven = j.virtualGiven || d.IsVirtual() && given
	}
}
