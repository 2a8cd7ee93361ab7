package wire

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/host"
)

// pair is the two ends of a connection, or an end without its other end.
type pair struct {
	a, b     Place
	doubtful bool // the end may belong to another one
}

// address is equal for the two ends of a connection. Numbers of queue pairs repeat from device to device, so many
// connections of a job may have the same.
type address struct {
	low, high uint32
	kind      host.QueuePairType
}

// paired puts the two ends of each connection together, in the order of their first ends. Of ends with equal numbers
// those belong together whose sequence numbers agree. whole says that no end is missing.
func paired(ends []Place, whole bool) []pair {
	groups := map[address][]Place{}
	var order []address
	for _, e := range ends {
		at := address{min(e.Number, e.Remote), max(e.Number, e.Remote), e.Type}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], e)
	}
	var all []pair
	for _, at := range order {
		all = append(all, pairsOf(groups[at], whole)...)
	}
	return all
}

// pairsOf pairs ends with the same two numbers. Ends that agree exactly are found first: they are at rest.
func pairsOf(ends []Place, whole bool) []pair {
	type numbers struct{ number, next, expected uint32 }
	waiting := map[numbers][]int{}
	var all []pair
	used := make([]bool, len(ends))
	for i, e := range ends {
		if e.Number == e.Remote && e.Next == e.Expected { // of its own device, such as NCCL's for flushing
			all, used[i] = append(all, pair{a: e, b: e}), true
			continue
		}
		other := numbers{e.Remote, e.Expected, e.Next}
		if others := waiting[other]; len(others) > 0 {
			all = append(all, pair{a: ends[others[0]], b: e})
			waiting[other], used[others[0]], used[i] = others[1:], true, true
			continue
		}
		own := numbers{e.Number, e.Next, e.Expected}
		waiting[own] = append(waiting[own], i)
	}
	var still, rest []Place
	for i, e := range ends {
		switch {
		case used[i]:
		case e.Moved() || e.readings == nil:
			rest = append(rest, e)
		default:
			still = append(still, e)
		}
	}
	atRest, left := nearest(still, window)
	others, left := nearest(append(rest, left...), psnMask)
	for _, p := range slices.Concat(atRest, others) {
		p.doubtful = !whole
		all = append(all, p)
	}
	for _, e := range left {
		all = append(all, pair{a: e})
	}
	return all
}

// nearest pairs ends in the order of their sequence numbers, where they are not further apart than most.
func nearest(ends []Place, most uint32) (pairs []pair, left []Place) {
	var a, b []Place
	for _, e := range ends {
		if e.Number < e.Remote || e.Number == e.Remote && len(a) <= len(b) {
			a = append(a, e)
		} else {
			b = append(b, e)
		}
	}
	slices.SortStableFunc(a, func(x, y Place) int { return cmp.Compare(x.Next, y.Next) })
	slices.SortStableFunc(b, func(x, y Place) int { return cmp.Compare(x.Expected, y.Expected) })
	for len(a) > 0 && len(b) > 0 {
		switch {
		case apart(a[0].Next, b[0].Expected) <= most && apart(b[0].Next, a[0].Expected) <= most:
			pairs = append(pairs, pair{a: a[0], b: b[0]})
			a, b = a[1:], b[1:]
		case a[0].Next < b[0].Expected:
			left, a = append(left, a[0]), a[1:]
		default:
			left, b = append(left, b[0]), b[1:]
		}
	}
	return pairs, slices.Concat(left, a, b)
}

// apart returns the distance of two sequence numbers.
func apart(a, b uint32) uint32 { return min(advance(a, b), advance(b, a)) }
