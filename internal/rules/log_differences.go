package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
)

// differences are what is not the same on all ranks. A rank that does not say a thing is not different in it.
func (v *view) differences() []Difference {
	var found []Difference
	for _, of := range []struct {
		what  string
		value func(nccllog.Rank) string
	}{
		{"network", func(r nccllog.Rank) string { return r.Network }},
		{"gpuDirect", gpuDirectOf},
		{"version", func(r nccllog.Rank) string { return r.Version }},
		{"HCAs", hcasOf},
		{"linkLayer", layersOf},
		{"mtu", mtuOf},
	} {
		if d, ok := v.difference(of.what, of.value); ok {
			found = append(found, d)
		}
	}
	for _, name := range v.variables() {
		if d, ok := v.difference(name, func(r nccllog.Rank) string { return variable(r, name) }); ok {
			found = append(found, d)
		}
	}
	return found
}

// difference groups the ranks by a value; ok when there are at least two.
func (v *view) difference(what string, value func(nccllog.Rank) string) (Difference, bool) {
	groups := map[string]*Group{}
	for _, r := range v.log.Ranks {
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
			g = &Group{Value: of}
			groups[of] = g
		}
		g.Ranks++
		const shown = 4
		who := first(r.Host, r.Label)
		if len(g.Who) < shown && !slices.Contains(g.Who, who) {
			g.Who = append(g.Who, who)
		}
	}
	d := Difference{What: what}
	for _, key := range sortedKeys(groups) {
		d.Groups = append(d.Groups, *groups[key])
	}
	slices.SortStableFunc(d.Groups, func(a, b Group) int { return b.Ranks - a.Ranks })
	return d, len(d.Groups) > 1
}

func gpuDirectOf(r nccllog.Rank) string {
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

// hcasOf is the HCAs of a rank; the order does not count.
func hcasOf(r nccllog.Rank) string {
	names := make([]string, 0, len(r.HCAs))
	for _, h := range r.HCAs {
		names = append(names, fmt.Sprintf("%s:%d", h.Name, h.Port))
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

func layersOf(r nccllog.Rank) string {
	found := map[string]bool{}
	for _, h := range r.HCAs {
		found[h.Layer] = true
	}
	return strings.Join(sortedKeys(found), "+")
}

func mtuOf(r nccllog.Rank) string {
	if r.QueuePair.MTU == 0 {
		return ""
	}
	return itoa(128 << r.QueuePair.MTU) // ibv_mtu: 1 is 256, 5 is 4096
}

// variables are the names of those that NCCL said it read on at least one rank.
func (v *view) variables() []string {
	names := map[string]bool{}
	for _, r := range v.log.Ranks {
		for _, e := range r.Env {
			names[e.Name] = true
		}
	}
	return sortedKeys(names)
}

// variable is the value of a rank. A rank that said which network it uses would have named those that decide about it.
func variable(r nccllog.Rank, name string) string {
	for _, e := range r.Env {
		if e.Name == name {
			return e.Value
		}
	}
	if decides := []string{"NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET", "NCCL_SOCKET_IFNAME"}; r.Network != "" && slices.Contains(decides, name) {
		return "(not set)"
	}
	return ""
}
