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
	port int // anyPort when the entry has none; 0 matches none
}

const anyPort = -1

// NCCL's own bounds: later entries do not count (MAX_IB_DEVS, from 2.19 on; MAX_IFS).
const (
	maxHCAs       = 32
	maxInterfaces = 16
)

// hcaFilter reads NCCL_IB_HCA as the versions of NCCL that were found do. Up to 2.30.4 a port is all that follows the
// first colon, and an empty one is 0, which no device has. From 2.30.7 on it is name:port:rail:plane, and an empty port
// is any. Without a version, what only the newer ones can mean is read as they do.
func hcaFilter(value string, versions []version) filter {
	hasPlanes := version{2, 30, 7}
	older := len(versions) > 0 && versions[0].before(hasPlanes)
	newer := len(versions) > 0 && !older
	return parseFilter(value, maxHCAs, func(port string) int {
		digits, _, more := strings.Cut(port, ":")
		if digits == "" && (newer || more && !older) {
			return anyPort
		}
		return host.Atoi(digits)
	})
}

func interfaceFilter(value string) filter { return parseFilter(value, maxInterfaces, host.Atoi) }

// parseFilter never fails: an entry that NCCL cannot match matches nothing. Blanks are not trimmed. port reads what
// follows the name of an entry and a colon.
func parseFilter(value string, bound int, port func(text string) int) filter {
	var f filter
	value, f.exclude = strings.CutPrefix(value, "^")
	value, f.exact = strings.CutPrefix(value, "=")
	for item := range strings.SplitSeq(value, ",") {
		name, rest, hasPort := strings.Cut(item, ":")
		if name == "" || len(f.entries) == bound {
			continue
		}
		e := entry{text: item, name: name, port: anyPort}
		if hasPort {
			e.port = port(rest)
		}
		f.entries = append(f.entries, e)
	}
	return f
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
	f := hcaFilter(value, c.versions)
	var kept []rail.Rail
	var left []string
	for _, r := range rails {
		if f.selects(r.Device, r.Port) {
			kept = append(kept, r)
		} else {
			left = append(left, r.Name())
		}
	}
	type fault struct {
		status  check.Status
		text    string
		mistake bool
	}
	var faults []fault
	active, inactive := openablePorts(c.s)
	if len(kept) == 0 {
		faults = append(faults, fault{check.Fail,
			"selects none of the pod's rails (" + names(rails) + "): NCCL falls back to TCP, or fails", true})
	} else {
		if foreign := f.foreign(active, portsOf(rails)); len(foreign) > 0 {
			faults = append(faults, fault{check.Fail,
				"also selects " + strings.Join(foreign, ", ") + ", which this pod cannot use" + f.hint(), true})
		}
		if unmatched := f.unmatched(slices.Concat(active, inactive)); len(unmatched) > 0 {
			faults = append(faults, fault{check.Warn,
				"names " + strings.Join(unmatched, ", ") + ", which this pod does not have", true})
		}
	}
	if len(left) > 0 && len(kept) > 0 {
		faults = append(faults, fault{check.Warn,
			fmt.Sprintf("leaves out %d of %d rails: %s", len(left), len(rails), strings.Join(left, ", ")), false})
	}
	for _, fault := range faults {
		found := check.Finding{
			Check: HCAFilter, Status: fault.status, Subject: check.EnvRef("NCCL_IB_HCA"),
			Summary: "NCCL_IB_HCA=" + visible(value) + " " + fault.text,
			Evidence: []check.Evidence{
				{Source: c.origin("NCCL_IB_HCA"), Got: visible(value), Want: "=" + names(rails)},
			},
			Fix: check.ByUser("Name the rails exactly, or let Railhead do so with --override.",
				"export NCCL_IB_HCA=="+names(rails)),
		}
		if !fault.mistake {
			c.say(found)
		} else if c.contradicts("NCCL_IB_HCA", found) {
			return rails
		}
	}
	if len(kept) == 0 {
		return rails // the other rules need rails to judge
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

func (f filter) foreign(ports, rails []port) []string {
	var all []string
	for _, p := range ports {
		if !slices.Contains(rails, p) && f.selects(p.device, p.number) {
			all = append(all, p.name())
		}
	}
	return all
}

// unmatched returns the entries that name none of the ports. A port that is down is a fault of its own, whose setting
// is right.
func (f filter) unmatched(ports []port) []string {
	if f.exclude {
		return nil
	}
	var all []string
	for _, e := range f.entries {
		if !slices.ContainsFunc(ports, func(p port) bool { return e.matches(p.device, p.number, f.exact) }) {
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

// port is a port of an RDMA device, which may be a rail.
type port struct {
	device string
	number int
}

func (p port) name() string { return p.device + ":" + strconv.Itoa(p.number) }

func portsOf(rails []rail.Rail) []port {
	ports := make([]port, len(rails))
	for i := range rails {
		ports[i] = port{rails[i].Device, rails[i].Port}
	}
	return ports
}

// openablePorts returns the ports of the devices that this process may open: those that are ACTIVE, which NCCL uses,
// and the others.
func openablePorts(s *host.Snapshot) (active, inactive []port) {
	for _, d := range s.Devices {
		if !s.AccessTo(d.Name).MayOpen() {
			continue
		}
		for _, p := range d.Ports {
			if p.State.Value == "ACTIVE" {
				active = append(active, port{d.Name, p.Number})
			} else {
				inactive = append(inactive, port{d.Name, p.Number})
			}
		}
	}
	return active, inactive
}
