package metrics

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Text returns the sums in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats).
// What the last reading did not show is left out: it is not 0.
func (t *Totals) Text() []byte {
	var p page
	p.family("readings_total", "counter", "Readings of the RDMA devices.")
	p.sample("", float64(t.readings))
	p.family("reading_seconds_total", "counter", "Time that the readings took.")
	p.sample("", t.took.Seconds())
	p.family("up", "gauge", "1 if the kernel answered the last reading, 0 if it refused. "+
		"Then devices and programs are missing.")
	p.sample("", oneIf(!t.last.IsUnreadable()))
	p.failures(t)
	p.devices(t)
	p.traffic(t)
	p.events(t)
	return p.Bytes()
}

// page is a text in the making.
type page struct {
	bytes.Buffer
	name string // of the metric
}

// family begins a metric.
func (p *page) family(name, kind, help string) {
	p.name = "railhead_wire_" + name
	p.WriteString("# HELP " + p.name + " " + help + "\n# TYPE " + p.name + " " + kind + "\n")
}

func (p *page) sample(labels string, value float64) {
	p.WriteString(p.name)
	if labels != "" {
		p.WriteString("{" + labels + "}")
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

// labels writes names and values, which are given in turn. Empty values are left out.
func labels(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, pairs[i]+`="`+escape(pairs[i+1])+`"`)
		}
	}
	return strings.Join(all, ",")
}

// escape quotes the value of a label. The name of a program may have any bytes.
func escape(value string) string {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, "?"), `\`, `\\`)
	return strings.ReplaceAll(strings.ReplaceAll(value, `"`, `\"`), "\n", `\n`)
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (p *page) failures(t *Totals) {
	p.family("read_failures_total", "counter", "Readings in which the kernel refused to show the devices, "+
		"or the queue pairs or counters of one.")
	p.sample(labels("part", "devices"), float64(t.refused))
	for _, where := range slices.Sorted(maps.Keys(t.failures)) {
		p.sample(where, float64(t.failures[where]))
	}
}

func (p *page) devices(t *Totals) {
	p.family("device_up", "gauge", "1 if the kernel showed the queue pairs of the device in the last reading, "+
		"0 if it refused. Then its packets, bytes and queue pairs are missing.")
	for _, d := range t.last.Value.Devices {
		p.sample(labels("device", d.Name), oneIf(d.QueuePairs.IsKnown()))
	}
	p.family("objects", "gauge", "Objects of all users of the device by kind, such as memory regions (mr).")
	for _, d := range t.last.Value.Devices {
		objects, _ := d.Objects.Get()
		for _, kind := range slices.Sorted(maps.Keys(objects)) {
			p.sample(labels("device", d.Name, "kind", kind), float64(objects[kind]))
		}
	}
}

// traffic writes what the programs do on the devices whose queue pairs were read.
func (p *page) traffic(t *Totals) {
	shown := map[string]bool{}
	for _, d := range t.last.Value.Devices {
		shown[d.Name] = d.QueuePairs.IsKnown()
	}
	keys := slices.Sorted(maps.Keys(t.series))
	keys = slices.DeleteFunc(keys, func(k string) bool { return !shown[t.series[k].device] })
	for _, m := range []struct {
		name, help string
		of         func(*series) (value float64, known bool)
	}{
		{"sent_packets_total", "Packets sent, by sequence numbers.",
			func(s *series) (float64, bool) { return float64(s.sent.packets), true }},
		{"received_packets_total", "Packets received, by sequence numbers.",
			func(s *series) (float64, bool) { return float64(s.received.packets), true }},
		{"sent_bytes_total", "Bytes sent: packets times their size. Missing where that is unknown.",
			func(s *series) (float64, bool) { return s.sent.bytes, !s.sent.unknown }},
		{"received_bytes_total", "Bytes received: packets times their size. Missing where that is unknown.",
			func(s *series) (float64, bool) { return s.received.bytes, !s.received.unknown }},
		{"wrapped_readings_total", "Readings so late that sequence numbers may have wrapped: " +
			"packets and bytes are then at least what is counted.",
			func(s *series) (float64, bool) { return float64(s.wrapped), true }},
	} {
		p.family(m.name, "counter", m.help)
		for _, k := range keys {
			if value, known := m.of(t.series[k]); known {
				p.sample(k, value)
			}
		}
	}
	p.queuePairs(t, keys)
}

func (p *page) queuePairs(t *Totals, keys []string) {
	p.family("queue_pairs", "gauge", "Queue pairs by state: connected; moving, the connected ones that sent or "+
		"received since the reading before; unconnected.")
	for _, k := range keys {
		s := t.series[k]
		p.sample(k+`,state="connected"`, float64(s.connected))
		p.sample(k+`,state="moving"`, float64(s.moving))
		p.sample(k+`,state="unconnected"`, float64(s.separate))
	}
}

// events writes the counters of the ports.
func (p *page) events(t *Totals) {
	p.family("events_total", "counter", "Events that a port counted, by kind and by the driver's name.")
	for _, d := range t.last.Value.Devices {
		for _, port := range d.Ports {
			counters, _ := port.Counters.Get()
			for _, name := range slices.Sorted(maps.Keys(counters)) {
				if kind := kinds[name]; kind != "" {
					p.sample(labels("device", d.Name, "port", strconv.Itoa(port.Number), "kind", kind, "counter", name),
						float64(counters[name]))
				}
			}
		}
	}
}

// kinds of events by the name of their counter (drivers/infiniband/hw/mlx5/counters.c,
// drivers/infiniband/sw/rxe/rxe_hw_counters.c). Others are left out, to bound the metrics of a node.
var kinds = map[string]string{
	"out_of_sequence":                "sequence",
	"out_of_seq_request":             "sequence",
	"rcvd_seq_err":                   "sequence",
	"packet_seq_err":                 "retransmission",
	"implied_nak_seq_err":            "retransmission",
	"local_ack_timeout_err":          "retransmission",
	"roce_adp_retrans":               "retransmission",
	"retry_exceeded_err":             "retransmission",
	"req_transport_retries_exceeded": "retransmission",
	"rnr_nak_retry_err":              "not_ready",
	"retry_rnr_exceeded_err":         "not_ready",
	"np_cnp_sent":                    "congestion",
	"rp_cnp_handled":                 "congestion",
	"np_ecn_marked_roce_packets":     "congestion",
}
