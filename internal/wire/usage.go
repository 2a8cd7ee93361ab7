package wire

import (
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
)

// Usage is what one process does on one device of one machine.
type Usage struct {
	Machine check.Ref     `json:"machine"`
	Device  string        `json:"device"`
	PID     int           `json:"pid,omitempty"` // 0: of another PID namespace
	Program string        `json:"program,omitempty"`
	Pairs   int           `json:"queuePairs"` // that are connected
	Made    int           `json:"made"`       // that are not, such as datagrams and those in INIT
	Active  int           `json:"active"`     // that moved
	Sent    Amount        `json:"sent"`
	Got     Amount        `json:"received"`
	Over    time.Duration `json:"-"`
}

// Amount is data between two readings.
type Amount struct {
	Packets uint64  `json:"packets"`
	Rate    float64 `json:"bytesPerSecond,omitempty"` // 0 if the MTU is unknown
	AtLeast bool    `json:"atLeast,omitempty"`        // the sequence numbers may have wrapped between the readings
}

// Usages sums up the queue pairs of a machine by device and process.
func (m Machine) Usages() []Usage {
	type key struct {
		device string
		pid    int
	}
	at := map[key]int{}
	var all []Usage
	for _, e := range m.Ends() {
		k := key{e.Device, e.PID.Value}
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			all = append(all, Usage{Machine: m.Ref, Device: e.Device, PID: e.PID.Value, Program: e.Program})
		}
		all[i].add(e, m.Ports[e.Device])
	}
	slices.SortFunc(all, func(a, b Usage) int {
		if c := strings.Compare(a.Device, b.Device); c != 0 {
			return c
		}
		return a.PID - b.PID
	})
	return all
}

func (u *Usage) add(e End, p Port) {
	if !e.Connected() {
		u.Made++
		return
	}
	u.Pairs++
	if e.Moved() {
		u.Active++
	}
	if e.Over <= 0 {
		return
	}
	u.Over = max(u.Over, e.Over)
	u.Sent.add(e.Sent, e.Over, p)
	u.Got.add(e.Received, e.Over, p)
}

func (a *Amount) add(packets uint32, over time.Duration, p Port) {
	a.Packets += uint64(packets)
	a.Rate += float64(packets) * float64(p.MTU) / over.Seconds()
	if limit := p.wraps(); packets > 0 && (limit == 0 || over > limit) {
		a.AtLeast = true
	}
}

// Plus returns the sum of two amounts.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Packets + b.Packets, a.Rate + b.Rate, a.AtLeast || b.AtLeast}
}
