package nccl

import (
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Path is a rail with the slot of its GID table that NCCL uses.
type Path struct {
	Rail *rail.Rail
	GID  int // -1: InfiniBand needs none
}

// Paths returns the rails and slots that NCCL uses with the variables, by the versions of it that the snapshot has.
func Paths(s *host.Snapshot, vars []Var, rails []rail.Rail) []Path {
	versions := libraryVersions(*s)
	var devices filter
	slot := int64(-1)
	for i := range vars {
		switch v := &vars[i]; {
		case v.Source == LeftUnset:
		case v.Name == "NCCL_IB_HCA":
			devices = hcaFilter(v.Value, versions)
		case v.Name == "NCCL_IB_GID_INDEX":
			if n, ok := number(v.Value); ok {
				slot = n
			}
		}
	}
	paths := make([]Path, 0, len(rails))
	for i := range rails {
		r, gid := &rails[i], -1
		switch {
		case !devices.selects(r.Device, r.Port):
			continue
		case r.GID != nil && slot >= 0:
			gid = int(slot)
		case r.GID != nil:
			gid = r.GID.Index
		}
		paths = append(paths, Path{r, gid})
	}
	return paths
}
