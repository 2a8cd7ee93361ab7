//go:build chaos

package chaostest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// attempt is one disturbed run of a command.
type attempt struct {
	ways map[string]way // by request
	last string         // request of the undisturbed command
	// early is set for an interruption before anything was written: nothing may have changed, and another attempt
	// follows at once.
	early bool
}

func (a attempt) String() string {
	var all []string
	for _, request := range slices.Sorted(maps.Keys(a.ways)) {
		all = append(all, fmt.Sprintf("%s %s", a.ways[request], request))
	}
	return strings.Join(all, ", ")
}

// has reports whether one of the requests is disturbed so.
func (a attempt) has(ways ...way) bool {
	for _, w := range a.ways {
		if slices.Contains(ways, w) {
			return true
		}
	}
	return false
}

func (a attempt) writes() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(a.ways)), writes)
}

func (a attempt) interrupts() bool { return a.has(interruptBefore, interruptAfter) }

// batch is the number of reads that are disturbed in one run.
const batch = 6

// attempts are the disturbances of a command, which made these requests when it was not disturbed. Writes, and what
// comes after the first of them, are disturbed in every way, the other requests in one way each, in turn.
func attempts(trace []string) []attempt {
	first, last := slices.IndexFunc(trace, writes), trace[len(trace)-1]
	var all []attempt
	reads := map[string]way{}
	for i, request := range trace {
		if i >= first {
			all = append(all,
				attempt{ways: map[string]way{request: interruptBefore}, last: last, early: i == first},
				attempt{ways: map[string]way{request: interruptAfter}, last: last},
				// The second and third are of the attempts to repeat the request.
				attempt{ways: map[string]way{
					request: connectionCut, again(request, 1): unavailable, again(request, 2): answerLost,
				}})
			continue
		}
		switch w := ways()[i%len(ways())]; {
		case w.interrupts():
			all = append(all, attempt{ways: map[string]way{request: w}, last: last, early: true})
		case connects(request):
			all = append(all, attempt{ways: map[string]way{request: w}})
		default:
			reads[request] = w
		}
		if len(reads) == batch || i == first-1 && len(reads) > 0 {
			all = append(all, attempt{ways: reads})
			reads = map[string]way{}
		}
	}
	return all
}

// kills are the requests at which the API server is killed: before the first write, among the writes, and at the end.
func kills(trace []string) []attempt {
	first := slices.IndexFunc(trace, writes)
	var all []attempt
	for _, i := range []int{first / 2, (first + len(trace)) / 2, len(trace) - 1} {
		all = append(all, attempt{ways: map[string]way{trace[i]: serverKilled}})
	}
	return all
}
