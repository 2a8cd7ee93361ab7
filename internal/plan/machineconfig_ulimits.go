package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// UnlimitedMemlock is the entry of CRI-O's default_ulimits that lets every container lock all memory, as name=soft:hard
// (cri-o docs/crio.conf.5.md; -1 is unlimited).
const UnlimitedMemlock = "memlock=-1:-1"

// DefaultUlimits reads crio.runtime.default_ulimits of a CRI-O configuration file; set is false when the file leaves it
// alone.
func DefaultUlimits(text string) (entries []string, set bool, err error) {
	var file struct {
		CRIO struct {
			Runtime struct {
				DefaultUlimits *[]string `toml:"default_ulimits"`
			} `toml:"runtime"`
		} `toml:"crio"`
	}
	if err := toml.Unmarshal([]byte(text), &file); err != nil {
		return nil, false, fmt.Errorf("read TOML: %w", err)
	}
	list := file.CRIO.Runtime.DefaultUlimits
	if list == nil {
		return nil, false, nil
	}
	for _, entry := range *list {
		if _, ok := ulimitName(entry); !ok {
			return nil, true, fmt.Errorf("default_ulimits entry %q is not name=soft:hard", entry)
		}
	}
	return *list, true, nil
}

// ulimitName returns the name of an entry name=soft or name=soft:hard with whole numbers, as CRI-O parses it
// (docker/go-units ulimit.go ParseUlimit).
func ulimitName(entry string) (name string, ok bool) {
	name, limits, found := strings.Cut(entry, "=")
	if !found || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", false
	}
	values := strings.Split(limits, ":")
	for _, v := range values {
		if _, err := strconv.ParseInt(v, 10, 64); err != nil {
			return "", false
		}
	}
	return name, len(values) <= 2
}

// Ulimits are the limits that CRI-O gives containers: the last file that sets the list replaces it whole.
type Ulimits struct {
	Entries []string
	From    DropIn // the file that they are from; no path: none sets them
	Last    string // path of the last file that sets them, or that may
	Unread  []DropIn
}

// UlimitsOf reads the limits from CRI-O's configuration files in their order. The Unread reason of a file that is no
// TOML says so.
func UlimitsOf(files []DropIn) Ulimits {
	var u Ulimits
	for _, f := range files {
		entries, set, err := DefaultUlimits(f.Content)
		switch {
		case f.Unread != "":
			u.Unread = append(u.Unread, f)
			u.Last = f.Path
		case err != nil:
			f.Unread = err.Error()
			u.Unread = append(u.Unread, f)
			u.Last = f.Path
		case set:
			u.Entries, u.From, u.Last = entries, f, f.Path
		}
	}
	return u
}

// MemlockUnlimited reports whether containers may lock all memory. The soft limit counts (Linux
// drivers/infiniband/core/umem.c), and it may not be above the hard one. Of two entries the later is set last.
func (u Ulimits) MemlockUnlimited() bool {
	free := false
	for _, entry := range u.Entries {
		if name, _ := ulimitName(entry); name == "memlock" {
			soft, _, _ := strings.Cut(strings.TrimPrefix(entry, "memlock="), ":")
			free = soft == "-1"
		}
	}
	return free
}

// Others are the limits of everything but locked memory.
func (u Ulimits) Others() []string {
	return slices.DeleteFunc(slices.Clone(u.Entries), func(entry string) bool {
		name, _ := ulimitName(entry)
		return name == "memlock"
	})
}

// Holds reports whether all entries are among the limits.
func (u Ulimits) Holds(entries []string) bool {
	return !slices.ContainsFunc(entries, func(entry string) bool { return !slices.Contains(u.Entries, entry) })
}
