package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

// list is a list as UCX, NVSHMEM and libfabric write it: names, or after "^" all but these. UCX takes all for a list
// that begins with "all" (src/ucs/config/parser.c ucs_config_sscanf_allow_list_impl).
type list struct {
	exclude bool
	items   []string
}

func parseList(value string) list {
	value, exclude := strings.CutPrefix(value, "^")
	items := strings.Split(value, ",")
	if items[0] == "all" {
		return list{exclude: true}
	}
	return list{exclude, items}
}

func (l list) has(r rail.Rail) bool {
	return slices.ContainsFunc(l.items, func(item string) bool {
		return item == r.Device || item == r.Name() || inRange(item, r.Device) || inRange(item, r.Name())
	})
}

// inRange reports whether a name is one of UCX's prefix[first-last]suffix.
func inRange(pattern, name string) bool {
	prefix, rest, _ := strings.Cut(pattern, "[")
	span, suffix, isRange := strings.Cut(rest, "]")
	first, last, _ := strings.Cut(span, "-")
	name, begins := strings.CutPrefix(name, prefix)
	name, ends := strings.CutSuffix(name, suffix)
	n, err := strconv.Atoi(name)
	return isRange && begins && ends && err == nil && atoi(first) <= n && n <= atoi(last)
}

func (l list) selects(r rail.Rail) bool { return l.has(r) != l.exclude }

// leavesNone returns a judge of lists that is true of one that leaves none of the words. UCX takes a word after a
// backslash for no alias; ";" is libfabric's, between a provider and one above it.
func leavesNone(words ...string) func(value string) bool {
	return func(value string) bool {
		l := parseList(strings.ReplaceAll(value, ";", ","))
		return !slices.ContainsFunc(words, func(word string) bool {
			listed := slices.ContainsFunc(l.items, func(item string) bool {
				return strings.TrimPrefix(item, `\`) == word || slices.Contains(ucxAliases[item], word)
			})
			return listed != l.exclude
		})
	}
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
	l := parseList(value)
	if !set || l.exclude || len(rails) > 0 && !slices.ContainsFunc(rails, l.has) {
		return
	}
	_, inactive := openablePorts(c.s)
	known := slices.Concat(rails, inactive)
	for _, item := range l.items {
		device, _, _ := strings.Cut(strings.TrimSpace(item), ":")
		one := list{items: []string{item}}
		if device == "" || isInterface(c.s, device) || slices.ContainsFunc(known, one.has) {
			continue
		}
		c.contradicts(name, check.Finding{
			Check: LibraryDevices, Status: check.Warn, Subject: check.EnvRef(name),
			Summary:  fmt.Sprintf("%s names %s, which is not a rail of this pod", name, device),
			Evidence: []check.Evidence{{Source: c.origin(name), Got: value, Want: names(rails)}},
			Fix:      unsetFix(name),
		})
	}
}
