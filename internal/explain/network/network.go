// Package network judges which network a run used, and whether NICs reached the memory of its GPUs.
package network

import (
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// Use is the network of a run, with what proves it.
type Use struct {
	Network   story.Network
	Traffic   story.Traffic
	GPUDirect story.GPUDirect
	GPUReason string // "" if nothing is to be said
	Uneven    bool   // some NICs or ranks have no GPUDirect RDMA at all, and others do
	Alone     bool   // no channel leaves its node, whatever network was chosen
}

// Of judges the network of a run with its failures.
func Of(s *failures.Sequence) Use {
	n := &judged{run: s.Run, seq: s, channels: trafficOf(s.Run.Log)}
	judgeNetwork(n)
	judgeGPUDirect(n)
	return Use{n.network, n.channels.Traffic, n.gpuDirect, n.gpuReason, n.uneven, alone(n)}
}

// judged is a network while it is judged.
type judged struct {
	run       *facts.Run
	seq       *failures.Sequence
	channels  traffic
	network   story.Network
	gpuDirect story.GPUDirect
	gpuReason string
	uneven    bool
}

func judgeNetwork(n *judged) {
	name := networkName(n.run)
	n.network = story.Network{Name: name, Kind: kindOf(n.seq, name), Evidence: []story.Evidence{}}
	if n.network.Kind == story.IB {
		n.network.LinkLayer = linkLayer(n.run)
		if name == spectrumX && n.network.LinkLayer == LayerUnknown {
			n.network.LinkLayer = LayerRoCE
		}
		if n.network.LinkLayer == LayerRoCE {
			n.network.Kind = story.RoCE
		}
		if n.network.LinkLayer == LayerMixed && Majority(n.run) == LayerRoCE {
			n.network.Kind = story.RoCE
		}
	}
	n.network.Transport, n.network.Why, n.network.Evidence = use(n)
	n.network.Used = used(n.network.Transport)
}

// networkName returns the network that carries channels. Without channels it returns the network that NCCL chose, or
// else the network of a plugin.
func networkName(run *facts.Run) string {
	channels, chosen, plugins := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range run.Log.Ranks {
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
	if socketAlone(run) {
		return "Socket"
	}
	return most(plugins)
}

// most returns the name with the highest count; Socket only when there is no other.
func most(counted map[string]int) string {
	weight := func(name string) int {
		if name == socketNetwork {
			return -1
		}
		return counted[name]
	}
	names := slices.Sorted(maps.Keys(counted))
	slices.SortStableFunc(names, func(a, b string) int { return weight(b) - weight(a) })
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// socketAlone reports whether NET/Socket was set up and no HCA was found. Up to 2.26, NCCL does that only if it uses
// Socket.
func socketAlone(run *facts.Run) bool {
	found := false
	for _, r := range run.Log.Ranks {
		if len(r.HCAs) > 0 {
			return false
		}
		found = found || len(r.Sockets) > 0
	}
	return found
}

// kindOf judges a network by its name. HPC-X calls its verbs IBext_v11, and "NCCL RDMA Plugin" where it is loaded.
func kindOf(s *failures.Sequence, name string) story.Kind {
	low := strings.ToLower(name)
	switch {
	case low == "socket":
		return story.Socket
	case isVerbs(name):
		return story.IB
	case strings.Contains(low, "libfabric") || low == "ofi" || strings.Contains(low, "efa") ||
		strings.Contains(low, "slingshot"):
		return story.OFI
	case low == "gib" || strings.Contains(low, "gib_") || strings.HasPrefix(low, "gib "):
		return story.GIB
	case strings.Contains(low, "fastrak") || strings.Contains(low, "fastsocket") || strings.Contains(low, "tcpx"):
		return story.FastSocket
	case name != "":
		return story.OtherNetwork
	}
	return kindByLines(s)
}

// isVerbs reports whether a network uses verbs: NCCL's own network, or a network of HPC-X (nccl-rdma-sharp-plugins
// src/ib_plugin.c).
func isVerbs(name string) bool {
	return name == "IB" || strings.HasPrefix(name, "IBext") || strings.HasPrefix(name, "NCCL RDMA Plugin") ||
		name == "RoCE" || name == "ANP" || name == "RCCL-ANP" || name == spectrumX
}

// spectrumX is NVIDIA's plugin for RoCE over Spectrum-X.
const spectrumX = "SPCX"

// kindByLines judges a log in which no line names the network, by its device lists and failures.
func kindByLines(s *failures.Sequence) story.Kind {
	if e := s.First; e != nil && (e.Kind == event.NoNetworkLeft || e.Kind == event.NoInterface &&
		e.Name != "gloo") {
		return story.NoNetwork
	}
	for _, r := range s.Run.Log.Ranks {
		if len(r.HCAs) > 0 || r.Verbs || r.QueuePair.HasGID || r.QueuePair.HasLID {
			return story.IB
		}
	}
	withoutVerbs := s.Run.Has(event.NoVerbs)
	for _, e := range s.Run.Log.Events {
		if kind := kindOfEvent(e, withoutVerbs); kind != story.UnknownNetwork {
			return kind
		}
	}
	if withoutVerbs {
		return story.Socket // the only network left without libibverbs
	}
	return story.UnknownNetwork
}

// kindOfEvent returns the network that an event can only come from.
func kindOfEvent(e event.Event, withoutVerbs bool) story.Kind {
	switch e.Kind {
	case event.BadCompletion, event.AsyncEvent, event.CannotOpen, event.LayersDiffer, event.GIDUnreadable:
		return story.IB
	case event.VerbsFailed:
		if !e.Verbs.Other {
			return story.IB
		}
	case event.WrongSocket: // received and expected: 3 is NET/Socket, 4 NET/IB
		return socketOr(story.IB, e.Detail == event.OverTCP)
	case event.SizesDiffer:
		return socketOr(story.IB, e.Detail == event.OverTCP)
	case event.OFICompletion, event.OFIRegister:
		return story.OFI
	case event.OFIFailed, event.OFINoProvider:
		if !withoutVerbs { // TCP is left then
			return story.OFI
		}
	case event.GDRCopyFailed:
		if e.Name == "OFI" {
			return story.OFI
		}
	case event.Warning, event.FailedOver, event.Listed:
		if e.Detail == event.OverVerbs {
			return story.IB
		}
	default:
	}
	return story.UnknownNetwork
}

func socketOr(other story.Kind, socket bool) story.Kind {
	if socket {
		return story.Socket
	}
	return other
}
