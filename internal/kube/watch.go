package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
)

// minInterval is the minimum time between two States: one change causes many events.
const minInterval = 100 * time.Millisecond

// Outage means that the server does not answer while a cluster is watched. The watch continues.
type Outage struct {
	Since time.Time
	Err   error
}

func (o *Outage) Error() string {
	return fmt.Sprintf("no contact since %s: %v", o.Since.Format(time.TimeOnly), o.Err)
}

// Unwrap returns the error of the last attempt.
func (o *Outage) Unwrap() error { return o.Err }

// Watch yields the wanted State, and again whenever it has changed, until the context ends. While the server does not
// answer it yields the last State with an *Outage, and then continues. It ends early only if the server no longer
// accepts the user (ErrUnauthorized). Successive States share unchanged values: do not modify them.
func (c *Client) Watch(ctx context.Context, w Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		ctx, cancel := context.WithCancel(quiet(ctx))
		sources := c.api.sources(w)
		v := newView(c, w, sources)
		v.touch() // without sources there is one State
		var g errgroup.Group
		g.SetLimit(max(1, len(sources)))
		defer func() {
			cancel()
			_ = g.Wait() // followers end with their context and keep their errors in their tables
		}()
		for i := range sources {
			g.Go(func() error {
				f := follower{client: c, source: sources[i], view: v, index: i}
				f.run(ctx)
				return nil
			})
		}
		v.show(ctx, yield)
	}
}

// view combines the tables of all followers into States.
type view struct {
	client  *Client
	want    Want
	sources []source
	changed chan struct{} // holds a token if dirty

	mu     sync.Mutex
	tables []table
	dirty  bool // a table has changed since the last State
	down   *Outage
}

func newView(c *Client, w Want, sources []source) *view {
	return &view{
		client:  c,
		want:    w,
		sources: sources,
		tables:  make([]table, len(sources)),
		changed: make(chan struct{}, 1),
	}
}

// table has the rows of one source.
type table struct {
	rows
	read bool  // the source was read, or cannot be read
	away error // why the server does not answer
}

// show yields States until the context ends or the caller stops.
func (v *view) show(ctx context.Context, yield func(cluster.State, error) bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.changed:
		}
		state, ok, err := v.next()
		if !ok {
			continue
		}
		if !yield(state, err) || errors.Is(err, ErrUnauthorized) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(minInterval):
		}
	}
}

// next returns a new State; ok is false without a change, or until every source was read or the server does not answer.
func (v *view) next() (state cluster.State, ok bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]rows, len(v.tables))
	complete := true
	err = v.outage()
	for i, t := range v.tables {
		all[i] = t.rows
		if !t.read {
			complete = false
			all[i].err = err // unknown, not empty
		}
	}
	if !v.dirty || !complete && err == nil {
		return cluster.State{}, false, nil
	}
	v.dirty = false
	return v.client.assemble(v.want, v.sources, all), true, err
}

// outage returns nil while the server answers all followers.
func (v *view) outage() error {
	var away error
	for _, t := range v.tables {
		away = cmp.Or(t.away, away)
		if errors.Is(away, ErrUnauthorized) {
			return away
		}
	}
	if away == nil {
		v.down = nil
		return nil
	}
	since := time.Now()
	if v.down != nil {
		since = v.down.Since
	}
	v.down = &Outage{since, away}
	return v.down
}

// touch wakes show.
func (v *view) touch() {
	v.dirty = true
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// replace sets all rows of a source.
func (v *view) replace(index int, r rows) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tables[index] = table{rows: r, read: true}
	v.touch()
}

// put sets one row, or removes it if value is nil. A change that no State shows, such as a heartbeat, is ignored.
func (v *view) put(index int, key string, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	values := v.tables[index].values
	old, had := values[key]
	switch {
	case value == nil && !had, value != nil && reflect.DeepEqual(old, value):
		return
	case value == nil:
		delete(values, key)
	default:
		values[key] = value
	}
	v.touch()
}

// setError notes that an object of a source could not be decoded.
func (v *view) setError(index int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tables[index].err = err
	v.touch()
}

// setAway notes why the server does not answer a source; nil: it answers again.
func (v *view) setAway(index int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.tables[index].away
	v.tables[index].away = err
	if (before == nil) != (err == nil) || before != nil && before.Error() != err.Error() {
		v.touch()
	}
}
