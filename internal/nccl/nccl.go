// Package nccl derives the environment of NCCL and related libraries from the pod's rails, each variable with its
// reason.
package nccl

import (
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Mode is the network that the user requests.
type Mode string

// RDMA refuses TCP, Auto prefers RDMA, TCP forces sockets.
const (
	RDMA Mode = "rdma"
	Auto Mode = "auto"
	TCP  Mode = "tcp"
)

// Policy holds the decisions of the user. The zero value leaves all of them to the machine.
type Policy struct {
	Mode         Mode   // "" is RDMA
	Override     bool   // replace settings of the user
	Correct      bool   // replace settings of the user that contradict the machine
	GDRLevel     string // NCCL_NET_GDR_LEVEL; "" leaves NCCL's default
	SocketIfname string // interface for bootstrap; "" is the default route's
	Diagnostics  bool   // NCCL examines the nodes and measures their network first
}

// Source says who decided a variable.
type Source string

// The sources of a variable.
const (
	Computed  Source = "computed"   // from the machine
	Decided   Source = "policy"     // from a flag
	UserSet   Source = "user"       // from the environment or an NCCL configuration file, and kept
	LeftUnset Source = "left unset" // on purpose; not part of the environment
)

// Var is one environment variable and why it has its value.
type Var struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Reason string `json:"reason"`
	Source Source `json:"source"`
}

// Compute derives the environment from the rails. Without rails, or in mode TCP, it forces sockets.
func Compute(rails []rail.Rail, s host.Snapshot, p Policy) ([]Var, []check.Finding) {
	c := &computation{settings: settings{&s, p, map[string]bool{}}, versions: libraryVersions(s)}
	c.socketInterface()
	c.sharedMemory()
	askForDiagnostics(c)
	if p.Mode == TCP || len(rails) == 0 {
		c.sockets()
		return mergedVars(c), c.findings
	}
	c.rails = filteredRails(c, rails)
	c.switchedOff(rails)
	c.network()
	c.set("NCCL_IB_HCA", "="+names(rails), Computed, "the pod's own rails, matched exactly: a bare name is a prefix")
	c.gidIndex()
	c.clear(gidVariables)
	c.fusion()
	c.gpuDirect()
	c.otherLibraries(rails)
	return mergedVars(c), c.findings
}

// computation carries one Compute from rule to rule.
type computation struct {
	settings
	versions []version
	rails    []rail.Rail // those that NCCL will use, after the user's own filter
	ifname   string      // bootstrap interface; "" when there is none
	vars     []Var
	findings []check.Finding
}

// settings of the user: in the environment, in NCCL's files and by flags.
type settings struct {
	s         *host.Snapshot
	policy    Policy
	corrected map[string]bool // those that contradict the machine
}

// value returns a setting of the user that this run keeps.
func (c settings) value(name string) (string, bool) {
	value, _, set := c.s.UserSetting(name)
	return value, set && !c.replaces(name)
}

// replaces reports whether this run replaces a setting of the user.
func (c settings) replaces(name string) bool { return c.policy.Override || c.corrected[name] }

func (c settings) origin(name string) string {
	_, origin, _ := c.s.UserSetting(name)
	return origin
}

func (c *computation) set(name, value string, source Source, reason string) {
	c.vars = append(c.vars, Var{Name: name, Value: value, Reason: reason, Source: source})
}

func (c *computation) leave(name, reason string) {
	c.vars = append(c.vars, Var{Name: name, Reason: reason, Source: LeftUnset})
}

// say adds a finding. Inlined, it would add 8 kB to railhead-pod.
//
//go:noinline
func (c *computation) say(f check.Finding) { c.findings = append(c.findings, f) }

// otherLibraries sets the same devices for libraries that choose their own.
func (c *computation) otherLibraries(rails []rail.Rail) {
	c.set(ucxList, names(rails), Computed, "UCX (MPI, NIXL) on the same rails")
	c.set(nvshmemList, names(rails), Computed, "NVSHMEM on the same rails")
	// nvshmem src/include/.../env_defs.h: "NVSHMEM_ENABLE_NIC_PE_MAPPING must be set to 1 for this variable to be
	// effective"
	c.set("NVSHMEM_ENABLE_NIC_PE_MAPPING", "1", Computed, "without it NVSHMEM ignores NVSHMEM_HCA_LIST")
	for _, name := range []string{ucxList, nvshmemList} {
		sayStrangers(c, name, rails)
	}
}

// NamesDevices are the variables whose values name devices or interfaces of one machine, or count in its GID tables.
var NamesDevices = []string{
	"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME", ucxList, nvshmemList,
}

// names joins rails as NCCL and UCX list them: mlx5_6:1,mlx5_7:1.
func names(rails []rail.Rail) string {
	list := make([]string, 0, len(rails))
	for _, r := range rails {
		list = append(list, r.Name())
	}
	return strings.Join(list, ",")
}
