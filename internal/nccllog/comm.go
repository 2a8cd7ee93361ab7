package nccllog

import "bytes"

// communicator takes the lines about one:
//
//	ncclCommInitRank comm 0x5645 rank 2 nranks 3 cudaDev 0 nvmlDev 0 busId 31000 commId 0x9ca7 - Init START
//	comm 0x5645 rank 2 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
//
// The largest one is the job; smaller ones are its groups.
func (p *notices) communicator(r *rank, s *logLine, t []byte) {
	c := commOf(t)
	switch {
	case c.started:
		r.Started++
	case c.complete:
		r.Complete++
		r.CompleteAt = p.seq
	case c.destroyed:
		r.Destroyed = true
	}
	if c.rank < 0 || c.ranks <= 0 || c.rank >= c.ranks {
		return
	}
	if c.ranks > r.World || r.Number < 0 {
		r.Number, r.World = c.rank, c.ranks
		r.CommID = p.word(c.id)
	} else if len(c.id) > 0 && r.CommID == "" && c.ranks == r.World {
		r.CommID = p.word(c.id)
	}
	r.spans(c, s)
}

// spans keeps how many nodes the largest communicator has.
func (r *rank) spans(c comm, s *logLine) {
	if c.nodes <= 0 || c.ranks < r.World {
		return
	}
	if c.nodes > r.Nodes || r.Topology.Text == "" {
		r.Topology = s.quote()
	}
	r.Nodes = max(r.Nodes, c.nodes)
	r.LocalRanks = max(r.LocalRanks, c.localRanks)
}

// comm has the fields of a line about a communicator; -1: the line does not have it.
type comm struct {
	rank, ranks, nodes, localRanks int
	id                             []byte

	started, complete, destroyed bool
}

// commOf reads a line word by word, as the word in front of one names it.
func commOf(t []byte) comm {
	c := comm{rank: -1, ranks: -1, nodes: -1, localRanks: -1}
	var key []byte
	for len(t) > 0 {
		end := bytes.IndexByte(t, ' ')
		if end < 0 {
			end = len(t)
		}
		word := t[:end]
		switch string(key) {
		case "rank":
			first(&c.rank, word)
		case "nranks", "nRanks":
			first(&c.ranks, word)
		case "nNodes":
			first(&c.nodes, word)
		case "localRanks":
			first(&c.localRanks, word)
		case "commId":
			c.id = word[:min(len(word), 24)]
		case "Init":
			c.started = c.started || begins(word, "START")
			c.complete = c.complete || begins(word, "COMPLETE")
		case "Destroy", "Abort", "Finalize":
			c.destroyed = c.destroyed || begins(word, "COMPLETE")
		}
		key, t = word, t[min(end+1, len(t)):]
	}
	return c
}

// first sets a number that is not known yet.
func first(number *int, word []byte) {
	digits := 0
	for digits < len(word) && isDigit(word[digits]) && digits < 9 {
		digits++
	}
	if value, ok := whole(word[:digits]); ok && *number < 0 {
		*number = value
	}
}
