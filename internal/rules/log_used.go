package rules

import (
	"fmt"

	"github.com/railhead/railhead/internal/nccllog"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// traffic sums the ends of channels between nodes over all ranks.
type traffic struct {
	rdma, socket    int // ends of channels
	direct          int // with GDRDMA
	ranks, onSocket int
	fabric          int
	first, onTCP    nccllog.Quote
	with, without   nccllog.Quote
}

func (v *view) traffic() traffic {
	var t traffic
	for _, r := range v.log.Ranks {
		t.fabric += r.Channels.Fabric
		had := false
		for _, n := range r.Channels.Nets {
			ends := n.Sends + n.Receives
			if n.Network == "Socket" {
				t.socket += ends
				t.onSocket++
				t.onTCP = firstQuote(t.onTCP, n.First)
				continue
			}
			had = true
			t.rdma += ends
			t.direct += n.SendsDirect + n.ReceivesDirect
			t.first = firstQuote(t.first, n.First)
			t.with, t.without = firstQuote(t.with, n.Direct), firstQuote(t.without, n.Indirect)
		}
		if had {
			t.ranks++
		}
	}
	return t
}

func firstQuote(a, b nccllog.Quote) nccllog.Quote {
	if a.Text != "" {
		return a
	}
	return b
}

// use says whether RDMA carried the data between the nodes: true by proof alone, null where one node needs no network and
// where no line tells.
func (v *view) use() (*bool, string, []Evidence) {
	t, kind, nodes := v.traffic(), v.network.Kind, v.nodes()
	chosen, listed := v.chosen(v.network.Name), v.listed()
	switch {
	case t.rdma > 0 && nodes != 1 && v.neverConnected():
		return no(), fmt.Sprintf("%s was chosen, and the run failed while its connections were set up: no data went over it", v.called()), quotes(t.first, v.setUpFailure().Quote)
	case t.rdma > 0 && nodes != 1 && t.socket > 0:
		return yes(), fmt.Sprintf("%s carried channels of %s, and TCP those of %s", v.called(), count(t.ranks, "rank"), count(t.onSocket, "rank")), quotes(t.first, t.onTCP)
	case t.rdma > 0 && nodes != 1:
		return yes(), fmt.Sprintf("channels between nodes went over %s: %s ends on %s", v.called(), itoa(t.rdma), count(t.ranks, "rank")), quotes(t.first, v.topology())
	case nodes == 1 && v.alone():
		return nil, "one node: no network between nodes was needed", quotes(v.topology(), chosen)
	case t.socket > 0 || kind == Socket:
		return no(), "TCP sockets carried the data between the nodes, no RDMA", quotes(t.onTCP, chosen, listed)
	case t.fabric > 0:
		return no(), "NVLink carried the data between the nodes (MNNVL), no NIC", quotes(v.topology())
	case kind == NoNetwork:
		return no(), "NCCL found no network and ended", []Evidence{}
	}
	if e, ok := v.onQueuePair(); ok {
		return yes(), fmt.Sprintf("work requests were on queue pairs of %s when one failed", v.called()), quotes(e.Quote, listed)
	}
	if v.neverConnected() && isRDMA(kind) {
		return no(), fmt.Sprintf("%s was chosen, and the run failed while it was set up: no data went over it", v.called()), quotes(v.setUpFailure().Quote, chosen, listed)
	}
	if isRDMA(kind) {
		return nil, fmt.Sprintf("%s was chosen, but no line shows a channel between nodes", v.called()), quotes(chosen, listed)
	}
	return nil, "no line tells which network was used", quotes(chosen)
}

func isRDMA(k Kind) bool {
	switch k {
	case IB, RoCE, OFI, GIB:
		return true
	case Socket, FastSocket, OtherNetwork, NoNetwork, UnknownNetwork:
	}
	return false
}

// alone reports that nothing speaks against one node: what was chosen does not matter there.
func (v *view) alone() bool {
	t := v.traffic()
	return t.rdma == 0 && t.socket == 0
}

// called is the network in words: "NET/IBext_v11 (RoCE)".
func (v *view) called() string {
	name := first(v.network.Name, string(v.network.Kind))
	switch {
	case v.network.LinkLayer == layerUnknown:
		return "NET/" + name + " (InfiniBand or RoCE: the log does not tell)"
	case v.network.LinkLayer == layerMixed:
		return "NET/" + name + " (InfiniBand and RoCE)"
	case v.network.LinkLayer != "" && v.network.LinkLayer != name:
		return "NET/" + name + " (" + v.network.LinkLayer + ")"
	}
	return "NET/" + name
}

// onQueuePair finds a bad completion: there was a queue pair, and work on it.
func (v *view) onQueuePair() (nccllog.Event, bool) {
	if v.nodes() == 1 {
		return nccllog.Event{}, false
	}
	for _, e := range v.events(nccllog.BadCompletion) {
		return e, true
	}
	return nccllog.Event{}, false
}

// setUpFailure is the first failure that only happens before data can go over a connection.
func (v *view) setUpFailure() nccllog.Event {
	for _, e := range v.log.Events {
		if e.Info {
			continue
		}
		switch e.Kind {
		case nccllog.WrongSocket, nccllog.LayersDiffer, nccllog.GIDUnreadable, nccllog.OFINoProvider:
			return e
		case nccllog.VerbsFailed:
			switch e.Verbs.Call {
			case "ibv_modify_qp", "ibv_create_cq", "ibv_create_qp", "ibv_alloc_pd", "ibv_open_device":
				return e
			}
		default:
		}
	}
	return nccllog.Event{Kind: nccllog.Warning}
}

// neverConnected reports a run that failed while connections were set up: nothing tells that one was used.
func (v *view) neverConnected() bool {
	if v.setUpFailure().Text == "" || v.log.Tests.Finished.Text != "" || len(v.events(nccllog.BadCompletion)) > 0 {
		return false
	}
	for _, r := range v.log.Ranks {
		if r.Connected {
			return false
		}
	}
	return true
}

// chosen is the line in which a rank says which network it uses.
func (v *view) chosen(name string) nccllog.Quote {
	for _, r := range v.log.Ranks {
		if r.Network == name && r.Chosen.Text != "" {
			return r.Chosen
		}
	}
	return nccllog.Quote{}
}

func (v *view) listed() nccllog.Quote {
	for _, r := range v.log.Ranks {
		if r.Listed.Text != "" {
			return r.Listed
		}
	}
	return nccllog.Quote{}
}

func (v *view) topology() nccllog.Quote {
	for _, r := range v.log.Ranks {
		if r.Topology.Text != "" {
			return r.Topology
		}
	}
	return nccllog.Quote{}
}
