package story

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// The layers of verbs, as Network.LinkLayer says them.
const (
	layerIB      = "InfiniBand"
	layerRoCE    = "RoCE"
	layerMixed   = "mixed"
	layerUnknown = "unknown"
)

func (run *judged) judgeNetwork() {
	name := run.networkName()
	run.network = Network{Name: name, Kind: run.kindOf(name), Evidence: []Evidence{}}
	if run.network.Kind == IB {
		run.network.LinkLayer = run.linkLayer()
		if run.network.LinkLayer == layerRoCE {
			run.network.Kind = RoCE
		}
		if run.network.LinkLayer == layerMixed && run.majority() == layerRoCE {
			run.network.Kind = RoCE
		}
	}
	run.network.Transport, run.network.Why, run.network.Evidence = run.use()
	run.network.Used = run.network.Transport.used()
}

// networkName returns the network that carries channels; without channels the chosen one, or that of a plugin.
func (run *facts) networkName() string {
	channels, chosen, plugins := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range run.log.Ranks {
		for _, n := range r.Channels.Nets {
			channels[n.Network] += n.Sends + n.Receives
		}
		if r.Network != "" {
			chosen[r.Network]++
		}
		for _, p := range r.Plugins {
			plugins[p]++
		}
	}
	for _, counted := range []map[string]int{channels, chosen} {
		if name := most(counted); name != "" {
			return name
		}
	}
	if run.socketAlone() {
		return "Socket"
	}
	return most(plugins)
}

// most returns the name with the highest count; Socket only when there is no other.
func most(counted map[string]int) string {
	names := slices.Sorted(maps.Keys(counted))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(compareBool(a == "Socket", b == "Socket"), cmp.Compare(counted[b], counted[a]))
	})
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// socketAlone reports that NET/Socket was set up and no HCA was found, which up to 2.26 NCCL does only when Socket is
// used.
func (run *facts) socketAlone() bool {
	found := false
	for _, r := range run.log.Ranks {
		if len(r.HCAs) > 0 {
			return false
		}
		found = found || len(r.Sockets) > 0
	}
	return found
}

// kindOf judges a network by its name. HPC-X calls its verbs IBext_v11, and "NCCL RDMA Plugin" where it is loaded.
func (run *sequence) kindOf(name string) Kind {
	low := strings.ToLower(name)
	switch {
	case low == "socket":
		return Socket
	case isVerbs(name):
		return IB
	case strings.Contains(low, "libfabric") || low == "ofi" || strings.Contains(low, "efa") ||
		strings.Contains(low, "slingshot"):
		return OFI
	case low == "gib" || strings.Contains(low, "gib_") || strings.HasPrefix(low, "gib "):
		return GIB
	case strings.Contains(low, "fastrak") || strings.Contains(low, "fastsocket") || strings.Contains(low, "tcpx"):
		return FastSocket
	case name != "":
		return OtherNetwork
	}
	return run.kindByLines()
}

// isVerbs reports whether a network speaks verbs: NCCL's own, and those of HPC-X (nccl-rdma-sharp-plugins
// src/ib_plugin.c).
func isVerbs(name string) bool {
	return name == "IB" || strings.HasPrefix(name, "IBext") || strings.HasPrefix(name, "NCCL RDMA Plugin") ||
		name == "RoCE" || name == "ANP" || name == "RCCL-ANP"
}

// kindByLines judges a log in which no line names the network, by its device lists and failures.
func (run *sequence) kindByLines() Kind {
	if e := run.first; e != nil && (e.Kind == event.NoNetworkLeft || e.Kind == event.NoInterface &&
		e.Name != "gloo") {
		return NoNetwork
	}
	for _, r := range run.log.Ranks {
		if len(r.HCAs) > 0 || r.Verbs || r.QueuePair.HasGID || r.QueuePair.HasLID {
			return IB
		}
	}
	withoutVerbs := run.has(event.NoVerbs)
	for _, e := range run.log.Events {
		if kind := kindOfEvent(e, withoutVerbs); kind != UnknownNetwork {
			return kind
		}
	}
	if withoutVerbs {
		return Socket // the only network left without libibverbs
	}
	return UnknownNetwork
}

// kindOfEvent returns the network that an event can only come from.
func kindOfEvent(e event.Event, withoutVerbs bool) Kind {
	switch e.Kind {
	case event.BadCompletion, event.AsyncEvent, event.CannotOpen, event.LayersDiffer, event.GIDUnreadable:
		return IB
	case event.VerbsFailed:
		if !e.Verbs.Other {
			return IB
		}
	case event.WrongSocket: // received and expected: 3 is NET/Socket, 4 NET/IB
		return socketOr(IB, strings.Contains(e.Text, "!= 3"))
	case event.SizesDiffer:
		return socketOr(IB, strings.Contains(e.Text, "NET/Socket"))
	case event.OFICompletion, event.OFIRegister:
		return OFI
	case event.OFIFailed, event.OFINoProvider:
		if !withoutVerbs { // TCP is left then
			return OFI
		}
	case event.GDRCopyFailed:
		if e.Name == "OFI" {
			return OFI
		}
	case event.Warning, event.FailedOver, event.Listed:
		if strings.Contains(e.Text, "NET/IB") {
			return IB
		}
	default:
	}
	return UnknownNetwork
}

func socketOr(other Kind, socket bool) Kind {
	if socket {
		return Socket
	}
	return other
}

func (run *facts) layers() (ib, roce int) {
	for _, r := range run.log.Ranks {
		for _, h := range r.HCAs {
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

// majority returns the layer of most HCAs.
func (run *facts) majority() string {
	ib, roce := run.layers()
	if roce > ib {
		return layerRoCE
	}
	return layerIB
}

// linkLayer returns the layer of the listed HCAs, else the one that queue pairs and errors show.
func (run *facts) linkLayer() string {
	ib, roce := run.layers()
	switch {
	case ib > 0 && roce > 0:
		return layerMixed
	case ib > 0:
		return layerIB
	case roce > 0:
		return layerRoCE
	}
	for _, r := range run.log.Ranks {
		switch {
		case r.QueuePair.HasGID:
			return layerRoCE
		case r.QueuePair.HasLID:
			return layerIB
		}
	}
	for _, e := range run.log.Events {
		if l := layerOf(e); l != "" {
			return l
		}
	}
	return layerUnknown
}

// layerOf is the link layer that a failure tells. NCCL prints GIDs in completions only of RoCE; ibv_modify_qp
// resolves the peer's address only there, so that its errno speaks of neighbours, routes and GIDs (kernel
// drivers/infiniband/core/addr.c).
func layerOf(e event.Event) string {
	names := []string{e.Name}
	switch {
	case e.Completion != nil:
		if e.Completion.LocalGID != "" || e.Completion.RemoteGID != "" {
			return layerRoCE
		}
		names = append(names, e.Completion.HCA)
	case e.Verbs != nil:
		if e.Verbs.Call == "ibv_modify_qp" && (slices.Contains([]int{19, 61, 101, 110, 113}, e.Verbs.Errno) ||
			e.Verbs.LocalGID != "" || e.Verbs.RemoteGID != "") {
			return layerRoCE
		}
		names = append(names, e.Verbs.Device)
	case e.Async != nil:
		names = append(names, e.Async.Device)
	}
	if e.Kind == event.GIDUnreadable {
		return layerRoCE
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
			return layerRoCE
		}
	}
	if strings.HasPrefix(name, "ibp") || strings.HasPrefix(name, "ibs") {
		return layerIB
	}
	return ""
}
