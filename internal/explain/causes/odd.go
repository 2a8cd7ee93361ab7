package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// oddOneOut finds why a connection failed in what one of its ends alone does: a rank, or all ranks of a host, use
// another link layer, an HCA or a GID index that no other rank uses. HCA is the one that the failure names, or "".
func oddOneOut(in *input, e event.Event, peer, hca string) []candidate {
	hca, _, _ = strings.Cut(hca, ":")
	end := func(r int) bool {
		host := in.run.Log.Ranks[r].Host
		return r == e.Rank || host == in.run.PeerHost(peer) || e.Rank < 0 && host == e.Host
	}
	oddAt := func(t trait) (oddity, bool) {
		o, ok := in.oddities()[t]
		return o, ok && slices.ContainsFunc(o.ranks, end)
	}
	if o, ok := oddAt(linkLayers); ok && !strings.Contains(o.own, "+") {
		return oddCause(in, story.MixedIBRoCE, o, e, fmt.Sprintf("uses HCAs of %s, %s %s", o.own, o.rest(), o.others))
	}
	if o, ok := oddAt(listedHCAs); ok {
		extra := added(o.own, o.others)
		if len(extra) > 0 && (hca == "" || slices.Contains(extra, hca)) {
			text := fmt.Sprintf("uses %s, which no other %s has", words.Few(extra, facts.MostNames), o.unit())
			return oddCause(in, story.ExtraHCA, o, e, text)
		}
	}
	if o, ok := oddAt(setGIDIndex); ok {
		text := fmt.Sprintf("has NCCL_IB_GID_INDEX %s, %s %s", o.own, o.rest(), o.others)
		return oddCause(in, story.GIDIndex, o, e, text)
	}
	if o, ok := oddAt(usedGIDs); ok {
		return oddCause(in, story.GIDIndex, o, e, fmt.Sprintf("uses GID index %s, %s %s", o.own, o.rest(), o.others))
	}
	return nil
}

func oddCause(in *input, id story.CauseID, o oddity, e event.Event, text string) []candidate {
	r := in.run.Log.Ranks[o.ranks[0]]
	lines := facts.Quotes(e.Quote, r.Listed)
	if id == story.GIDIndex {
		lines = facts.Quotes(e.Quote, r.QueuePair.At, r.Listed)
	}
	who := r.Host
	if !o.wholeHost {
		who = rankNames(in.run, o.ranks)
	}
	return []candidate{{id: id, confidence: story.Likely, summary: fmt.Sprintf("%s failed, and %s alone %s",
		in.run.Who(e), who, text), evidence: lines}}
}

// rankNames names ranks of one host.
func rankNames(run *facts.Run, ranks []int) string {
	var names []string
	for _, r := range ranks {
		names = append(names, facts.RankName(run.Log.Ranks[r], -1))
	}
	return words.Few(names, facts.MostNames)
}

// withFirst returns the candidates behind others, unless the first of them is certain.
func withFirst(first, found []candidate) []candidate {
	if len(found) > 0 && found[0].confidence == story.Certain {
		return append(found, first...)
	}
	return append(first, found...)
}

// indexOf returns the GID index that is set for a rank with HCAs.
func indexOf(r nccllog.Rank) string {
	if len(r.HCAs) == 0 {
		return ""
	}
	return cmp.Or(facts.Variable(r, "NCCL_IB_GID_INDEX"), "(not set)")
}

// gidsOf returns the GID indexes of the queue pairs of a rank.
func gidsOf(r nccllog.Rank) string {
	var list []string
	for _, index := range r.QueuePair.GIDs {
		list = append(list, strconv.Itoa(index))
	}
	return strings.Join(list, ",")
}

// added returns the HCAs of a list that the other one does not have, without their ports.
func added(own, others string) []string {
	var extra []string
	for hca := range strings.SplitSeq(own, ",") {
		if !slices.Contains(strings.Split(others, ","), hca) {
			name, _, _ := strings.Cut(hca, ":")
			extra = append(extra, name)
		}
	}
	return extra
}

// trait is a property by which one rank, or all ranks of a host, may differ from all others.
type trait int

const (
	linkLayers trait = iota
	listedHCAs
	setGIDIndex
	usedGIDs
)

var valueOf = map[trait]func(nccllog.Rank) string{
	linkLayers: facts.LayersOf, listedHCAs: facts.HCAsOf, setGIDIndex: indexOf, usedGIDs: gidsOf,
}

// oddity is a value that some ranks of one host have, and all others share another one.
type oddity struct {
	own, others string
	ranks       []int // that have it
	wholeHost   bool
}

func odditiesOf(ranks []nccllog.Rank) map[trait]oddity {
	found := map[trait]oddity{}
	for t, value := range valueOf {
		if o, ok := odd(ranks, value); ok {
			found[t] = o
		}
	}
	return found
}

// odd returns the value that differs from the one value that most ranks share. The ranks that have it are on one host.
// Half of the ranks are not odd.
func odd(all []nccllog.Rank, value func(nccllog.Rank) string) (oddity, bool) {
	ranks, onHost := map[string][]int{}, map[string]int{}
	for i, r := range all {
		if v := value(r); v != "" && r.Host != "" && !r.Glued {
			ranks[v] = append(ranks[v], i)
			onHost[r.Host]++
		}
	}
	if len(ranks) != 2 {
		return oddity{}, false
	}
	var both []string
	for v := range ranks {
		both = append(both, v)
	}
	slices.SortFunc(both, func(a, b string) int {
		return cmp.Or(len(ranks[a])-len(ranks[b]), strings.Compare(a, b))
	})
	few := ranks[both[0]]
	host := all[few[0]].Host
	elsewhere := slices.ContainsFunc(few, func(i int) bool { return all[i].Host != host })
	if len(few) == len(ranks[both[1]]) || elsewhere {
		return oddity{}, false
	}
	return oddity{both[0], both[1], few, len(few) == onHost[host]}, true
}

func (o oddity) unit() string {
	if o.wholeHost {
		return "host"
	}
	return "rank"
}

func (o oddity) rest() string { return "the other " + o.unit() + "s" }
