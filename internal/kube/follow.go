package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// watchTime is the minimum duration of one watch. The server then ends it, which spreads load over its instances.
	watchTime = 5 * time.Minute
	// watchSlack is the time after which a watch that the server did not end has lost its connection.
	watchSlack = 30 * time.Second
	// startupRejections limits how often in a row a starting server may reject the user before it is believed.
	startupRejections = 3
	// pollInterval is the time between two readings of an object that the user may not watch.
	pollInterval = 30 * time.Second
)

// errRelist means that a watch cannot resume, usually because the server no longer has the version.
var errRelist = errors.New("the watch cannot be resumed")

// follower keeps the table of one source up to date.
type follower struct {
	client  *Client
	source  source
	view    *view
	index   int
	version string // to continue from; empty: the list must be read first
	narrow  error  // why only the wanted namespace is read
}

// run follows the source until the context ends or the server rejects the user.
func (f *follower) run(ctx context.Context) {
	name := f.source.name
	if name != "" {
		f.source.name, f.source.fields = "", "metadata.name="+name
	}
	failures, rejections := 0, 0
	for {
		err := f.once(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			failures, rejections = 0, 0
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
			if rejections++; rejections >= startupRejections {
				f.view.setAway(f.index, reachError(f.client.config.Host, err))
				return
			}
		default:
			f.failed(err)
		}
		if f.wait(ctx, err, failures) != nil {
			return
		}
		failures++
	}
}

// failed shows an error to the view. A list that is forbidden or missing may change, and an outage ends.
func (f *follower) failed(err error) {
	if transient(err) {
		f.view.setAway(f.index, withoutURL(err))
		return
	}
	f.version = ""
	if apierrors.IsNotFound(err) {
		err = nil // the list is empty
	}
	f.replace(rows{err: err})
}

// poll reads an object that the user may not watch.
func (f *follower) poll(ctx context.Context) {
	for tick := time.Tick(pollInterval); ; {
		f.replace(f.client.list(ctx, f.source))
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// wait waits before the next attempt; after a lost connection, until the server is ready.
func (f *follower) wait(ctx context.Context, err error, failures int) error {
	if lost(err) {
		return f.client.awaitReady(ctx, time.Now().Add(defaultPatience))
	}
	return pause(ctx, failures)
}

// once reads the list if needed, and watches until the server ends the watch.
func (f *follower) once(ctx context.Context) error {
	if f.version == "" && f.client.noStream.Load() {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	err := f.watch(ctx)
	delivered := f.version != "" || ctx.Err() != nil
	if !delivered && (err == nil || errors.Is(err, context.Canceled) || apierrors.IsInvalid(err)) {
		f.client.noStream.Store(true)
		return nil
	}
	if err == nil && time.Since(begun) < time.Second {
		return pause(ctx, 2) // do not hammer a server that ends watches at once
	}
	return err
}

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

// watch applies changes until the server ends the watch, which is no error. Without a version it requests the list in
// the same call (sendInitialEvents; on by default since Kubernetes 1.34, rejected as invalid before). A list that stops
// short ends the watch: API servers behind the aggregation layer may ignore the request, and proxies hold events back.
func (f *follower) watch(ctx context.Context) error {
	limit := watchTime + rand.N(watchTime)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(f.patience(limit), cancel)
	defer silent.Stop()
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
	f.view.setAway(f.index, nil)
	for decoder := json.NewDecoder(body); ; {
		var e metav1.WatchEvent
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
		silent.Reset(f.patience(limit))
	}
}

// patience returns how long a watch of a duration may be silent.
func (f *follower) patience(watch time.Duration) time.Duration {
	if f.version == "" {
		return answerTimeout // the list is incomplete
	}
	return watch + watchSlack
}

// watchRequest requests the changes after a version or, without one, the list and its changes.
func (f *follower) watchRequest(limit time.Duration) *rest.Request {
	options := f.source.options()
	options.Watch = true
	options.AllowWatchBookmarks = true
	options.TimeoutSeconds = new(int64(limit.Seconds()))
	if f.version != "" {
		options.ResourceVersion = f.version
	} else {
		options.SendInitialEvents = new(true)
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	request := f.client.rest.Get().AbsPath(f.source.path).SetHeader("Accept", f.source.codec.watch).MaxRetries(0)
	return withOptions(request, &options)
}

// apply applies one event. initial collects the list until it is complete, and is nil from then on.
func (f *follower) apply(e metav1.WatchEvent, initial *rows) (*rows, error) {
	switch watch.EventType(e.Type) {
	case watch.Error:
		return initial, watchError(e.Object.Raw)
	case watch.Bookmark:
		var mark metav1.PartialObjectMetadata
		if err := json.Unmarshal(e.Object.Raw, &mark); err != nil {
			return initial, fmt.Errorf("%w: bookmark: %w", errBroken, err)
		}
		if initial != nil && mark.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			f.replace(*initial)
			initial = nil
		}
		if initial == nil {
			f.version = mark.ResourceVersion
		}
		return initial, nil
	}
	d, err := f.source.codec.decode(e.Object.Raw, inJSON)
	if watch.EventType(e.Type) == watch.Deleted {
		d.value = nil
	}
	switch {
	case err != nil && initial != nil:
		initial.err = cmp.Or(initial.err, err)
	case err != nil:
		f.view.setError(f.index, err)
	case initial == nil:
		f.version = d.version
		f.view.put(f.index, d.key, d.value)
	case d.value != nil:
		initial.values[d.key] = d.value
	}
	return initial, nil
}

// watchError returns the error with which the server ended a watch.
func watchError(raw json.RawMessage) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return fmt.Errorf("%w: %s", errRelist, status.Message)
}
