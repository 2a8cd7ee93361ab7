package wire

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// sender returns a pod with rails a and b, of which a process moves packets over a.
func sender(name string, packets uint64) Member {
	amount := Amount{Packets: packets, Rate: float64(packets) * 4096}
	return Member{Ref: check.PodRef("train", name), Motion: Motion{
		Proof: RDMA, Rails: []string{"a", "b"},
		Usages: []Usage{{Device: "a", PID: 7, Pairs: 1, Active: 1, Sent: amount, Got: amount, Over: time.Second}},
	}}
}

func railOf(pod, device string) check.Ref {
	return check.DeviceRef(device).On(check.PodRef("train", pod))
}

func TestSeries(t *testing.T) {
	var s Series
	unread := sender("1", 0)
	unread.Motion = Motion{Proof: NotProved, Rails: []string{"a", "b"}}
	half := sender("1", 0)
	half.Unread = []check.Evidence{{Source: queuePairsOf("b"), Got: "no such device"}}
	for i, members := range [][]Member{{sender("0", 10)}, {sender("0", 20), unread}, {sender("0", 30), half}} {
		s.Add(start.Add(time.Duration(i)*time.Second), Together(members, true))
	}
	some := func(values ...int) (all []*float64) {
		for _, v := range values {
			if all = append(all, new(float64(v))); v < 0 {
				all[len(all)-1] = nil
			}
		}
		return all
	}
	want := Series{
		SchemaVersion: 1, Readings: 3, Proofs: map[Proof]int{RDMA: 3}, Partial: 2, AtLeast: false, Each: 1,
		Rails: []SeriesRail{{railOf("0", "a"), 4096}, {railOf("0", "b"), 0}, {railOf("1", "a"), 0}},
		Points: []Point{
			{start, 1, some(10, 0), some(10, 0)},
			{start.Add(time.Second), 1, some(20, 0), some(20, 0)},
			{start.Add(2 * time.Second), 1, some(30, 0, 0), some(30, 0, 0)},
		},
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(Series{})); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read Series
	if err := json.Unmarshal(text, &read); err != nil || read.Check() != nil {
		t.Fatal(err, read.Check())
	}
	if diff := cmp.Diff(want, read, cmpopts.IgnoreUnexported(Series{})); diff != "" {
		t.Error(diff)
	}
}

// TestSeriesBounded: a week of readings is a bounded number of points, whose means are those of all readings.
func TestSeriesBounded(t *testing.T) {
	var s Series
	const readings = 10_000
	for i := range readings {
		s.Add(start.Add(time.Duration(i)*time.Second), Together([]Member{sender("0", uint64(i%2)*200)}, true))
	}
	counted := 0
	for _, p := range s.Points {
		if counted += p.Readings; *p.Sent[0] != 100 || *p.Sent[1] != 0 {
			t.Fatalf("%+v: %v, %v", p, *p.Sent[0], *p.Sent[1])
		}
	}
	if len(s.Points) > mostPoints || len(s.Points) < mostPoints/2 || counted != readings || s.Readings != readings {
		t.Errorf("%d points of %d readings, each of %d", len(s.Points), counted, s.Each)
	}
}

// TestSeriesBreaks: a break goes on while it is at each reading; the next one is another.
func TestSeriesBreaks(t *testing.T) {
	end := func(pod string) Place { return Place{&End{Device: "a"}, check.PodRef("train", pod)} }
	lost := Connection{State: Lost, A: end("0"), B: end("1")}
	turned := Connection{State: Lost, A: end("1"), B: end("0")}
	gone := Connection{State: PeerGone, A: end("1")}
	var s Series
	for i, faults := range [][]Connection{{}, {lost}, {lost, turned}, {}, {lost, gone}} {
		s.Add(start.Add(time.Duration(i)*time.Second), Job{Proof: RDMA, Faults: faults})
	}
	at := func(second time.Duration) time.Time { return start.Add(second * time.Second) }
	want := []Break{
		{Lost, railOf("0", "a"), railOf("1", "a"), 2, at(1), at(2)},
		{Lost, railOf("0", "a"), railOf("1", "a"), 1, at(4), at(4)},
		{PeerGone, railOf("1", "a"), check.Ref{}, 1, at(4), at(4)},
	}
	if diff := cmp.Diff(want, s.Breaks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[State]int{Lost: 3, PeerGone: 1}, s.Broken); diff != "" {
		t.Error(diff)
	}
}

// TestSeriesUncounted: a rail whose queue pairs connected between the readings has no value: it is not 0.
func TestSeriesUncounted(t *testing.T) {
	m := sender("0", 10)
	m.Usages = append(m.Usages, Usage{Device: "b", PID: 7, Pairs: 1})
	m.ends = []End{{Device: "b", Remote: 42, State: host.StateRTS}}
	var s Series
	s.Add(start, Together([]Member{m}, true))
	if p := s.Points[0]; len(s.Rails) != 1 || len(p.Sent) != 1 || *p.Sent[0] != 10 {
		t.Errorf("%+v, %+v", s.Rails, p)
	}
}

// TestSeriesManyBreaks: a break that is not listed counts once, however long it lasts.
func TestSeriesManyBreaks(t *testing.T) {
	var faults []Connection
	for i := range mostBreaks + 1 {
		end := Place{&End{Device: "a"}, check.PodRef("train", fmt.Sprint(i))}
		faults = append(faults, Connection{State: PeerGone, A: end})
	}
	var s Series
	for i := range 3 {
		s.Add(start.Add(time.Duration(i)*time.Second), Job{Proof: RDMA, Faults: faults})
	}
	if len(s.Breaks) != mostBreaks || s.MoreBreaks != 1 {
		t.Errorf("%d breaks, and %d more", len(s.Breaks), s.MoreBreaks)
	}
}

func TestSeriesCheck(t *testing.T) {
	for name, text := range map[string]string{
		"a newer version":     `{"schemaVersion":2}`,
		"no version":          `{"points":[]}`,
		"rails that it lacks": `{"schemaVersion":1,"points":[{"sent":[1],"received":[1]}]}`,
		"an impossible rate":  `{"schemaVersion":1,"rails":[{}],"points":[{"sent":[1e200],"received":[1]}]}`,
		"one direction":       `{"schemaVersion":1,"rails":[{}],"points":[{"sent":[1]}]}`,
	} {
		var s Series
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Check() == nil {
			t.Errorf("%s: %v, accepted", name, err)
		}
	}
}
