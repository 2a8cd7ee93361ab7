package host

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxPorts bounds the walk over ports, which the kernel numbers from 1 without gaps.
const maxPorts = 32

// ports reads the ports in order; the first number that is not there ends the walk. A state that cannot be read may be
// that of a port that is not there, below a folder that cannot be searched.
func (r *reader) ports(dir string) []Port {
	var ports []Port
	for n := 1; n <= maxPorts; n++ {
		at := dir + "/" + strconv.Itoa(n)
		state := parsed(r, at+"/state", afterNumber)
		if state.State == Absent || state.IsUnreadable() && !r.exists(at) {
			break
		}
		ports = append(ports, r.port(at, n, state))
	}
	return ports
}

func (r *reader) port(at string, number int, state Fact[string]) Port {
	p := Port{Number: number, State: state, Rate: parsed(r, at+"/rate", ParseRate), LinkLayer: r.text(at + "/link_layer")}
	if r.brief && state.Value == "ACTIVE" {
		p.GIDs = r.gidsForLaunch(at, p.LinkLayer.Value)
		return p
	}
	p.PhysState = parsed(r, at+"/phys_state", afterNumber)
	if r.brief {
		return p
	}
	p.LID = parsed(r, at+"/lid", parseInt)
	p.SMLID = parsed(r, at+"/sm_lid", parseInt)
	p.Counters = r.counters(at)
	slots := r.list(at + "/gids")
	p.GIDs = r.gids(at, slots)
	if len(slots) > 0 {
		p.GIDTable = Know(len(slots))
	}
	return p
}

// ParseRate reads the rate attribute of a port, "400 Gb/sec (4X NDR)".
func ParseRate(s string) (Rate, error) {
	number, rest, ok := strings.Cut(s, " Gb/sec")
	gbps, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || gbps < 0 || gbps > 1e6 {
		return Rate{}, notRate(s)
	}
	rate := Rate{Gbps: gbps}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return rate, nil
	}
	lanes, speed, ok := strings.Cut(strings.Trim(rest, "()"), "X ")
	if rate.Lanes, err = strconv.Atoi(lanes); !ok || err != nil {
		return Rate{}, notRate(s)
	}
	rate.Speed = strings.TrimSpace(speed)
	return rate, nil
}

func notRate(s string) error {
	return fmt.Errorf("%q is not of the form \"400 Gb/sec (4X NDR)\"", clip(s))
}

func (r Rate) String() string {
	gbps := strconv.FormatFloat(r.Gbps, 'f', -1, 64)
	if r.Lanes == 0 {
		return gbps + " Gb/sec"
	}
	return fmt.Sprintf("%s Gb/sec (%dX %s)", gbps, r.Lanes, r.Speed)
}

// MarshalText writes the kernel's form.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the kernel's form.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// gids reads every slot of the table.
func (r *reader) gids(at string, slots []string) []GID {
	var gids []GID
	numbers := make([]int, 0, len(slots))
	for _, slot := range slots {
		if n, err := strconv.Atoi(slot); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if g, filled, _ := r.slot(at, n); filled {
			g.Type, g.Netdev = r.gidAttribute(at, "types", n), r.gidAttribute(at, "ndevs", n)
			gids = append(gids, g)
		}
	}
	return gids
}

// slot reads the address of one slot. An empty slot reads as zeros, its attributes as EINVAL.
func (r *reader) slot(at string, n int) (g GID, filled, exists bool) {
	name := at + "/gids/" + strconv.Itoa(n)
	text := r.text(name)
	if text.State == Absent {
		return g, false, false
	}
	addr, err := ParseGID(text.Value)
	if text.IsKnown() && err != nil {
		r.problem(name, "parse", err)
	}
	if err != nil || addr.IsUnspecified() {
		return g, false, true
	}
	return GID{Index: n, Addr: addr}, true, true
}

// gidAttribute reads the type or interface of a GID; EINVAL says that there is none (drivers/infiniband/core/sysfs.c).
func (r *reader) gidAttribute(at, attribute string, n int) Fact[string] {
	name := at + "/gid_attrs/" + attribute + "/" + strconv.Itoa(n)
	data, err := readBounded(r.root, name)
	switch {
	case err == nil && len(data) <= maxAttribute:
		if text := strings.TrimSpace(data); text != "" {
			return Know(text)
		}
		return Fact[string]{}
	case err == nil:
		err = errTooLong
	case isAbsent(err), errors.Is(err, syscall.EINVAL):
		return Fact[string]{}
	}
	return Unread[string](r.problem(name, "read", err))
}

// ParseGID reads "fe80:0000:0000:0000:b83f:d2ff:fe03:1234".
func ParseGID(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q is not a GID", clip(s))
	}
	return addr, nil
}

// counters reads what the port counts; in a pod in shared RDMA mode the kernel shows no counters.
func (r *reader) counters(at string) map[string]uint64 {
	counters := map[string]uint64{}
	for _, dir := range []string{"counters", "hw_counters"} {
		for _, name := range r.list(path.Join(at, dir)) {
			if name == "lifespan" { // a setting of the cache, not a counter
				continue
			}
			text, err := readBounded(r.root, path.Join(at, dir, name))
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
