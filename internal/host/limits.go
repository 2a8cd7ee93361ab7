package host

import (
	"encoding/json"
	"fmt"
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
}

// Unlimited reports whether containers may lock all memory.
func (r Runtime) Unlimited() bool {
	soft, _, _ := strings.Cut(r.Memlock, ":")
	return soft == "-1" || soft == "infinity" || soft == "unlimited"
}
