package story

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

type facts struct {
	survey
	log       nccllog.Run
	traffic   traffic
	byAddress map[string]string // hosts by the addresses and names that peers know them by
}

// sequence adds the failures in their causal order.
type sequence struct {
	facts
	failures []event.Event // that ended the run, or may have; the first one first
	first    *event.Event  // the first of them that does not follow from another
	survived []event.Quote // lines of failures after which the run went on
	origins  map[int]bool  // sequence numbers of the ends of processes that others report
	waiting  map[int]bool  // numbers of the ranks that wait for others
}

// judged adds which network the run used.
type judged struct {
	sequence
	network   Network
	gpuDirect GPUDirect
	gpuReason string
}

// shortfall finds why a run uses less than it could.
type shortfall struct {
	judged
	fallback func() []candidate // its causes
}

// explainer finds the causes of a failure.
type explainer struct{ shortfall }

// teller tells the story of a run.
type teller struct {
	explainer
	machines machines
	result   Outcome
}

func newTeller(log nccllog.Run, machines []host.Snapshot) *teller {
	run := &teller{machines: machines}
	run.log, run.survey, run.traffic, run.byAddress = log, surveyOf(log), trafficOf(log), hostsByAddress(log)
	run.judgeFailures()
	run.judgeNetwork()
	run.judgeGPUDirect()
	run.fallback = sync.OnceValue(run.findFallback)
	return run
}

// version returns the version that most ranks print, with CUDA's version if any rank has it.
func (run *facts) version() string {
	count := map[string]int{}
	for _, r := range run.log.Ranks {
		if r.Version != "" {
			count[r.Version]++
		}
	}
	best := run.log.Version
	for _, name := range slices.Sorted(maps.Keys(count)) {
		switch {
		case best == "", !strings.Contains(best, "+") && strings.Contains(name, "+"), count[name] > count[best] &&
			strings.Contains(best, "+") == strings.Contains(name, "+"):
			best = name
		}
	}
	if best == "" {
		return "unknown"
	}
	return best
}

// nodes returns how many nodes a communicator spans; if no line says so, how many hosts a complete log has.
func (run *facts) nodes() int {
	n := len(run.log.Tests.Hosts)
	if n == 1 && run.log.Tests.Listed < run.log.Tests.Ranks {
		n = 0 // the other lines of the header may name other hosts
	}
	for _, r := range run.log.Ranks {
		n = max(n, r.Nodes)
	}
	if n > 0 {
		return n
	}
	hosts, numbers := run.hosts(), map[int]bool{}
	for _, r := range run.log.Ranks {
		if r.Number >= 0 && r.World > 0 {
			numbers[r.Number] = true
		}
	}
	if len(hosts) > 1 {
		return len(hosts)
	}
	if len(hosts) == 1 && run.size > 0 && len(numbers) >= run.size {
		return 1
	}
	if run.size == 1 {
		return 1
	}
	return 0
}

func (run *facts) hosts() []string {
	hosts := map[string]bool{}
	for _, r := range run.log.Ranks {
		if r.Host != "" && !r.Glued {
			hosts[r.Host] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// who names the rank of an event: "rank 5 on node-2".
func (run *facts) who(e event.Event) string {
	if e.Rank >= 0 && e.Rank < len(run.log.Ranks) {
		return rankName(run.log.Ranks[e.Rank], e.Number)
	}
	switch {
	case e.Number >= 0 && e.Host != "":
		return "rank " + strconv.Itoa(e.Number) + " on " + e.Host
	case e.Number >= 0:
		return "rank " + strconv.Itoa(e.Number)
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
		name = "rank " + strconv.Itoa(number)
	case r.PID > 0:
		name = "process " + strconv.Itoa(r.PID)
	}
	if r.Host != "" {
		name += " on " + r.Host
	}
	return name
}

func (run *facts) hostOf(e event.Event) string {
	if e.Rank >= 0 && e.Rank < len(run.log.Ranks) {
		return run.log.Ranks[e.Rank].Host
	}
	return e.Host
}

func evidenceOf(q event.Quote) Evidence {
	return Evidence{File: q.At.File, Line: q.At.Line, Text: q.Text}
}

// quotes returns the lines that were seen.
func quotes(list ...event.Quote) []Evidence {
	found := []Evidence{}
	for _, q := range list {
		if q.Text != "" && len(found) < mostEvidence {
			found = append(found, evidenceOf(q))
		}
	}
	return found
}

// Bounds of one statement.
const (
	mostEvidence = 5 // lines
	mostNames    = 4 // in a list
)

// addressOf reads the address of "10.0.0.5<33092>", "fe80::1%net1<1>" and "10.0.0.5:123".
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

// hostsByAddress returns the hosts by their names and the addresses that they say are their own.
func hostsByAddress(log nccllog.Run) map[string]string {
	hosts := map[string]string{}
	add := func(key, host string) {
		if _, known := hosts[key]; !known && host != "" {
			hosts[key] = host
		}
	}
	for _, r := range log.Ranks {
		for _, own := range append([]nccllog.Address{r.Bootstrap, r.OOB}, r.Sockets...) {
			if a, err := netip.ParseAddr(own.IP); err == nil {
				add(a.String(), r.Host)
			}
		}
		add(r.Host, r.Host)
	}
	return hosts
}

// peerHost returns the host that said that a peer's address is its own, or "". A host's name may have a domain.
func (run *facts) peerHost(peer string) string {
	if host, ok := run.byAddress[addressOf(peer).String()]; ok {
		return host
	}
	name, _, _ := strings.Cut(peer, "<")
	if host, ok := run.byAddress[name]; ok {
		return host
	}
	for i := range len(name) {
		if host, ok := run.byAddress[name[:i]]; ok && name[i] == '.' {
			return host
		}
	}
	return ""
}
