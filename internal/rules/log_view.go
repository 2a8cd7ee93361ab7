package rules

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
)

// view is one run with what was judged of it so far.
type view struct {
	log       nccllog.Run
	machines  []host.Snapshot
	network   Network
	gpuDirect GPUDirect
	gpuReason string
	failures  []nccllog.Event // that ended the run, or may have; the first one first
	first     *nccllog.Event  // the first of them that does not follow from another
	result    Outcome
}

func newView(log nccllog.Run, machines []host.Snapshot) *view {
	return &view{log: log, machines: machines}
}

// version is what most ranks say; the form with CUDA's version tells more.
func (v *view) version() string {
	count := map[string]int{}
	for _, r := range v.log.Ranks {
		if r.Version != "" {
			count[r.Version]++
		}
	}
	best := v.log.Version
	for _, name := range sortedKeys(count) {
		switch {
		case best == "", !strings.Contains(best, "+") && strings.Contains(name, "+"), count[name] > count[best] && strings.Contains(best, "+") == strings.Contains(name, "+"):
			best = name
		}
	}
	if best == "" {
		return "unknown"
	}
	return best
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ranks is the size of the largest communicator, or what nccl-tests says.
func (v *view) ranks() int {
	n := v.log.Tests.Ranks
	for _, r := range v.log.Ranks {
		n = max(n, r.World)
	}
	return max(n, v.log.Ringed)
}

// nodes is how many a communicator spans. Where no line says it, the hosts are counted if the log shows all ranks.
func (v *view) nodes() int {
	n := len(v.log.Tests.Hosts)
	for _, r := range v.log.Ranks {
		n = max(n, r.Nodes)
	}
	if n > 0 {
		return n
	}
	hosts, numbers := v.hosts(), map[int]bool{}
	for _, r := range v.log.Ranks {
		if r.Number >= 0 && r.World > 0 {
			numbers[r.Number] = true
		}
	}
	if len(hosts) > 1 {
		return len(hosts)
	}
	if len(hosts) == 1 && v.ranks() > 0 && len(numbers) >= v.ranks() {
		return 1
	}
	if v.ranks() == 1 {
		return 1
	}
	return 0
}

func (v *view) hosts() []string {
	hosts := map[string]bool{}
	for _, r := range v.log.Ranks {
		if r.Host != "" && !r.Glued {
			hosts[r.Host] = true
		}
	}
	return sortedKeys(hosts)
}

// events are those of some kinds, in the order of the log.
func (v *view) events(kinds ...nccllog.Kind) []nccllog.Event {
	var found []nccllog.Event
	for _, e := range v.log.Events {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// env is the value of a variable on any rank, and a line of the log beside NCCL's where no rank says it.
func (v *view) env(name string) (string, bool) {
	for _, r := range v.log.Ranks {
		for _, e := range r.Env {
			if e.Name == name {
				return e.Value, true
			}
		}
	}
	for _, e := range v.log.Env {
		if e.Name == name {
			return e.Value, true
		}
	}
	return "", false
}

// who names the rank of an event: "rank 5 on node-2".
func (v *view) who(e nccllog.Event) string {
	if e.Rank >= 0 && e.Rank < len(v.log.Ranks) {
		return rankName(v.log.Ranks[e.Rank], e.Number)
	}
	switch {
	case e.Number >= 0 && e.Host != "":
		return "rank " + itoa(e.Number) + " on " + e.Host
	case e.Number >= 0:
		return "rank " + itoa(e.Number)
	case e.Host != "":
		return "a process on " + e.Host
	}
	return "a process"
}

func rankName(r nccllog.Rank, number int) string {
	if number < 0 {
		number = r.Number
	}
	name := "a process"
	switch {
	case number >= 0:
		name = "rank " + itoa(number)
	case r.PID > 0:
		name = "process " + itoa(r.PID)
	}
	if r.Host != "" {
		name += " on " + r.Host
	}
	return name
}

func (v *view) hostOf(e nccllog.Event) string {
	if e.Rank >= 0 && e.Rank < len(v.log.Ranks) {
		return v.log.Ranks[e.Rank].Host
	}
	return e.Host
}

func evidenceOf(q nccllog.Quote) Evidence {
	return Evidence{File: q.At.File, Line: q.At.Line, Text: q.Text}
}

// quotes are the lines that were seen, without those that no rank has.
func quotes(list ...nccllog.Quote) []Evidence {
	found := []Evidence{}
	for _, q := range list {
		if q.Text != "" && len(found) < mostEvidence {
			found = append(found, evidenceOf(q))
		}
	}
	return found
}

// mostEvidence bounds the lines that one statement is proven by.
const mostEvidence = 5

// addressOf is the address in "10.0.0.5<33092>", "fe80::1%net1<1>" and "10.0.0.5:123".
func addressOf(peer string) netip.Addr {
	text, _, _ := strings.Cut(peer, "<")
	if a, err := netip.ParseAddr(text); err == nil {
		return a
	}
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr()
	}
	return netip.Addr{}
}

// peerHost is the host that a peer's address is of, as far as a rank said that it is its own.
func (v *view) peerHost(peer string) string {
	address := addressOf(peer)
	for _, r := range v.log.Ranks {
		for _, own := range append([]nccllog.Address{r.Bootstrap, r.OOB}, r.Sockets...) {
			if a, err := netip.ParseAddr(own.IP); err == nil && a == address && r.Host != "" {
				return r.Host
			}
		}
		if name, _, _ := strings.Cut(peer, "<"); r.Host != "" && (name == r.Host || strings.HasPrefix(name, r.Host+".")) {
			return r.Host
		}
	}
	return ""
}
