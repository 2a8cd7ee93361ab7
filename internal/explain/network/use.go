package network

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// used returns Network.Used: only a network other than NCCL's sockets counts, and only when lines prove it.
func used(t story.Transport) *bool {
	switch t {
	case story.RDMA, story.Plugin, story.MixedTransport:
		return new(true)
	case story.TCP, story.NVLink, story.Unconnected:
		return new(false)
	case story.UnknownTransport, story.NoTransport:
	}
	return nil
}

// use judges how data moved between the nodes, and returns a sentence and the lines that show it.
func use(n *judged) (story.Transport, string, []story.Evidence) {
	t, nodes := n.channels, n.run.Nodes()
	chosen, listed := n.run.Chosen(n.network.Name), n.run.Listed()
	switch {
	case t.offTCP > 0 && nodes != 1:
		return useOfChannels(n)
	case nodes == 1 && alone(n):
		return story.NoTransport, "one node: no network between nodes was needed",
			facts.Quotes(n.run.Topology(), chosen)
	case alone(n) && (t.fabric > 0 || n.run.OverFabric()):
		return story.NVLink, "NVLink carried the data between the nodes (MNNVL), as it should: no NIC was needed",
			facts.Quotes(n.run.Topology())
	case t.socket > 0 && socketsFailed(n.run):
		failed := n.run.Events(event.ConnectFailed, event.Trail)[0]
		return story.Unconnected, "TCP sockets were chosen, but the run failed while they were connected: " +
			"they carried no data", facts.Quotes(t.onTCP, failed.Quote)
	case t.socket > 0:
		return story.TCP, "TCP sockets carried the data between the nodes, no RDMA",
			facts.Quotes(t.onTCP, chosen, listed)
	case n.network.Kind == story.Socket:
		return story.TCP, "NCCL chose TCP sockets, no RDMA", facts.Quotes(chosen, listed)
	case n.network.Kind == story.NoNetwork:
		return story.Unconnected, "NCCL found no network and ended", []story.Evidence{}
	}
	return useWithoutChannels(n, chosen, listed)
}

// useOfChannels judges a log with channels between nodes that are not TCP.
func useOfChannels(n *judged) (story.Transport, string, []story.Evidence) {
	t := n.channels
	switch {
	case !connected(n.run) && unfinishedSetUp(n.seq).Text != "":
		return story.Unconnected, called(n) + " was chosen, but the run failed while its connections were set up: it " +
				"carried no data",
			facts.Quotes(t.first, unfinishedSetUp(n.seq).Quote)
	case t.socket > 0:
		why := fmt.Sprintf("%s carried channels of %s, and TCP those of %s",
			called(n), words.Count(t.ranks, "rank"), words.Count(len(t.OnTCP), "rank"))
		return story.MixedTransport, why, facts.Quotes(t.first, t.onTCP)
	}
	why := fmt.Sprintf("channels between nodes went over %s: %d ends on %s", called(n), t.offTCP,
		words.Count(t.ranks, "rank"))
	return carrier(n), why, facts.Quotes(t.first, n.run.Topology())
}

// useWithoutChannels judges a log that shows no channel between nodes.
func useWithoutChannels(n *judged, chosen, listed event.Quote) (story.Transport, string, []story.Evidence) {
	kind := n.network.Kind
	if e, ok := onQueuePair(n.run); ok {
		return carrier(n), "work requests were on queue pairs of " + called(n) + " when one failed",
			facts.Quotes(e.Quote, listed)
	}
	if !connected(n.run) && setUpFailure(n.run).Text != "" && isRDMA(kind) && len(n.seq.Failures) > 0 {
		return story.Unconnected, called(n) + " was chosen, but the run failed while it was set up: it carried no data",
			facts.Quotes(setUpFailure(n.run).Quote, chosen, listed)
	}
	if isRDMA(kind) {
		return story.UnknownTransport, called(n) + " was chosen, but no line shows a channel between nodes",
			facts.Quotes(chosen, listed)
	}
	return story.UnknownTransport, "no line shows which network was used", facts.Quotes(chosen)
}

// carrier returns the transport of a network that carries data: only the names of verbs networks prove RDMA.
func carrier(n *judged) story.Transport {
	if n.network.Kind == story.IB || n.network.Kind == story.RoCE {
		return story.RDMA
	}
	return story.Plugin
}

func isRDMA(k story.Kind) bool {
	switch k {
	case story.IB, story.RoCE, story.OFI, story.GIB:
		return true
	case story.Socket, story.FastSocket, story.OtherNetwork, story.NoNetwork, story.UnknownNetwork:
	}
	return false
}

// alone reports whether no channel leaves the node, whatever network was chosen.
func alone(n *judged) bool { return n.channels.offTCP == 0 && n.channels.socket == 0 }

// called is the network in words: "NET/IBext_v11 (RoCE)".
func called(n *judged) string {
	name := cmp.Or(n.network.Name, string(n.network.Kind))
	switch {
	case n.network.LinkLayer == LayerUnknown:
		return "NET/" + name + " (InfiniBand or RoCE: the log does not show which)"
	case n.network.LinkLayer == LayerMixed:
		return "NET/" + name + " (InfiniBand and RoCE)"
	case n.network.LinkLayer != "" && n.network.LinkLayer != name:
		return "NET/" + name + " (" + n.network.LinkLayer + ")"
	}
	return "NET/" + name
}

// onQueuePair finds a bad completion: there was a queue pair, and work on it.
func onQueuePair(run *facts.Run) (event.Event, bool) {
	if run.Nodes() == 1 {
		return event.Event{}, false
	}
	for _, e := range run.Events(event.BadCompletion) {
		return e, true
	}
	return event.Event{}, false
}

// setUpFailure is the first failure that only happens before data can go over a connection.
func setUpFailure(run *facts.Run) event.Event {
	for _, e := range run.Log.Events {
		if e.Info {
			continue
		}
		switch e.Kind {
		case event.WrongSocket, event.LayersDiffer, event.GIDUnreadable, event.OFINoProvider:
			return e
		case event.OFIFailed:
			if e.Detail == event.InSetUp {
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

// connected reports whether a line shows that a connection was used, or could be.
func connected(run *facts.Run) bool {
	return run.Log.Finished.Text != "" || run.Has(event.BadCompletion) ||
		slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.Connected })
}

// unfinishedSetUp is the failure before which channels were announced and none connected: one that only happens during
// the set-up, or one of a connection or that stopped the set-up of a rank, if no rank logged that the set-up ended.
func unfinishedSetUp(s *failures.Sequence) event.Event {
	if e := setUpFailure(s.Run); e.Text != "" {
		return e
	}
	began := slices.ContainsFunc(s.Run.Log.Ranks, func(r nccllog.Rank) bool { return r.World > 0 || r.Stopped })
	ended := slices.ContainsFunc(s.Run.Log.Ranks, func(r nccllog.Rank) bool { return r.Complete > 0 || r.Destroyed })
	if !began || ended {
		return event.Event{}
	}
	for _, e := range s.Failures {
		switch e.Kind {
		case event.SocketClosed, event.ConnectFailed, event.SocketFailed, event.Trail:
			return e
		case event.TopologyUnread: // before any channel: of another communicator than theirs
		default:
			if e.Rank >= 0 && s.Run.Log.Ranks[e.Rank].Stopped && s.Run.LeadsToTrail(e) {
				return e
			}
		}
	}
	return event.Event{}
}

// socketsFailed reports whether NCCL's sockets failed to connect and nothing was sent over them.
func socketsFailed(run *facts.Run) bool {
	failed := slices.ContainsFunc(run.Events(event.ConnectFailed, event.Trail), func(e event.Event) bool {
		return !e.Info
	})
	return failed && run.Log.Finished.Text == "" &&
		!slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.Connected })
}
