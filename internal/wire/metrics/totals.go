// Package metrics adds up the readings of RDMA devices for Prometheus.
package metrics

import (
	"maps"
	"time"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/wire"
)

const (
	// maxSeries bounds the programs that are told apart: a process may change its name at any time.
	maxSeries = 1000
	// retention is the time for which a program without queue pairs is still listed.
	retention = 10 * time.Minute
	other     = "other" // the name of all programs beyond maxSeries
)

// Totals are the sums of all readings. Its zero value is ready for use.
type Totals struct {
	readings, refused uint64 // refused: the kernel did not list the devices
	took              time.Duration
	last              host.Fact[host.Wire]
	failures          map[string]uint64 // by labels
	series            map[string]*series
}

// series counts the traffic of all programs of one name, and of one pod where pods are known, on one device.
type series struct {
	device                      string
	sent, received              amount
	connected, moving, separate int // queue pairs in the last reading; separate: that are not connected
	wrapped                     uint64
	seen                        time.Time
}

// amount counts from the first reading on. Bytes need the MTU, which is not known everywhere.
type amount struct {
	packets uint64
	bytes   float64
	unknown bool
}

func (a *amount) add(more wire.Amount, over time.Duration) {
	a.packets += more.Packets
	a.bytes += more.Rate * over.Seconds()
	a.unknown = a.unknown || more.Packets > 0 && more.Rate == 0
}

// Add counts a reading, and what moved since the one before.
func (t *Totals) Add(now host.Fact[host.Wire], moved []wire.Usage, took time.Duration) {
	if t.series == nil {
		t.series, t.failures = map[string]*series{}, map[string]uint64{}
	}
	t.readings++
	t.took += took
	t.last = now
	if now.IsUnreadable() {
		t.refused++
		return
	}
	t.countFailures(now.Value)
	for _, s := range t.series {
		s.connected, s.moving, s.separate = 0, 0, 0
	}
	for _, u := range moved {
		t.of(u, now.Value).add(u)
	}
	maps.DeleteFunc(t.series, func(_ string, s *series) bool { return now.Value.Taken.Sub(s.seen) > retention })
}

// of returns the series that a usage belongs to.
func (t *Totals) of(u wire.Usage, now host.Wire) *series {
	key := labels("device", u.Device, "pod_uid", now.Pods[u.PID], "program", u.Program)
	if t.series[key] == nil && len(t.series) >= maxSeries {
		key = labels("device", u.Device, "program", other)
	}
	s := t.series[key]
	if s == nil {
		s = &series{device: u.Device}
		t.series[key] = s
	}
	s.seen = now.Taken
	return s
}

func (s *series) add(u wire.Usage) {
	s.connected += u.Pairs
	s.moving += u.Active
	s.separate += u.Made
	s.sent.add(u.Sent, u.Over)
	s.received.add(u.Got, u.Over)
	if u.Sent.AtLeast || u.Got.AtLeast {
		s.wrapped++
	}
}

func (t *Totals) countFailures(w host.Wire) {
	for _, d := range w.Devices {
		t.countFailure(d.QueuePairs.IsUnreadable(), labels("device", d.Name, "part", "queue_pairs"))
		t.countFailure(d.Objects.IsUnreadable(), labels("device", d.Name, "part", "objects"))
		for _, p := range d.Ports {
			t.countFailure(p.Counters.IsUnreadable(), labels("device", d.Name, "part", "counters"))
		}
	}
}

// countFailure leaves a 0 where nothing failed: a counter that appears with its first failure shows no increase.
func (t *Totals) countFailure(failed bool, where string) {
	n := t.failures[where]
	if failed {
		n++
	}
	t.failures[where] = n
}
