package kube

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// TestLastWrite: the server's Date header of a write is the time of the last write.
func TestLastWrite(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		method, url string
		code        int
		date        string
		err         error
		want        time.Time
	}{
		"an apply": {
			http.MethodPatch,
			"https://server/apis/apps/v1/namespaces/train/statefulsets/h-kim?fieldManager=railhead",
			200,
			at.Format(http.TimeFormat),
			nil,
			at,
		},
		"an apply that creates the object": {
			http.MethodPatch,
			"https://server/api/v1/namespaces/train/services/h-kim",
			201,
			at.Format(http.TimeFormat),
			nil,
			at,
		},
		"a dry run": {
			http.MethodPatch,
			"https://server/api/v1/namespaces/train/services/h-kim?dryRun=All",
			200,
			at.Format(http.TimeFormat),
			nil,
			time.Time{},
		},
		"a refused apply": {
			http.MethodPatch,
			"https://server/api/v1/namespaces/train/services/h-kim",
			422,
			at.Format(http.TimeFormat),
			nil,
			time.Time{},
		},
		"a read": {
			http.MethodGet,
			"https://server/api/v1/namespaces/train/pods",
			200,
			at.Format(http.TimeFormat),
			nil,
			time.Time{},
		},
		"no date": {
			http.MethodPatch,
			"https://server/api/v1/namespaces/train/services/h-kim",
			200,
			"",
			nil,
			time.Time{},
		},
		"no answer": {
			http.MethodPatch,
			"https://server/api/v1/namespaces/train/services/h-kim",
			0,
			"",
			errors.New("connection refused"),
			time.Time{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Client{}
			answer := roundTripper(func(*http.Request) (*http.Response, error) {
				if test.err != nil {
					return nil, test.err
				}
				return &http.Response{
					StatusCode: test.code,
					Header:     http.Header{"Date": []string{test.date}},
					Body:       http.NoBody,
				}, nil
			})
			request, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := c.recordWrites(answer).RoundTrip(request)
			if !errors.Is(err, test.err) || (response == nil) != (test.err != nil) {
				t.Errorf("%v, %v", response, err)
			}
			if got := c.assemble(Want{Kinds: []cluster.Kind{cluster.Pods}}, nil, nil).Written; !got.Equal(test.want) {
				t.Errorf("written %v, want %v", got, test.want)
			}
		})
	}
}
