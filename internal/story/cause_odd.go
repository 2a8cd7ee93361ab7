package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/words"
)

// oddOneOut finds why a connection failed in what one of its hosts alone does: it uses another link layer, an HCA or a
// GID index that no other host uses. HCA is the one that the failure names, or "".
func (run *explainer) oddOneOut(e nccllog.Event, peer, hca string) []candidate {
	hca, _, _ = strings.Cut(hca, ":")
	for _, host := range []string{run.hostOf(e), run.peerHost(peer)} {
		if host == "" {
			continue
		}
		if own, others, ok := run.onlyOn(host, layersOf); ok && !strings.Contains(own, "+") {
			return run.odd(MixedIBRoCE, host, e, fmt.Sprintf("uses HCAs of %s, the other hosts %s", own, others))
		}
		own, others, ok := run.onlyOn(host, hcasOf)
		if extra := added(own, others); ok && len(extra) > 0 && (hca == "" || slices.Contains(extra, hca)) {
			return run.odd(ExtraHCA, host, e, "uses "+words.Few(extra, mostNames)+", which no other host has")
		}
		index := func(r nccllog.Rank) string { return cmp.Or(variable(r, "NCCL_IB_GID_INDEX"), "(not set)") }
		if own, others, ok := run.onlyOn(host, index); ok {
			return run.odd(GIDIndex, host, e, fmt.Sprintf("has NCCL_IB_GID_INDEX %s, the other hosts %s", own, others))
		}
	}
	return nil
}

func (run *explainer) odd(id CauseID, host string, e nccllog.Event, text string) []candidate {
	lines := quotes(e.Quote)
	for _, r := range run.log.Ranks {
		if r.Host == host {
			lines = joined(lines, quotes(r.Listed))
			break
		}
	}
	return []candidate{{id, Likely, fmt.Sprintf("%s failed, and %s alone %s", run.who(e), host, text), lines}}
}

// withFirst returns the candidates behind others, unless the first of them is certain.
func withFirst(first, found []candidate) []candidate {
	if len(found) > 0 && found[0].confidence == Certain {
		return append(found, first...)
	}
	return append(first, found...)
}

// onlyOn returns the value of a host that differs from that of all others, which share one. Of two hosts none is odd.
func (run *facts) onlyOn(host string, value func(nccllog.Rank) string) (own, others string, ok bool) {
	all := map[string]string{}
	for _, r := range run.log.Ranks {
		if v := value(r); v != "" && r.Host != "" && !r.Glued && len(r.HCAs) > 0 {
			all[r.Host] = v
		}
	}
	own = all[host]
	for h, v := range all {
		switch {
		case h == host:
		case others != "" && v != others, v == own:
			return "", "", false
		default:
			others = v
		}
	}
	return own, others, own != "" && len(all) > 2
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
