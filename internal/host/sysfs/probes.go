package sysfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"time"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
	"github.com/railhead/railhead/internal/host/replay"
)

// Probes ask a machine for facts that no file has. Without a probe the fact comes from files if possible, and is "not
// probed" otherwise.
type Probes struct {
	Now        func() time.Time
	Environ    func() []string             // NAME=value of this process
	OpenDevice func(path string) error     // opens a character device read-write and closes it
	Interfaces func() ([]host.Link, error) // of this network namespace that have addresses, by index
	UID        func() int
	ShmBytes   func() (uint64, error)      // size of /dev/shm
	ShmFree    func() (uint64, error)      // of it
	LockMemory func(bytes uint64) error    // locks a mapping of that size and unmaps it
	VFs        func() ([]host.Link, error) // the interfaces of this namespace that have virtual functions
	Wire       func() (host.Wire, error)   // RDMA devices of this network namespace, in motion
	// Namespace returns the network namespace of a process, or "" if this process is in the same one. InterfaceMTUs
	// returns the MTUs of the interfaces of RDMA ports there.
	Namespace     func(pid int) (string, error)
	InterfaceMTUs func(pid int) (map[netlink.Port]host.Fact[int], error)
	// Route returns the gateway, if any, by which an address bound to its interface reaches dest.
	Route routeProbe
	// Earlier is an earlier reading of the machine, from a recording or taken before; nil: there is none.
	Earlier *host.Snapshot
}

type routeProbe func(from netip.Addr, link int, dest netip.Addr) (gateway netip.Addr, err error)

// probesFile is the file of a recording with the answers of the probes.
const probesFile = "probes.json"

// answers is the recorded form of Probes; null where a probe was not asked.
type answers struct {
	Taken     time.Time              `json:"taken,omitzero"`
	Environ   map[string]string      `json:"environ"`
	Open      map[string]string      `json:"open"`      // path -> "ok" or the error's name
	Addresses map[int][]netip.Prefix `json:"addresses"` // interface index -> addresses
	ShmBytes  host.Fact[uint64]      `json:"shmBytes,omitzero"`
	ShmFree   host.Fact[uint64]      `json:"shmFree,omitzero"`
	Lock      map[string]string      `json:"lock,omitempty"`   // bytes -> "ok" or the error's name
	VFs       host.Fact[[]host.Link] `json:"vfs,omitzero"`     //
	Routes    map[string]string      `json:"routes,omitempty"` // "from index dest" -> gateway, neighbourRoute or error
	Wire      *host.Fact[host.Wire]  `json:"wire,omitempty"`
	Earlier   *host.Snapshot         `json:"earlier,omitempty"`
	UID       int                    `json:"uid"`
}

// recordedProbes answers from the archive's probes.json; without that file nothing was probed.
func recordedProbes(root fs.FS) (Probes, error) {
	data, err := fs.ReadFile(root, probesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Probes{}, nil
	}
	if err != nil {
		return Probes{}, err
	}
	var a answers
	if err := json.Unmarshal(data, &a); err != nil {
		return Probes{}, err
	}
	p := Probes{Now: func() time.Time { return a.Taken }, UID: func() int { return a.UID }, Earlier: a.Earlier}
	if a.Environ != nil {
		p.Environ = func() []string {
			env := make([]string, 0, len(a.Environ))
			for name, value := range a.Environ {
				env = append(env, name+"="+value)
			}
			return env
		}
	}
	if a.Addresses != nil {
		p.Interfaces = a.interfaces
	}
	p.ShmBytes, p.ShmFree = recordedSize(a.ShmBytes), recordedSize(a.ShmFree)
	if a.Open != nil {
		p.OpenDevice = func(path string) error { return outcome(a.Open[path]) }
	}
	if a.Lock != nil {
		p.LockMemory = func(bytes uint64) error { return outcome(a.Lock[strconv.FormatUint(bytes, 10)]) }
	}
	if !a.VFs.IsZero() {
		p.VFs = a.virtualFunctions
	}
	if a.Routes != nil {
		p.Route = a.route
	}
	if a.Wire != nil {
		p.Wire = a.wire
	}
	return p, nil
}

// recordedSize answers as recorded, and is nil if nothing was.
func recordedSize(size host.Fact[uint64]) func() (uint64, error) {
	switch {
	case size.IsZero():
		return nil
	case size.IsUnreadable():
		return func() (uint64, error) { return 0, errors.New(size.Why) }
	}
	return func() (uint64, error) { return size.Value, nil }
}

// interfaces returns only addresses: all other facts are in the recorded files.
func (a *answers) interfaces() ([]host.Link, error) {
	links := make([]host.Link, 0, len(a.Addresses)) // not nil: they were asked for
	for index, prefixes := range a.Addresses {
		links = append(links, host.Link{Index: host.Know(index), Addresses: host.Know(prefixes)})
	}
	return links, nil
}

func (a *answers) virtualFunctions() ([]host.Link, error) {
	if a.VFs.IsUnreadable() {
		return nil, outcome(a.VFs.Why)
	}
	return a.VFs.Value, nil
}

func (a *answers) wire() (host.Wire, error) {
	if a.Wire.IsUnreadable() {
		return host.Wire{}, outcome(a.Wire.Why)
	}
	return a.Wire.Value, nil
}

func outcome(name string) error {
	switch name {
	case "ok":
		return nil
	case "":
		return errNotProbed
	}
	if errno, ok := replay.Errno(name); ok {
		return errno
	}
	return errors.New(name)
}

// neighbourRoute is a recorded route without a gateway.
const neighbourRoute = "neighbour"

func (a *answers) route(from netip.Addr, link int, dest netip.Addr) (netip.Addr, error) {
	answer := a.Routes[routeQuestion(from, link, dest)]
	if gateway, err := netip.ParseAddr(answer); err == nil {
		return gateway, nil
	}
	if answer == neighbourRoute {
		return netip.Addr{}, nil
	}
	return netip.Addr{}, outcome(answer)
}

func routeQuestion(from netip.Addr, link int, dest netip.Addr) string {
	return fmt.Sprintf("%s %d %s", from, link, dest)
}

// errNotProbed is the answer of a recorded probe to a question that the recording does not have.
var errNotProbed = errors.New("not probed")
