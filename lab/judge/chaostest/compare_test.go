//go:build chaos

package chaostest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// settleLimit bounds the time in which controllers finish what a command began.
const settleLimit = 10 * time.Minute

// difference lists the objects that differ between two states.
type difference struct {
	lost, doubled []string // names
	changed       []string // names
	known         []string // doubled, and known to be
	got, want     state
}

func (d difference) none() bool { return len(d.lost)+len(d.doubled)+len(d.changed) == 0 }

func (d difference) String() string {
	text := fmt.Sprintf("lost %q, doubled or left %q, changed %q", d.lost, d.doubled, d.changed)
	for _, name := range d.changed {
		text += "\n" + cmp.Diff(pretty(d.want[name]), pretty(d.got[name]))
	}
	return text
}

// compare compares two states. Objects of the name known may be doubled.
func (got state) compare(want state, known string) difference {
	d := difference{got: got, want: want}
	for name, texts := range want {
		switch {
		case len(got[name]) < len(texts):
			d.lost = append(d.lost, name)
		case len(got[name]) > len(texts) && name == known:
			d.known = append(d.known, name)
		case len(got[name]) > len(texts):
			d.doubled = append(d.doubled, name)
		case !slices.Equal(got[name], texts):
			d.changed = append(d.changed, name)
		}
	}
	for name := range got {
		if len(want[name]) == 0 {
			d.doubled = append(d.doubled, name)
		}
	}
	slices.Sort(d.lost)
	slices.Sort(d.doubled)
	return d
}

// pretty returns objects line by line, for a short difference.
func pretty(objects []string) []any {
	var all []any
	for _, text := range objects {
		var fields any
		if json.Unmarshal([]byte(text), &fields) != nil {
			fields = text
		}
		all = append(all, fields)
	}
	return all
}

// becomes waits until the cluster is in a state, and returns what is different at last. While something is, it reads only
// lists with a difference.
func (r *reader) becomes(t *testing.T, want state, known string) difference {
	t.Helper()
	var d difference
	kinds := r.kinds
	until(t, func() bool {
		d = r.read(t, kinds).compare(want.of(kinds), known)
		switch {
		case !d.none():
			kinds = d.kinds(r.kinds)
		case len(kinds) < len(r.kinds):
			kinds = r.kinds
		default:
			return true
		}
		return false
	})
	return d
}

// of returns the objects of some kinds.
func (got state) of(kinds []schema.GroupVersionResource) state {
	some := maps.Clone(got)
	maps.DeleteFunc(some, func(name string, _ []string) bool {
		return !slices.ContainsFunc(kinds, func(k schema.GroupVersionResource) bool {
			return strings.HasPrefix(name, k.Resource+" ")
		})
	})
	return some
}

// kinds returns the kinds in which there is a difference.
func (d difference) kinds(all []schema.GroupVersionResource) []schema.GroupVersionResource {
	names := slices.Concat(d.lost, d.doubled, d.changed)
	return slices.DeleteFunc(slices.Clone(all), func(k schema.GroupVersionResource) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, k.Resource+" ") })
	})
}

// restful is how often in a row the state has to be the same to be at rest.
const restful = 20

// rests returns the state when it no longer changes, and no object is being deleted.
func (r *reader) rests(t *testing.T) state {
	t.Helper()
	var last state
	same := 0
	until(t, func() bool {
		got := r.read(t, r.kinds)
		same++
		if !got.compare(last, "").none() || got.leaving() {
			same = 0
		}
		last = got
		return same == restful
	})
	if same < restful {
		t.Fatalf("the cluster was not at rest after %v", settleLimit)
	}
	return last
}

func (got state) leaving() bool {
	for _, texts := range got {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, `"leaving":true`) }) {
			return true
		}
	}
	return false
}

// until waits until ready returns true, or the time is over.
func until(t *testing.T, ready func() bool) {
	t.Helper()
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.After(settleLimit)
	for !ready() {
		select {
		case <-ticks.C:
		case <-deadline:
			return
		}
	}
}
