package sysfs

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

const (
	classVerbs    = "sys/class/infiniband_verbs"
	devInfiniBand = "dev/infiniband"
)

// readVerbsDevices lists the verbs devices of the kernel and the nodes of this container: either may exist without the
// other.
func readVerbsDevices(in *input, s *host.Snapshot) {
	var nodes map[string]bool
	nodes, s.VerbsNodes = verbsNodes(in)
	addVerbs(in, s, nodes, in.list(classVerbs))
}

// readVerbsNodes lists the nodes of this container alone: no other leads to a device that it can use. If there are
// none, the verbs devices of the kernel explain why there is no rail.
func readVerbsNodes(in *input, s *host.Snapshot) {
	var nodes map[string]bool
	nodes, s.VerbsNodes = verbsNodes(in)
	var kernel []string
	if len(nodes) == 0 {
		kernel = in.list(classVerbs)
	}
	addVerbs(in, s, nodes, kernel)
}

func addVerbs(in *input, s *host.Snapshot, nodes map[string]bool, kernel []string) {
	names := slices.Collect(maps.Keys(nodes))
	for _, name := range kernel {
		if strings.HasPrefix(name, "uverbs") && !nodes[name] { // not abi_version
			names = append(names, name)
		}
	}
	sort.Slice(names, func(i, k int) bool { return words.Natural(names[i], names[k]) < 0 })
	for _, name := range names {
		u := host.Uverbs{Name: name, Device: in.text(classVerbs + "/" + name + "/ibdev"), Access: host.NotProbed}
		switch {
		case nodes[name]:
			u.Access, u.Why = openVerbs(in, name)
		case s.VerbsNodes.IsKnown():
			u.Access = host.Missing
		}
		s.Uverbs = append(s.Uverbs, u)
	}
}

// verbsNodes returns the verbs nodes of this container and their number, which is absent if /dev was not captured: a
// process that was asked and has no /dev/infiniband has none.
func verbsNodes(in *input) (map[string]bool, host.Fact[int]) {
	names, err := listNames(in.root, devInfiniBand)
	switch {
	case err == nil:
	case !isAbsent(err):
		return nil, host.Unread[int](in.problem(devInfiniBand, "list", err))
	case in.probes.OpenDevice == nil: // a captured /sys without /dev says nothing about the nodes
		return nil, host.Fact[int]{}
	}
	nodes := map[string]bool{}
	for _, name := range names {
		if strings.HasPrefix(name, "uverbs") {
			nodes[name] = true
		}
	}
	return nodes, host.Know(len(nodes))
}

func openVerbs(in *input, name string) (host.Access, string) {
	if in.probes.OpenDevice == nil {
		return host.NotProbed, ""
	}
	node := devInfiniBand + "/" + name
	err := in.probes.OpenDevice(node)
	switch {
	case err == nil:
		return host.Openable, ""
	case errors.Is(err, errNotProbed):
		return host.NotProbed, ""
	case errors.Is(err, fs.ErrNotExist):
		return host.Missing, ""
	case errors.Is(err, fs.ErrPermission):
		return host.Denied, reason(err)
	default:
		return host.Broken, in.problem(node, "open", err)
	}
}
