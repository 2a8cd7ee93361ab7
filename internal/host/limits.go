package host

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxLocked is the largest mapping whose locking is tried: no job registers more in one process.
const MaxLocked = 64 << 30

// Caps is a set of Linux capabilities, bit n for capability n.
type Caps uint64

// Capabilities (include/uapi/linux/capability.h). Locked memory depends on the first and the last.
const (
	CapIPCLock     = 14
	CapSysAdmin    = 21 // privileged containers have it
	CapSysResource = 24
)

// Has reports whether the set holds the capability.
func (c Caps) Has(capability int) bool { return c>>capability&1 == 1 }

func (c Caps) String() string { return fmt.Sprintf("%016x", uint64(c)) }

// MarshalText writes the set as /proc/self/status does.
func (c Caps) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the form of /proc/self/status.
func (c *Caps) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCaps(string(text))
	return err
}

// ParseCaps returns the capabilities of a mask as /proc/self/status shows it: hexadecimal, without 0x.
func ParseCaps(s string) (Caps, error) {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not a capability set", s)
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
	v, err := ParseLimit(text)
	*l = v
	return err
}

// ParseLimit returns a limit as /proc/self/limits shows it: bytes, or "unlimited".
func ParseLimit(s string) (Limit, error) {
	if s == "unlimited" {
		return Unlimited, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not a limit", s)
	}
	return Limit(v), nil
}

// Runtime is the configuration of a node's container runtime for locked memory.
type Runtime struct {
	Name    string `json:"name"`              // CRI-O, containerd
	File    string `json:"file,omitempty"`    // that sets it
	Memlock string `json:"memlock,omitempty"` // as written: "-1:-1", "infinity"; "" when nothing sets it
	// Refused is a setting with its file that the runtime does not accept: systemd ignores it, CRI-O does not start.
	Refused string `json:"refused,omitempty"`
}

// Unlimited reports whether containers may lock all memory. Soft and hard limit are unlimited: the runtime accepts no
// soft limit above the hard one.
func (r Runtime) Unlimited() bool {
	unlimited := "infinity"
	if r.Name == "CRI-O" {
		unlimited = "-1"
	}
	soft, hard, both := strings.Cut(r.Memlock, ":")
	return soft == unlimited && (!both || hard == unlimited)
}

// IsUlimit reports whether CRI-O accepts an entry of default_ulimits: name=soft or name=soft:hard with whole numbers,
// of which -1 is unlimited (docker/go-units 0.5.0 ParseUlimit). It does not start with any other.
func IsUlimit(entry string) bool {
	const names = " core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack "
	name, limits, found := strings.Cut(entry, "=")
	soft, hard, both := strings.Cut(limits, ":")
	if !both {
		hard = soft
	}
	s, err := strconv.ParseInt(soft, 10, 64)
	h, err2 := strconv.ParseInt(hard, 10, 64)
	known := !strings.Contains(name, " ") && strings.Contains(names, " "+name+" ")
	return found && known && err == nil && err2 == nil && (h == -1 || s != -1 && s <= h)
}

// IsSystemdLimit reports whether systemd accepts a limit in bytes: soft or soft:hard, each "infinity" or a size such as
// 64K or 1.5G. It ignores any other, also -1, unlimited and an empty one (systemd 252 src/shared/rlimit-util.c).
func IsSystemdLimit(text string) bool {
	soft, hard, both := strings.Cut(text, ":")
	if !both {
		hard = soft
	}
	s, ok := systemdSize(soft)
	h, ok2 := systemdSize(hard)
	return ok && ok2 && s <= h
}

// systemdSize reads "infinity", or numbers with units of powers of 1024, the largest first, such as 64K, 1.5G or
// 1G 512M (systemd src/basic/parse-util.c parse_size). It counts in uint64, which differs above 2^53.
func systemdSize(text string) (bytes float64, ok bool) {
	if text == "infinity" {
		return math.MaxFloat64, true
	}
	const units, blanks = " BKMGTPE", " \t"
	for last := len(units); text != ""; {
		text = strings.TrimPrefix(strings.TrimLeft(text, blanks), "+")
		digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
		n, err := strconv.ParseFloat(text[:digits], 64)
		if err != nil || text[0] == '.' {
			return 0, false
		}
		unit := 0
		if text = strings.TrimLeft(text[digits:], blanks); text != "" {
			if i := strings.IndexByte(units, text[0]); i > 0 {
				unit, text = i, text[1:]
			}
		}
		if unit >= last || text != "" && strings.Trim(text, blanks) == "" {
			return 0, false
		}
		last = unit
		bytes, ok = bytes+n*float64(uint64(1)<<(10*max(unit-1, 0))), true
	}
	return bytes, ok && bytes < math.MaxUint64
}
