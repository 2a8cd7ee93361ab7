package sysfs

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/host"
)

// maxPorts bounds the walk over ports, which the kernel numbers from 1 without gaps.
const maxPorts = 32

// readPorts reads the ports in order up to the first number that does not exist. If a folder cannot be searched, an
// unreadable state does not show that there is a port.
func readPorts(t *tree, dir string, describe func(*tree, string, host.Port) host.Port) []host.Port {
	var ports []host.Port
	for n := 1; n <= maxPorts; n++ {
		at := dir + "/" + strconv.Itoa(n)
		state := parsed(t, at+"/state", afterNumber)
		if state.State == host.Absent || state.IsUnreadable() && !t.exists(at) {
			break
		}
		p := host.Port{Number: n, State: state}
		p.Rate = parsed(t, at+"/rate", host.ParseRate)
		p.LinkLayer = t.text(at + "/link_layer")
		ports = append(ports, describe(t, at, p))
	}
	return ports
}

func describePort(t *tree, at string, p host.Port) host.Port {
	p.PhysState = parsed(t, at+"/phys_state", afterNumber)
	p.LID = parsed(t, at+"/lid", parseInt)
	p.SMLID = parsed(t, at+"/sm_lid", parseInt)
	p.Counters = counters(t, at)
	slots := t.list(at + "/gids")
	p.GIDs = gidsIn(t, at, slots)
	if len(slots) > 0 {
		p.GIDTable = host.Know(len(slots))
	}
	return p
}

func gidsIn(t *tree, at string, slots []string) []host.GID {
	var gids []host.GID
	numbers := make([]int, 0, len(slots))
	for _, slot := range slots {
		if n, err := strconv.Atoi(slot); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if g, filled, _ := gidSlot(t, at, n); filled {
			g.Type, g.Netdev = gidAttribute(t, at, "types", n), gidAttribute(t, at, "ndevs", n)
			gids = append(gids, g)
		}
	}
	return gids
}

// gidSlot reads the address of one slot. An empty slot reads as zeros, its attributes as EINVAL.
func gidSlot(t *tree, at string, n int) (g host.GID, filled, exists bool) {
	name := at + "/gids/" + strconv.Itoa(n)
	text := t.text(name)
	if text.State == host.Absent {
		return g, false, false
	}
	addr, err := host.ParseGID(text.Value)
	if text.IsKnown() && err != nil {
		t.problem(name, "parse", err)
	}
	if err != nil || addr.IsUnspecified() {
		return g, false, true
	}
	return host.GID{Index: n, Addr: addr}, true, true
}

// gidAttribute reads the type or interface of a GID. EINVAL means that it has none (drivers/infiniband/core/sysfs.c).
func gidAttribute(t *tree, at, attribute string, n int) host.Fact[string] {
	name := at + "/gid_attrs/" + attribute + "/" + strconv.Itoa(n)
	data, err := readBounded(t.root, name)
	switch {
	case err == nil && len(data) <= maxAttribute:
		if text := strings.TrimSpace(data); text != "" {
			return host.Know(text)
		}
		return host.Fact[string]{}
	case err == nil:
		err = errTooLong
	case isAbsent(err), errors.Is(err, syscall.EINVAL):
		return host.Fact[string]{}
	}
	return host.Unread[string](t.problem(name, "read", err))
}

// counters reads the counters of a port. In a pod in shared RDMA mode the kernel shows none.
func counters(t *tree, at string) map[string]uint64 {
	counters := map[string]uint64{}
	for _, dir := range []string{"counters", "hw_counters"} {
		for _, name := range t.list(path.Join(at, dir)) {
			if name == "lifespan" { // a setting of the cache, not a counter
				continue
			}
			text, err := readBounded(t.root, path.Join(at, dir, name))
			if err != nil {
				continue // many counters answer EINVAL or EOPNOTSUPP on virtual functions
			}
			if v, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil {
				counters[name] = v
			}
		}
	}
	if len(counters) == 0 {
		return nil
	}
	return counters
}
