package metrics

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/wire"
)

// sampleLine and labelPair are the grammar of the text format.
var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-z_]+)="((?:[^"\\]|\\["\\n])*)"(?:,|$)`)
)

// parse reads a text as Prometheus does: every sample follows the type of its metric, and none stands twice.
func parse(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	values, current := map[string]float64{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); words[0] == "#" {
			if current != words[2] && words[1] != "HELP" {
				t.Errorf("%q after metric %s", line, current)
			}
			current = words[2]
			kind := map[bool]string{true: "counter", false: "gauge"}[strings.HasSuffix(current, "_total")]
			if words[1] == "TYPE" && words[3] != kind {
				t.Errorf("%q: counters, and only they, end with _total", line)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != current {
			t.Fatalf("%q after metric %s", line, current)
		}
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindString(rest)
			if pair == "" {
				t.Fatalf("labels of %q", line)
			}
			rest = rest[len(pair):]
		}
		name := strings.TrimPrefix(strings.TrimSuffix(line, " "+m[3]), "railhead_wire_")
		value, err := strconv.ParseFloat(m[3], 64)
		if _, twice := values[name]; twice || err != nil {
			t.Fatalf("%q: twice or %v", line, err)
		}
		values[name] = value
	}
	return values
}

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// reading returns the reading of one device after some seconds.
func reading(second int, sequenceErrors uint64) host.Fact[host.Wire] {
	taken := start.Add(time.Duration(second) * time.Second)
	counters := map[string]uint64{"out_of_sequence": sequenceErrors, "active_qps": 7}
	return host.Know(host.Wire{Taken: taken, Devices: []host.WireDevice{{
		Name: "mlx5_6", Taken: taken, QueuePairs: host.Know([]host.QueuePair{}),
		Ports:   []host.WirePort{{Number: 1, Counters: host.Know(counters)}},
		Objects: host.Know(map[string]uint64{"mr": 40}),
	}}})
}

func usage(program string, packets uint64, mtu float64) wire.Usage {
	return wire.Usage{
		Device: "mlx5_6", Program: program, Pairs: 8, Active: 4, Made: 1, Over: 2 * time.Second,
		Sent: wire.Amount{Packets: packets, Rate: float64(packets) * mtu / 2},
	}
}

func TestText(t *testing.T) {
	var totals Totals
	totals.Add(reading(0, 5), nil, time.Millisecond)
	wrapped := usage("python", 10, 4096)
	wrapped.Got.AtLeast = true
	totals.Add(reading(2, 6), []wire.Usage{usage("python", 90, 4096), wrapped}, time.Millisecond)
	want := map[string]float64{
		"readings_total": 2, "reading_seconds_total": 0.002, "up": 1,
		`read_failures_total{part="devices"}`:                                              0,
		`read_failures_total{device="mlx5_6",part="queue_pairs"}`:                          0,
		`read_failures_total{device="mlx5_6",part="counters"}`:                             0,
		`read_failures_total{device="mlx5_6",part="objects"}`:                              0,
		`device_up{device="mlx5_6"}`:                                                       1,
		`objects{device="mlx5_6",kind="mr"}`:                                               40,
		`sent_packets_total{device="mlx5_6",program="python"}`:                             100,
		`received_packets_total{device="mlx5_6",program="python"}`:                         0,
		`sent_bytes_total{device="mlx5_6",program="python"}`:                               409600,
		`received_bytes_total{device="mlx5_6",program="python"}`:                           0,
		`wrapped_readings_total{device="mlx5_6",program="python"}`:                         1,
		`queue_pairs{device="mlx5_6",program="python",state="connected"}`:                  16,
		`queue_pairs{device="mlx5_6",program="python",state="moving"}`:                     8,
		`queue_pairs{device="mlx5_6",program="python",state="unconnected"}`:                2,
		`events_total{device="mlx5_6",port="1",kind="sequence",counter="out_of_sequence"}`: 6,
	}
	if diff := cmp.Diff(want, parse(t, totals.Text())); diff != "" {
		t.Error(diff)
	}
}

// TestUnreadIsNotZero: what one reading did not show is missing, and goes on from its sum in the next.
func TestUnreadIsNotZero(t *testing.T) {
	const bytes, up = `sent_bytes_total{device="mlx5_6",program="python"}`, `device_up{device="mlx5_6"}`
	noQueuePairs, noCounters, noObjects := reading(3, 1), reading(3, 1), reading(3, 1)
	noQueuePairs.Value.Devices[0].QueuePairs = host.Unread[[]host.QueuePair]("input/output error")
	noCounters.Value.Devices[0].Ports[0].Counters = host.Unread[map[string]uint64]("permission denied")
	noObjects.Value.Devices[0].Objects = host.Unread[map[string]uint64]("invalid argument")
	for name, c := range map[string]struct {
		reading host.Fact[host.Wire]
		part    string  // that failed
		missing string  // prefix of the metrics that are not there
		up      float64 // -1: missing
	}{
		"all refused":           {host.Unread[host.Wire]("permission denied"), `part="devices"`, "", -1},
		"queue pairs of device": {noQueuePairs, `device="mlx5_6",part="queue_pairs"`, "sent queue_pairs received wrapped", 0},
		"counters of a port":    {noCounters, `device="mlx5_6",part="counters"`, "events", 1},
		"objects of a device":   {noObjects, `device="mlx5_6",part="objects"`, "objects", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var totals Totals
			totals.Add(reading(0, 0), nil, 0)
			totals.Add(reading(2, 1), []wire.Usage{usage("python", 100, 4096)}, 0)
			before := parse(t, totals.Text())
			totals.Add(c.reading, nil, 0)
			during := parse(t, totals.Text())
			got, shown := during[up]
			if during["read_failures_total{"+c.part+"}"] != 1 || shown != (c.up >= 0) || shown && got != c.up {
				t.Errorf("%v", during)
			}
			for metric := range during {
				family, _, _ := strings.Cut(metric, "_")
				if strings.Contains(" "+c.missing+" ", " "+family+" ") {
					t.Errorf("%s is not known", metric)
				}
			}
			if _, shown := during[bytes]; shown != (c.up == 1) {
				t.Errorf("bytes: %v", during)
			}
			totals.Add(reading(4, 1), []wire.Usage{usage("python", 1, 4096)}, 0)
			if after := parse(t, totals.Text()); after[bytes] != before[bytes]+4096 {
				t.Errorf("%v, before %v", after[bytes], before[bytes])
			}
		})
	}
}

// TestPods: on a node, programs of one name are told apart by their pods.
func TestPods(t *testing.T) {
	var totals Totals
	now := reading(2, 0)
	now.Value.Pods = map[int]string{71: "uid-a", 72: "uid-b"}
	var moved []wire.Usage
	for i, pid := range []int{71, 72, 73} {
		u := usage("python", uint64(10*(i+1)), 4096)
		u.PID = pid
		moved = append(moved, u)
	}
	totals.Add(now, moved, 0)
	got := parse(t, totals.Text())
	for labels, want := range map[string]float64{
		`{device="mlx5_6",pod_uid="uid-a",program="python"}`: 10,
		`{device="mlx5_6",pod_uid="uid-b",program="python"}`: 20,
		`{device="mlx5_6",program="python"}`:                 30,
	} {
		if got["sent_packets_total"+labels] != want {
			t.Errorf("%s: %v", labels, got)
		}
	}
}

func TestNoMTU(t *testing.T) {
	var totals Totals
	totals.Add(reading(2, 0), []wire.Usage{usage("python", 100, 0)}, 0)
	got := parse(t, totals.Text())
	if _, shown := got[`sent_bytes_total{device="mlx5_6",program="python"}`]; shown ||
		got[`sent_packets_total{device="mlx5_6",program="python"}`] != 100 {
		t.Error(got)
	}
}

// TestBounds: programs that ended are listed for a while, and a program that changes its name does not fill the memory.
func TestBounds(t *testing.T) {
	var totals Totals
	for n := range 2 * maxSeries {
		totals.Add(reading(n%60, 0), []wire.Usage{usage(fmt.Sprint(n), 1, 4096)}, 0)
	}
	got := parse(t, totals.Text())
	if rest := got[`sent_packets_total{device="mlx5_6",program="other"}`]; rest != maxSeries {
		t.Errorf("other: %v", rest)
	}
	totals.Add(reading(120, 0), []wire.Usage{usage("0", 1, 4096)}, 0)
	totals.Add(reading(3600, 0), nil, 0)
	for _, metric := range slices.Sorted(maps.Keys(parse(t, totals.Text()))) {
		if strings.Contains(metric, "program=") {
			t.Errorf("an hour later: %s", metric)
		}
	}
}

func TestNames(t *testing.T) {
	var totals Totals
	totals.Add(reading(2, 0), []wire.Usage{usage("a\"b\\c\nd\xff", 1, 4096), usage("", 1, 4096)}, 0)
	got := parse(t, totals.Text())
	for _, want := range []string{
		`sent_packets_total{device="mlx5_6",program="a\"b\\c\nd?"}`, `sent_packets_total{device="mlx5_6"}`,
	} {
		if got[want] != 1 {
			t.Errorf("no %s in %v", want, got)
		}
	}
}

// TestNoRDMA: a kernel without RDMA was read, and has no device.
func TestNoRDMA(t *testing.T) {
	var totals Totals
	totals.Add(host.Fact[host.Wire]{}, nil, 0)
	if got := parse(t, totals.Text()); got["up"] != 1 || len(got) != 4 {
		t.Error(got)
	}
}
