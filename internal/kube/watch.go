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

// burst is the minimum time between two States, because one change causes many events.
const burst = 100 * time.Millisecond

// Outage means that the server went away while a cluster is watched. The watch continues.
type Outage struct {
	Since time.Time
	Err   error
}

func (o *Outage) Error() string {
	return fmt.Sprintf("no contact since %s: %v", o.Since.Format(time.TimeOnly), o.Err)
}

// Unwrap returns the error of the last attempt.
func (o *Outage) Unwrap() error { return o.Err }

// Watch reads all that is wanted, and again whenever something of it has changed, until the context ends. While the
// server is away it yields the last State with an *Outage, and goes on when the server is back, whoever restarted it.
// It ends early only when the server does not know any more who asks (ErrUnauthorized). What has not changed is shared
// by successive States: nobody may change one.
func (c *Client) Watch(ctx context.Context, w Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		ctx, cancel := context.WithCancel(quiet(ctx))
		sources := c.api.sources(w)
		v := &view{client: c, want: w, sources: sources, tables: make([]table, len(sources)), changed: make(chan struct{}, 1)}
		v.touch() // that there is nothing to follow is a State, too
		var g errgroup.Group
		g.SetLimit(max(1, len(sources))) // all at once: each waits for its own changes
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

// view combines the results of all followers.
type view struct {
	client  *Client
	want    Want
	sources []source
	changed chan struct{} // holds one token when something changed since the State was shown

	mu     sync.Mutex
	tables []table
	dirty  bool // something changed since the State was shown
	down   *Outage
}

// table is the rows of one source.
type table struct {
	rows
	read bool  // the source was read, or cannot be
	away error // the server does not answer
}

// show yields States until the context ends or nobody wants more.
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
		timer := time.NewTimer(burst)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// next returns the State when there is a new one to show: every source was read once, or the server is away.
func (v *view) next() (state cluster.State, ok bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]rows, len(v.tables))
	whole := true
	err = v.outage()
	for i, t := range v.tables {
		all[i] = t.rows
		if !t.read {
			whole = false
			all[i].err = err // not known, rather than empty
		}
	}
	if !v.dirty || !whole && err == nil {
		return cluster.State{}, false, nil
	}
	v.dirty = false
	return v.client.assemble(v.want, v.sources, all), true, err
}

// outage is nil while the server answers all.
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

// touch wakes whoever shows.
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

// put sets or removes one row. A change of the server's own fields, such as a heartbeat, does not count.
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

// spoil notes that an object of a source could not be read.
func (v *view) spoil(index int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tables[index].err = err
	v.touch()
}

// lose notes that a source's server does not answer, or, with nil, that it does again.
func (v *view) lose(index int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.tables[index].away
	v.tables[index].away = err
	if (before == nil) != (err == nil) || before != nil && before.Error() != err.Error() {
		v.touch()
	}
}
