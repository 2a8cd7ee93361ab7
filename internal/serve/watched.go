package serve

import (
	"context"
	"iter"
	"time"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report/html"
)

// Watched is a cluster whose machines were examined once and whose objects are followed.
type Watched struct {
	Seen    bundle.Bundle
	Connect func(context.Context) (Watcher, error)
	Say     func(line string)
}

// Watcher follows the objects of a cluster; *kube.Client implements it.
type Watcher interface {
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// Page shows the cluster as it was examined.
func (w Watched) Page(context.Context) (html.Page, error) { return bundlePage(w.Seen, ""), nil }

// Follow judges again when the cluster changes, at most once a second: judging a thousand machines takes that long.
func (w Watched) Follow(ctx context.Context, show func(html.Page)) error {
	client, err := w.Connect(ctx)
	if err != nil {
		return err
	}
	want := collect.Want(w.Seen.Manifest.Subject)
	states := make(chan cluster.State, 1)
	go func() {
		defer close(states)
		last := ""
		for state, err := range client.Watch(ctx, want) {
			if err != nil {
				if err.Error() != last {
					last = err.Error()
					w.Say(last)
				}
				continue
			}
			select {
			case <-states: // outdated
			default:
			}
			states <- state
		}
	}()
	const pause = time.Second
	for state := range states {
		b := w.Seen
		b.State, b.Manifest.Taken = state, time.Now().UTC()
		show(bundlePage(bundle.Clean(b), ""))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}
