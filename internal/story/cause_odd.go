package story

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

// oddOneOut finds why a connection failed in what one of its ends alone does: a rank, or all ranks of a host, use
// another link layer, an HCA or a GID index that no other rank uses. HCA is the one that the failure names, or "".
func (run *explainer) oddOneOut(e event.Event, peer, hca string) []candidate {
	hca, _, _ = strings.Cut(hca, ":")
	end := func(r int) bool {
		host := run.log.Ranks[r].Host
		return r == e.Rank || host == run.peerHost(peer) || e.Rank < 0 && host == e.Host
	}
	oddAt := func(t trait) (oddity, bool) {
		o, ok := run.oddities()[t]
		return o, ok && slices.ContainsFunc(o.ranks, end)
	}
	if o, ok := oddAt(linkLayers); ok && !strings.Contains(o.own, "+") {
		return run.oddCause(MixedIBRoCE, o, e, fmt.Sprintf("uses HCAs of %s, %s %s", o.own, o.rest(), o.others))
	}
	if o, ok := oddAt(listedHCAs); ok {
		extra := added(o.own, o.others)
		if len(extra) > 0 && (hca == "" || slices.Contains(extra, hca)) {
			text := fmt.Sprintf("uses %s, which no other %s has", words.Few(extra, mostNames), o.unit())
			return run.oddCause(ExtraHCA, o, e, text)
		}
	}
	if o, ok := oddAt(setGIDIndex); ok {
		return run.oddCause(GIDIndex, o, e, fmt.Sprintf("has NCCL_IB_GID_INDEX %s, %s %s", o.own, o.rest(), o.others))
	}
	if o, ok := oddAt(usedGIDs); ok {
		return run.oddCause(GIDIndex, o, e, fmt.Sprintf("uses GID index %s, %s %s", o.own, o.rest(), o.others))
	}
	return nil
}

func (run *explainer) oddCause(id CauseID, o oddity, e event.Event, text string) []candidate {
	r := run.log.Ranks[o.ranks[0]]
	lines := quotes(e.Quote, r.Listed)
	if id == GIDIndex {
		lines = quotes(e.Quote, r.QueuePair.At, r.Listed)
	}
	who := r.Host
	if !o.wholeHost {
		who = run.rankNames(o.ranks)
	}
	return []candidate{{id, Likely, fmt.Sprintf("%s failed, and %s alone %s", run.who(e), who, text), lines}}
}

// rankNames names ranks of one host.
func (run *facts) rankNames(ranks []int) string {
	var names []string
	for _, r := range ranks {
		names = append(names, rankName(run.log.Ranks[r], -1))
	}
	return words.Few(names, mostNames)
}

// withFirst returns the candidates behind others, unless the first of them is certain.
func withFirst(first, found []candidate) []candidate {
	if len(found) > 0 && found[0].confidence == Certain {
		return append(found, first...)
	}
	return append(first, found...)
}

// indexOf returns the GID index that is set for a rank with HCAs.
func indexOf(r nccllog.Rank) string {
	if len(r.HCAs) == 0 {
		return ""
	}
	return cmp.Or(variable(r, "NCCL_IB_GID_INDEX"), "(not set)")
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
