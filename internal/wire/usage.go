package wire

import (
	"slices"
	"sort"
	"time"

	"github.com/railhead/railhead/internal/host"
)

// Usage has the queue pairs and the traffic of one process on one device.
type Usage struct {
	Device    string        `json:"device"`
	PID       int           `json:"pid,omitempty"` // 0: of another PID namespace
	Program   string        `json:"program,omitempty"`
	Pairs     int           `json:"queuePairs"` // that are connected
	Made      int           `json:"made"`       // that are not, such as datagrams and those in INIT
	Datagrams int           `json:"datagrams,omitempty"`
	Active    int           `json:"active"` // that moved
	Sent      Amount        `json:"sent"`
	Got       Amount        `json:"received"`
	NoRate    string        `json:"noRate,omitempty"` // why the size of the packets is unknown
	Over      time.Duration `json:"-"`
}

// Amount is data between two readings.
type Amount struct {
	Packets uint64  `json:"packets"`
	Rate    float64 `json:"bytesPerSecond,omitempty"` // 0 if the size of the packets is unknown
	AtLeast bool    `json:"atLeast,omitempty"`        // the sequence numbers may have wrapped between the readings
}

// usages sums up queue pairs by device and process.
func usages(ends []End, ports map[string]Port) []Usage {
	type key struct {
		device string
		pid    int
	}
	at := map[key]int{}
	var all []Usage
	for _, e := range ends {
		k := key{e.Device, e.PID}
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			all = append(all, Usage{Device: e.Device, PID: e.PID, Program: e.Program})
		}
		all[i].add(e, ports[e.Device])
	}
	sort.Slice(all, func(i, k int) bool {
		a, b := all[i], all[k]
		return a.Device < b.Device || a.Device == b.Device && a.PID < b.PID
	})
	return all
}

func (u *Usage) add(e End, p Port) {
	if e.Connected() {
		u.Pairs++
	} else {
		u.Made++
	}
	if e.sendsDatagrams() {
		u.Datagrams++
	}
	if e.Moved() {
		u.Active++
	}
	if over := e.over(); over > 0 {
		u.Over = max(u.Over, over)
		u.Sent.add(e.Sent, e.readings, p)
		u.Got.add(e.Received, e.readings, p)
		if e.Moved() && p.payload(e.packetSize) == 0 {
			u.NoRate = p.Why
		}
	}
}

func (a *Amount) add(packets uint32, r *readings, p Port) {
	over := r.over()
	a.Packets += uint64(packets)
	a.Rate += float64(packets) * p.payload(r.packetSize) / over.Seconds()
	if limit := p.wraps(); packets > 0 && (limit == 0 || over > limit) {
		a.AtLeast = true
	}
}

// Plus returns the sum of two amounts.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Packets + b.Packets, a.Rate + b.Rate, a.AtLeast || b.AtLeast}
}

// Opener is a process that opened devices and made no queue pair on any.
type Opener struct {
	PID     int      `json:"pid"`
	Program string   `json:"program,omitempty"`
	Devices []string `json:"devices"`
}

// openers returns the processes without a queue pair. ends are all queue pairs of the machine.
func openers(w host.Wire, ends []End) (all []Opener) {
	at := map[int]int{} // by process: -1, or its place in all
	for _, e := range ends {
		at[e.PID] = -1
	}
	for _, d := range w.Devices {
		for _, p := range d.Openers.Value {
			i, known := at[p.PID]
			if !known {
				i = len(all)
				at[p.PID], all = i, append(all, Opener{PID: p.PID, Program: p.Program})
			}
			if i >= 0 && !slices.Contains(all[i].Devices, d.Name) {
				all[i].Devices = append(all[i].Devices, d.Name)
			}
		}
	}
	return all
}
