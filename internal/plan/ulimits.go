package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker/go-units"
	"github.com/pelletier/go-toml/v2"
)

// UnlimitedMemlock is the entry of CRI-O's default_ulimits that lets every container lock all memory, as name=soft:hard
// (cri-o docs/crio.conf.5.md; -1 is unlimited).
const UnlimitedMemlock = "memlock=-1:-1"

// DefaultUlimits parses crio.runtime.default_ulimits of a CRI-O configuration file; set is false if it is absent. CRI-O
// parses the entries by the same function (cri-o internal/config/ulimits).
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
		if _, err := units.ParseUlimit(entry); err != nil {
			return nil, true, fmt.Errorf("default_ulimits entry %q, with which CRI-O does not start: %w", entry, err)
		}
	}
	return *list, true, nil
}

// Ulimits are the limits that CRI-O sets for containers. The last file with the list replaces it as a whole.
type Ulimits struct {
	Entries []string
	From    DropIn   // the file that sets them; no path: none
	Last    string   // path of the last file that sets them, or may set them
	Unread  []DropIn // with the reason; also invalid files
}

// UlimitsOf returns the limits that CRI-O's configuration files set, read in order.
func UlimitsOf(files []DropIn) Ulimits {
	var u Ulimits
	for _, f := range files {
		entries, set, err := DefaultUlimits(f.Content)
		if f.Unread == "" && err != nil {
			f.Unread = err.Error()
		}
		switch {
		case f.Unread != "":
			u.Unread = append(u.Unread, f)
			u.Last = f.Path
		case set:
			u.Entries, u.From, u.Last = entries, f, f.Path
		}
	}
	return u
}

// MemlockUnlimited reports whether containers may lock all memory. The soft limit counts (Linux
// drivers/infiniband/core/umem.c), and it is at most the hard one. The last entry wins.
func (u Ulimits) MemlockUnlimited() bool {
	unlimited := false
	for _, entry := range u.Entries {
		if limits, ok := strings.CutPrefix(entry, "memlock="); ok {
			soft, _, _ := strings.Cut(limits, ":")
			unlimited = soft == "-1"
		}
	}
	return unlimited
}

// Others returns the entries without memlock.
func (u Ulimits) Others() []string {
	return slices.DeleteFunc(slices.Clone(u.Entries), func(entry string) bool {
		return strings.HasPrefix(entry, "memlock=")
	})
}

// Holds reports whether the limits include all entries.
func (u Ulimits) Holds(entries []string) bool {
	return !slices.ContainsFunc(entries, func(entry string) bool { return !slices.Contains(u.Entries, entry) })
}
