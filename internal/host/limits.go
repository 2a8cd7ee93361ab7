package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Caps is a set of Linux capabilities, bit n for capability n.
type Caps uint64

// The capabilities that locked memory depends on (include/uapi/linux/capability.h).
const (
	CapIPCLock     = 14
	CapSysResource = 24
)

// Has reports whether the set holds the capability.
func (c Caps) Has(capability int) bool { return c>>capability&1 == 1 }

func (c Caps) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// MarshalText writes the set as /proc/self/status does.
func (c Caps) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the form of /proc/self/status.
func (c *Caps) UnmarshalText(text []byte) (err error) {
	*c, err = parseCaps(string(text))
	return err
}

func parseCaps(s string) (Caps, error) {
	v, ok := parseHex(s)
	if !ok || len(s) > 16 {
		return 0, fmt.Errorf("%q is not a capability set", clip(s))
	}
	return Caps(v), nil
}

func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatUint(uint64(l), 10)
}

// MarshalJSON writes "unlimited" or the number of bytes.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == Unlimited {
		return []byte(`"unlimited"`), nil
	}
	return []byte(l.String()), nil
}

// UnmarshalJSON reads the form of MarshalJSON.
func (l *Limit) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	v, err := parseLimit(text)
	*l = v
	return err
}

func parseLimit(s string) (Limit, error) {
	if s == "unlimited" {
		return Unlimited, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a limit", clip(s))
	}
	return Limit(v), nil
}

// limits reads what the kernel allows this process.
func (r *reader) limits() Limits {
	l := r.privileges()
	l.MemlockSoft, l.MemlockHard = r.memlock()
	l.MemTotal = parsed(r, "proc/meminfo", parseMemTotal)
	l.ShmBytes = r.shm()
	return l
}

// privileges reads what this process may do beyond its limits.
func (r *reader) privileges() Limits {
	l := r.status()
	l.InitialUserNS = parsed(r, "proc/self/uid_map", func(s string) (bool, error) {
		// The initial user namespace maps all ids onto themselves (user_namespaces(7)).
		return strings.Join(strings.Fields(s), " ") == "0 0 4294967295", nil
	})
	return l
}

// memlock reads "Max locked memory  8388608  8388608  bytes" of /proc/self/limits.
func (r *reader) memlock() (soft, hard Fact[Limit]) { return r.memlockOf("proc/self/limits") }

func (r *reader) memlockOf(name string) (soft, hard Fact[Limit]) {
	table := r.file(name)
	if !table.IsKnown() {
		unknown := Fact[Limit]{State: table.State, Why: table.Why}
		return unknown, unknown
	}
	for line := range strings.Lines(table.Value) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		f := strings.Fields(rest)
		if !ok || len(f) < 2 {
			continue
		}
		s, err1 := parseLimit(f[0])
		h, err2 := parseLimit(f[1])
		if err := errors.Join(err1, err2); err == nil {
			return Know(s), Know(h)
		}
	}
	bad := Unread[Limit](r.problem(name, "parse", errors.New(`no line "Max locked memory"`)))
	return bad, bad
}

// status reads capabilities, no_new_privs and the effective user of /proc/self/status.
func (r *reader) status() Limits {
	const name = "proc/self/status"
	var l Limits
	caps := map[string]*Fact[Caps]{
		"CapInh": &l.CapInh, "CapPrm": &l.CapPrm, "CapEff": &l.CapEff, "CapBnd": &l.CapBnd, "CapAmb": &l.CapAmb,
	}
	for line := range strings.Lines(r.file(name).Value) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if fact, ok := caps[key]; ok {
			if c, err := parseCaps(value); err == nil {
				*fact = Know(c)
			} else {
				*fact = Unread[Caps](r.problem(name, "parse", err))
			}
		}
		switch f := strings.Fields(value); {
		case key == "NoNewPrivs":
			l.NoNewPrivs = Know(value == "1")
		case key == "Uid" && len(f) == 4: // real, effective, saved, file system
			l.UID = convert(Know(f[1]), parseInt)
		}
	}
	return l
}

// parseMemTotal reads "MemTotal:  2113437368 kB".
func parseMemTotal(s string) (uint64, error) {
	for line := range strings.Lines(s) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54)
			return kib << 10, err
		}
	}
	return 0, errors.New("no line MemTotal")
}

// shm is the size of /dev/shm: from statfs, else from the mount's size option.
func (r *reader) shm() Fact[uint64] {
	if r.probes.ShmBytes != nil {
		size, err := r.probes.ShmBytes()
		if err != nil {
			return Unread[uint64](r.problem("dev/shm", "statfs", err))
		}
		return Know(size)
	}
	for line := range strings.Lines(r.file("proc/self/mountinfo").Value) {
		if f := strings.Fields(line); len(f) < 5 || f[4] != "/dev/shm" {
			continue
		}
		_, options, _ := strings.Cut(line, "size=")
		digits := strings.TrimRight(options, "\n")
		if i := strings.IndexFunc(options, func(c rune) bool { return c < '0' || c > '9' }); i >= 0 {
			digits = options[:i]
		}
		if kib, err := strconv.ParseUint(digits, 10, 54); err == nil { // shown in KiB (mm/shmem.c shmem_show_options)
			return Know(kib << 10)
		}
	}
	return Fact[uint64]{}
}
