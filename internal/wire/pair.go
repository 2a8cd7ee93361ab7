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
	all, left := agreeing(ends)
	var still, rest []Place
	for _, e := range left {
		if e.Moved() || e.readings == nil {
			rest = append(rest, e)
		} else {
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

// numbers identify an end, as the end itself or its other end reports it.
type numbers struct{ number, next, expected uint32 }

// anyPSN stands for the next number of an end that does not send, and for what its other end expects.
const anyPSN = psnMask + 1

// own returns the numbers under which the other end finds this one.
func (e End) own() []numbers {
	if !e.Sends() {
		return []numbers{{e.Number, anyPSN, e.Expected}}
	}
	return []numbers{{e.Number, e.Next, e.Expected}, {e.Number, e.Next, anyPSN}}
}

// others returns the numbers that the other end of this one may have.
func (e End) others() []numbers {
	if !e.Sends() {
		return []numbers{{e.Remote, e.Expected, anyPSN}}
	}
	return []numbers{{e.Remote, e.Expected, e.Next}, {e.Remote, anyPSN, e.Next}}
}

// agreeing pairs the ends that have each other's sequence numbers.
func agreeing(ends []Place) (pairs []pair, left []Place) {
	waiting := map[numbers][]int{}
	used := make([]bool, len(ends))
	other := func(e Place) (int, bool) {
		for _, at := range e.others() {
			for len(waiting[at]) > 0 {
				k := waiting[at][0]
				if waiting[at] = waiting[at][1:]; !used[k] {
					return k, true
				}
			}
		}
		return 0, false
	}
	for i, e := range ends {
		if e.Number == e.Remote && e.Next == e.Expected && e.Sends() { // of its own device, such as NCCL's for flushing
			pairs, used[i] = append(pairs, pair{a: e, b: e}), true
			continue
		}
		if k, found := other(e); found {
			pairs, used[k], used[i] = append(pairs, pair{a: ends[k], b: e}), true, true
			continue
		}
		for _, at := range e.own() {
			waiting[at] = append(waiting[at], i)
		}
	}
	for i, e := range ends {
		if !used[i] {
			left = append(left, e)
		}
	}
	return pairs, left
}

// nearest pairs ends in the order of their sequence numbers, where they are not further apart than most.
func nearest(ends []Place, most uint32) ([]pair, []Place) {
	a, b := sides(ends)
	forth, a, b := inOrder(a, b, most)
	back, b, a := inOrder(b, a, most)
	return slices.Concat(forth, back), slices.Concat(a, b)
}

// sides separates ends that may belong together, by the lower number. Of ends with two equal numbers, those that only
// receive are on the second side.
func sides(ends []Place) (a, b []Place) {
	var equal []Place
	for _, e := range ends {
		switch {
		case e.Number < e.Remote:
			a = append(a, e)
		case e.Number > e.Remote || !e.Sends():
			b = append(b, e)
		default:
			equal = append(equal, e)
		}
	}
	for _, e := range equal {
		if len(a) <= len(b) {
			a = append(a, e)
		} else {
			b = append(b, e)
		}
	}
	return a, b
}

// inOrder pairs the ends that send with their other ends, and returns those that are left of both.
func inOrder(from, to []Place, most uint32) (pairs []pair, fromLeft, toLeft []Place) {
	var senders []Place
	for _, e := range from {
		if e.Sends() {
			senders = append(senders, e)
		} else {
			fromLeft = append(fromLeft, e)
		}
	}
	slices.SortStableFunc(senders, func(x, y Place) int { return cmp.Compare(x.Next, y.Next) })
	slices.SortStableFunc(to, func(x, y Place) int { return cmp.Compare(x.Expected, y.Expected) })
	for len(senders) > 0 && len(to) > 0 {
		a, b := senders[0], to[0]
		switch {
		case apart(a.Next, b.Expected) <= most && (!b.Sends() || apart(b.Next, a.Expected) <= most):
			pairs = append(pairs, pair{a: a, b: b})
			senders, to = senders[1:], to[1:]
		case a.Next < b.Expected:
			fromLeft, senders = append(fromLeft, a), senders[1:]
		default:
			toLeft, to = append(toLeft, b), to[1:]
		}
	}
	return pairs, append(fromLeft, senders...), append(toLeft, to...)
}

// apart returns the distance of two sequence numbers.
func apart(a, b uint32) uint32 { return min(advance(a, b), advance(b, a)) }
