package network

import (
	"fmt"
	"maps"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// judgeGPUDirect judges by the channels, which prove it; without channels, by the abilities that NCCL printed.
func judgeGPUDirect(n *judged) {
	t := n.channels
	n.gpuDirect = story.GPUDirectUnknown
	switch {
	case n.network.Kind == story.Socket && t.offTCP == 0:
		n.gpuDirect, n.gpuReason = story.GPUDirectNo, "TCP sockets have no GPUDirect RDMA"
	case t.offTCP > 0 && t.Direct == t.Ends && n.network.Transport == story.Unconnected:
		n.gpuDirect, n.gpuReason = story.GPUDirectYes, fmt.Sprintf("all %d ends of channels were planned with GDRDMA",
			t.Ends)
	case t.offTCP > 0 && t.Direct == t.Ends:
		n.gpuDirect, n.gpuReason = story.GPUDirectYes, fmt.Sprintf("all %d ends of channels have GDRDMA", t.Ends)
	case t.offTCP > 0 && t.Direct > 0:
		why := because(n.run)
		if n.uneven = uneven(n.run.Log.Ranks); !n.uneven {
			why = "; the others go over NICs that are farther away from their GPU"
		}
		n.gpuDirect, n.gpuReason = story.GPUDirectPartial, fmt.Sprintf("%d of %d ends of channels have GDRDMA%s",
			t.Direct, t.Ends, why)
	case t.offTCP > 0:
		n.gpuDirect, n.gpuReason = story.GPUDirectNo, "no channel between nodes has GDRDMA"+because(n.run)
	default:
		judgeAbility(n)
	}
}

// uneven reports whether a rank has no channel with GDRDMA, or a NIC has none of any rank of its host. Otherwise each
// NIC reads and writes the memory of GPUs that are near enough, and each GPU has such a NIC.
func uneven(ranks []nccllog.Rank) bool {
	type nic struct{ host, network string }
	all, direct := map[nic]uint64{}, map[nic]uint64{}
	for _, r := range ranks {
		sum := 0
		for _, c := range r.Channels.Nets {
			of := nic{r.Host, c.Network}
			all[of] |= c.Devices
			direct[of] |= c.DevicesDirect
			sum += c.SendsDirect + c.ReceivesDirect
		}
		if len(r.Channels.Nets) > 0 && sum == 0 {
			return true
		}
	}
	return !maps.Equal(all, direct)
}

// judgeAbility judges a log without channels. A NIC that can use GPUDirect need not use it.
func judgeAbility(n *judged) {
	enabled, disabled, far := 0, 0, 0
	for _, r := range n.run.Log.Ranks {
		enabled += len(r.GPUDirect.Enabled)
		disabled += len(r.GPUDirect.Disabled)
		far += r.GPUDirect.Far
	}
	if disabled > 0 && enabled == 0 {
		n.gpuDirect, n.gpuReason = story.GPUDirectNo, strings.TrimPrefix(because(n.run), ": ")
	}
}

// because is the reason that the lines give, behind a colon.
func because(run *facts.Run) string {
	for _, r := range run.Log.Ranks {
		if len(r.GPUDirect.Disabled) > 0 {
			return fmt.Sprintf(": NCCL found neither a peer-memory module nor DMA-BUF for %s on %s",
				words.Few(r.GPUDirect.Disabled, facts.MostNames), facts.RankName(r, -1))
		}
	}
	for _, r := range run.Log.Ranks {
		if r.GPUDirect.Far > 0 {
			return fmt.Sprintf(": the way from GPU to HCA is too long on %s (distance %s)", facts.RankName(r, -1),
				r.GPUDirect.Distance)
		}
	}
	return ""
}
