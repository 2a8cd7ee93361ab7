package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	// watchTime is the minimum duration of one watch; the server then ends it, so that load spreads over its instances.
	watchTime = 5 * time.Minute
	// watchSlack is the delay after which the connection is considered dead.
	watchSlack = 30 * time.Second
	// strangers limits how often in a row a starting server may not recognize the user before it is believed.
	strangers = 3
)

// errRelist means that a watch cannot resume: usually the server has forgotten that version.
var errRelist = errors.New("the watch cannot be resumed")

// polled is the interval at which an object is read that may not be watched.
const polled = 30 * time.Second

// follower keeps the table of one source as the server has it.
type follower struct {
	client  *Client
	source  source
	view    *view
	index   int
	version string // from which to watch on; "" when the list must be read first
	narrow  error  // why only the part in the wanted namespace is read
}

// run follows until the context ends or the server does not know who asks.
func (f *follower) run(ctx context.Context) {
	name := f.source.name
	if name != "" {
		f.source.name, f.source.fields = "", "metadata.name="+name
	}
	failures, unknown := 0, 0
	for ctx.Err() == nil {
		err := f.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures, unknown = 0, 0
			continue
		case errors.Is(err, errRelist):
			f.version = ""
		case apierrors.IsForbidden(err) && f.source.fallback != "":
			f.version, f.narrow = "", err
			f.source.path, f.source.fallback = f.source.fallback, ""
			continue
		case apierrors.IsForbidden(err) && name != "":
			f.source.name = name
			f.poll(ctx)
			return
		case apierrors.IsUnauthorized(err):
			if unknown++; unknown >= strangers {
				f.view.lose(f.index, reachError(f.client.config.Host, err))
				return
			}
		case !transient(err): // forbidden, or gone: it may change
			f.version = ""
			f.replace(rows{err: absent(err)})
		default:
			f.view.lose(f.index, bare(err))
		}
		if f.wait(ctx, err, failures) != nil {
			return
		}
		failures++
	}
}

// poll reads an object now and then.
func (f *follower) poll(ctx context.Context) {
	for tick := time.Tick(polled); ; {
		f.replace(f.client.list(ctx, f.source))
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// absent is nil when the server does not have the list.
func absent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// wait waits before the next attempt; after a lost connection until the server is ready.
func (f *follower) wait(ctx context.Context, err error, failures int) error {
	if lost(err) {
		return f.client.awaitReady(ctx, time.Now().Add(defaultPatience))
	}
	return pause(ctx, failures)
}

// once reads the list if that is needed and watches until the server ends the watch.
func (f *follower) once(ctx context.Context) error {
	if f.version == "" && f.client.noStream.Load() {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	err := f.watch(ctx)
	if apierrors.IsInvalid(err) && f.version == "" {
		f.client.noStream.Store(true)
		return nil
	}
	if err == nil && time.Since(begun) < time.Second {
		return pause(ctx, 2) // a server that ends watches at once is not run against
	}
	return err
}

// list reads the source and, where the whole is forbidden, its part in the wanted namespace.
func (f *follower) list(ctx context.Context) error {
	r, err := f.client.listOnce(ctx, f.source, f.source.path)
	if err != nil {
		return err
	}
	f.version = r.version
	f.replace(r)
	return nil
}

// replace sets all rows of the source. A forbidden list stays unknown.
func (f *follower) replace(r rows) {
	r.err = cmp.Or(r.err, f.narrow)
	if r.values == nil {
		r.values = map[string]any{}
	}
	f.view.replace(f.index, r)
}

// event is one line of a watch.
type event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch applies changes until the server ends the watch, which is no error. Without a version it asks for the list in
// the same call (sendInitialEvents; on by default since Kubernetes 1.34, refused as invalid before).
func (f *follower) watch(ctx context.Context) error {
	limit := watchTime + rand.N(watchTime)
	ctx, cancel := context.WithTimeout(ctx, limit+watchSlack)
	defer cancel()
	var initial *rows
	if f.version == "" {
		initial = &rows{values: map[string]any{}}
	}
	body, err := f.watchRequest(limit).Stream(ctx)
	switch {
	case apierrors.IsGone(err), apierrors.IsResourceExpired(err):
		return errRelist
	case err != nil:
		return err
	}
	defer body.Close()
	f.view.lose(f.index, nil)
	for decoder := json.NewDecoder(body); ; {
		var e event
		err := decoder.Decode(&e)
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		if initial, err = f.apply(e, initial); err != nil {
			return err
		}
	}
}

// watchRequest asks for changes after a version or, without one, for the list first.
func (f *follower) watchRequest(limit time.Duration) *rest.Request {
	request := f.client.rest.Get().AbsPath(f.source.path).SetHeader("Accept", "application/json").MaxRetries(0).
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param("timeoutSeconds", strconv.Itoa(int(limit.Seconds())))
	f.source.narrow(request)
	if f.version != "" {
		return request.Param("resourceVersion", f.version)
	}
	request.Param("sendInitialEvents", "true").Param("resourceVersionMatch", "NotOlderThan")
	if f.source.cached {
		request.Param("resourceVersion", "0")
	}
	return request
}

// apply takes one event; initial gathers the list while it comes, and is nil once it has.
func (f *follower) apply(e event, initial *rows) (*rows, error) {
	switch e.Type {
	case "ERROR":
		return initial, watchError(e.Object)
	case "BOOKMARK":
		var mark struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(e.Object, &mark); err != nil {
			return initial, fmt.Errorf("%w: bookmark: %w", errBroken, err)
		}
		if initial != nil && mark.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			f.replace(*initial)
			initial = nil
		}
		if initial == nil {
			f.version = mark.Metadata.ResourceVersion
		}
		return initial, nil
	}
	d, err := f.source.codec.decode(e.Object, inJSON)
	if e.Type == "DELETED" {
		d.value = nil
	}
	switch {
	case err != nil && initial != nil:
		initial.err = cmp.Or(initial.err, err)
	case err != nil:
		f.view.spoil(f.index, err)
	case initial == nil:
		f.version = d.version
		f.view.put(f.index, d.key, d.value)
	case d.value != nil:
		initial.values[d.key] = d.value
	}
	return initial, nil
}

// watchError is the error that a server ends a watch with.
func watchError(raw json.RawMessage) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return fmt.Errorf("%w: %s", errRelist, status.Message)
}
