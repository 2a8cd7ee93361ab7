package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/story"
)

// Differences finds values that ranks do not share. A rank that does not print a value does not differ in it.
func Differences(run *Run) []story.Difference {
	var found []story.Difference
	for _, of := range []struct {
		what  string
		value func(nccllog.Rank) string
	}{
		{"network", func(r nccllog.Rank) string { return r.Network }},
		{"gpuDirect", GPUDirectOf},
		{"version", VersionOf},
		{"HCAs", HCAsOf},
		{"linkLayer", LayersOf},
		{"mtu", mtuOf},
	} {
		if d, ok := DifferenceIn(run, of.what, of.value); ok {
			found = append(found, d)
		}
	}
	for _, name := range variables(run) {
		if d, ok := DifferenceIn(run, name, func(r nccllog.Rank) string { return Variable(r, name) }); ok {
			found = append(found, d)
		}
	}
	return found
}

// DifferenceIn groups the ranks by a value; ok when there are at least two.
func DifferenceIn(run *Run, what string, value func(nccllog.Rank) string) (story.Difference, bool) {
	groups := map[string]*story.Group{}
	for _, r := range run.Log.Ranks {
		of := value(r)
		if of == "" || r.Glued {
			continue
		}
		g := groups[of]
		if g == nil {
			const most = 16
			if len(groups) >= most {
				continue
			}
			g = &story.Group{Value: of}
			groups[of] = g
		}
		g.Ranks++
		const shown = 4
		who := cmp.Or(r.Host, r.Label)
		if len(g.Who) < shown && !slices.Contains(g.Who, who) {
			g.Who = append(g.Who, who)
		}
	}
	d := story.Difference{What: what}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		d.Groups = append(d.Groups, *groups[key])
	}
	slices.SortStableFunc(d.Groups, func(a, b story.Group) int { return b.Ranks - a.Ranks })
	return d, len(d.Groups) > 1
}

// VersionOf returns the version without the CUDA version, which some lines leave out: "2.28.9" for "2.28.9+cuda13.0".
func VersionOf(r nccllog.Rank) string {
	version, _, _ := strings.Cut(r.Version, "+")
	return version
}

// GPUDirectOf returns yes, partial or no, as the channels of a rank show GPUDirect RDMA; "" if they do not.
func GPUDirectOf(r nccllog.Rank) string {
	ends, direct := 0, 0
	for _, n := range r.Channels.Nets {
		ends += n.Sends + n.Receives
		direct += n.SendsDirect + n.ReceivesDirect
	}
	switch {
	case ends > 0 && direct == ends:
		return "yes"
	case direct > 0:
		return "partial"
	case ends > 0:
		return "no"
	case len(r.GPUDirect.Disabled) > 0 && len(r.GPUDirect.Enabled) == 0:
		return "no"
	}
	return ""
}

// HCAsOf returns the HCAs of a rank: "mlx5_0:1,mlx5_1:1".
func HCAsOf(r nccllog.Rank) string {
	names := make([]string, 0, len(r.HCAs))
	for _, h := range r.HCAs {
		names = append(names, fmt.Sprintf("%s:%d", h.Name, h.Port))
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// LayersOf returns the link layers of the HCAs of a rank: "IB", "IB+RoCE".
func LayersOf(r nccllog.Rank) string {
	found := map[string]bool{}
	for _, h := range r.HCAs {
		found[h.Layer] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "+")
}

func mtuOf(r nccllog.Rank) string {
	if r.QueuePair.MTU == 0 {
		return ""
	}
	return strconv.Itoa(128 << r.QueuePair.MTU) // ibv_mtu: 1 is 256, 5 is 4096
}

func variables(run *Run) []string {
	names := map[string]bool{}
	for _, r := range run.Log.Ranks {
		for _, e := range r.Env {
			names[e.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Variable returns the value of a rank. A rank that prints its network would print the variables that decide it.
func Variable(r nccllog.Rank, name string) string {
	for _, e := range r.Env {
		if e.Name == name {
			return e.Value
		}
	}
	if decides := []string{"NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET", "NCCL_SOCKET_IFNAME"}; r.Network != "" &&
		slices.Contains(decides, name) {
		return "(not set)"
	}
	return ""
}
