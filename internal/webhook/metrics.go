package webhook

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/admission"
)

// buckets are the upper bounds of the histogram, in seconds.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .1, 1}

// metrics counts answers, for Prometheus.
type metrics struct {
	mu      sync.Mutex
	pods    map[answered]int
	errors  int
	within  [8]int // answers by bucket, each in the first that is wide enough
	count   int
	seconds float64
}

type answered struct {
	outcome admission.Outcome
	reason  string
}

func (m *metrics) observe(d admission.Decision, err error, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	m.seconds += took.Seconds()
	if i, _ := slices.BinarySearch(buckets, took.Seconds()); i < len(buckets) {
		m.within[i]++
	}
	if err != nil {
		m.errors++
		return
	}
	if m.pods == nil {
		m.pods = map[answered]int{}
	}
	m.pods[answered{d.Outcome, d.Reason}]++
}

// write writes the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats).
func (m *metrics) write(w io.Writer, s *cluster.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
	}
	const pods, failures = "railhead_webhook_pods_total", "railhead_webhook_errors_total"
	head(pods, "counter", "Pods by outcome (injected, skipped, failed, refused) and by its reason.")
	byName := func(a, b answered) int {
		return cmp.Or(cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.reason, b.reason))
	}
	for _, a := range slices.SortedFunc(maps.Keys(m.pods), byName) {
		fmt.Fprintf(w, "%s{outcome=%q,reason=%q} %d\n", pods, a.outcome, a.reason, m.pods[a])
	}
	head(failures, "counter", "Requests that are no review of a pod.")
	fmt.Fprintf(w, "%s %d\n", failures, m.errors)
	const duration = "railhead_webhook_request_duration_seconds"
	head(duration, "histogram", "Time until the answer to a request is complete.")
	sum := 0
	for i, bound := range buckets {
		sum += m.within[i]
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", duration, bound, sum)
	}
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]g\n%[1]s_count %[2]d\n", duration, m.count, m.seconds)
	if s != nil {
		const taken = "railhead_webhook_state_timestamp_seconds"
		head(taken, "gauge", "When the cluster last changed for the webhook, or was read.")
		fmt.Fprintf(w, "%s %d\n", taken, s.Taken.Unix())
	}
}
