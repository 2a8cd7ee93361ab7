package html

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/wire"
)

// simulatedSeries has a reading a second of two pods with eight rails that train in steps of four seconds. Of the last
// rail all connections are lost at the given second; the others then wait. mtu 0 is that of InfiniBand: not known.
func simulatedSeries(seconds, lostAt, mtu int) wire.Series {
	random := rand.New(rand.NewPCG(1, 2))
	s := wire.Series{Subject: "Job h-kim in namespace train"}
	begun := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for second := range seconds {
		var members []wire.Member
		for pod := range 2 {
			m := wire.Member{Ref: check.PodRef("train", fmt.Sprintf("h-kim-%d", pod))}
			m.Proof = wire.RDMA
			for rail := range 8 {
				device := fmt.Sprintf("mlx5_%d", 2+rail)
				m.Rails = append(m.Rails, device)
				rate := 2e6 + 4.5e6*float64(min(second%4, 2)) + 4e5*random.Float64()
				if rail == 7 && second >= lostAt {
					rate = 0
				} else if second >= lostAt {
					rate *= 0.6
				}
				a := wire.Amount{Packets: uint64(rate), Rate: rate * float64(mtu)}
				m.Usages = append(m.Usages, wire.Usage{
					Device: device, PID: 70 + rail, Pairs: 8, Active: 8, Sent: a, Got: a, Over: time.Second,
				})
			}
			members = append(members, m)
		}
		j := wire.Together(members, true)
		for range 8 {
			if second >= lostAt {
				end := func(pod int) wire.Place {
					return wire.Place{End: &wire.End{Device: "mlx5_9"}, Machine: members[pod].Ref}
				}
				j.Faults = append(j.Faults, wire.Connection{State: wire.Lost, A: end(0), B: end(1)})
			}
		}
		s.Add(begun.Add(time.Duration(second)*time.Second), j)
	}
	return s
}

func TestFromSeries(t *testing.T) {
	const never = 1000
	unread := simulatedSeries(3, never, 4096)
	unread.Add(unread.Points[2].Until.Add(time.Second), wire.Together([]wire.Member{{
		Ref: check.PodRef("train", "h-kim-0"), Motion: wire.Motion{Proof: wire.NotProved, Why: "permission denied"},
	}}, true))
	var idle wire.Series
	idle.Add(time.Unix(1e9, 0), wire.Job{Proof: wire.NoTraffic})
	for name, c := range map[string]struct {
		series wire.Series
		status check.Status
		text   string
		has    []string // on the page
	}{
		"a rail is lost": {
			simulatedSeries(300, 180, 4096), check.Fail,
			"Broken connections (lost): pod/train/h-kim-0 mlx5_9 and pod/train/h-kim-1 mlx5_9, since 12:03:00 UTC.",
			[]string{"2 machines, 16 rails, 4m59s", "<td>the end</td>", "GB/s"},
		},
		"nothing is wrong": {
			simulatedSeries(5, never, 4096), check.Pass, "Packets moved over RDMA in 5 of 5 readings.",
			[]string{"GB/s</td>"},
		},
		"InfiniBand, whose MTU is not known": {
			simulatedSeries(5, never, 0), check.Pass, "Packets moved over RDMA in 5 of 5 readings.",
			[]string{"packets/s</td>"},
		},
		"a pod could not be read": {
			unread, check.Unknown, "Packets moved over RDMA in 3 of 4 readings.",
			[]string{"In 1 not all machines could be read."},
		},
		"no packet moved": {idle, check.Fail, "No packet moved over RDMA.", nil},
		"no reading":      {wire.Series{}, check.Unknown, "No result yet.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := FromSeries(c.series, "wire.json")
			if p.Verdict.Status != c.status || p.Verdict.Text != c.text {
				t.Errorf("%s: %s", p.Verdict.Status, p.Verdict.Text)
			}
			page := body(t, p)
			for _, text := range c.has {
				if !strings.Contains(page, text) {
					t.Errorf("the page lacks %q", text)
				}
			}
		})
	}
}

// TestMarks: rails that broke together have one mark, and other times have another.
func TestMarks(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	rail := func(pod, device string) check.Ref { return check.DeviceRef(device).On(check.PodRef("train", pod)) }
	s := wire.Series{Breaks: []wire.Break{
		{State: wire.Lost, A: rail("0", "a"), B: rail("1", "a"), Since: at(1), Until: at(2)},
		{State: wire.Lost, A: rail("0", "b"), B: rail("1", "b"), Since: at(1), Until: at(2)},
		{State: wire.Lost, A: rail("0", "b"), B: rail("2", "b"), Since: at(1), Until: at(2)},
		{State: wire.PeerGone, A: rail("0", "a"), Since: at(1), Until: at(2)},
		{State: wire.Lost, A: rail("0", "a"), B: rail("1", "a"), Since: at(5), Until: at(5)},
	}}
	want := []MotionMark{{"lost: a, b", 1000, 2000}, {"peer gone: a", 1000, 2000}, {"lost: a", 5000, 5000}}
	if diff := cmp.Diff(want, marksOf(s, "pod/train/0")); diff != "" {
		t.Error(diff)
	}
}

// FuzzSeries reads files with any numbers and names.
func FuzzSeries(f *testing.F) {
	text, err := json.Marshal(simulatedSeries(6, 4, 4096))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schemaVersion":1,"rails":[{"rail":"x"},{}],"breaks":[{}],
		"points":[{"sent":[null],"received":[1]},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s wire.Series
		if json.Unmarshal(text, &s) != nil || s.Check() != nil {
			return
		}
		if _, err := json.Marshal(FromSeries(s, "fuzz")); err != nil {
			t.Error(err)
		}
	})
}
