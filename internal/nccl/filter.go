package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// filter is a list as NCCL_IB_HCA and NCCL_SOCKET_IFNAME write it (NCCL src/misc/utils.cc parseStringList,
// matchIfList): "^" to exclude comes first, then "=" for exact names, then names with optional ports. Without "=" a
// name is a prefix.
type filter struct {
	exclude, exact bool
	entries        []entry
}

type entry struct {
	text string // as written
	name string
	port int // anyPort when the entry has none
}

const anyPort = -1

// maxEntries is NCCL's own bound (MAX_IB_DEVS, from 2.19 on).
const maxEntries = 32

// parseFilter never fails: an entry that NCCL cannot match matches nothing. Blanks are not trimmed.
func parseFilter(value string) filter {
	var f filter
	value, f.exclude = strings.CutPrefix(value, "^")
	value, f.exact = strings.CutPrefix(value, "=")
	for item := range strings.SplitSeq(value, ",") {
		name, port, hasPort := strings.Cut(item, ":")
		if name == "" || len(f.entries) == maxEntries {
			continue
		}
		e := entry{text: item, name: name, port: anyPort}
		if hasPort {
			digits, _, more := strings.Cut(port, ":") // 2.30: name:port:rail:plane, of which fields may be empty
			if digits != "" || !more {
				e.port = atoi(digits)
			}
		}
		f.entries = append(f.entries, e)
	}
	return f
}

// atoi reads leading digits as C's does; 0 matches no port.
func atoi(s string) int {
	end := 0
	for end < len(s) && end < 9 && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}

func (e entry) matches(name string, port int, exact bool) bool {
	if exact && e.name != name || !strings.HasPrefix(name, e.name) {
		return false
	}
	return e.port == anyPort || port == anyPort || e.port == port
}

// selects reports whether NCCL uses the device; an empty list matches everything, so "^" alone matches nothing.
func (f filter) selects(name string, port int) bool {
	matched := len(f.entries) == 0 ||
		slices.ContainsFunc(f.entries, func(e entry) bool { return e.matches(name, port, f.exact) })
	return matched != f.exclude
}

// filteredRails returns the rails that the user's NCCL_IB_HCA selects, and reports mistakes in it.
func filteredRails(c *computation, rails []rail.Rail) []rail.Rail {
	value, set := c.value("NCCL_IB_HCA")
	if !set {
		return rails
	}
	f := parseFilter(value)
	var kept []rail.Rail
	var left []string
	for _, r := range rails {
		if f.selects(r.Device, r.Port) {
			kept = append(kept, r)
		} else {
			left = append(left, r.Name())
		}
	}
	finding := func(status check.Status, format string, args ...any) check.Finding {
		return check.Finding{
			Check: HCAFilter, Status: status, Subject: check.EnvRef("NCCL_IB_HCA"),
			Summary: "NCCL_IB_HCA=" + visible(value) + " " + fmt.Sprintf(format, args...),
			Evidence: []check.Evidence{
				{Source: c.origin("NCCL_IB_HCA"), Got: visible(value), Want: "=" + names(rails)},
			},
			Fix: check.ByUser("Name the rails exactly, or let Railhead do so with --override.",
				"export NCCL_IB_HCA=="+names(rails)),
		}
	}
	contradicts := func(f check.Finding) bool { return c.contradicts("NCCL_IB_HCA", f) }
	if len(kept) == 0 {
		contradicts(finding(check.Fail, "selects none of the pod's rails (%s): NCCL falls back to TCP, or fails",
			names(rails)))
		return rails // the other rules need rails to judge
	}
	active, inactive := openablePorts(c.s)
	if foreign := f.foreign(active, rails); len(foreign) > 0 && contradicts(finding(check.Fail,
		"also selects %s, which this pod cannot use%s", strings.Join(foreign, ", "), f.hint())) {
		return rails
	}
	if unmatched := f.unmatched(slices.Concat(active, inactive)); len(unmatched) > 0 && contradicts(finding(check.Warn,
		"names %s, which this pod does not have", strings.Join(unmatched, ", "))) {
		return rails
	}
	if len(left) > 0 {
		c.say(finding(check.Warn, "leaves out %d of %d rails: %s", len(left), len(rails), strings.Join(left, ", ")))
	}
	return kept
}

// visible quotes a value with control characters, such as the carriage return of a file of Windows.
func visible(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return strconv.Quote(value)
	}
	return value
}

func (f filter) foreign(ports []rail.Rail, rails []rail.Rail) []string {
	var all []string
	for _, p := range ports {
		isRail := slices.ContainsFunc(rails, func(r rail.Rail) bool { return r.Name() == p.Name() })
		if !isRail && f.selects(p.Device, p.Port) {
			all = append(all, p.Name())
		}
	}
	return all
}

// unmatched returns the entries that name none of the ports. A port that is down is a fault of its own, whose setting
// is right.
func (f filter) unmatched(ports []rail.Rail) []string {
	if f.exclude {
		return nil
	}
	var all []string
	for _, e := range f.entries {
		if !slices.ContainsFunc(ports, func(p rail.Rail) bool { return e.matches(p.Device, p.Port, f.exact) }) {
			all = append(all, e.text)
		}
	}
	return all
}

func (f filter) hint() string {
	switch {
	case f.exclude:
		return ": with a leading ^ it selects everything that it does not name"
	case f.exact || len(f.entries) == 0:
		return ""
	}
	return ": without a leading = a name is a prefix"
}

// openablePorts returns the ports of the devices that this process may open: those that are ACTIVE, which NCCL uses,
// and the others.
func openablePorts(s *host.Snapshot) (active, inactive []rail.Rail) {
	for _, d := range s.Devices {
		if !s.AccessTo(d.Name).MayOpen() {
			continue
		}
		for _, p := range d.Ports {
			port := rail.Rail{Device: d.Name, Port: p.Number}
			if p.State.Value == "ACTIVE" {
				active = append(active, port)
			} else {
				inactive = append(inactive, port)
			}
		}
	}
	return active, inactive
}
