// Package facts answers questions about one run of a log: about its ranks, and about what follows an event.
package facts

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// Run is the log of a run with indexes of it: thousands of failures ask the same questions.
type Run struct {
	Log  nccllog.Run
	Size int // ranks of the largest communicator; 0: unknown

	OnlyServices bool // all that is wrong is that sockets of NCCL's service threads closed when the program exited

	kinds     map[event.Kind][]int // indexes of the events, in the order of the log
	values    map[string]string    // of variables: the first rank's that has one, or an assignment elsewhere
	byAddress map[string]string    // hosts by the addresses and names that peers know them by
	used      map[process]uint64   // indexes of the devices that channels go over
	endedWell bool
}

// Of indexes the log of a run.
func Of(log nccllog.Run) *Run {
	run := &Run{
		Log: log, Size: max(log.Tests.Ranks, log.Ringed),
		kinds: map[event.Kind][]int{}, values: map[string]string{}, byAddress: hostsByAddress(log),
	}
	for i, e := range log.Events {
		run.kinds[e.Kind] = append(run.kinds[e.Kind], i)
	}
	for _, r := range log.Ranks {
		run.Size = max(run.Size, r.World)
		for _, e := range r.Env {
			setOnce(run.values, e.Name, e.Value)
		}
	}
	for _, e := range log.Env {
		setOnce(run.values, e.Name, e.Value)
	}
	run.used, run.endedWell, run.OnlyServices = usedIndexes(log.Ranks), endedWell(run), onlyServices(run)
	return run
}

// Destroyed reports whether the program destroyed or aborted a communicator.
func (run *Run) Destroyed() bool {
	return slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.Destroyed })
}

func setOnce(all map[string]string, name, value string) {
	if _, known := all[name]; !known {
		all[name] = value
	}
}

// Events returns the events of some kinds, in the order of the log.
func (run *Run) Events(kinds ...event.Kind) []event.Event {
	var indexes []int
	for _, k := range kinds {
		indexes = append(indexes, run.kinds[k]...)
	}
	slices.Sort(indexes)
	var found []event.Event
	for _, i := range indexes {
		found = append(found, run.Log.Events[i])
	}
	return found
}

// Has reports whether the log has an event of any of the kinds.
func (run *Run) Has(kinds ...event.Kind) bool {
	return slices.ContainsFunc(kinds, func(k event.Kind) bool { return len(run.kinds[k]) > 0 })
}

// Env returns the value of a variable on any rank, or of an assignment elsewhere in the log.
func (run *Run) Env(name string) (string, bool) {
	value, ok := run.values[name]
	return value, ok
}

// Version returns the version that most ranks print, with CUDA's version if any rank has it.
func (run *Run) Version() string {
	count := map[string]int{}
	for _, r := range run.Log.Ranks {
		if r.Version != "" {
			count[r.Version]++
		}
	}
	best := run.Log.Version
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

// Nodes returns how many nodes a communicator spans; if no line says so, how many hosts a complete log has. 0: unknown.
func (run *Run) Nodes() int {
	n, hosts := nodesSaid(run), run.hosts()
	switch {
	case run.OverFabric() && n <= 1 && len(hosts) <= 1: // NCCL counts what NVLink joins as one
		return 0
	case run.OverFabric():
		return max(n, len(hosts))
	case n > 0:
		return n
	case len(hosts) > 1:
		return len(hosts)
	case run.Size == 1, len(hosts) == 1 && run.Size > 0 && numbered(run) >= run.Size:
		return 1
	}
	return 0
}

// nodesSaid returns the number of nodes that a line says, or 0.
func nodesSaid(run *Run) int {
	n := len(run.Log.Tests.Hosts)
	if n == 1 && run.Log.Tests.Listed < run.Log.Tests.Ranks {
		n = 0 // the other lines of the header may name other hosts
	}
	for _, r := range run.Log.Ranks {
		n = max(n, r.Nodes)
	}
	return n
}

// numbered counts the ranks with a number in the job.
func numbered(run *Run) int {
	numbers := map[int]bool{}
	for _, r := range run.Log.Ranks {
		if r.Number >= 0 && r.World > 0 {
			numbers[r.Number] = true
		}
	}
	return len(numbers)
}

// OverFabric reports whether NVLink joins machines of the job.
func (run *Run) OverFabric() bool {
	return slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.MNNVL })
}

func (run *Run) hosts() []string {
	hosts := map[string]bool{}
	for _, r := range run.Log.Ranks {
		if r.Host != "" && !r.Glued {
			hosts[r.Host] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// Who names the rank of an event: "rank 5 on node-2".
func (run *Run) Who(e event.Event) string {
	if e.Rank >= 0 && e.Rank < len(run.Log.Ranks) {
		return RankName(run.Log.Ranks[e.Rank], e.Number)
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

// RankName names a rank: "rank 5 on node-2". A negative number stands for the one of the rank.
func RankName(r nccllog.Rank, number int) string {
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

// HostOf returns the host of an event, or "".
func (run *Run) HostOf(e event.Event) string {
	if e.Rank >= 0 && e.Rank < len(run.Log.Ranks) {
		return run.Log.Ranks[e.Rank].Host
	}
	return e.Host
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

// PeerHost returns the host that said that a peer's address is its own, or "". A host's name may have a domain.
func (run *Run) PeerHost(peer string) string {
	if host, ok := run.byAddress[AddressOf(peer).String()]; ok {
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
