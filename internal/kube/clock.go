package kube

import (
	"net/http"
	"time"
)

// recordWrites records the server's time of each change, which can be compared with the times of events. The clock of
// this machine may differ.
func (c *Client) recordWrites(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") ||
			response.StatusCode >= http.StatusMultipleChoices {
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
