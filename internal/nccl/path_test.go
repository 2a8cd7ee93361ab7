package nccl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

func TestPaths(t *testing.T) {
	rails := []rail.Rail{
		{
			Device: "mlx5_6", Port: 1, GID: &host.GID{Index: 3}}, {Device: "mlx5_7", Port: 1,
			GID: &host.GID{Index: 5}}, {Device: "ib0", Port: 2},
	}
	all := Var{Name: "NCCL_IB_HCA", Value: "=mlx5_6:1,mlx5_7:1,ib0:2", Source: Computed}
	for name, c := range map[string]struct {
		vars []Var
		want string
	}{
		"each its own slot": {[]Var{all}, "mlx5_6:1 3, mlx5_7:1 5, ib0:2 -1"},
		"one slot for all": {
			[]Var{all, {Name: "NCCL_IB_GID_INDEX", Value: "3", Source: Computed}},
			"mlx5_6:1 3, mlx5_7:1 3, ib0:2 -1",
		},
		"first slot": {
			[]Var{all, {Name: "NCCL_IB_GID_INDEX", Value: "0", Source: UserSet}},
			"mlx5_6:1 0, mlx5_7:1 0, ib0:2 -1",
		},
		"slot in hexadecimal": {
			[]Var{all, {Name: "NCCL_IB_GID_INDEX", Value: "0x7", Source: UserSet}},
			"mlx5_6:1 7, mlx5_7:1 7, ib0:2 -1",
		},
		"NCCL's own choice": {
			[]Var{all, {Name: "NCCL_IB_GID_INDEX", Value: "-1", Source: UserSet}},
			"mlx5_6:1 3, mlx5_7:1 5, ib0:2 -1",
		},
		"slot that was left unset": {
			[]Var{all, {Name: "NCCL_IB_GID_INDEX", Value: "9", Source: LeftUnset}},
			"mlx5_6:1 3, mlx5_7:1 5, ib0:2 -1",
		},
		"user's filter leaves one": {[]Var{{Name: "NCCL_IB_HCA", Value: "=mlx5_7", Source: UserSet}}, "mlx5_7:1 5"},
		"user's filter leaves one out": {
			[]Var{{Name: "NCCL_IB_HCA", Value: "^mlx5_6", Source: UserSet}}, "mlx5_7:1 5, ib0:2 -1",
		},
		"user's filter leaves none": {[]Var{{Name: "NCCL_IB_HCA", Value: "=mlx5_0", Source: UserSet}}, ""},
		"no filter":                 {nil, "mlx5_6:1 3, mlx5_7:1 5, ib0:2 -1"},
	} {
		var got []string
		for _, p := range Paths(&host.Snapshot{}, c.vars, rails) {
			got = append(got, fmt.Sprintf("%s %d", p.Rail.Name(), p.GID))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
