package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// list is a list of devices as one library reads it: names, or after "^" all but these. A blank is part of a name.
type list struct {
	exclude bool
	items   []string
	is      func(item string, p port) bool
}

// ucxDevices reads UCX_NET_DEVICES as UCX 1.22 does: DEVICE or DEVICE:PORT, ranges, "^", and "all" alone (src/ucp/core
// ucp_is_resource_in_device_list, src/ucs/config/parser.c ucs_config_sscanf_allow_list_impl). UCX 1.21 has no ranges.
func ucxDevices(value string) list {
	value, exclude := strings.CutPrefix(value, "^")
	if value == "all" {
		return list{exclude: true}
	}
	return list{exclude, strings.Split(value, ","), func(item string, p port) bool {
		return item == p.device || item == p.name() || inRange(item, p.device) || inRange(item, p.name())
	}}
}

// olderUCXDevices reads UCX_NET_DEVICES as UCX up to 1.20 does: exact names with the port, and "all" anywhere (1.13.1
// was run).
func olderUCXDevices(value string) list {
	return list{items: strings.Split(value, ","), is: func(item string, p port) bool {
		return item == "all" || item == p.name()
	}}
}

// nvshmemDevices reads NVSHMEM_HCA_LIST: exact names, each perhaps with its port, of which -1 is any, and "^" before
// the first. A list without a name is none (NVSHMEM 3.4.5 src/modules/transport/common nvshmemt_parse_hca_list,
// ibrc.cpp).
func nvshmemDevices(value string) list {
	value, exclude := strings.CutPrefix(value, "^")
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item != "" && item[0] != ':' {
			items = append(items, item)
		}
	}
	return list{exclude || len(items) == 0, items, func(item string, p port) bool {
		device, text, both := strings.Cut(item, ":") // after another ":" comes how often the device counts
		number := host.Atoi(text)
		return device == p.device && (!both || number == anyPort || number == p.number)
	}}
}

// listsOf has the lists of devices by their variable.
var listsOf = map[string]func(value string) list{
	ucxList: ucxDevices, nvshmemList: nvshmemDevices,
}

func (l list) has(p port) bool {
	return slices.ContainsFunc(l.items, func(item string) bool { return l.is(item, p) })
}

// inRange reports whether a name is one of UCX's prefix[first-last]suffix.
func inRange(pattern, name string) bool {
	prefix, rest, _ := strings.Cut(pattern, "[")
	span, suffix, isRange := strings.Cut(rest, "]")
	first, last, _ := strings.Cut(span, "-")
	name, begins := strings.CutPrefix(name, prefix)
	name, ends := strings.CutSuffix(name, suffix)
	n, err := strconv.Atoi(name)
	return isRange && begins && ends && err == nil && host.Atoi(first) <= n && n <= host.Atoi(last)
}

func (l list) selects(p port) bool { return l.has(p) != l.exclude }

func (l list) selectsAny(rails []rail.Rail) bool {
	return slices.ContainsFunc(portsOf(rails), l.selects)
}

// leavesNone reports whether a list of UCX's transports has none that reaches RDMA devices. A word after a backslash is
// no alias. With an empty list UCX stops, also after "^" (1.13.1 was run).
func leavesNone(value string) bool {
	value, exclude := strings.CutPrefix(value, "^")
	if value == "" {
		return true
	}
	if exclude = exclude || value == "all"; value == "all" {
		value = ""
	}
	items := strings.Split(value, ",")
	return !slices.ContainsFunc(ucxTransports, func(word string) bool {
		listed := slices.ContainsFunc(items, func(item string) bool {
			return strings.TrimPrefix(item, `\`) == word || slices.Contains(ucxAliases[item], word)
		})
		return listed != exclude
	})
}

// withoutVerbs reports whether FI_PROVIDER leaves libfabric no provider of RDMA devices. It compares names without
// case, and "all" is none of its words (fi_info of libfabric 1.17.0); ";" is between a provider and one above it.
func withoutVerbs(value string) bool {
	value, exclude := strings.CutPrefix(strings.ToLower(value), "^")
	items := strings.Split(value, ",")
	return value != "" && !slices.ContainsFunc([]string{"verbs", "ucx", "mlx", "psm3"}, func(word string) bool {
		listed := slices.ContainsFunc(items, func(item string) bool {
			return item == word || !exclude && slices.Contains(strings.Split(item, ";"), word)
		})
		return listed != exclude
	})
}

// ucxTransports carry UCX's data between nodes over InfiniBand and RoCE; ucxAliases are other names for them
// (src/ucp/core/ucp_context.c ucp_tl_aliases).
var (
	ucxTransports = []string{"rc_verbs", "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5"}
	ucxAliases    = map[string][]string{
		"ib": ucxTransports, "rc": {"rc_verbs", "rc_mlx5"}, "rc_v": {"rc_verbs"}, "rc_x": {"rc_mlx5"},
		"ud": {"ud_verbs", "ud_mlx5"}, "ud_v": {"ud_verbs"}, "ud_x": {"ud_mlx5"},
		"dc": {"dc_mlx5"}, "dc_x": {"dc_mlx5"},
	}
)

// sayStrangers reports names in a user's list of devices that do not exist in this pod, next to rails or without any. A
// port that is down is a fault of its own.
func sayStrangers(c *computation, name string, rails []rail.Rail) {
	value, set := c.value(name)
	l := listsOf[name](value)
	known := portsOf(rails)
	if !set || l.exclude || len(rails) > 0 && !slices.ContainsFunc(known, l.has) {
		return
	}
	_, inactive := openablePorts(c.s)
	known = append(known, inactive...)
	for _, item := range l.items {
		device, _, _ := strings.Cut(strings.TrimSpace(item), ":")
		named := func(p port) bool { return l.is(item, p) }
		if device == "" || isInterface(c.s, item) || slices.ContainsFunc(known, named) {
			continue
		}
		summary := fmt.Sprintf("%s names %s, which is not a rail of this pod", name, device)
		if item != strings.TrimSpace(item) {
			summary = fmt.Sprintf("%s names %q, and the blank is part of the name: no device has it", name, item)
		}
		c.contradicts(name, check.Finding{
			Check: LibraryDevices, Status: check.Warn, Subject: check.EnvRef(name),
			Summary:  summary,
			Evidence: []check.Evidence{{Source: c.origin(name), Got: value, Want: names(rails)}},
			Fix:      unsetFix(name),
		})
	}
}
