package nccllog

import "bytes"

// communicator takes the lines about one:
//
//	ncclCommInitRank comm 0x5645 rank 2 nranks 3 cudaDev 0 nvmlDev 0 busId 31000 commId 0x9ca7 - Init START
//	comm 0x5645 rank 2 nRanks 3 nNodes 3 localRanks 1 localRank 0 MNNVL 0
//
// The largest one is the job; smaller ones are its groups.
func (p *Parser) communicator(r *rank, s *saying, t []byte) {
	number, world := numberAfter(t, " rank "), numberAfter(t, " nranks ")
	if world < 0 {
		world = numberAfter(t, " nRanks ")
	}
	switch {
	case bytes.Contains(t, []byte("Init START")):
		r.Started++
	case bytes.Contains(t, []byte("Init COMPLETE")):
		r.Complete++
		r.CompleteAt = p.seq
	case bytes.Contains(t, []byte("Destroy COMPLETE")), bytes.Contains(t, []byte("Abort COMPLETE")), bytes.Contains(t, []byte("Finalize COMPLETE")):
		r.Destroyed = true
	}
	if number < 0 || world <= 0 || number >= world {
		return
	}
	if world > r.World || r.Number < 0 {
		r.Number, r.World = number, world
		r.CommID = p.word(valueOf(t, " commId "))
	} else if id := valueOf(t, " commId "); len(id) > 0 && r.CommID == "" && world == r.World {
		r.CommID = p.word(id)
	}
	if nodes := numberAfter(t, " nNodes "); nodes > 0 && world >= r.World {
		if nodes > r.Nodes || r.Topology.Text == "" {
			r.Topology = s.quote()
		}
		r.Nodes = max(r.Nodes, nodes)
		r.LocalRanks = max(r.LocalRanks, numberAfter(t, " localRanks "))
	}
}

// valueOf is the word that follows a key.
func valueOf(t []byte, key string) []byte {
	i := bytes.Index(t, []byte(key))
	if i < 0 {
		return nil
	}
	rest := t[i+len(key):]
	if end := bytes.IndexByte(rest, ' '); end >= 0 {
		rest = rest[:end]
	}
	return rest[:min(len(rest), 24)]
}
