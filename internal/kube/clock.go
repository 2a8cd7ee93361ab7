package kube

import (
	"net/http"
	"time"
)

// clocked notes the server's own time of each change: this machine's may be another, and events have
// the cluster's.
func (c *Client) clocked(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodPatch || response.StatusCode >= http.StatusMultipleChoices || r.URL.Query().Has("dryRun") {
			return response, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.wrote = date
		}
		return response, nil
	})
}

func (c *Client) lastWrite() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
