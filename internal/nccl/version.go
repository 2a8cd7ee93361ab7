package nccl

import (
	"fmt"
	"slices"
	"sort"

	"github.com/railhead/railhead/internal/host"
)

// version is major, minor, patch of NCCL.
type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool { return slices.Compare(v[:], w[:]) < 0 }

// The versions at which NCCL's choice of the GID changed (src/transport/net_ib.cc by tag).
var (
	choosesGID   = version{2, 21, 0} // before: NCCL_IB_GID_INDEX defaults to 0
	survivesGaps = version{2, 26, 2} // before: an empty slot ends in "read failed in ncclIbRoceGetVersionNum"
)

// libraryVersions returns the versions of all libnccl found, oldest first. Which one the command loads is unknown.
func libraryVersions(s host.Snapshot) []version {
	var all []version
	for _, lib := range s.NCCL.Libraries {
		if v, ok := host.ParseVersion(lib.Version); ok && !slices.Contains(all, version(v)) {
			all = append(all, version(v))
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].before(all[j]) })
	return all
}
