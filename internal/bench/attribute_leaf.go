package bench

import (
	"cmp"
	"maps"
	"slices"
)

// leafVote counts the unexplained links of a leaf.
type leafVote struct {
	name               string
	rail               int             // EveryRail: several rails use the name
	pods               map[int]bool    // with links to other leaves
	others             map[string]bool // leaves at the other ends
	cross, slowCross   int             // links to other leaves
	within, slowWithin int             // links between its own pods
}

// wholeLeaves blames leaves whose name several rails use, as with a label of the node, on all rails. The name may
// stand for one switch or for one on each rail: leaves tries single rails later.
func (a *attributor) wholeLeaves() {
	a.blameLeaves(func() []*leafVote {
		return slices.DeleteFunc(joinedByName(a.leafVotes()), func(v *leafVote) bool {
			// Two pods that are slow also with each other are slow without crossing the leaf.
			return v.rail != EveryRail || len(v.pods) <= 2 && v.inside()
		})
	})
}

// leaves blames leaves on single rails.
func (a *attributor) leaves() { a.blameLeaves(a.leafVotes) }

// blameLeaves blames leaves most of whose links to other leaves are slow, the clearest first. The others vote again
// without the links that it explains.
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

// inside reports whether also the links within the leaf are slow.
func (v *leafVote) inside() bool {
	return v.within > 0 && float64(v.slowWithin) >= majority*float64(v.within)
}

// worstLeaf returns the leaf with the largest majority, nil if none has one. A leaf of one pod is left to that pod's
// NIC.
func worstLeaf(votes []*leafVote) *leafVote {
	var worst *leafVote
	slices.SortFunc(votes, func(x, y *leafVote) int { return cmp.Or(cmp.Compare(x.name, y.name), x.rail-y.rail) })
	for _, v := range votes {
		if len(v.pods) < 2 || v.cross < 2 || float64(v.slowCross) < majority*float64(v.cross) {
			continue
		}
		if worst == nil || v.slowCross*worst.cross > worst.slowCross*v.cross {
			worst = v
		}
	}
	return worst
}

// joinedByName adds up the votes of all rails of a leaf.
func joinedByName(votes []*leafVote) []*leafVote {
	byName := map[string]*leafVote{}
	var whole []*leafVote
	for _, v := range votes {
		w := byName[v.name]
		if w == nil {
			byName[v.name], whole = v, append(whole, v)
			continue
		}
		w.rail = EveryRail
		w.cross += v.cross
		w.slowCross += v.slowCross
		w.within += v.within
		w.slowWithin += v.slowWithin
		maps.Copy(w.pods, v.pods)
		maps.Copy(w.others, v.others)
	}
	return whole
}

// leafVotes returns the vote of each leaf on each rail.
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
			votes[from].slowWithin += isSlow
			return
		}
		crosses[x*rails+rail], crosses[y*rails+rail] = true, true
		for _, id := range [2]int{from, to} {
			votes[id].cross++
			votes[id].slowCross += isSlow
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

// leafIDs numbers the leaves of all ends, one for each rail; -1 means unknown.
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

// explainLeaf explains the links of a leaf to others, and those within it if they are slow too.
func (a *attributor) explainLeaf(leaf *leafVote) []float32 {
	inside := leaf.inside()
	var ratios []float32
	a.links(func(x, y, rail, at int) {
		from, to := a.m.leaf(x, rail), a.m.leaf(y, rail)
		otherRail := leaf.rail != EveryRail && leaf.rail != rail
		elsewhere := from != leaf.name && to != leaf.name
		if otherRail || elsewhere || from == to && !inside {
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
