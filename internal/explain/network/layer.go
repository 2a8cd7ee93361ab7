package network

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// The layers of verbs, as Network.LinkLayer says them.
const (
	LayerIB      = "InfiniBand"
	LayerRoCE    = "RoCE"
	LayerMixed   = "mixed"
	LayerUnknown = "unknown"
)

// Layers counts the HCAs that channels go over by their link layer; without channels, those that are listed.
func Layers(run *facts.Run) (ib, roce int) {
	for _, r := range run.Log.Ranks {
		for _, h := range facts.UsedHCAs(run, r) {
			switch h.Layer {
			case "IB":
				ib++
			case "RoCE":
				roce++
			}
		}
	}
	return ib, roce
}

// Majority returns the layer of most of these HCAs.
func Majority(run *facts.Run) string {
	ib, roce := Layers(run)
	if roce > ib {
		return LayerRoCE
	}
	return LayerIB
}

// linkLayer returns the layer of the listed HCAs, else the one that queue pairs and errors show.
func linkLayer(run *facts.Run) string {
	ib, roce := Layers(run)
	switch {
	case ib > 0 && roce > 0:
		return LayerMixed
	case ib > 0:
		return LayerIB
	case roce > 0:
		return LayerRoCE
	}
	for _, r := range run.Log.Ranks {
		switch {
		case r.QueuePair.HasGID:
			return LayerRoCE
		case r.QueuePair.HasLID:
			return LayerIB
		}
	}
	for _, e := range run.Log.Events {
		if l := LayerOf(e); l != "" {
			return l
		}
	}
	return LayerUnknown
}

// LayerOf is the link layer that a failure tells. NCCL prints GIDs in completions only of RoCE; ibv_modify_qp
// resolves the peer's address only there, so that its errno speaks of neighbours, routes and GIDs (kernel
// drivers/infiniband/core/addr.c).
func LayerOf(e event.Event) string {
	names := []string{e.Name}
	switch {
	case e.Completion != nil:
		if e.Completion.LocalGID != "" || e.Completion.RemoteGID != "" {
			return LayerRoCE
		}
		names = append(names, e.Completion.HCA)
	case e.Verbs != nil:
		if e.Verbs.Call == "ibv_modify_qp" && (slices.Contains([]int{19, 61, 101, 110, 113}, e.Verbs.Errno) ||
			e.Verbs.LocalGID != "" || e.Verbs.RemoteGID != "") {
			return LayerRoCE
		}
		names = append(names, e.Verbs.Device)
	case e.Async != nil:
		names = append(names, e.Async.Device)
	}
	if e.Kind == event.GIDUnreadable {
		return LayerRoCE
	}
	for _, name := range names {
		if layer := layerOfName(name); layer != "" {
			return layer
		}
	}
	return ""
}

// layerOfName knows the names that drivers and rdma-core's udev rule give to devices of Ethernet and of InfiniBand.
func layerOfName(name string) string {
	for _, prefix := range []string{"roce", "erdma", "irdma", "bnxt_re", "rxe", "mlx5_bond", "ionic", "hns_"} {
		if strings.HasPrefix(name, prefix) {
			return LayerRoCE
		}
	}
	if strings.HasPrefix(name, "ibp") || strings.HasPrefix(name, "ibs") {
		return LayerIB
	}
	return ""
}
