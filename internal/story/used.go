package story

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

// Transport moved the data between the nodes of a run.
type Transport int

// Transports. UnknownTransport: no line shows it.
const (
	UnknownTransport Transport = iota
	NoTransport                // one node needs no network
	Unconnected                // the run failed before a connection between nodes was usable
	RDMA                       // verbs
	Plugin                     // a plugin's network; its name does not say whether it uses RDMA
	TCP                        // NCCL's own sockets
	MixedTransport             // TCP on some channels, RDMA or a plugin on others
	NVLink                     // a multi-node NVLink fabric (MNNVL)
)

// used returns Network.Used: only a network other than NCCL's sockets counts, and only when lines prove it.
func (t Transport) used() *bool {
	switch t {
	case RDMA, Plugin, MixedTransport:
		return new(true)
	case TCP, NVLink, Unconnected:
		return new(false)
	case UnknownTransport, NoTransport:
	}
	return nil
}

// use judges how data moved between the nodes, and returns a sentence and the lines that show it.
func (run *judged) use() (Transport, string, []Evidence) {
	t, nodes := run.traffic, run.nodes()
	chosen, listed := run.chosen(run.network.Name), run.listed()
	switch {
	case t.ends > 0 && nodes != 1:
		return run.useOfChannels()
	case nodes == 1 && run.alone():
		return NoTransport, "one node: no network between nodes was needed", quotes(run.topology(), chosen)
	case t.socket > 0 && run.socketsFailed():
		failed := run.events(event.ConnectFailed, event.Trail)[0]
		return Unconnected, "TCP sockets were chosen, but the run failed while they were connected: " +
			"they carried no data", quotes(t.onTCP, failed.Quote)
	case t.socket > 0:
		return TCP, "TCP sockets carried the data between the nodes, no RDMA", quotes(t.onTCP, chosen, listed)
	case run.network.Kind == Socket:
		return TCP, "NCCL chose TCP sockets, no RDMA", quotes(chosen, listed)
	case t.fabric > 0:
		return NVLink, "NVLink carried the data between the nodes (MNNVL), no NIC", quotes(run.topology())
	case run.network.Kind == NoNetwork:
		return Unconnected, "NCCL found no network and ended", []Evidence{}
	}
	return run.useWithoutChannels(chosen, listed)
}

// useOfChannels judges a log with channels between nodes that are not TCP.
func (run *judged) useOfChannels() (Transport, string, []Evidence) {
	t := run.traffic
	switch {
	case !run.connected() && run.unfinishedSetUp().Text != "":
		return Unconnected, run.called() + " was chosen, but the run failed while its connections were set up: it " +
				"carried no data",
			quotes(t.first, run.unfinishedSetUp().Quote)
	case t.socket > 0:
		why := fmt.Sprintf("%s carried channels of %s, and TCP those of %s",
			run.called(), words.Count(t.ranks, "rank"), words.Count(len(t.OnTCP), "rank"))
		return MixedTransport, why, quotes(t.first, t.onTCP)
	}
	why := fmt.Sprintf("channels between nodes went over %s: %d ends on %s", run.called(), t.ends,
		words.Count(t.ranks, "rank"))
	return run.carrier(), why, quotes(t.first, run.topology())
}

// useWithoutChannels judges a log that shows no channel between nodes.
func (run *judged) useWithoutChannels(chosen, listed event.Quote) (Transport, string, []Evidence) {
	kind := run.network.Kind
	if e, ok := run.onQueuePair(); ok {
		return run.carrier(), "work requests were on queue pairs of " + run.called() + " when one failed",
			quotes(e.Quote, listed)
	}
	if !run.connected() && run.setUpFailure().Text != "" && isRDMA(kind) && len(run.failures) > 0 {
		return Unconnected, run.called() + " was chosen, but the run failed while it was set up: it carried no data",
			quotes(run.setUpFailure().Quote, chosen, listed)
	}
	if isRDMA(kind) {
		return UnknownTransport, run.called() + " was chosen, but no line shows a channel between nodes",
			quotes(chosen, listed)
	}
	return UnknownTransport, "no line shows which network was used", quotes(chosen)
}

// carrier returns the transport of a network that carries data: only the names of verbs networks prove RDMA.
func (run *judged) carrier() Transport {
	if run.network.Kind == IB || run.network.Kind == RoCE {
		return RDMA
	}
	return Plugin
}

func isRDMA(k Kind) bool {
	switch k {
	case IB, RoCE, OFI, GIB:
		return true
	case Socket, FastSocket, OtherNetwork, NoNetwork, UnknownNetwork:
	}
	return false
}

// alone reports that no channel leaves the node, whatever network was chosen.
func (run *facts) alone() bool { return run.traffic.ends == 0 && run.traffic.socket == 0 }

// called is the network in words: "NET/IBext_v11 (RoCE)".
func (run *judged) called() string {
	name := cmp.Or(run.network.Name, string(run.network.Kind))
	switch {
	case run.network.LinkLayer == layerUnknown:
		return "NET/" + name + " (InfiniBand or RoCE: the log does not show which)"
	case run.network.LinkLayer == layerMixed:
		return "NET/" + name + " (InfiniBand and RoCE)"
	case run.network.LinkLayer != "" && run.network.LinkLayer != name:
		return "NET/" + name + " (" + run.network.LinkLayer + ")"
	}
	return "NET/" + name
}

// onQueuePair finds a bad completion: there was a queue pair, and work on it.
func (run *facts) onQueuePair() (event.Event, bool) {
	if run.nodes() == 1 {
		return event.Event{}, false
	}
	for _, e := range run.events(event.BadCompletion) {
		return e, true
	}
	return event.Event{}, false
}

// setUpFailure is the first failure that only happens before data can go over a connection.
func (run *facts) setUpFailure() event.Event {
	for _, e := range run.log.Events {
		if e.Info {
			continue
		}
		switch e.Kind {
		case event.WrongSocket, event.LayersDiffer, event.GIDUnreadable, event.OFINoProvider:
			return e
		case event.OFIFailed:
			if hasWord(e.Text, "open ", "nitialize", "ndpoint", "fi_domain", "fi_fabric") {
				return e
			}
		case event.VerbsFailed:
			switch e.Verbs.Call {
			case "ibv_modify_qp", "ibv_create_cq", "ibv_create_qp", "ibv_alloc_pd", "ibv_open_device":
				if !e.Verbs.Other {
					return e
				}
			}
		default:
		}
	}
	return event.Event{Kind: event.Warning}
}

// connected reports that a line tells that a connection was used, or could be.
func (run *facts) connected() bool {
	return run.log.Tests.Finished.Text != "" || run.has(event.BadCompletion) ||
		slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.Connected })
}

// unfinishedSetUp is the failure before which channels were announced and none connected: one that only happens during
// the set-up, or one of a connection or that stopped the set-up of a rank, if no rank logged that the set-up ended.
func (run *sequence) unfinishedSetUp() event.Event {
	if e := run.setUpFailure(); e.Text != "" {
		return e
	}
	began := slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.World > 0 || r.Stopped })
	ended := slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.Complete > 0 || r.Destroyed })
	if !began || ended {
		return event.Event{}
	}
	for _, e := range run.failures {
		switch e.Kind {
		case event.SocketClosed, event.ConnectFailed, event.SocketFailed, event.Trail:
			return e
		case event.TopologyUnread: // before any channel: of another communicator than theirs
		default:
			if e.Rank >= 0 && run.log.Ranks[e.Rank].Stopped && run.leadsToTrail(e) {
				return e
			}
		}
	}
	return event.Event{}
}

// socketsFailed reports that NCCL's sockets failed to connect, and that nothing was sent over them.
func (run *facts) socketsFailed() bool {
	failed := slices.ContainsFunc(run.events(event.ConnectFailed, event.Trail), func(e event.Event) bool {
		return !e.Info
	})
	return failed && run.log.Tests.Finished.Text == "" &&
		!slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.Connected })
}

// chosen is the line in which a rank says which network it uses.
func (run *facts) chosen(name string) event.Quote {
	for _, r := range run.log.Ranks {
		if r.Network == name && r.Chosen.Text != "" {
			return r.Chosen
		}
	}
	return event.Quote{}
}

func (run *facts) listed() event.Quote {
	for _, r := range run.log.Ranks {
		if r.Listed.Text != "" {
			return r.Listed
		}
	}
	return event.Quote{}
}

func (run *facts) topology() event.Quote {
	for _, r := range run.log.Ranks {
		if r.Topology.Text != "" {
			return r.Topology
		}
	}
	return event.Quote{}
}
