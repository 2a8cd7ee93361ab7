package kube

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/internal/cluster"
)

// answers is the transport of a client, without a network.
type answers func(*http.Request) io.Reader

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(a(r)), Request: r}, nil
}

// untilDone blocks until a request is given up.
type untilDone struct{ context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.Done()
	return 0, u.Err()
}

// TestListWithoutEnd: a server that knows watches, but sends no bookmark after a streamed list, is asked for the list.
func TestListWithoutEnd(t *testing.T) {
	const (
		account = `{"metadata":{"namespace":"train","name":"railhead-sa","resourceVersion":"7"}}`
		added   = `{"type":"ADDED","object":` + account + `}`
		list    = `{"kind":"ServiceAccountList","metadata":{"resourceVersion":"9"},"items":[` + account + `]}`
	)
	for name, c := range map[string]struct {
		stream func(context.Context) io.Reader
		after  time.Duration
	}{
		"it is silent": {func(ctx context.Context) io.Reader { return untilDone{ctx} }, answerTimeout},
		"it sends a part": {func(ctx context.Context) io.Reader {
			return io.MultiReader(strings.NewReader(added), untilDone{ctx})
		}, answerTimeout},
		"it ends after a part": {func(context.Context) io.Reader { return strings.NewReader(added) }, 0},
		"it ends at once":      {func(context.Context) io.Reader { return strings.NewReader("") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				config := &rest.Config{Host: "http://lab", QPS: -1, Transport: answers(func(r *http.Request) io.Reader {
					switch q := r.URL.Query(); {
					case q.Get("sendInitialEvents") == "true":
						return c.stream(r.Context())
					case q.Get("watch") == "true":
						return untilDone{r.Context()}
					case r.URL.Path == "/api/v1/namespaces/train/serviceaccounts":
						return strings.NewReader(list)
					}
					return strings.NewReader(`{"kind":"APIGroupList","groups":[],"gitVersion":"v1.33.0"}`)
				})}
				client, err := connect(t.Context(), config, "lab")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var seen []string
				want := Want{Kinds: []cluster.Kind{cluster.ServiceAccounts}, Namespace: "train"}
				for state, err := range client.Watch(ctx, want) {
					if err != nil {
						t.Error(err)
					}
					for _, a := range state.ServiceAccounts {
						seen = append(seen, a.Name)
					}
					cancel()
				}
				if diff := cmp.Diff([]string{"railhead-sa"}, seen); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(begun); took != c.after {
					t.Errorf("it took %v instead of %v", took, c.after)
				}
			})
		})
	}
}
