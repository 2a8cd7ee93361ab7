package nccllog

import (
	"bytes"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
)

// readCommunicator reads the lines about one:
//
//	ncclCommInitRank comm 0x5645 rank 2 nranks 3 cudaDev 0 nvmlDev 0 busId 31000 commId 0x9ca7 - Init START
//	comm 0x5645 rank 2 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
//
// The largest communicator is the job; smaller ones are its groups.
func readCommunicator(p *Parser, r *rank, l *logLine, text []byte) {
	c := commOf(text)
	if startsAgain(p, r, c, l) {
		p.ranks.renew(r, l, r.ofProcess())
	}
	r.Destroyed, r.Started = r.Destroyed || c.destroyed, r.Started || c.started
	r.closing = c.closing || r.closing && !c.destroyed
	if c.started {
		doubt(p, l.at.File)
	}
	if c.complete {
		r.Complete++
		r.CompleteAt = p.ranks.seq
	}
	if c.rank >= 0 && c.rank < c.ranks {
		readMember(p, r, l, c)
	}
}

// readMember reads the rank, the size and the nodes of a communicator.
func readMember(p *Parser, r *rank, l *logLine, c comm) {
	if c.ranks > r.World || r.Number < 0 {
		r.Number, r.World = c.rank, c.ranks
		r.commID = p.ranks.texts.word(c.id)
	} else if r.commID == "" && c.ranks == r.World {
		r.commID = p.ranks.texts.word(c.id)
	}
	if c.ranks < r.World {
		return
	}
	if c.started {
		r.started = p.ranks.seq
	}
	r.MNNVL = r.MNNVL || c.fabric
	if c.nodes > 0 {
		if c.nodes > r.Nodes || r.Topology.Text == "" {
			r.Topology = l.quote()
		}
		r.Nodes = max(r.Nodes, c.nodes)
	}
}

// startsAgain reports whether a line is of the first communicator of another process with the same number: it has the
// rank and the size of the earlier one, and a process had ended before, or this one had been seen to begin again. A
// process may well set up several communicators of one size in a run.
func startsAgain(p *Parser, r *rank, c comm, l *logLine) bool {
	if !c.started || r.anonymous() || c.rank != r.Number || c.ranks != r.World || len(c.id) == 0 || r.commID == "" ||
		r.commID == string(c.id) {
		return false
	}
	return max(p.notes.ended[l.at.File], p.notes.reborn[process{r.Host, r.PID, 0}]) > r.started
}

// endsProcess reports whether an event is the end of a process or makes the process end.
func endsProcess(e event.Event) bool {
	switch e.Kind {
	case event.Exit, event.OOMKill, event.Aborted, event.OutOfMemory, event.CUDAError, event.Finished, event.Restarted:
		return true
	default:
		return false
	}
}

// ofProcess returns the facts that do not depend on a communicator, of a process that had printed them before it set
// one up.
func (r *rank) ofProcess() Rank {
	c := r.copied()
	return Rank{
		Label: c.Label, Version: c.Version, Bootstrap: c.Bootstrap, Plugins: c.Plugins, Network: c.Network,
		Chosen: c.Chosen, ChosenAt: c.ChosenAt, HCAs: c.HCAs, Listed: c.Listed, Verbs: c.Verbs, Virtual: c.Virtual,
		OOB: c.OOB, Sockets: c.Sockets, Env: c.Env,
	}
}

// comm has the fields of a line about a communicator; numbers are -1 if the line does not have them.
type comm struct {
	rank, ranks, nodes int
	id                 []byte
	started, complete  bool
	closing, destroyed bool
	fabric             bool // NVLink joins its machines
}

func commOf(text []byte) comm {
	c := comm{rank: -1, ranks: -1, nodes: -1}
	var key, word []byte
	for more := true; more; key = word {
		word, text, more = bytes.Cut(text, []byte{' '})
		switch string(key) {
		case "rank":
			setFirst(&c.rank, word)
		case "nranks", "nRanks":
			setFirst(&c.ranks, word)
		case "nNodes":
			setFirst(&c.nodes, word)
		case "MNNVL":
			c.fabric = string(word) == "1"
		case "commId":
			c.id = word[:min(len(word), 24)]
		case "Init":
			c.started = c.started || find.Begins(word, "START")
			c.complete = c.complete || find.Begins(word, "COMPLETE")
		case "Destroy", "Abort", "Finalize":
			c.closing = c.closing || find.Begins(word, "START")
			c.destroyed = c.destroyed || find.Begins(word, "COMPLETE")
		}
	}
	return c
}

// setFirst sets a number that is not set yet.
func setFirst(number *int, word []byte) {
	if value, digits := find.Leading(word); digits > 0 && *number < 0 {
		*number = value
	}
}
