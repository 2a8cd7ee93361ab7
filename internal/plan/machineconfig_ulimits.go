package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/railhead/railhead/internal/cluster"
)

// unlimited is the entry of CRI-O's default_ulimits that lets every container lock all memory, as name=soft:hard
// (cri-o docs/crio.conf.5.md; -1 is unlimited).
const unlimited = "memlock=-1:-1"

// defaultUlimits reads crio.runtime.default_ulimits of a CRI-O configuration file; set is false when the file leaves it alone.
func defaultUlimits(text string) (entries []string, set bool, err error) {
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

// ulimits are the limits that CRI-O gives containers: the last file that sets the list replaces it whole.
type ulimits struct {
	Entries []string
	From    dropIn // the file that they are from; no path: none sets them
	Last    string // path of the last file that sets them, or that may
	Unread  []dropIn
}

// ulimitsOf reads the limits from CRI-O's configuration files in their order. The Unread reason of a file that is no TOML says
// so.
func ulimitsOf(files []dropIn) ulimits {
	var u ulimits
	for _, f := range files {
		entries, set, err := defaultUlimits(f.Content)
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

// memlockUnlimited reports whether containers may lock all memory. The soft limit counts (Linux drivers/infiniband/core/umem.c),
// and it may not be above the hard one. Of two entries the later is set last.
func (u ulimits) memlockUnlimited() bool {
	free := false
	for _, entry := range u.Entries {
		if name, _ := ulimitName(entry); name == "memlock" {
			soft, _, _ := strings.Cut(strings.TrimPrefix(entry, "memlock="), ":")
			free = soft == "-1"
		}
	}
	return free
}

// others are the limits of everything but locked memory.
func (u ulimits) others() []string {
	return slices.DeleteFunc(slices.Clone(u.Entries), func(entry string) bool {
		name, _ := ulimitName(entry)
		return name == "memlock"
	})
}

// holds reports whether all entries are among the limits.
func (u ulimits) holds(entries []string) bool {
	return !slices.ContainsFunc(entries, func(entry string) bool { return !slices.Contains(u.Entries, entry) })
}

// memlockFile is the drop-in that sets unlimited locked memory and keeps the other limits of the one before it. Its name is
// such that CRI-O reads it after the file last.
func memlockFile(keep []string, last string) cluster.File {
	path := crioDropIns + "99-rdma-memlock.conf"
	for _, later := range []string{crioDropIns + "zz-rdma-memlock.conf", last + "-rdma-memlock.conf"} {
		if last == "" || readOrder(path, last) > 0 {
			break
		}
		path = later
	}
	var text strings.Builder
	text.WriteString("# RDMA pins the memory that it registers. Written by `railhead setup cluster`.\n[crio.runtime]\ndefault_ulimits = [\n")
	for _, entry := range append(slices.Clone(keep), unlimited) {
		fmt.Fprintf(&text, "  %q,\n", entry)
	}
	text.WriteString("]\n")
	return cluster.File{Path: path, Content: text.String()}
}
