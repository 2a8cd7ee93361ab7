package bench

import (
	"cmp"
	"maps"
	"slices"
)

// leafVote is what the links say that cross a leaf's border, and those within it.
type leafVote struct {
	name         string
	rail         int             // EveryRail: several have its name
	pods         map[int]bool    // with links across that nothing explains yet
	others       map[string]bool // leaves at the other ends
	cross, slow  int
	within, poor int // poor are the slow ones within
}

// wholeLeaves blames leaves whose name several rails have, as where it is a label of the node, on all of them. Whether there is
// one switch behind the name or one for each rail is not known: leaves then asks each rail alone.
func (a *attributor) wholeLeaves() {
	a.blameLeaves(func() []*leafVote {
		return slices.DeleteFunc(joinedByName(a.leafVotes()), func(v *leafVote) bool {
			// Two pods that are slow with each other, too, are slow without a leaf.
			return v.rail != EveryRail || len(v.pods) <= 2 && v.inside()
		})
	})
}

// leaves blames leaves on one rail.
func (a *attributor) leaves() { a.blameLeaves(a.leafVotes) }

// blameLeaves blames the leaves most of whose links to other leaves are slow, the clearest first; its links are then
// explained, and the others are asked again.
func (a *attributor) blameLeaves(votes func() []*leafVote) {
	for len(a.m.Leaves) > 0 {
		worst := worstLeaf(votes())
		if worst == nil {
			return
		}
		c := Culprit{Kind: LeafFault, Rail: worst.rail, Leaves: []string{worst.name}}
		if len(worst.others) == 1 {
			for other := range worst.others {
				c.Leaves = append(c.Leaves, other)
			}
		}
		a.blame(c, max(worst.rail, 0), a.explainLeaf(worst))
	}
}

// inside reports whether the links within a leaf are slow, too.
func (v *leafVote) inside() bool {
	return v.within > 0 && float64(v.poor) >= majority*float64(v.within)
}

// worstLeaf is the leaf with the clearest majority; nil if none has one. A leaf of one pod is that pod's NIC.
func worstLeaf(votes []*leafVote) *leafVote {
	var worst *leafVote
	slices.SortFunc(votes, func(x, y *leafVote) int { return cmp.Or(cmp.Compare(x.name, y.name), x.rail-y.rail) })
	for _, v := range votes {
		if len(v.pods) < 2 || v.cross < 2 || float64(v.slow) < majority*float64(v.cross) {
			continue
		}
		if worst == nil || v.slow*worst.cross > worst.slow*v.cross {
			worst = v
		}
	}
	return worst
}

// joinedByName are the votes of all rails of a leaf as one.
func joinedByName(votes []*leafVote) []*leafVote {
	byName := map[string]*leafVote{}
	var whole []*leafVote
	for _, v := range votes {
		w := byName[v.name]
		if w == nil {
			byName[v.name], whole = v, append(whole, v)
			continue
		}
		w.rail, w.cross, w.slow, w.within, w.poor = EveryRail, w.cross+v.cross, w.slow+v.slow, w.within+v.within, w.poor+v.poor
		maps.Copy(w.pods, v.pods)
		maps.Copy(w.others, v.others)
	}
	return whole
}

// leafVotes are those of each leaf on each rail.
func (a *attributor) leafVotes() []*leafVote {
	ids, votes := a.leafIDs()
	slow, rails := a.slow(), len(a.m.Rails)
	crosses := make([]bool, len(ids))
	a.links(func(x, y, rail, at int) {
		from, to := ids[x*rails+rail], ids[y*rails+rail]
		v, ok := a.ratio(at, rail)
		if !ok || from < 0 || to < 0 {
			return
		}
		isSlow := 0
		if v < slow {
			isSlow = 1
		}
		if from == to {
			votes[from].within++
			votes[from].poor += isSlow
			return
		}
		crosses[x*rails+rail], crosses[y*rails+rail] = true, true
		for _, id := range [2]int{from, to} {
			votes[id].cross++
			votes[id].slow += isSlow
		}
		if other := votes[from].others; len(other) < 2 {
			other[votes[to].name] = true
		}
		if other := votes[to].others; len(other) < 2 {
			other[votes[from].name] = true
		}
	})
	for at, does := range crosses {
		if does {
			votes[ids[at]].pods[at/rails] = true
		}
	}
	return votes
}

// leafIDs numbers the leaves of all ends, each rail of one apart; -1 where it is not known.
func (a *attributor) leafIDs() ([]int, []*leafVote) {
	type key struct {
		name string
		rail int
	}
	ids, known, rails := make([]int, len(a.m.Leaves)), map[key]int{}, len(a.m.Rails)
	var votes []*leafVote
	for at, name := range a.m.Leaves {
		if name == "" {
			ids[at] = -1
			continue
		}
		k := key{name, at % rails}
		id, is := known[k]
		if !is {
			id = len(votes)
			known[k] = id
			votes = append(votes, &leafVote{name: name, rail: k.rail, pods: map[int]bool{}, others: map[string]bool{}})
		}
		ids[at] = id
	}
	return ids, votes
}

// explainLeaf explains a leaf's links to others, and those within it if they are slow, too.
func (a *attributor) explainLeaf(leaf *leafVote) []float32 {
	inside := leaf.inside()
	var ratios []float32
	a.links(func(x, y, rail, at int) {
		from, to := a.m.leaf(x, rail), a.m.leaf(y, rail)
		if leaf.rail != EveryRail && leaf.rail != rail || from != leaf.name && to != leaf.name || from == to && !inside {
			return
		}
		if v, ok := a.ratio(at, rail); ok {
			ratios = append(ratios, v)
		}
		a.explained[at] = true
	})
	return ratios
}

// links visits every link.
func (a *attributor) links(visit func(x, y, rail, at int)) {
	at := 0
	for rail := range a.m.Rails {
		for x := range a.m.Pods {
			for y := x + 1; y < len(a.m.Pods); y++ {
				visit(x, y, rail, at)
				at++
			}
		}
	}
}
