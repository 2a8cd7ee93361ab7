package bench

import "slices"

// leafVote is what the links say that cross a leaf's border, and those within it.
type leafVote struct {
	name         string
	rail         int             // EveryRail: it serves several
	pods         map[int]bool    // with links across that nothing explains yet
	others       map[string]bool // leaves at the other ends
	cross, slow  int
	within, poor int // poor are the slow ones within
}

// leaves blames the leaves most of whose links to other leaves are slow, the clearest first; its links are then
// explained, and the others are asked again.
func (a *attributor) leaves() {
	if len(a.m.Leaves) == 0 {
		return
	}
	for {
		worst := a.worstLeaf()
		if worst == nil {
			return
		}
		c := Culprit{Kind: LeafFault, Rail: worst.rail, Leaves: []string{worst.name}}
		if len(worst.others) == 1 {
			for other := range worst.others {
				c.Leaves = append(c.Leaves, other)
			}
		}
		inside := worst.within > 0 && float64(worst.poor) >= majority*float64(worst.within)
		a.blame(c, max(worst.rail, 0), a.explainLeaf(worst.name, inside))
	}
}

// worstLeaf is the leaf with the clearest majority; nil if none has one. A leaf of one pod is that pod's NIC.
func (a *attributor) worstLeaf() *leafVote {
	var worst *leafVote
	votes := a.leafVotes()
	slices.SortFunc(votes, func(x, y *leafVote) int { return compareNames(x.name, y.name) })
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

// leafIDs numbers the leaves of all ends, -1 where it is not known.
func (a *attributor) leafIDs() ([]int, []*leafVote) {
	ids, byName, rails := make([]int, len(a.m.Leaves)), map[string]int{}, len(a.m.Rails)
	var votes []*leafVote
	for at, name := range a.m.Leaves {
		if name == "" {
			ids[at] = -1
			continue
		}
		id, known := byName[name]
		if !known {
			id = len(votes)
			byName[name] = id
			votes = append(votes, &leafVote{name: name, rail: at % rails, pods: map[int]bool{}, others: map[string]bool{}})
		}
		ids[at] = id
		if votes[id].rail != at%rails {
			votes[id].rail = EveryRail
		}
	}
	return ids, votes
}

// explainLeaf explains a leaf's links to others, and those within it if they are slow, too.
func (a *attributor) explainLeaf(name string, inside bool) []float32 {
	var ratios []float32
	a.links(func(x, y, rail, at int) {
		from, to := a.m.leaf(x, rail), a.m.leaf(y, rail)
		if from != name && to != name || from == to && !inside {
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

func compareNames(x, y string) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
