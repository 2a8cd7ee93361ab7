package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
)

// The layers of verbs, as Network.LinkLayer says them.
const (
	layerIB      = "InfiniBand"
	layerRoCE    = "RoCE"
	layerMixed   = "mixed"
	layerUnknown = "unknown"
)

// judgeNetwork says what carried the data between the nodes, and what proves it.
func (v *view) judgeNetwork() {
	name := v.networkName()
	v.network = Network{Name: name, Kind: v.kindOf(name), Evidence: []Evidence{}}
	if v.network.Kind == IB {
		v.network.LinkLayer = v.linkLayer()
		if v.network.LinkLayer == layerRoCE {
			v.network.Kind = RoCE
		}
		if v.network.LinkLayer == layerMixed && v.majority() == layerRoCE {
			v.network.Kind = RoCE
		}
	}
	v.network.Used, v.network.Why, v.network.Evidence = v.use()
}

// networkName is the network that carries channels; without channels the one that was chosen, or that a plugin stands for.
func (v *view) networkName() string {
	channels, chosen, plugins := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range v.log.Ranks {
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
	if v.socketAlone() {
		return "Socket"
	}
	return most(plugins)
}

// most is the name that has the highest count; Socket only when nothing else has any.
func most(counted map[string]int) string {
	names := sortedKeys(counted)
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

// socketAlone reports that NET/Socket was set up and no HCA was found, which up to 2.26 NCCL does only when Socket is used.
func (v *view) socketAlone() bool {
	found := false
	for _, r := range v.log.Ranks {
		if len(r.HCAs) > 0 {
			return false
		}
		found = found || len(r.Sockets) > 0
	}
	return found
}

// kindOf judges a network by its name. HPC-X calls its verbs IBext_v11, and "NCCL RDMA Plugin" where it is loaded.
func (v *view) kindOf(name string) Kind {
	low := strings.ToLower(name)
	switch {
	case low == "socket":
		return Socket
	case isVerbs(name):
		return IB
	case strings.Contains(low, "libfabric") || low == "ofi" || strings.Contains(low, "efa") || strings.Contains(low, "slingshot"):
		return OFI
	case low == "gib" || strings.Contains(low, "gib_") || strings.HasPrefix(low, "gib "):
		return GIB
	case strings.Contains(low, "fastrak") || strings.Contains(low, "fastsocket") || strings.Contains(low, "tcpx"):
		return FastSocket
	case name != "":
		return OtherNetwork
	}
	return v.kindByLines()
}

// isVerbs reports whether a network speaks verbs: NCCL's own, and those of HPC-X (nccl-rdma-sharp-plugins src/ib_plugin.c).
func isVerbs(name string) bool {
	return name == "IB" || strings.HasPrefix(name, "IBext") || strings.HasPrefix(name, "NCCL RDMA Plugin") || name == "RoCE" || name == "ANP" || name == "RCCL-ANP"
}

// kindByLines judges a log in which no line names the network: by the lists of devices, and by what failed.
func (v *view) kindByLines() Kind {
	if v.first != nil && (v.first.Kind == nccllog.NoNetworkLeft || v.first.Kind == nccllog.NoInterface && v.first.Name != "gloo") {
		return NoNetwork
	}
	for _, r := range v.log.Ranks {
		if len(r.HCAs) > 0 || r.Verbs || r.QueuePair.HasGID || r.QueuePair.HasLID {
			return IB
		}
	}
	for _, e := range v.log.Events {
		switch e.Kind {
		case nccllog.BadCompletion, nccllog.AsyncEvent, nccllog.VerbsFailed, nccllog.CannotOpen, nccllog.LayersDiffer, nccllog.GIDUnreadable:
			return IB
		case nccllog.WrongSocket: // received and expected: 3 is NET/Socket, 4 NET/IB
			if strings.Contains(e.Text, "!= 3") {
				return Socket
			}
			return IB
		case nccllog.SizesDiffer:
			if strings.Contains(e.Text, "NET/Socket") {
				return Socket
			}
			return IB
		case nccllog.OFICompletion, nccllog.OFIRegister:
			return OFI
		case nccllog.OFIFailed, nccllog.OFINoProvider: // without libibverbs, too, TCP is left
			if len(v.events(nccllog.NoVerbs)) == 0 {
				return OFI
			}
		case nccllog.GDRCopyFailed:
			if e.Name == "OFI" {
				return OFI
			}
		case nccllog.Warning:
			if strings.Contains(e.Text, "NET/IB") {
				return IB
			}
		default:
		}
	}
	if len(v.events(nccllog.NoVerbs)) > 0 {
		return Socket // all that is left without libibverbs
	}
	return UnknownNetwork
}

// layers counts the HCAs of all ranks by their link layer.
func (v *view) layers() (ib, roce int) {
	for _, r := range v.log.Ranks {
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

// majority is the layer that most HCAs have; of as many, that of the one that failed, or the first one.
func (v *view) majority() string {
	ib, roce := v.layers()
	if roce > ib {
		return layerRoCE
	}
	return layerIB
}

// linkLayer is that of the HCAs; where no line lists them, what the lines of queue pairs and the errors tell.
func (v *view) linkLayer() string {
	ib, roce := v.layers()
	switch {
	case ib > 0 && roce > 0:
		return layerMixed
	case ib > 0:
		return layerIB
	case roce > 0:
		return layerRoCE
	}
	for _, r := range v.log.Ranks {
		switch {
		case r.QueuePair.HasGID:
			return layerRoCE
		case r.QueuePair.HasLID:
			return layerIB
		}
	}
	for _, e := range v.log.Events {
		if l := layerOf(e); l != "" {
			return l
		}
	}
	return layerUnknown
}

// layerOf is the link layer that a failure tells. NCCL prints GIDs in completions only of RoCE; ibv_modify_qp resolves the
// peer's address only there, so that its errno speaks of neighbours, routes and GIDs (kernel drivers/infiniband/core/addr.c).
func layerOf(e nccllog.Event) string {
	names := []string{e.Name}
	switch {
	case e.Completion != nil:
		if e.Completion.LocalGID != "" || e.Completion.RemoteGID != "" {
			return layerRoCE
		}
		names = append(names, e.Completion.HCA)
	case e.Verbs != nil:
		if e.Verbs.Call == "ibv_modify_qp" && (slices.Contains([]int{19, 61, 101, 110, 113}, e.Verbs.Errno) || e.Verbs.LocalGID != "" || e.Verbs.RemoteGID != "") {
			return layerRoCE
		}
		names = append(names, e.Verbs.Device)
	case e.Async != nil:
		names = append(names, e.Async.Device)
	}
	if e.Kind == nccllog.GIDUnreadable {
		return layerRoCE
	}
	for _, name := range names {
		for _, prefix := range []string{"roce", "erdma", "irdma", "bnxt_re", "rxe", "mlx5_bond", "ionic", "hns_"} {
			if strings.HasPrefix(name, prefix) { // what drivers and rdma-core's udev rule call devices of Ethernet
				return layerRoCE
			}
		}
		if strings.HasPrefix(name, "ibp") || strings.HasPrefix(name, "ibs") {
			return layerIB
		}
	}
	return ""
}
