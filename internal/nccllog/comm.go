package nccllog

import "bytes"

// communicator reads the lines about one:
//
//	ncclCommInitRank comm 0x5645 rank 2 nranks 3 cudaDev 0 nvmlDev 0 busId 31000 commId 0x9ca7 - Init START
//	comm 0x5645 rank 2 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
//
// The largest communicator is the job; smaller ones are its groups.
func (p *notices) communicator(r *rank, l *logLine, text []byte) {
	c := commOf(text)
	r.Destroyed, r.Started = r.Destroyed || c.destroyed, r.Started || c.started
	if c.started {
		p.doubt(l.at.File)
	}
	if c.complete {
		r.Complete++
		r.CompleteAt = p.seq
	}
	if c.rank < 0 || c.rank >= c.ranks {
		return
	}
	if c.ranks > r.World || r.Number < 0 {
		r.Number, r.World = c.rank, c.ranks
		r.commID = p.word(c.id)
	} else if r.commID == "" && c.ranks == r.World {
		r.commID = p.word(c.id)
	}
	if c.nodes > 0 && c.ranks >= r.World {
		if c.nodes > r.Nodes || r.Topology.Text == "" {
			r.Topology = l.quote()
		}
		r.Nodes = max(r.Nodes, c.nodes)
	}
}

// comm has the fields of a line about a communicator; numbers are -1 if the line does not have them.
type comm struct {
	rank, ranks, nodes           int
	id                           []byte
	started, complete, destroyed bool
}

func commOf(text []byte) comm {
	c := comm{rank: -1, ranks: -1, nodes: -1}
	var key []byte
	for word := range bytes.SplitSeq(text, []byte(" ")) {
		switch string(key) {
		case "rank":
			setFirst(&c.rank, word)
		case "nranks", "nRanks":
			setFirst(&c.ranks, word)
		case "nNodes":
			setFirst(&c.nodes, word)
		case "commId":
			c.id = word[:min(len(word), 24)]
		case "Init":
			c.started, c.complete = c.started || begins(word, "START"), c.complete || begins(word, "COMPLETE")
		case "Destroy", "Abort", "Finalize":
			c.destroyed = c.destroyed || begins(word, "COMPLETE")
		}
		key = word
	}
	return c
}

// setFirst sets a number that is not set yet.
func setFirst(number *int, word []byte) {
	if value, digits := leading(word); digits > 0 && *number < 0 {
		*number = value
	}
}
