package story

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// survey has the answers about a whole run for which each of thousands of failures asks: they are found once.
type survey struct {
	kinds     map[event.Kind][]int // indexes of the events, in the order of the log
	values    map[string]string    // of variables: the first rank's that has one, or an assignment elsewhere
	hcaLayers map[string]string    // of the HCAs, by name, as NCCL writes it
	oddities  func() map[trait]oddity
	retried   func() map[string]bool // HCAs whose peer's NIC did not answer
	mostHCAs  int                    // of a rank
	size      int                    // of the largest communicator; 0: unknown
	badOffer  func() string          // which rank offers an address that others cannot reach
}

func surveyOf(log nccllog.Run) survey {
	s := survey{kinds: map[event.Kind][]int{}, values: map[string]string{}, hcaLayers: map[string]string{}}
	for i, e := range log.Events {
		s.kinds[e.Kind] = append(s.kinds[e.Kind], i)
	}
	s.size = max(log.Tests.Ranks, log.Ringed)
	for _, r := range log.Ranks {
		s.size = max(s.size, r.World)
		s.mostHCAs = max(s.mostHCAs, len(r.HCAs))
		for _, h := range r.HCAs {
			setOnce(s.hcaLayers, h.Name, h.Layer)
		}
		for _, e := range r.Env {
			setOnce(s.values, e.Name, e.Value)
		}
	}
	for _, e := range log.Env {
		setOnce(s.values, e.Name, e.Value)
	}
	s.oddities = sync.OnceValue(func() map[trait]oddity { return odditiesOf(log.Ranks) })
	s.retried = sync.OnceValue(func() map[string]bool { return retriedOf(log.Events) })
	s.badOffer = sync.OnceValue(func() string { return badOfferOf(log.Ranks) })
	return s
}

func setOnce(all map[string]string, name, value string) {
	if _, known := all[name]; !known {
		all[name] = value
	}
}

func retriedOf(events []event.Event) map[string]bool {
	found := map[string]bool{}
	for _, e := range events {
		if e.Kind == event.BadCompletion && e.Completion.HCA != "" && e.Completion.Status == statusRetry {
			found[e.Completion.HCA] = true
		}
	}
	return found
}

// events returns those of some kinds, in the order of the log.
func (run *facts) events(kinds ...event.Kind) []event.Event {
	var indexes []int
	for _, k := range kinds {
		indexes = append(indexes, run.kinds[k]...)
	}
	slices.Sort(indexes)
	var found []event.Event
	for _, i := range indexes {
		found = append(found, run.log.Events[i])
	}
	return found
}

// has reports whether the log has an event of any of the kinds.
func (run *facts) has(kinds ...event.Kind) bool {
	return slices.ContainsFunc(kinds, func(k event.Kind) bool { return len(run.kinds[k]) > 0 })
}

// env returns the value of a variable on any rank, or of an assignment elsewhere in the log.
func (run *facts) env(name string) (string, bool) {
	value, ok := run.values[name]
	return value, ok
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
	linkLayers: layersOf, listedHCAs: hcasOf, setGIDIndex: indexOf, usedGIDs: gidsOf,
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

// odd returns the value that differs from that of most ranks, which share one. The ranks that have it are on one host.
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
